"""Methods without an energy, through the same `solve`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import FixedStep, GradientSmall
from irem.descent import Baseline, Trajectory
from irem.descent.baselines import as_baseline

KEY = jax.random.key(1)


class Halver(eqx.Module):
    """Halves a random start as often as the first entry of a problem says."""

    format: irem.formats.AbstractFormat = irem.formats.Vectors((2,), (3,))

    def answer(self, x, *, key):
        steps = x[0].astype(jnp.int32)
        return self._start(key) * 0.5**steps, steps

    def predict(self, x, num_steps, *, key):
        del x
        powers = 0.5 ** jnp.arange(num_steps + 1)
        return Trajectory(powers[:, None] * self._start(key))

    def _start(self, key):
        return jax.random.normal(key, (3,))


HALVER = Halver()
X = np.stack([np.arange(5) % 3 + 1, np.ones(5)], axis=1).astype(np.float32)


def starts(problems, key=KEY):
    keys = jax.random.split(key, problems)
    return np.stack([jax.random.normal(k, (3,)) for k in keys])


def test_the_methods_are_baselines_and_the_energy_model_is_not():
    assert isinstance(HALVER, Baseline)
    task = irem.tasks.Addition(size=3)
    method = irem.Feedforward.for_task(task, network={"width": 8, "depth": 1}, key=KEY)
    assert isinstance(method, Baseline)
    energy = irem.energy.MLP((2, 3), (3,), width=8, key=KEY)
    assert not isinstance(irem.IREM(energy), Baseline)


def test_what_is_no_model_is_refused():
    assert as_baseline(HALVER) is HALVER
    with pytest.raises(irem.InputError, match=r"takes an energy or a trained model, got a list;"):
        as_baseline([HALVER])


def test_every_problem_has_its_own_key():
    done = []
    solution = irem.solve(HALVER, X, key=KEY, on_batch=done.append)
    np.testing.assert_array_equal(solution.steps, X[:, 0])
    np.testing.assert_allclose(solution.y, starts(5) * 0.5 ** X[:, :1], rtol=1e-6)
    assert done == [5]
    given = irem.solve(HALVER, X[2:], key=jax.random.split(KEY, 5)[2:])
    np.testing.assert_array_equal(given.y, solution.y[2:])


def test_there_is_nothing_about_a_descent():
    solution = irem.solve(HALVER, X, key=KEY)
    for name in ("energy", "converged", "reason", "first_energy", "gradient_norm"):
        assert getattr(solution, name) is None
    assert solution.trajectory is solution.spread is None
    assert set(solution.reasons().values()) == {0}
    assert set(solution.reasons()) == {reason.label for reason in irem.Reason}


def test_the_trajectory_is_that_of_predict():
    solution = irem.solve(HALVER, X, key=KEY, max_steps=4, trajectory=True)
    assert solution.trajectory.energies is None
    powers = 0.5 ** np.arange(5)
    expected = starts(5)[:, None] * powers[:, None]
    np.testing.assert_allclose(solution.trajectory.ys, expected, rtol=1e-6)
    rows = np.arange(5)
    np.testing.assert_allclose(solution.trajectory.ys[rows, solution.steps], solution.y, rtol=1e-6)


def test_one_problem_alone_has_one_answer():
    alone = irem.solve(HALVER, X[0], key=KEY, max_steps=2, trajectory=True)
    batch = irem.solve(HALVER, X[:1], key=KEY, max_steps=2, trajectory=True)
    assert alone.y.shape == (3,)
    assert alone.trajectory.ys.shape == (3, 3)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[0]), alone, batch)


def test_more_problems_than_fit_at_once_are_all_answered():
    x = np.tile(X, (60, 1))
    solution = irem.solve(HALVER, x, key=KEY)
    drawn = jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(KEY, 300))
    np.testing.assert_allclose(solution.y, drawn * 0.5 ** x[:, :1], rtol=1e-6)


def test_pages_together_are_the_answers_of_all():
    pages = list(irem.solve_pages(HALVER, X, key=KEY, page_size=2))
    assert [len(page.steps) for page in pages] == [2, 2, 1]
    joined = np.concatenate([page.y for page in pages])
    np.testing.assert_allclose(joined, irem.solve(HALVER, X, key=KEY).y, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"step": FixedStep(0.1)}, "`step` is"),
        ({"step": "fixed", "halt": GradientSmall()}, "`step` and `halt` are"),
        ({"y0": np.zeros((5, 3)), "step": 1.0, "starts": 2}, "`y0`, `step` and `starts` are"),
        ({"max_steps": 7}, "`max_steps` is"),
    ],
)
def test_options_of_descents_are_refused(options, names):
    with pytest.raises(
        irem.InputError, match=f"{names} for descents on an energy; a baseline"
    ) as e:
        irem.solve(HALVER, X, key=KEY, **options)
    assert str(e.value).endswith("has its own steps.")


def test_a_key_is_needed():
    with pytest.raises(irem.InputError, match=r"pass `key=jax.random.key\(seed\)`"):
        irem.solve(HALVER, X)


def test_problems_of_another_shape_are_refused():
    with pytest.raises(irem.InputError, match=r"`x` has shape \(2, 3, 5\); expected one"):
        irem.solve(HALVER, np.ones((2, 3, 5)), key=KEY)


def test_an_answer_that_is_not_finite_is_no_answer():
    solution = irem.solve(HALVER, X, key=KEY)
    assert solution.answered.all()
    assert solution.answered.shape == solution.steps.shape
    broken = eqx.tree_at(lambda s: s.y, solution, solution.y.at[1, 2].set(jnp.nan))
    np.testing.assert_array_equal(broken.answered, np.arange(5) != 1)
    # Of a descent the energy decides.
    wall = irem.energy.from_function(lambda x, y: jnp.sum(jnp.where(y < 5, x * y**2, jnp.nan)))
    descents = irem.solve(wall, np.ones(2), np.array([[1.0, 1.0], [1.0, 6.0]]))
    np.testing.assert_array_equal(descents.answered, [True, False])
    assert np.isfinite(descents.y).all()
