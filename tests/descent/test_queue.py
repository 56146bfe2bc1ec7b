"""A queue of problems over a few slots: each is answered as if it were alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Backtracking, FixedStep, Graph, Reason
from irem.descent.batches import minimise_all
from irem.descent.rules import make_descent

MLP = irem.energy.MLP((3,), (2,), width=16, depth=2, key=jax.random.key(0))
# The quadratic is as narrow as `x` says, so that some problems take a few steps and others
# hundreds. Above 5 there is no energy.
ENERGY = irem.energy.from_function(
    lambda x, y: 0.1 * MLP(x["x"], y) + jnp.sum(jnp.where(y < 5, x["width"] * y**2, jnp.nan))
)
STEP = FixedStep(0.5)
# Not a multiple, so that the last slots stay empty.
COUNT, SLOTS = 23, 6


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(*arguments, **options))


def queued(energy, x, y0, slots, on_done=lambda _: None, **options):
    """`solve` over this many slots."""
    descent = make_descent(energy, **options)
    x, _ = energy.format.as_batch(x)
    return jax.device_get(minimise_all(descent, x, jnp.asarray(y0), slots, on_done))


def mixed(count=COUNT, seed=0):
    """Easy and hard problems in a random order, and first guesses."""
    rng = np.random.default_rng(seed)
    narrow = rng.permutation(np.geomspace(0.02, 1, count))
    width = np.stack([narrow, np.ones(count)], axis=1)
    x = {"x": rng.normal(size=(count, 3)), "width": width}
    x = jax.tree.map(lambda leaf: leaf.astype(np.float32), x)
    return x, rng.uniform(-1, 1, (count, 2)).astype(np.float32)


def rows_of(tree, rows):
    return jax.tree.map(lambda leaf: leaf[rows], tree)


def in_plain_batches(energy, x, y0, slots, **options):
    """Descend `slots` problems at a time to the end of the slowest; the last batch is filled up."""
    count = len(y0)
    parts = []
    for first in range(0, count, slots):
        rows = np.minimum(np.arange(first, first + slots), count - 1)
        parts.append(solve(energy, *rows_of((x, y0), rows), **options))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *parts)


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(
    ("step", "slots"),
    [(STEP, SLOTS), (Backtracking(), SLOTS), (STEP, 1)],
    ids=["fixed", "backtracking", "one slot"],
)
def test_the_queue_changes_no_digit(step, slots):
    x, y0 = mixed()
    expected = in_plain_batches(ENERGY, x, y0, slots, step=step)
    assert np.ptp(expected.steps) > 30
    assert_same(queued(ENERGY, x, y0, slots, step=step), expected)


def test_the_order_of_the_problems_is_the_order_of_the_answers():
    x, y0 = mixed()
    expected = queued(ENERGY, x, y0, SLOTS, step=STEP)
    for order in (np.argsort(expected.steps), np.random.default_rng(1).permutation(COUNT)):
        solution = queued(ENERGY, *rows_of((x, y0), order), SLOTS, step=STEP)
        assert_same(solution, rows_of(expected, order))


@pytest.mark.parametrize("slots", [1, SLOTS, COUNT + 1])
def test_every_problem_is_counted_once(slots):
    x, y0 = mixed()
    done = []
    queued(ENERGY, x, y0, slots, done.append, step=STEP)
    assert sum(done) == COUNT
    assert min(done) >= 0
    assert len(done) > 1 or slots >= COUNT


def test_problems_are_reported_before_the_slowest_is_done():
    x, y0 = mixed()
    x["width"][0, 0] = 0.001
    done = []
    solution = queued(ENERGY, x, y0, SLOTS, done.append, step=STEP, max_steps=5000)
    assert solution.steps[0] == solution.steps.max()
    # The slowest is the last one out, and no slot waited for it.
    assert sum(done[:-1]) >= COUNT - SLOTS


def test_a_first_guess_without_an_energy_frees_its_slot():
    x, y0 = mixed()
    expected = queued(ENERGY, x, y0, SLOTS, step=STEP)
    # More in a row than there are slots, and the first and the last one.
    bad = np.isin(np.arange(COUNT), [0, *range(4, 5 + SLOTS), COUNT - 1])
    y0[bad] = 6.0
    done = []
    solution = queued(ENERGY, x, y0, SLOTS, done.append, step=STEP)
    np.testing.assert_array_equal(solution.reason == Reason.NOT_FINITE, bad)
    np.testing.assert_array_equal(solution.steps[bad], 0)
    np.testing.assert_array_equal(solution.y[bad], 6.0)
    assert_same(rows_of(solution, ~bad), rows_of(expected, ~bad))
    assert sum(done) == COUNT


def test_where_no_first_guess_has_an_energy_there_is_no_descent():
    x, y0 = mixed()
    solution = queued(ENERGY, x, np.full_like(y0, 6.0), SLOTS, step=STEP)
    np.testing.assert_array_equal(solution.reason, Reason.NOT_FINITE)
    np.testing.assert_array_equal(solution.steps, 0)
    np.testing.assert_array_equal(solution.y, 6.0)


def test_a_budget_of_one_step_is_one_step_for_everybody():
    x, y0 = mixed()
    solution = queued(ENERGY, x, y0, SLOTS, step=STEP, max_steps=1)
    np.testing.assert_array_equal(solution.steps, 1)
    np.testing.assert_array_equal(solution.reason, Reason.BUDGET)
    gradients = jax.vmap(jax.grad(ENERGY, argnums=1))(x, y0)
    np.testing.assert_allclose(solution.y, y0 - 0.5 * gradients, rtol=1e-6, atol=1e-6)


def test_graphs_are_queued_with_their_masks_and_other_graphs_compile_nothing():
    traces = []

    def pairs(x, y):
        traces.append(None)
        return jnp.sum(jnp.where(x.pairs, jnp.sum(x.nodes) * (y - x.edges) ** 2, 0))

    energy = irem.energy.from_function(pairs)
    rng = np.random.default_rng(0)

    def descend(max_steps):
        sizes = rng.integers(1, 5, 10)
        nodes = np.arange(4) < sizes[:, None]
        edges, y0 = rng.uniform(-1, 1, (2, 10, 4, 4)).astype(np.float32)
        x = Graph(jnp.asarray(edges), jnp.asarray(nodes))
        solution = queued(energy, x, y0, 4, step=FixedStep(0.05), max_steps=max_steps)
        # A step shrinks the distance of every real pair by one factor, and leaves padding alone.
        shrunk = (1 - 0.1 * sizes[:, None, None]) ** max_steps * (y0 - edges) + edges
        expected = np.where(nodes[:, :, None] & nodes[:, None], shrunk, y0)
        np.testing.assert_allclose(solution.y, expected, rtol=1e-5, atol=1e-6)

    descend(max_steps=3)
    compiled = len(traces)
    assert compiled > 0
    descend(max_steps=3)
    descend(max_steps=5)
    assert len(traces) == compiled
