"""`EnergyRegressor` among the tools of scikit-learn."""

import math
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from irem.errors import DivergenceError, InputError
from irem.sklearn import EnergyRegressor
from irem.sklearn.rows import Rows, padded_length
from irem.sklearn.training import Length, _loss
from irem.training import StepInfo

SMALL = {"width": 16, "max_iter": 200, "random_state": 0}
LONGER = {**SMALL, "max_iter": 1000}


def table(rows, seed=0, columns=4):
    """A table whose answer has a product that no linear model knows of."""
    X = np.random.default_rng(seed).normal(size=(rows, columns))
    return X, 3 * X[:, 0] * X[:, 1] + X[:, 2] + 100


@pytest.fixture(scope="module")
def fitted():
    """Fitted to 600 rows, of which 60 were held out."""
    return EnergyRegressor(**LONGER).fit(*table(600))


@pytest.fixture
def array_api(monkeypatch):
    """Without this setting of SciPy one check is skipped."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.usefixtures("array_api")
@parametrize_with_checks([EnergyRegressor(width=16, max_iter=150)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_importing_irem_does_not_load_scikit_learn():
    done = run("import sys, irem; print('sklearn' in sys.modules, 'irem.sklearn' in sys.modules)")
    assert done.stdout.strip() == "False False"


def test_without_scikit_learn_the_import_says_how_to_install_it():
    done = run("import sys; sys.modules['sklearn'] = None; import irem.sklearn")
    assert done.stderr.strip().splitlines()[-1].endswith("pip install 'irem[sklearn]'`.")


def test_products_are_learned_that_a_linear_model_misses(fitted):
    X, y = table(300, seed=1)
    assert fitted.score(X, y) > 0.9
    assert LinearRegression().fit(*table(600)).score(X, y) < 0.2


def test_answers_depend_neither_on_order_nor_on_other_rows(fitted):
    X, _ = table(300, seed=1)
    answers = fitted.predict(X)
    order = np.random.default_rng(0).permutation(300)
    alone = np.concatenate([fitted.predict(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(fitted.predict(X[order]), answers[order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(alone, answers[:5], rtol=0, atol=1e-9)


def test_the_descent_finds_what_predict_computes(fitted):
    X, _ = table(64, seed=1)
    solution = fitted.solve(X)
    assert solution.y.shape == (64,)
    assert solution.converged.mean() > 0.9
    np.testing.assert_allclose(solution.y, fitted.predict(X), rtol=0, atol=1e-2)


def test_long_tables_are_answered_in_blocks(fitted):
    X, _ = table(5000, seed=1)
    answers = fitted.predict(X)
    np.testing.assert_allclose(answers[4090:4110], fitted.predict(X[4090:4110]), rtol=1e-12)


def test_the_same_random_state_gives_the_same_weights_to_the_bit(fitted):
    again = EnergyRegressor(**LONGER).fit(*table(600))
    X, _ = table(50, seed=1)
    assert np.array_equal(again.predict(X), fitted.predict(X))
    other = EnergyRegressor(**{**LONGER, "random_state": 1}).fit(*table(600))
    assert not np.array_equal(other.predict(X), fitted.predict(X))


def test_tables_of_similar_sizes_share_their_programs(fitted, caplog):
    EnergyRegressor(**SMALL).fit(*table(150))
    with jax.log_compiles():
        EnergyRegressor(**SMALL).fit(*table(200, columns=3)).predict(table(9, columns=3)[0])
    compiled = [r.getMessage() for r in caplog.records if "Compiling" in r.getMessage()]
    large = ("run_chunk", "minima", "in_own_units")
    assert [m for m in compiled if any(name in m for name in large)] == []


def test_a_pickle_answers_as_before(fitted):
    X, _ = table(64, seed=1)
    before = fitted.predict(X, return_error=True)
    after = pickle.loads(pickle.dumps(fitted)).predict(X, return_error=True)
    assert np.array_equal(before, after)


def test_expected_errors_are_of_the_size_of_the_errors(fitted):
    X, y = table(64, seed=1)
    answers, expected = fitted.predict(X, return_error=True)
    familiar = np.isfinite(expected)
    errors = np.square(answers - y)[familiar]
    assert expected.shape == (64,)
    assert familiar.mean() > 0.8
    assert 1 / 4 < expected[familiar].mean() / errors.mean() < 4


def test_too_few_rows_for_expected_errors_are_named():
    X, y = table(120)
    model = EnergyRegressor(**SMALL).fit(X, y)
    assert model.solve(X[:64]).expected_error is None
    with pytest.raises(InputError, match="at least 50 validation rows, and 12 were held out"):
        model.predict(X, return_error=True)


def test_few_rows_are_all_trained_on_to_the_end():
    X, y = table(40)
    model = EnergyRegressor(**SMALL).fit(X, y)
    assert model.n_iter_ == 200
    assert np.isnan(model.history_["validation_error"]).all()
    assert model.score(X, y) > 0.9


def test_training_stops_where_the_validation_error_no_longer_falls():
    rng = np.random.default_rng(0)
    noise = EnergyRegressor(**LONGER).fit(rng.normal(size=(200, 4)), rng.normal(size=200))
    errors = noise.history_["validation_error"]
    assert noise.n_iter_ == noise.history_["iteration"][-1] == 25 * len(errors) < 1000
    assert (errors[-15:] >= errors.min()).all()


def test_grid_search_chooses_among_widths():
    X, y = table(200)
    search = GridSearchCV(EnergyRegressor(**SMALL), {"width": [2, 16]}, cv=2).fit(X, y)
    assert search.best_params_ == {"width": 16}
    assert search.best_estimator_.score(X, y) > 0.8


def test_a_pipeline_with_scaled_answers_is_cross_validated():
    X, y = table(200)
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), EnergyRegressor(**SMALL)), transformer=StandardScaler()
    )
    assert cross_val_score(model, X * 1e3, y, cv=2).min() > 0.7


def test_names_of_columns_are_kept_and_checked():
    X, y = table(40)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), EnergyRegressor(**SMALL))
    model.fit(frame, pd.Series(y))
    assert list(model[-1].feature_names_in_) == list("abcd")
    assert model.predict(frame).shape == (40,)
    with pytest.raises(ValueError, match="feature names"):
        model[-1].predict(frame[list("dcba")])


def test_a_clone_has_the_parameters_and_is_not_fitted(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(table(3)[0])


def test_fit_forgets_and_warm_start_goes_on(fitted):
    X, y = table(600)
    twice = EnergyRegressor(**LONGER).fit(X, -y).fit(X, y)
    assert twice.n_iter_ == fitted.n_iter_
    assert np.array_equal(twice.predict(X), fitted.predict(X))
    warm = EnergyRegressor(**SMALL, warm_start=True).fit(X, y)
    before = warm.history_["validation_error"].min()
    warm.fit(X, y)
    assert warm.n_iter_ == warm.history_["iteration"][-1] == 400
    assert warm.history_["validation_error"].min() < before


def test_warm_starts_refuse_other_answers():
    X, y = table(40)
    model = EnergyRegressor(**SMALL, warm_start=True).fit(X, y)
    with pytest.raises(InputError, match=r"`y` has answers of shape \(2,\)"):
        model.fit(X, np.stack([y, y], axis=1))


def test_partial_fit_learns_from_one_part_after_the_other():
    model = EnergyRegressor(**SMALL)
    X, y = table(200, seed=99)
    scores = []
    for seed in range(12):
        model.partial_fit(*table(100, seed=seed))
        scores.append(model.score(X, y))
    assert model.n_iter_ == 12 * 25
    assert scores[-1] > 0.8 > scores[0]
    assert model.partial_fit(X[:1], y[:1]).n_iter_ == 13 * 25


def test_a_pass_over_rows_is_a_whole_number_of_compiled_calls():
    lengths = [Length.one_pass(rows, batch_size=128).iterations for rows in (1, 3200, 3201)]
    assert lengths == [25, 25, 50]


def test_missing_entries_are_learned_from():
    X, y = table(300)
    y = y + X[:, 3] * 10
    X[::3, 3] = np.nan
    model = EnergyRegressor(**SMALL).fit(X, y)
    given = ~np.isnan(X[:, 3])
    answers = model.predict(X)
    assert np.isfinite(answers).all()
    assert np.square(answers - y)[given].mean() < 0.2 * np.square(answers - y)[~given].mean()


def test_missing_entries_are_refused_where_training_had_none(fitted):
    with pytest.raises(InputError, match="had none; fit to rows of which some"):
        fitted.predict(np.full((1, 4), np.nan))


def test_problems_with_axes_are_flat_rows_with_their_shapes():
    A = np.random.default_rng(0).normal(size=(150, 2, 2))
    y = np.swapaxes(A, 1, 2) * 2 + 1
    model = EnergyRegressor(**SMALL, x_shape=(2, 2), y_shape=(2, 2))
    flat = clone(model).fit(A.reshape(150, 4), y.reshape(150, 4))
    axes = model.fit(A, y)
    assert flat.predict(A.reshape(150, 4)).shape == (150, 4)
    assert np.array_equal(axes.predict(A).reshape(150, 4), flat.predict(A.reshape(150, 4)))
    assert axes.score(A.reshape(150, 4), y.reshape(150, 4)) > 0.95


def test_an_energy_can_be_named():
    X, y = table(90)
    model = EnergyRegressor(energy={"name": "mlp", "width": 8}, max_iter=25, random_state=0)
    answers = model.fit(X, y).predict(X[:8])
    assert answers.dtype == np.float64
    np.testing.assert_allclose(model.predict(X[7::-1]), answers[::-1], rtol=1e-5)


def test_several_answers_are_listed():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1, size=(90, 4))
    y = rng.choice([-1, 1], size=90) * (1 + X[:, 0])
    model = EnergyRegressor(several=True, **SMALL).fit(X, y)
    found = np.sort(model.solve(X[:4], answers=2).answers, axis=1)
    np.testing.assert_allclose(found, (1 + X[:4, :1]) * [-1, 1], atol=0.2)


def test_trials_choose_settings_and_minutes_end_training(capsys):
    model = EnergyRegressor(width=8, trials=True, minutes=0.01, random_state=0, verbose=True)
    model.fit(*table(200))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("tried Plan(")
    assert printed[-1].startswith(f"iteration {model.n_iter_}: loss ")
    assert "validation error" in printed[-1]


WRONG = {
    "width": (0, "`width` must be greater than 0"),
    "batch_size": (1.5, "`batch_size` must be a whole number"),
    "max_iter": (0, "`max_iter` must be greater than 0"),
    "minutes": (-1, "`minutes` must be greater than 0"),
    "validation_fraction": (1.0, "`validation_fraction` must be between 0 and 1, got 1.0"),
    "x_shape": ((3, 3), r"`X` has 4 columns, and `x_shape=\(3, 3\)` asks for 9"),
    "y_shape": ((2,), r"`y` has 1 columns, and `y_shape=\(2,\)` asks for 2"),
    "trials": (True, "needs `fit` with at least 10 validation rows"),
    "energy": ("nothing", "Unknown energy 'nothing'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused_in_fit(name):
    value, sentence = WRONG[name]
    with pytest.raises(InputError, match=sentence):
        EnergyRegressor(**{name: value}).fit(*table(20))


def test_numbers_too_large_for_32_bits_are_refused(fitted):
    with pytest.raises(InputError, match="`X` must be finite, but 4 of its 4 numbers"):
        fitted.predict(np.full((1, 4), 1e300))


def test_updates_that_are_not_finite_end_training():
    one = StepInfo(jnp.array(jnp.nan), jnp.array(jnp.nan), jnp.array(False), jnp.array(1.0))
    info = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (1, 25)), one)
    with pytest.raises(DivergenceError, match="between iterations 50 and 75"):
        _loss(info, 50)


def test_lengths_of_arrays_are_few():
    assert [padded_length(n) for n in (1, 256, 257, 4096, 4097)] == [256, 256, 512, 4096, 8192]


def test_held_out_rows_are_disjoint_from_those_of_training():
    x = np.arange(100.0)[:, None]
    kept, held = Rows(x, x, missing=False).divide(0.2, seed=0)
    assert len(held.x) == 20
    assert sorted(np.concatenate([kept.x, held.x]).ravel()) == list(range(100))


def test_the_learning_rate_falls_along_iterations_or_time():
    assert Length(100).share(50, seconds=1e9) == 0.5
    assert Length(None, 60.0).share(10**9, seconds=15) == 0.25
    assert math.isclose(Length(100).rate(0.5), 0.5)
    assert Length(100, decays=False).rate(0.5) == 1.0
