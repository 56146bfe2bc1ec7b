"""Compare the pace of irem's compiled training loop with the same loop in eager PyTorch, on a CPU.

    pip install -e '.[bench]'
    python benchmarks/torch_peer.py            (a table)
    python benchmarks/torch_peer.py --json     (one JSON object)

All sides run Algorithm 1 on addition with the paper's settings: vectors of 400, an energy of three
swish layers of 512, five steps of size 100, a gradient through the last of them, 128 fresh and 128
replayed candidates, Adam. One iteration draws its data, replays, descends, updates and stores its
end points. PyTorch runs twice: `torch` feeds the network with the concatenated `x` and `y` at every
step, as one writes it; `torch-hoisted` takes the first layer's product with `x` once per descent,
as irem's MLP does, and shows how much of the ratio comes from that.

Before any timing, one loss and its gradient are computed by every side from the same weights and
have to agree. Blocks of iterations alternate, and the pace is the median over blocks. Run it on an
otherwise idle machine: PyTorch's threads wait for each other after every operation and lose more
to other work than irem does, so load flatters irem. The ratio of the fastest blocks, which were
disturbed least, is reported beside that of the medians. It takes about a minute on two cores.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import irem
from irem import training

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

# The paper's settings (its Appendix C and Table 10); irem has them as defaults.
SIZE, WIDTH, DEPTH = 400, 512, 3
NUM_STEPS, STEP_SIZE = 5, 100.0
BATCH_SIZE, CAPACITY, LEARNING_RATE = 128, 10_000, 1e-4
# Sums in another order differ by about 1e-6 in single precision, another computation by far more.
TOLERANCE = 1e-4
# Untimed iterations before every block, in which idle threads of the other side go to sleep.
SETTLE = 5


def torch_energy():
    """E(x, y) for rows of concatenated `x` and `y`, one number a row."""
    sizes = [3 * SIZE] + [WIDTH] * DEPTH
    layers = []
    for i, o in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(i, o), torch.nn.SiLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def plain_landscape(energy, x):
    """The map from answers to their energies, on concatenated `x` and `y`."""
    return lambda y: energy(torch.cat([x, y], dim=1))


def hoisted_landscape(energy, x):
    """The same map, the first layer's product with `x` taken beforehand."""
    first = energy[0]
    weight_x, weight_y = first.weight.split([2 * SIZE, SIZE], dim=1)
    from_x = functional.linear(x, weight_x, first.bias)
    return lambda y: energy[1:](torch.addmm(from_x, y, weight_y.T))


def torch_step(landscape, y, *, live):
    """One step down the landscape; a `live` one can be differentiated in the parameters."""
    y = y.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(landscape(y).sum(), y, create_graph=live)
    return y.detach() - STEP_SIZE * gradient


def torch_descend(energy, landscape_of, x, y):
    """All but the last step with frozen parameters, so that no graph is kept for them."""
    energy.requires_grad_(False)
    landscape = landscape_of(energy, x)
    for _ in range(NUM_STEPS - 1):
        y = torch_step(landscape, y, live=False)
    energy.requires_grad_(True)
    return torch_step(landscape_of(energy, x), y, live=True)


def torch_fresh():
    """New problems, their answers, and starts drawn from U(-1, 1)."""
    x = torch.empty(BATCH_SIZE, 2 * SIZE).uniform_(-1, 1)
    return x, x[:, :SIZE] + x[:, SIZE:], torch.empty(BATCH_SIZE, SIZE).uniform_(-1, 1)


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
        replayed = (kept.index_select(0, slots) for kept in self.items)
        return [torch.cat(pair) for pair in zip(fresh, replayed, strict=True)]

    def push(self, ended):
        """Write over the oldest candidates."""
        count = ended[0].shape[0]
        slots = (self.next_slot + torch.arange(count)) % CAPACITY
        for kept, new in zip(self.items, ended, strict=True):
            kept.index_copy_(0, slots, new)
        self.size = min(self.size + count, CAPACITY)
        self.next_slot = (self.next_slot + count) % CAPACITY


def torch_side(landscape_of):
    """A function that trains for so many iterations in eager PyTorch and returns the losses."""
    torch.manual_seed(0)
    energy, ring = torch_energy(), TorchRing()
    optimiser = torch.optim.Adam(energy.parameters(), lr=LEARNING_RATE)

    def iterate():
        x, target, start = ring.extend(torch_fresh())
        end = torch_descend(energy, landscape_of, x, start)
        loss = functional.mse_loss(end, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        ring.push((x, target, end.detach()))
        return loss.detach()

    return lambda iterations: torch.stack([iterate() for _ in range(iterations)]).numpy()


def irem_method(key):
    """The paper's method for addition, with new weights."""
    energy = irem.energy.MLP.for_task(
        irem.tasks.Addition(size=SIZE), width=WIDTH, depth=DEPTH, key=key
    )
    return irem.IREM(energy, num_steps=NUM_STEPS, step_size=STEP_SIZE)


def irem_side():
    """A function that trains for so many iterations in irem's compiled loop, likewise."""
    setup = training.Training(
        irem.tasks.Addition(size=SIZE),
        optax.adam(LEARNING_RATE),
        irem.Replay(capacity=CAPACITY),
        training.NoAverage(),
        BATCH_SIZE,
    )
    keys = jax.random.key(0)[None]
    states = eqx.filter_vmap(lambda key: training.init(setup, irem_method(key), key))(keys)

    def run(iterations):
        nonlocal states
        states, infos = training.run_chunk(setup, states, iterations)
        return np.asarray(infos.loss[0])

    return run


@eqx.filter_jit
@eqx.filter_value_and_grad
def irem_loss(method, problem, starts):
    """Mean squared error over a batch, and its gradient."""
    keys = jax.random.split(jax.random.key(0), starts.shape[0])
    squares, ends = jax.vmap(lambda p, y, k: method.loss(p, y, key=k))(problem, starts, keys)
    return squares.sum() / ends.size


def torch_loss(energy, landscape_of, x, target, start):
    """The same in PyTorch."""
    loss = functional.mse_loss(torch_descend(energy, landscape_of, x, start), target)
    gradient = torch.autograd.grad(loss, list(energy.parameters()), materialize_grads=True)
    return loss.item(), [g.numpy() for g in gradient]


def weights(method):
    """The arrays of an irem method, in the order of PyTorch's parameters."""
    layers = (*method.energy.layers, method.energy.readout)
    return [array for layer in layers for array in (layer.weight, layer.bias)]


def disagreement(landscape_of):
    """Relative differences of one loss and its gradient from the same weights and batch."""
    torch.manual_seed(1)
    energy, (x, target, start) = torch_energy(), torch_fresh()
    theirs, their_gradient = torch_loss(energy, landscape_of, x, target, start)
    copied = [jnp.asarray(p.detach().numpy()) for p in energy.parameters()]
    method = eqx.tree_at(weights, irem_method(jax.random.key(0)), copied)
    problem = irem.Problem(jnp.asarray(x.numpy()).reshape(-1, 2, SIZE), jnp.asarray(target.numpy()))
    ours, our_gradient = irem_loss(method, problem, jnp.asarray(start.numpy()))
    difference = [a - b for a, b in zip(weights(our_gradient), their_gradient, strict=True)]
    return {
        "loss": abs(float(ours) / theirs - 1),
        "gradient": float(optax.global_norm(difference) / optax.global_norm(their_gradient)),
    }


def measure(sides, iterations, rounds):
    """Milliseconds of one iteration in every block of every side, and the mean loss of the last."""
    times, losses = {name: [] for name in sides}, {}
    for run in sides.values():
        # Compile, and fill the ring.
        for _ in range(-(-CAPACITY // (2 * BATCH_SIZE * iterations))):
            run(iterations)
        run(SETTLE)
    for _ in range(rounds):
        for name, run in sides.items():
            run(SETTLE)
            start = time.perf_counter()
            losses[name] = float(run(iterations).mean())
            times[name].append(1e3 * (time.perf_counter() - start) / iterations)
    return times, losses


def compare(iterations, rounds):
    """Everything that is reported."""
    # XLA takes every core that the process may run on.
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    torch.set_num_threads(threads)
    peers = {"torch": plain_landscape, "torch-hoisted": hoisted_landscape}
    differences = {name: disagreement(landscape_of) for name, landscape_of in peers.items()}
    if not all(d <= TOLERANCE for pair in differences.values() for d in pair.values()):
        sys.exit(f"The sides do not compute the same: relative differences {differences}.")
    sides = {"irem": irem_side(), **{name: torch_side(f) for name, f in peers.items()}}
    times, losses = measure(sides, iterations, rounds)
    medians = {name: statistics.median(t) for name, t in times.items()}
    return {
        "benchmark": "torch_peer",
        "versions": {"irem": irem.__version__, "jax": jax.__version__, "torch": torch.__version__},
        "threads": threads,
        "iterations_per_block": iterations,
        "relative_difference": differences,
        "ms_per_iteration": times,
        "median_ms_per_iteration": medians,
        "last_loss": losses,
        "ratio": {name: medians[name] / medians["irem"] for name in peers},
        "ratio_of_fastest": {name: min(times[name]) / min(times["irem"]) for name in peers},
    }


def table(result):
    """The result as text."""
    versions, differences = result["versions"], result["relative_difference"]
    lines = [
        f"irem {versions['irem']} (jax {versions['jax']}), torch {versions['torch']}; "
        f"{result['threads']} threads each.",
        *(
            f"irem and {name}: relative difference {pair['loss']:.0e} of the loss, "
            f"{pair['gradient']:.0e} of its gradient (allowed: {TOLERANCE:.0e})."
            for name, pair in differences.items()
        ),
        f"{'ms an iteration':<16}{'median':>10}{'fastest':>10}{'slowest':>10}{'loss':>10}",
        *(
            f"{name:<16}{result['median_ms_per_iteration'][name]:>10.2f}{min(times):>10.2f}"
            f"{max(times):>10.2f}{result['last_loss'][name]:>10.4f}"
            for name, times in result["ms_per_iteration"].items()
        ),
        *(
            f"irem runs {ratio:.2f} times as fast as {name} "
            f"({result['ratio_of_fastest'][name]:.2f} by the fastest blocks)."
            for name, ratio in result["ratio"].items()
        ),
    ]
    return "\n".join(lines)


def main():
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=20, help="in one block (20)")
    parser.add_argument("--rounds", type=int, default=6, help="blocks of each side (6)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if min(options.iterations, options.rounds) < 1:
        parser.error("--iterations and --rounds must be at least 1")
    if torch is None:
        print("PyTorch is not installed; run `pip install -e '.[bench]'`.", file=sys.stderr)
        return 2
    jax.config.update("jax_platforms", "cpu")
    result = compare(options.iterations, options.rounds)
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
