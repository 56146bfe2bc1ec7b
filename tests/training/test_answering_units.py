"""Which problems are tried again, how, and which of two answers is kept."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.descent import RETRIES, Reason, Solution
from irem.formats import Vectors
from irem.training import answering, solve_checked
from irem.verdicts import Verdict

KEY = jax.random.key(0)
# As much of a trained energy as `solve`, which is replaced below, is told of.
MODEL = types.SimpleNamespace(
    format=Vectors((1,), (1,)),
    step_size=0.5,
    default_max_steps=7,
    **dict.fromkeys(("landscape", "guess", "begin", "read"), print),
)
FAILED, FINE = int(Verdict.FAILED), int(Verdict.VERIFIED)


def solution(y, residual, steps=1, verdict=None, energy=None, **fields):
    """A solution whose answers fail where their residual is above 0.1."""
    residual = np.asarray(residual, np.float32)
    verdict = np.where(residual > 0.1, FAILED, FINE) if verdict is None else np.asarray(verdict)
    return Solution(
        y=jnp.asarray(y, jnp.float32)[:, None],
        energy=jnp.asarray(residual if energy is None else energy, jnp.float32),
        steps=jnp.asarray(np.broadcast_to(steps, residual.shape)),
        reason=jnp.full(residual.shape, int(Reason.GRADIENT_SMALL)),
        verdict=jnp.asarray(verdict),
        residual=jnp.asarray(residual),
        **fields,
    )


class Scripted:
    """Stands for `solve`: the answers of every call, and what it was called with."""

    def __init__(self, monkeypatch, *answers):
        self.answers, self.calls = list(answers), []
        monkeypatch.setattr(answering, "solve", self)

    def __call__(self, model, x, **options):
        assert model is MODEL
        self.calls.append((np.asarray(x)[:, 0].tolist(), options))
        return self.answers[len(self.calls) - 1]


X = np.arange(4, dtype=np.float32)[:, None]


def test_failed_answers_are_sought_longer_and_from_elsewhere(monkeypatch):
    solve = Scripted(
        monkeypatch,
        solution([1, 2, 3, 4], [0.0, 0.5, 0.0, 0.5], spread=jnp.arange(4.0)),
        solution([20, 40], [0.7, 0.0], steps=[10, 20]),
        solution([200], [0.3], steps=[100]),
        solution([2000], [0.4], steps=[1000]),
    )
    found = solve_checked(MODEL, X, key=KEY, starts=5)
    np.testing.assert_array_equal(found.y[:, 0], [1, 200, 3, 40])
    np.testing.assert_allclose(found.residual, [0, 0.3, 0, 0])
    np.testing.assert_array_equal(found.steps, [1, 1 + 10 + 100 + 1000, 1, 1 + 20])
    np.testing.assert_array_equal(found.spread, np.arange(4))
    assert RETRIES == 3
    assert [x for x, _ in solve.calls] == [[0, 1, 2, 3], [1, 3], [1], [1]]
    keys = jax.random.split(KEY, 4)
    first, *others = [options for _, options in solve.calls]
    assert first["starts"] == 5
    assert (first["key"] == keys).all()
    for attempt, (chosen, options) in enumerate(zip(([1, 3], [1], [1]), others, strict=True), 1):
        expected = [jax.random.fold_in(keys[i], attempt) for i in chosen]
        assert (options["key"] == jnp.stack(expected)).all()
        assert (options["step"], options["max_steps"]) == ("lbfgs", 4 * 7)


@pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (2, 3)])
def test_answers_are_sought_again_as_often_as_asked(retries, calls, monkeypatch):
    solve = Scripted(monkeypatch, *[solution([1, 2, 3, 4], [0.5] * 4)] * 4)
    found = solve_checked(MODEL, X, key=KEY, retries=retries)
    assert len(solve.calls) == calls
    assert solve.calls[0][1]["starts"] == 1
    np.testing.assert_array_equal(found.steps, [calls] * 4)


def test_a_model_of_fixed_steps_keeps_its_rule_and_says_how_often(monkeypatch):
    monkeypatch.setattr(MODEL, "default_step", "fixed", raising=False)
    monkeypatch.setattr(MODEL, "default_retries", 5, raising=False)
    solve = Scripted(monkeypatch, *[solution([1, 2, 3, 4], [0.5] * 4)] * 6)
    solve_checked(MODEL, X, key=KEY)
    assert len(solve.calls) == 6
    assert all(options.keys() == {"key"} for _, options in solve.calls[1:])


def test_one_problem_alone_is_one_answer(monkeypatch):
    solve = Scripted(monkeypatch, solution([3], [0.0]))
    found = solve_checked(MODEL, X[2], key=KEY)
    assert (float(found.y[0]), found.steps.shape) == (3, ())
    assert solve.calls[0][0] == [2]


def test_only_descents_that_failed_are_tried_again():
    verdict = [FAILED, FAILED, FINE, int(Verdict.UNCHECKED), FAILED]
    made = solution([0] * 5, [1.0] * 5, steps=[0, 1, 2, 3, 4], verdict=verdict)
    assert answering._failed(made).tolist() == [1, 4]
    unchecked = Solution(y=jnp.zeros((2, 1)), energy=None, steps=jnp.ones(2, int))
    assert answering._failed(unchecked).size == 0


@pytest.mark.parametrize(
    ("chosen", "padded"),
    [
        ([3], [3]),
        ([3, 1], [3, 1]),
        ([3, 1, 2], [3, 1, 2, 3]),
        ([4, 3, 2, 1, 0], [4, 3, 2, 1, 0, 4, 3, 2]),
    ],
)
def test_problems_are_repeated_up_to_a_power_of_two(chosen, padded):
    found = answering._padded(np.arange(5) + 10, np.array(chosen))
    assert found.tolist() == [10 + i for i in padded]


def test_an_answer_is_replaced_by_one_with_a_smaller_residual_alone():
    before = solution([1, 2, 3, 4, 5], [0.0, 0.5, 0.5, 0.5, 0.5])
    # Better, as good, and better but without an answer; the last is there by padding.
    again = solution([20, 30, 40, 50], [0.4, 0.5, 0.4, 0.1], energy=[0, 0, np.nan, 0])
    found = answering._better(before, again, np.array([1, 2, 3]))
    np.testing.assert_array_equal(found.y[:, 0], [1, 20, 3, 4, 5])
    np.testing.assert_allclose(found.residual, [0.0, 0.4, 0.5, 0.5, 0.5])
    np.testing.assert_array_equal(found.steps, [1, 2, 2, 2, 1])
