"""When a descent ends, and that each problem ends by itself."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import EnergyUnchanged, FixedStep, Reason
from irem.descent import RUNNING, Move, Point
from irem.descent.batches import minimise_all
from irem.descent.rules import make_descent, until_answer_holds

# `x` holds curvature, scale and offset of a convex quadratic.
QUADRATIC = irem.energy.from_function(
    lambda x, y: x["scale"] * jnp.sum(x["curvature"] * y**2) + x["offset"]
)


def quadratics(curvature, scale=1.0, offset=0.0):
    curvature = np.asarray(curvature, np.float32)
    return {
        "curvature": curvature,
        "scale": np.full(len(curvature), scale, np.float32),
        "offset": np.broadcast_to(np.float32(offset), len(curvature)),
    }


EASY_AND_HARD = np.array([[0.5, 0.4], [0.3, 0.25], [0.45, 0.02], [0.01, 0.5], [0.003, 0.003]])
Y0 = np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(np.float32)


def descend(x, y0=Y0, step=1.0, **options):
    """The solution as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(QUADRATIC, x, y0, step=FixedStep(step), **options))


def queued(x, slots, max_steps):
    """The solution of `descend`, over this many slots."""
    descent = make_descent(QUADRATIC, FixedStep(1.0), max_steps=max_steps)
    x, _ = QUADRATIC.format.as_batch(x)
    return jax.device_get(minimise_all(descent, x, jnp.asarray(Y0), slots))


def halted_at(energies, rule, promised=0.0, share=1.0):
    """The step after which `rule` stops a descent through these energies, or None."""
    points = [Point(jnp.zeros(1), jnp.float32(energy), jnp.zeros(1)) for energy in energies]
    memory = rule.init(points[0])
    for t, (before, after) in enumerate(itertools.pairwise(points), start=1):
        move = Move(after, jnp.array(True), jnp.float32(promised), jnp.float32(share))
        memory, verdict = rule(memory, before, after, move)
        if verdict != RUNNING:
            return t
    return None


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_patience_counts_unchanged_steps_in_a_row(patience):
    rule = EnergyUnchanged(patience=patience, rtol=0.01)
    # Unchanged: one step, then two in a row, then for good. Each move of 1 is a hundredth of 100.
    energies = [100, 50, 50, 30, 30, 30, 10, 10, 10, 10]
    assert halted_at(energies, rule) == {1: 2, 2: 5, 3: 9}[patience]


def test_a_step_is_unchanged_up_to_a_share_of_the_descent_so_far():
    rule = EnergyUnchanged(patience=1, rtol=0.25)
    # From 96 to 64 to 32 to 16: the last step is 16 of 80, the one before 32 of 64.
    assert halted_at([96, 64, 32, 16], rule) == 3
    # At first any step is the whole descent, so none is unchanged.
    assert halted_at([96, 95.9], rule) is None


def test_rounding_alone_is_no_change():
    rule = EnergyUnchanged(patience=1, rtol=1e-30)
    one = np.float32(1)
    assert halted_at([1, one + 4 * np.finfo(np.float32).eps], rule) == 1
    assert halted_at([1, one + 16 * np.finfo(np.float32).eps], rule) is None


def test_a_rise_counts_like_a_fall():
    rule = EnergyUnchanged(patience=1, rtol=0.25)
    assert halted_at([64, 0, 8], rule) == 2
    assert halted_at([64, 0, 32], rule) is None


def test_a_slope_that_promises_more_is_a_change():
    rule = EnergyUnchanged(patience=1, rtol=0.25)
    assert halted_at([64, 0, 0], rule, promised=17.0) is None
    assert halted_at([64, 0, 0], rule, promised=15.0) == 2


def test_a_part_of_a_step_is_held_to_a_part_of_the_change():
    rule = EnergyUnchanged(patience=1, rtol=0.25)
    assert halted_at([64, 0, 8], rule, share=0.6) == 2
    assert halted_at([64, 0, 8], rule, share=0.5) is None


def test_a_step_across_a_valley_is_no_minimum():
    # Twice the inverse curvature jumps between two points of the same energy for ever.
    solution = descend(quadratics([[0.5, 0.5]]), Y0[:1], step=2.0, max_steps=40)
    np.testing.assert_allclose(np.abs(solution.y), np.abs(Y0[:1]), rtol=1e-6)
    assert solution.reason[0] == Reason.BUDGET
    assert not solution.converged[0]


@pytest.mark.parametrize(("setting", "value"), [("patience", 0), ("rtol", 0.0), ("rtol", np.nan)])
def test_a_rule_that_means_nothing_is_refused(setting, value):
    with pytest.raises(ValueError, match=rf"`{setting}` must be greater than 0, got {value}"):
        EnergyUnchanged(**{setting: value})


def test_more_patience_takes_as_many_steps_more():
    # Once unchanged, a convex quadratic remains so.
    one, four = (
        descend(quadratics(EASY_AND_HARD), halt=EnergyUnchanged(patience=p), max_steps=900).steps
        for p in (1, 4)
    )
    np.testing.assert_array_equal(four, one + 3)


def test_scale_and_offset_of_the_energy_do_not_matter():
    options = {"halt": EnergyUnchanged(rtol=1e-4), "max_steps": 900}
    plain = descend(quadratics(EASY_AND_HARD), **options)
    heights = np.sum(EASY_AND_HARD * Y0**2, axis=1)
    for scale, offset in ((64.0, 0.0), (2.0**-10, 0.0), (1.0, 2.0), (64.0, -3.0)):
        x = quadratics(EASY_AND_HARD, scale, offset * scale * heights)
        other = descend(x, step=1.0 / scale, **options)
        # Powers of two change no digit. An offset of a few heights takes digits from the energy and
        # adds a few hundredths to the tolerance: a step, or a hundredth of them all.
        slack = 0 if offset == 0 else np.maximum(1, 0.01 * plain.steps)
        assert (np.abs(other.steps - plain.steps) <= slack).all()
        assert np.asarray(other.converged).all()
        if offset == 0:
            np.testing.assert_allclose(other.y, plain.y, rtol=0, atol=1e-30)


def test_each_problem_takes_the_steps_it_takes_alone():
    together = descend(quadratics(EASY_AND_HARD), max_steps=900)
    assert len(set(np.asarray(together.steps).tolist())) == 5
    for i in range(5):
        alone = descend(quadratics(EASY_AND_HARD[i : i + 1]), Y0[i : i + 1], max_steps=900)
        assert alone.steps[0] == together.steps[i]
        np.testing.assert_allclose(alone.y[0], together.y[i], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 100])
def test_answers_do_not_depend_on_the_number_of_slots(slots):
    x = quadratics(EASY_AND_HARD)
    expected = descend(x, max_steps=900)
    solution = queued(x, slots, max_steps=900)
    np.testing.assert_array_equal(solution.steps, expected.steps)
    np.testing.assert_array_equal(solution.reason, expected.reason)
    np.testing.assert_allclose(solution.y, expected.y, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(solution.energy, expected.energy, rtol=1e-6, atol=1e-7)


def test_the_budget_ends_what_is_still_moving():
    solution = descend(quadratics(EASY_AND_HARD), max_steps=12)
    expected = descend(quadratics(EASY_AND_HARD), max_steps=900).steps
    spent = np.asarray(expected) > 12
    assert 0 < spent.sum() < 5
    np.testing.assert_array_equal(solution.steps, np.minimum(expected, 12))
    np.testing.assert_array_equal(
        solution.reason, np.where(spent, Reason.BUDGET, Reason.ENERGY_UNCHANGED)
    )
    np.testing.assert_array_equal(solution.converged, ~spent)
    assert solution.reasons() == {
        "energy-unchanged": 5 - spent.sum(),
        "budget": spent.sum(),
        "not-finite": 0,
        "gradient-small": 0,
        "flat": 0,
        "stalled": 0,
        "holds": 0,
        "refused": 0,
    }


def test_converging_with_the_last_step_is_converging():
    needed = int(descend(quadratics(EASY_AND_HARD), max_steps=900).steps[0])
    solution = descend(quadratics(EASY_AND_HARD), max_steps=needed)
    assert solution.steps[0] == needed
    assert solution.reason[0] == Reason.ENERGY_UNCHANGED


def test_a_descent_that_starts_at_the_minimum_stays_there():
    solution = descend(quadratics(EASY_AND_HARD), np.zeros((5, 2)), max_steps=900)
    np.testing.assert_array_equal(solution.y, np.zeros((5, 2)))
    np.testing.assert_array_equal(solution.steps, np.full(5, EnergyUnchanged().patience))


@dataclasses.dataclass(frozen=True)
class Signs:
    """A task whose answers say which entries of a problem are positive."""

    domain: irem.Domain = dataclasses.field(default_factory=irem.Domain)

    def holds(self, x, y):
        return jnp.all((y > 0.5) == (x > 0))

    def check(self, x, y):
        wrong = np.any((np.asarray(y) > 0.5) != (np.asarray(x) > 0), axis=1)
        verdict = np.where(wrong, irem.Verdict.FAILED, irem.Verdict.VERIFIED).astype(np.int32)
        return irem.Check(verdict, wrong.astype(float))


def signs(**fields):
    """An energy whose minimum answers `Signs`, and which knows its task or another."""
    energy = irem.energy.from_function(lambda x, y: 0.05 * jnp.sum((y - (x > 0)) ** 2))
    model = irem.IREM(energy, step_size=1.0)
    return dataclasses.replace(model, **fields)


SOME_SIGNS = np.array([[1.0, -2.0, 3.0], [-1.0, -1.0, 4.0], [2.0, 2.0, -1.0]], np.float32)
FAR = np.array([[0.2, -0.3, 0.1], [0.0, 0.4, -0.9], [0.9, 0.8, 0.3]], np.float32)


def test_a_descent_ends_with_the_first_answer_that_holds():
    model, fixed = signs(task=Signs()), FixedStep(1.0)
    found = irem.solve(model, SOME_SIGNS, FAR, step=fixed)
    path = irem.solve(model, SOME_SIGNS, FAR, step=fixed, trajectory=True, max_steps=100)
    right = np.all((np.asarray(path.trajectory.ys) > 0.5) == (SOME_SIGNS > 0)[:, None], axis=2)
    assert found.reason.tolist() == [Reason.HOLDS] * 3
    # The first guess of the last problem holds; it is seen to after one step.
    assert found.steps.tolist() == np.maximum(right.argmax(axis=1), 1).tolist()
    assert np.asarray(found.converged).all()
    assert np.asarray(found.verified).all()


def test_problems_of_a_queue_end_with_answers_that_hold_as_well():
    descent = until_answer_holds(make_descent(signs(task=Signs()), FixedStep(1.0)))
    together = minimise_all(descent, jnp.asarray(SOME_SIGNS), jnp.asarray(FAR))
    queued = minimise_all(descent, jnp.asarray(SOME_SIGNS), jnp.asarray(FAR), slots=2)
    assert queued.steps.tolist() == together.steps.tolist()
    assert queued.reason.tolist() == [Reason.HOLDS] * 3


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (signs(), {}),
        (signs(task=Signs()), {"trajectory": True}),
        (signs(task=Signs()), {"halt": EnergyUnchanged()}),
    ],
    ids=["no task", "a trajectory", "another rule"],
)
def test_other_descents_go_on_to_their_minimum(model, options):
    found = irem.solve(model, SOME_SIGNS, FAR, step=FixedStep(1.0), **options)
    assert (np.asarray(found.reason) == Reason.ENERGY_UNCHANGED).all()
    np.testing.assert_allclose(found.y, SOME_SIGNS > 0, atol=1e-2)


def test_several_starts_are_compared_at_their_minima():
    guesses = jnp.stack([FAR, -FAR], axis=1)
    found = irem.solve(signs(task=Signs()), SOME_SIGNS, guesses, starts=2, step=FixedStep(1.0))
    assert Reason.HOLDS not in found.reason.tolist()
