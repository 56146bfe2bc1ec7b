"""Where the time of `Run.solve` goes: loading, tracing, compiling, descending, and the host.

    python benchmarks/solve_profile.py              (a table; --json for one JSON object a line)

One problem of a size is answered twice, then one of another size twice, in a process that has done
nothing else. Tracing, lowering and compiling are counted and timed by JAX's own events, which
are on the clock, and a program that is traced within another counts twice. CPU seconds are those of
all threads.
"""

import argparse
import collections
import json
import time

import jax
import numpy as np

import irem

MODELS = {"zoo:shortest-path": (6, 9), "zoo:matrix-inverse": (5, 7)}
_STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


class Stages:
    """How often JAX traced, lowered and compiled since the last look, and for how long."""

    def __init__(self):
        self.seconds, self.number = collections.Counter(), collections.Counter()
        jax.monitoring.register_event_duration_secs_listener(self.listen)

    def listen(self, event, seconds, **_):
        """Add what JAX tells."""
        if event in _STAGES:
            self.seconds[_STAGES[event]] += seconds
            self.number[_STAGES[event]] += 1

    def take(self):
        """What was counted, which is forgotten then."""
        told = {f"{name}_seconds": round(s, 4) for name, s in self.seconds.items()}
        told |= {"programs": self.number["compile"]}
        self.seconds.clear()
        self.number.clear()
        return told


def problem(model, size, seed):
    """A problem of this size that the model answers."""
    rng = np.random.default_rng(seed)
    if model == "zoo:matrix-inverse":
        root = rng.normal(size=(size, size)).astype(np.float32)
        return root @ root.T / size + np.eye(size, dtype=np.float32)
    lengths = rng.uniform(0.1, 1, (size, size)).astype(np.float32)
    lengths = (lengths + lengths.T) / 2
    np.fill_diagonal(lengths, 0)
    return lengths


def measured(stages, function):
    """What a call took, and its result."""
    stages.take()
    clock, cpu = time.perf_counter(), time.process_time()
    result = function()
    took = {"seconds": time.perf_counter() - clock, "cpu": time.process_time() - cpu}
    return {name: round(s, 4) for name, s in took.items()} | stages.take(), result


def rows(stages):
    """One row for everything that was timed."""
    for model, sizes in MODELS.items():
        row, run = measured(stages, lambda model=model: irem.load(model))
        yield {"model": model, "what": "load", **row}
        for size in sizes:
            for which in ("first", "second"):
                x = problem(model, size, seed=size)
                row, found = measured(
                    stages, lambda run=run, x=x: run.solve(x, key=jax.random.key(0))
                )
                steps = int(found.steps)
                yield {"model": model, "what": f"{which} of size {size}", **row, "steps": steps}


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a row")
    options = parser.parse_args()
    for row in rows(Stages()):
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        rest = {name: value for name, value in row.items() if name not in ("model", "what")}
        told = ", ".join(f"{name} {value}" for name, value in rest.items())
        print(f"{row['model']:<20}{row['what']:<20}{told}", flush=True)


if __name__ == "__main__":
    main()
