"""How many problems are descended at the same time, with the descents themselves left out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import RUNNING, Solution, batches
from irem.descent.queue import minimise_queued
from irem.descent.rules import make_descent

DESCENT = make_descent(
    irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2)), 0.125, max_steps=60
)


@pytest.mark.parametrize(
    ("backend", "shape", "slots"),
    [
        ("cpu", (3, 4, 16), 1024),
        ("cpu", (3, 4, 32), 512),
        ("cpu", (80_000, 8), 8192),
        ("cpu", (3, 2**14), 8),  # never fewer
        ("gpu", (80_000, 8), 10_000),  # an eighth of the problems
        ("gpu", (3, 8), 1024),  # so many keep the device busy
        ("gpu", (3, 4, 512), 512),  # as many as its memory holds
        ("other", (3, 4, 16), 1024),
    ],
)
def test_the_slots_are_as_many_as_suit_the_device(monkeypatch, backend, shape, slots):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert batches.slots_for(jnp.zeros(shape)) == slots


@pytest.mark.parametrize(
    ("problems", "largest", "size"), [(10, 4, 4), (9, 4, 3), (5, 5, 5), (6, 5, 3), (3, 9, 3)]
)
def test_parts_are_as_equal_as_possible(problems, largest, size):
    assert batches.even_size(problems, largest) == size


def solved(problems):
    return Solution(jnp.zeros((problems, 1)), None, jnp.zeros(problems, jnp.int32))


@pytest.fixture
def calls(monkeypatch):
    """What was called by `minimise_all`, in order."""
    made = []

    def note(name):
        def stand_in(descent, x, y0, *_):
            assert name != "check" or not isinstance(y0, jax.core.Tracer)
            made.append(name)
            return solved(len(y0))

        return stand_in

    monkeypatch.setattr(batches, "check_descents", note("check"))
    monkeypatch.setattr(batches, "minimise", note("all at once"))
    monkeypatch.setattr(batches, "minimise_queued", note("queue"))
    monkeypatch.setattr(jax, "block_until_ready", lambda _: made.append("ready"))
    return made


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        (3, ["check", "queue"]),
        (4, ["check", "all at once", "ready", 4]),
        (None, ["check", "all at once", "ready", 4]),
    ],
)
def test_problems_that_have_no_slot_wait_in_a_queue(calls, slots, expected):
    zeros = jnp.zeros((4, 2))
    batches.minimise_all(DESCENT, zeros, zeros, slots, calls.append)
    assert calls == expected


def test_without_a_number_of_slots_the_device_decides(calls):
    zeros = jnp.zeros((9, 2**14))  # the CPU has eight slots for them
    batches.minimise_all(DESCENT, zeros, zeros)
    assert calls == ["check", "queue"]


def test_traced_problems_are_descended_all_at_once(calls):
    zeros = jnp.zeros((4, 2))
    jax.eval_shape(lambda x, y0: batches.minimise_all(DESCENT, x, y0, 2).y, zeros, zeros)
    assert calls == ["all at once"]


@pytest.mark.parametrize(
    ("length", "sizes"),
    [
        (63, [16]),
        (64, [8, 8]),  # 65 points
        (127, [8, 8]),
        (128, [4, 4, 4, 4]),
        (10_000, [1] * 16),
    ],
)
def test_longer_trajectories_make_smaller_batches(monkeypatch, length, sizes):
    monkeypatch.setattr(batches, "minimise_recorded", lambda *given: solved(len(given[2])))
    zeros, done = jnp.zeros((16, 2**12)), []
    monkeypatch.setattr("irem.memory.available", lambda: 10**12)
    parts = batches.minimise_all_recorded(DESCENT, zeros, zeros, length, on_done=done.append)
    assert done == sizes
    assert parts.steps.shape == (16,)


def test_a_trajectory_that_no_memory_holds_is_refused_before_the_descent(monkeypatch):
    monkeypatch.setattr(batches, "minimise_recorded", lambda *_: pytest.fail("too late"))
    monkeypatch.setattr("irem.memory.available", lambda: 1000)
    with pytest.raises(irem.InputError, match="of memory"):
        batches.minimise_all_recorded(DESCENT, jnp.zeros((4, 2)), jnp.zeros((4, 2)), 60)


def test_slots_are_filled_again_once_a_share_of_them_is_free():
    # The wider a quadratic, the fewer steps; the first of every three takes the most.
    x = jnp.array([0.1, 1.0, 1.5] * 3)
    energy = irem.energy.from_function(lambda x, y: 0.5 * x * jnp.sum(y**2))
    descent = make_descent(energy, 0.5, max_steps=200)

    def reported(free_share):
        done = []
        solution = minimise_queued(descent, x, jnp.ones((9, 1)), 3, done.append, free_share)
        assert (np.asarray(solution.reason) != RUNNING).all()
        return done, np.asarray(solution.steps)

    together, steps = reported(1.0)
    assert together == [3, 3, 3]
    one_by_one, same = reported(0.1)
    np.testing.assert_array_equal(same, steps)
    assert one_by_one[:3] == [1, 1, 1]
    assert sum(one_by_one) == 9
