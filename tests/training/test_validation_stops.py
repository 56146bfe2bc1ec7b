"""Training that stops by its error on problems that it never sees."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.tasks import Arrays
from irem.training import Adam, Checkpoints, ExponentialAverage, History, NoReplay, Validation
from irem.training.validation import is_best

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X @ np.array([[1.0], [2.0]])
HELD = irem.Problem(jnp.asarray(X[:50], float), jnp.asarray(Y[:50], float))
TASK = Arrays(X[50:], Y[50:], held_out=HELD)


def history(*errors):
    errors = np.array(errors, np.float32).reshape(len(errors), -1) if errors else np.zeros((0, 1))
    ends = 100 * np.arange(1, len(errors) + 1)
    zero = np.zeros_like(errors)
    return History(ends, zero, zero, zero.astype(int), zero, errors)


NAN = float("nan")


@pytest.mark.parametrize(
    ("errors", "over"),
    [
        ((), False),
        ((3.0,), False),
        ((3.0, 4.0, 5.0), True),
        ((3.0, NAN, 4.0), False),
        ((3.0, 4.0, 2.0), False),
        ((3.0, 2.0, 2.5, NAN, 2.1), True),
        (([3.0, 1.0], [4.0, 0.5], [5.0, 0.7]), False),
        (([3.0, 0.5], [4.0, 0.6], [5.0, 0.7]), True),
    ],
)
def test_training_is_over_after_two_measurements_that_are_no_better(errors, over):
    assert Validation(HELD, patience=2).is_over(history(*errors)) == over


def test_the_best_models_are_those_whose_last_error_is_the_smallest():
    assert is_best(history([3.0, 1.0], [2.0, 4.0])).tolist() == [True, False]
    assert is_best(history([3.0, 1.0], [NAN, 0.5])).tolist() == [False, True]


def test_errors_of_entries_are_divided_by_their_scales():
    model = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(2,))
    rows = irem.Problem(jnp.zeros((3, 2)), jnp.array([[2.0, 4.0]] * 3))
    assert Validation(rows).error(model) == pytest.approx(10, rel=1e-3)
    assert Validation(rows, scale=np.array([2.0, 4.0])).error(model) == pytest.approx(1, rel=1e-3)


def test_of_several_starts_the_nearest_answer_counts():
    """A landscape with minima at -1 and 1, and rows that know one of them."""
    double = irem.energy.from_function(lambda _, y: jnp.sum((y**2 - 1) ** 2), answer_shape=(1,))
    rows = irem.Problem(jnp.zeros((40, 1)), jnp.where(jnp.arange(40) % 2, 1.0, -1.0)[:, None])
    assert Validation(rows, starts=1).error(double) > 1
    assert Validation(rows, starts=12).error(double) < 0.1


def method():
    return irem.IREM.for_task(
        TASK,
        energy={"name": "equations", "width": 4, "depth": 1, "equations": 0, "products": 0},
        gradient={"name": "minimum"},
        key=KEY,
    )


def train(validation, **options):
    return irem.train(
        TASK,
        method(),
        iterations=validation,
        batch_size=8,
        optimiser=Adam(3e-2),
        replay=NoReplay(),
        average=ExponentialAverage(0.9),
        key=KEY,
        **options,
    )


def test_the_run_has_the_weights_with_the_least_error(tmp_path):
    validation = Validation(HELD, 1000, every=100, patience=3)
    run = train(validation, out=tmp_path / "run")
    errors = run.history.validation_error[:, 0]
    assert validation.error(run.model) == pytest.approx(np.nanmin(errors), rel=1e-4)
    loaded = irem.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.solve(X[:5]).y, run.solve(X[:5]).y)
    np.testing.assert_array_equal(loaded.history.validation_error, run.history.validation_error)
    assert loaded.settings["validation"] == {"every": 100, "patience": 3, "starts": 1}


def test_a_resumed_run_is_that_of_one_which_was_never_stopped(tmp_path, monkeypatch):
    validation = Validation(HELD, 600, every=200, patience=5)
    whole = train(validation)
    calls = []

    def stop(self, models):
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return measure(self, models)

    measure = Validation.errors
    with monkeypatch.context() as patch:
        patch.setattr(Validation, "errors", stop)
        with pytest.raises(KeyboardInterrupt):
            train(validation, out=Checkpoints(tmp_path / "run", seconds=0.0))
    resumed = train(validation, out=Checkpoints(tmp_path / "run", resume=True))
    np.testing.assert_array_equal(resumed.history.validation_error, whole.history.validation_error)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), *map(weights, (resumed, whole))))


def weights(run):
    return jax.tree.leaves(dataclasses.replace(run.model, task=None).energy.network)


@pytest.mark.parametrize("name", ["iterations", "every", "patience", "starts"])
def test_counts_that_are_none_are_refused(name):
    with pytest.raises(irem.InputError, match=f"`{name}` must be greater than 0"):
        Validation(HELD, **{name: 0})
