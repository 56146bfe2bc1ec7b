"""A queue to which problems are added while others run: each is answered as if it were alone."""

import concurrent.futures

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent.algorithm2 import minimise
from irem.descent.open_queue import Entry, OpenQueue
from irem.descent.programs import Programs
from irem.descent.recording import minimise_recorded
from irem.descent.rules import make_descent

# The quadratic is as narrow as `x` says: some problems take a few steps and others hundreds.
ENERGY = irem.energy.from_function(
    lambda x, y: jnp.sum(x["width"] * (y - x["at"]) ** 2) + 0.01 * jnp.sum(y**4)
)
DESCENT = make_descent(ENERGY, irem.FixedStep(0.4), max_steps=2000)
COUNT = 12


def mixed(count=COUNT, seed=0):
    rng = np.random.default_rng(seed)
    width = np.stack([rng.permutation(np.geomspace(0.02, 1, count)), np.ones(count)], axis=1)
    x = {"width": width, "at": rng.normal(size=(count, 2))}
    x = jax.tree.map(lambda leaf: leaf.astype(np.float32), x)
    return x, rng.uniform(-1, 1, (count, 2)).astype(np.float32)


def row(tree, i):
    return jax.tree.map(lambda leaf: leaf[i], tree)


@pytest.fixture(scope="module")
def programs():
    x, y0 = mixed()
    made = Programs(DESCENT, row(x, 0), y0[0], sizes=(1, 4))
    for count in (1, 4):
        made.prepare(count)
    return made


def entries(x, y0, clients=("a",), budget=2000):
    return [
        Entry(row(x, i), y0[i], budget, clients[i % len(clients)], lambda _: None)
        for i in range(len(y0))
    ]


def run(queue, seconds=1.0, turns=10_000):
    """All that stops, by entry, and the order in which it did."""
    ended = []
    for _ in range(turns):
        ended += queue.turn(seconds)
        if not len(queue):
            break
    return {id(entry): solution for entry, solution in ended}, [entry for entry, _ in ended]


@pytest.mark.parametrize("seconds", [1.0, 1e-9], ids=["long turns", "one step a turn"])
def test_every_answer_is_that_of_the_closed_loop(programs, seconds):
    x, y0 = mixed()
    expected = jax.device_get(minimise(DESCENT, x, jnp.asarray(y0)))
    assert np.ptp(expected.steps) > 50
    queue, given = OpenQueue(programs), entries(x, y0)
    for entry in given:
        queue.add(entry)
    found, _ = run(queue, seconds)
    for i, entry in enumerate(given):
        solution = found[id(entry)]
        np.testing.assert_allclose(solution.y, expected.y[i], rtol=1e-5, atol=1e-6)
        assert solution.steps == expected.steps[i]
        assert solution.reason == expected.reason[i]


def test_problems_that_come_later_are_answered_too(programs):
    x, y0 = mixed(seed=1)
    expected = jax.device_get(minimise(DESCENT, x, jnp.asarray(y0)))
    queue, given = OpenQueue(programs), entries(x, y0)
    ended = []
    for entry in given:
        queue.add(entry)
        ended += queue.turn(1e-9)
    found = {id(e): s for e, s in ended}
    rest, _ = run(queue)
    found |= rest
    for i, entry in enumerate(given):
        np.testing.assert_allclose(found[id(entry)].y, expected.y[i], rtol=1e-5, atol=1e-6)
    assert len(queue) == 0


def test_an_easy_problem_does_not_wait_for_hard_ones_of_another_client(programs):
    hard = {"width": np.array([1e-4, 1], np.float32), "at": np.zeros(2, np.float32)}
    easy = {"width": np.ones(2, np.float32), "at": np.zeros(2, np.float32)}
    y0 = np.ones(2, np.float32)
    queue = OpenQueue(programs)
    slow = [Entry(hard, y0, 1_000_000, "slow", lambda _: None) for _ in range(9)]
    for entry in slow:
        queue.add(entry)
    queue.turn(1e-9)
    quick = Entry(easy, y0, 2000, "quick", lambda _: None)
    queue.add(quick)
    # All slots are taken: the next that is given up goes to who has none.
    for entry in slow:
        entry.held = 1.0
    _, order = run(queue, 0.001, turns=200)
    assert order[:1] == [quick]


def test_clients_take_turns(programs, monkeypatch):
    # Else descents of a slow machine give up their slots, and the order depends on its speed.
    monkeypatch.setattr("irem.descent.open_queue._QUANTUM", np.inf)
    x, y0 = mixed(8)
    same = jax.tree.map(lambda leaf: np.repeat(leaf[:1], 8, axis=0), x)
    given = [Entry(row(same, i), y0[0], 2000, "many", lambda _: None) for i in range(6)]
    few = [Entry(row(same, i), y0[0], 2000, "few", lambda _: None) for i in range(2)]
    queue = OpenQueue(programs)
    for entry in (*given, *few):
        queue.add(entry)
    _, order = run(queue)
    assert {id(e) for e in order[:4]} >= {id(e) for e in few}


def test_a_descent_that_gives_up_its_slot_goes_on_where_it_was(programs):
    x, y0 = mixed(1)
    expected = jax.device_get(minimise(DESCENT, x, jnp.asarray(y0)))
    queue, other = OpenQueue(programs), OpenQueue(programs)
    (entry,) = entries(x, y0)
    queue.add(entry)
    queue.turn(1e-9)
    (moved,) = queue.take_older(0.0)
    assert len(queue) == 0
    assert entry.state.steps > 0
    other.add(moved)
    found, _ = run(other)
    assert found[id(entry)].steps == expected.steps[0]
    np.testing.assert_allclose(found[id(entry)].y, expected.y[0], rtol=1e-6)


def test_a_cancelled_problem_frees_its_slot(programs):
    x, y0 = mixed(6)
    queue, given = OpenQueue(programs), entries(x, y0, budget=1_000_000)
    for entry in given:
        queue.add(entry)
    queue.turn(1e-9)
    for entry in given[:5]:
        entry.cancelled = True
    found, order = run(queue)
    assert order == given[5:]
    assert list(found) == [id(given[5])]


def test_every_descent_has_its_own_budget(programs):
    x, y0 = mixed(4)
    queue, given = OpenQueue(programs), entries(x, y0)
    for budget, entry in zip((1, 2, 3, 5), given, strict=True):
        entry.max_steps = budget
        queue.add(entry)
    found, _ = run(queue)
    assert [int(found[id(e)].steps) for e in given] == [1, 2, 3, 5]


def test_programs_are_compiled_in_the_background():
    x, y0 = mixed(1)
    fresh = Programs(DESCENT, row(x, 0), y0[0], sizes=(1,))
    told = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        queue = OpenQueue(fresh, pool, lambda: told.append(len(fresh.compiled)))
        (entry,) = entries(x, y0)
        queue.add(entry)
        assert queue.turn(1.0) == []
    assert told == [1]
    assert run(queue)[1] == [entry]


def test_energies_in_64_bits_are_descended_in_64_bits():
    energy = irem.energy.from_function(lambda x, y: jnp.sum(x * (y - 1) ** 2))
    descent = make_descent(energy)
    x, y0 = np.array([1.0, 1e6], np.float32), np.zeros(2, np.float32)
    made = Programs(descent, x, y0, sizes=(1,))
    assert made.double
    queue = OpenQueue(made)
    queue.add(Entry(x, y0, 1000, "a", lambda _: None))
    (found,) = run(queue)[0].values()
    expected = jax.device_get(minimise(descent, jnp.asarray(x)[None], jnp.asarray(y0)[None]))
    assert found.y.dtype == np.float32
    assert found.steps == expected.steps[0]
    np.testing.assert_allclose(found.y, [1, 1], atol=1e-6)


def test_recorded_programs_keep_every_point():
    x, y0 = mixed(1)
    made = Programs(DESCENT, row(x, 0), y0[0], sizes=(1,), recorded=True)
    made.prepare(1)
    slots = made.empty(1)
    slots.new[:], slots.budgets[:] = True, 2000
    slots.x["width"][:], slots.x["at"][:], slots.y0[:] = x["width"], x["at"], y0
    first = made.run(slots, 0, 3)
    slots.new[:] = False
    second = made.run(slots._replace(states=first.states), 0, 5)
    expected = jax.device_get(minimise_recorded(DESCENT, x, jnp.asarray(y0), 8)).trajectory
    ys = np.concatenate([first.ys[0, :3], second.ys[0, :5]])
    np.testing.assert_allclose(ys, expected.ys[0, 1:], rtol=1e-5)
    energies = np.concatenate([first.energies[0, :3], second.energies[0, :5]])
    np.testing.assert_allclose(energies, expected.energies[0, 1:], rtol=1e-5)
