"""Compare the pace of irem's compiled training loop with the same loop in eager PyTorch, on a CPU.

    pip install -e '.[bench]'
    python benchmarks/torch_peer.py            (a table)
    python benchmarks/torch_peer.py --json     (one JSON object)

Both sides run Algorithm 1 on addition with the paper's settings: vectors of 400, an energy of three
swish layers of 512, five steps of size 100, a gradient through the last of them, 128 fresh and 128
replayed candidates, Adam. One iteration draws its data, replays, descends, updates and stores its
end points. Before any timing, one loss and its gradient are computed by both from the same weights
and have to agree. Blocks of iterations alternate, so that a machine with other work to do slows
both sides alike; the pace is the median over blocks. The whole takes about a minute on two cores.
"""

import argparse
import json
import os
import statistics
import sys
import time

import equinox as eqx
import jax
import numpy as np
import optax

import irem
from irem import learning

try:
    import torch
except ImportError:
    torch = None

# The paper's settings (its Appendix C and Table 9); irem has them as defaults.
SIZE, WIDTH, DEPTH = 400, 512, 3
NUM_STEPS, STEP_SIZE = 5, 100.0
BATCH_SIZE, CAPACITY, LEARNING_RATE = 128, 10_000, 1e-4
# Single precision sums in another order differ by about 1e-6; another computation by far more.
TOLERANCE = 1e-4


def torch_energy():
    """E(x, y) for rows of concatenated `x` and `y`, one number a row."""
    sizes = [3 * SIZE] + [WIDTH] * DEPTH
    layers = []
    for i, o in zip(sizes, sizes[1:], strict=False):
        layers += [torch.nn.Linear(i, o), torch.nn.SiLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def torch_step(energy, x, y, *, live):
    """One step down the landscape; `live` steps can be differentiated in the parameters."""
    y = y.detach().requires_grad_()
    total = energy(torch.cat([x, y], dim=1)).sum()
    (gradient,) = torch.autograd.grad(total, y, create_graph=live)
    return y - STEP_SIZE * gradient if live else y.detach() - STEP_SIZE * gradient


def torch_descend(energy, x, y):
    """All but the last step with frozen parameters, so that no graph is kept for them."""
    energy.requires_grad_(False)
    for _ in range(NUM_STEPS - 1):
        y = torch_step(energy, x, y, live=False)
    energy.requires_grad_(True)
    return torch_step(energy, x, y, live=True)


class TorchRing:
    """The last 10,000 candidates, in tensors that are allocated once."""

    def __init__(self):
        self.items = [torch.zeros(CAPACITY, n) for n in (2 * SIZE, SIZE, SIZE)]
        self.size = self.next_slot = 0

    def extend(self, fresh):
        """`fresh` followed by as many replayed candidates; fresh ones twice while it is empty."""
        if self.size == 0:
            return [torch.cat([new, new]) for new in fresh]
        slots = torch.randint(self.size, (BATCH_SIZE,))
        return [
            torch.cat([new, kept.index_select(0, slots)])
            for new, kept in zip(fresh, self.items, strict=True)
        ]

    def push(self, ended):
        """Write over the oldest candidates."""
        count = ended[0].shape[0]
        slots = (self.next_slot + torch.arange(count)) % CAPACITY
        for kept, new in zip(self.items, ended, strict=True):
            kept.index_copy_(0, slots, new)
        self.size = min(self.size + count, CAPACITY)
        self.next_slot = (self.next_slot + count) % CAPACITY


def torch_fresh():
    """New problems, their answers, and starts drawn from U(-1, 1)."""
    x = torch.empty(BATCH_SIZE, 2 * SIZE).uniform_(-1, 1)
    return x, x[:, :SIZE] + x[:, SIZE:], torch.empty(BATCH_SIZE, SIZE).uniform_(-1, 1)


def torch_side():
    """A function that runs so many iterations of training in eager PyTorch."""
    torch.manual_seed(0)
    energy, ring = torch_energy(), TorchRing()
    optimiser = torch.optim.Adam(energy.parameters(), lr=LEARNING_RATE)

    def iterate():
        x, target, start = ring.extend(torch_fresh())
        end = torch_descend(energy, x, start)
        loss = torch.nn.functional.mse_loss(end, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        ring.push((x, target, end.detach()))
        return loss.detach()

    return lambda iterations: torch.stack([iterate() for _ in range(iterations)]).numpy()


def irem_side():
    """A function that runs so many iterations of training in irem's compiled loop."""
    task = irem.tasks.Addition(size=SIZE)
    recipe = learning.Recipe(
        task, optax.adam(LEARNING_RATE), irem.Replay(capacity=CAPACITY), BATCH_SIZE
    )
    keys = jax.random.key(0)[None]
    states = eqx.filter_vmap(lambda key: learning.init(recipe, irem_method(task, key), key))(keys)

    def run(iterations):
        nonlocal states
        states, infos = learning.run_chunk(recipe, states, iterations)
        return np.asarray(infos.loss[0])

    return run


def irem_method(task, key):
    """The paper's method for `task`, with new weights."""
    energy = irem.energy.MLP.for_task(task, width=WIDTH, depth=DEPTH, key=key)
    return irem.IREM(energy, num_steps=NUM_STEPS, step_size=STEP_SIZE)


def with_weights_of(method, energy):
    """The irem method with the weights of a PyTorch energy."""
    linear = [layer for layer in energy if isinstance(layer, torch.nn.Linear)]
    arrays = [jax.numpy.asarray(p.detach().numpy()) for m in linear for p in (m.weight, m.bias)]
    places = lambda m: [  # noqa: E731
        a for layer in (*m.energy.layers, m.energy.readout) for a in (layer.weight, layer.bias)
    ]
    return eqx.tree_at(places, method, arrays), places


def agreement():
    """Relative differences of one loss and its gradient from the same weights, problems, starts."""
    torch.manual_seed(1)
    energy = torch_energy()
    x, target, start = torch_fresh()
    loss = torch.nn.functional.mse_loss(torch_descend(energy, x, start), target)
    loss.backward()
    # The energy's last bias moves no minimum: PyTorch has no gradient for it, irem has zero.
    gradient = [
        np.zeros(p.shape, np.float32) if p.grad is None else p.grad.numpy()
        for p in energy.parameters()
    ]
    task = irem.tasks.Addition(size=SIZE)
    method, places = with_weights_of(irem_method(task, jax.random.key(0)), energy)
    problem = irem.Problem(x.numpy().reshape(-1, 2, SIZE), jax.numpy.asarray(target.numpy()))
    ours, our_gradient = irem_loss(method, problem, start.numpy())
    difference = [a - b for a, b in zip(places(our_gradient), gradient, strict=True)]
    return {
        "loss": abs(float(ours) / loss.item() - 1),
        "gradient": float(optax.global_norm(difference) / optax.global_norm(gradient)),
    }


@eqx.filter_jit
@eqx.filter_value_and_grad
def irem_loss(method, problem, starts):
    """Mean squared error over the batch, and its gradient."""
    keys = jax.random.split(jax.random.key(0), starts.shape[0])
    squares, ends = jax.vmap(lambda p, y, k: method.loss(p, y, key=k))(problem, starts, keys)
    return squares.sum() / ends.size


def milliseconds(run, iterations):
    """Time of one iteration in a block, and the mean loss in it."""
    start = time.perf_counter()
    losses = run(iterations)
    return 1e3 * (time.perf_counter() - start) / iterations, float(losses.mean())


def measure(iterations, rounds, settle=5):
    """Alternate blocks of both sides; `settle` iterations before each block are not timed.

    They let the idle threads of the other side go to sleep. Warm-up compiles and fills both rings.
    """
    sides = {"irem": irem_side(), "torch": torch_side()}
    for run in sides.values():
        for length in (iterations, settle):
            for _ in range(-(-CAPACITY // (2 * BATCH_SIZE * length)) if length > settle else 2):
                run(length)
    times = {name: [] for name in sides}
    losses = {}
    for _ in range(rounds):
        for name, run in sides.items():
            run(settle)
            pace, losses[name] = milliseconds(run, iterations)
            times[name].append(pace)
    return times, losses


def compare(iterations, rounds):
    """Everything that is reported."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(threads)
    agrees = agreement()
    if max(agrees.values()) > TOLERANCE:
        sys.exit(f"The two sides do not compute the same: relative differences {agrees}.")
    times, losses = measure(iterations, rounds)
    medians = {name: statistics.median(t) for name, t in times.items()}
    ratios = [t / i for t, i in zip(times["torch"], times["irem"], strict=True)]
    return {
        "benchmark": "torch_peer",
        "threads": threads,
        "versions": {"irem": irem.__version__, "jax": jax.__version__, "torch": torch.__version__},
        "relative_difference": agrees,
        "iterations_per_block": iterations,
        "ms_per_iteration": times,
        "median_ms_per_iteration": medians,
        "last_loss": losses,
        "ratio": medians["torch"] / medians["irem"],
        "ratio_range": [min(ratios), max(ratios)],
    }


def table(result):
    """The result as text."""
    versions, agrees = result["versions"], result["relative_difference"]
    rows = [
        f"{name + ' ' + versions[name]:<16}{result['median_ms_per_iteration'][name]:>14.2f}"
        f"{min(times):>10.2f}{max(times):>10.2f}{result['last_loss'][name]:>12.5f}"
        for name, times in result["ms_per_iteration"].items()
    ]
    low, high = result["ratio_range"]
    return "\n".join([
        f"Same loss to {agrees['loss']:.0e} and same gradient to {agrees['gradient']:.0e} "
        f"(allowed: {TOLERANCE:.0e}); {result['threads']} threads each.",
        f"{'ms an iteration':<16}{'median':>14}{'lowest':>10}{'highest':>10}{'loss':>12}",
        *rows,
        f"irem runs {result['ratio']:.2f} times as fast (single rounds: {low:.2f} to {high:.2f}).",
    ])  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=20, help="in one block")
    parser.add_argument("--rounds", type=int, default=6, help="blocks of each side")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: run `pip install -e '.[bench]'`.", file=sys.stderr)
        return 2
    jax.config.update("jax_platforms", "cpu")
    result = compare(options.iterations, options.rounds)
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
