"""3-SAT by descent: share of formulas solved, descents needed, cost of one evaluation.

    python benchmarks/sat.py --out results/sat.json

Random formulas of three literals; a SAT solver (CaDiCaL, from python-sat, one of the development
dependencies) says which of them can be satisfied at all. Some minutes on two cores.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np
from pysat.solvers import Cadical153

from irem._files import write_whole
from irem.energy import SAT
from irem.experiments import provenance
from irem.methods import as_literals, random_formula, satisfy

SIZES = {20: 100, 50: 100, 100: 100, 200: 50}  # variables: formulas
RATIOS = (3.0, 3.25, 3.5, 3.75, 4.0, 4.1, 4.2)


def satisfiable(formula, assumptions=()):
    """Whether a formula has a satisfying assignment that agrees with some literals."""
    with Cadical153(bootstrap_with=formula.literals.tolist()) as solver:
        return solver.solve(assumptions=[int(literal) for literal in assumptions])


def draw(variables, ratio, number):
    """The first `number` random formulas that can be satisfied."""
    found, seed = [], 0
    while len(found) < number:
        key = jax.random.fold_in(jax.random.key(variables), seed)
        formula = random_formula(key, variables, round(ratio * variables))
        seed += 1
        if satisfiable(formula):
            found.append(formula)
    return found


def solved(variables, ratio, number):
    """How many satisfiable formulas are satisfied within the default budget."""
    start = time.perf_counter()
    answers = []
    for index, formula in enumerate(draw(variables, ratio, number)):
        found = satisfy(formula, key=jax.random.key(index))
        if found.assignment is not None:
            assert satisfiable(formula, as_literals(found.assignment))
        answers.append(found)
    return {
        "variables": variables,
        "ratio": ratio,
        "formulas": number,
        "solved": sum(a.assignment is not None for a in answers),
        "in_first_round": sum(a.assignment is not None and a.rounds == 1 for a in answers),
        "descents_mean": float(np.mean([a.descents for a in answers])),
        "seconds": time.perf_counter() - start,
    }


def evaluation(variables, ratio=4.0, repeats=20):
    """Microseconds of one evaluation of the energy and its gradient, in a batch of 256."""
    formula = random_formula(jax.random.key(0), variables, round(ratio * variables))
    landscape = jax.value_and_grad(SAT(variables).landscape(formula.literals))
    both = jax.jit(jax.vmap(landscape))
    y = jax.random.uniform(jax.random.key(1), (256, variables), minval=-1.0)
    jax.block_until_ready(both(y))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(both(y))
        times.append(1e6 * (time.perf_counter() - start) / 256)
    return {"variables": variables, "clauses": len(formula.literals), "microseconds": times}


def main():
    """Measure, and keep what is done after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = {**provenance(), "sizes": [], "ratios": [], "evaluations": []}
    work = [("sizes", lambda n=n, k=k: solved(n, 3.5, k)) for n, k in SIZES.items()]
    work += [("ratios", lambda r=r: solved(100, r, 30)) for r in RATIOS]
    work += [
        ("evaluations", lambda n=n: evaluation(n)) for n in (20, 50, 100, 200, 500, 1000, 2000)
    ]
    for kind, measure in work:
        result[kind].append(measure())
        print(json.dumps(result[kind][-1]), flush=True)
        if options.out is not None:
            write_whole(options.out, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
