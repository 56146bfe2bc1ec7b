"""From rows to a fitted run."""

import dataclasses
import json
import sys

import jax
import numpy as np
import pandas as pd
import pytest

import irem
from irem.fitting import Plan, Report, plans, read_rows, trials
from irem.fitting.plans import first_plans, other_learning_rates, other_step_sizes, other_units
from irem.fitting.trials import Length, Trial
from irem.tasks import arrays
from irem.training import Checkpoints, Validation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 5.0]
Y = np.stack([X[:, 0] + X[:, 1], 1e3 * X[:, 2]], axis=1)
SHORT = irem.Effort(iterations=600, trial_share=0.0, compare=False, width=32)
# Of the same width, so that the programs of longer fits do.
SHORTER = dataclasses.replace(SHORT, iterations=200)


@pytest.fixture(scope="module")
def run():
    return irem.fit(X, Y, effort=SHORT)


def test_columns_of_any_size_and_offset_are_learned_alike(run):
    errors = np.square(np.asarray(run.solve(X).y) - Y).mean(0) / Y.var(0)
    assert (errors < 0.02).all()
    report = run.report
    assert report["trivial_mse"] == pytest.approx(Y.var(0).mean(), rel=0.3)
    assert report["validation_mse"] < 0.02 * report["trivial_mse"]
    assert (report["energy"], report["problems"]) == ("equations", 40)
    assert report["feedforward_mse"] is None


def test_answers_do_not_depend_on_the_order_of_rows_or_on_rows_beside_them(run):
    whole = np.asarray(run.solve(X[:20]).y)
    order = RNG.permutation(20)
    size = np.abs(whole).max(0)
    np.testing.assert_allclose(
        np.asarray(run.solve(X[:20][order]).y) / size, whole[order] / size, atol=1e-5
    )
    alone = np.stack([run.solve(x).y for x in X[:20]])
    np.testing.assert_allclose(alone / size, whole / size, atol=1e-5)


def test_a_fit_is_repeated_to_the_bit_by_its_seed(run):
    again = irem.fit(X, Y, effort=SHORT)
    np.testing.assert_array_equal(again.solve(X[:9]).y, run.solve(X[:9]).y)
    assert again.report["validation_mse"] == run.report["validation_mse"]


def test_frames_go_in_and_come_out(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"row {i}" for i in range(len(X))])
    target = pd.DataFrame(Y, columns=["sum", "thousandfold"], index=frame.index)
    run = irem.fit(frame, target, effort=SHORTER, out=tmp_path / "run")
    loaded = irem.load(tmp_path / "run")
    assert (loaded.task.x_names, loaded.task.y_names) == (("a", "b", "c"), ("sum", "thousandfold"))
    found = loaded.predict(frame.iloc[:4])
    assert list(found.columns) == ["sum", "thousandfold"]
    assert list(found.index) == list(frame.index[:4])
    np.testing.assert_allclose(found, run.solve(X[:4]).y, rtol=1e-5)


def test_missing_entries_are_told_by_flags():
    """The answer is the first entry that is given; where none is, its mean."""
    x = RNG.uniform(1, 2, size=(2000, 2))
    x[RNG.random(2000) < 0.5, 0] = np.nan
    y = np.where(np.isnan(x[:, 0]), x[:, 1], x[:, 0])
    effort = irem.Effort(iterations=2000, trial_share=0.0, compare=False, width=32)
    run = irem.fit(x, y, effort=effort)
    assert np.square(np.asarray(run.solve(x).y) - y).mean() < 0.1 * y.var()


def test_graphs_of_different_sizes_are_padded_and_answers_cut():
    sizes = RNG.integers(3, 6, 60)
    x = [RNG.normal(size=(n, n)) for n in sizes]
    y = [2 * m for m in x]
    task = read_rows(x, y)
    assert task.kind == "graphs"
    assert task.problems("train").y.shape == (54, 5, 5)
    run = irem.fit(
        x,
        y,
        energy={"name": "pair", "width": 4},
        effort=irem.Effort(iterations=100, trial_share=0.0, compare=False, batch_size=4),
    )
    found = run.predict(x[:3])
    assert [one.shape for one in found] == [(n, n) for n in sizes[:3]]


def test_several_answers_are_found_and_listed():
    """Both roots of a square, of which every row knows one."""
    x = RNG.uniform(1, 4, size=(3000, 1))
    y = np.sqrt(x) * RNG.choice([-1, 1], size=(3000, 1))
    effort = irem.Effort(iterations=1000, trial_share=0.0, compare=False, width=32)
    run = irem.fit(x, y, several=True, effort=effort)
    listed = np.sort(np.asarray(run.solve(x[:50], answers=2).answers)[..., 0], axis=1)
    root = np.sqrt(x[:50, 0])
    np.testing.assert_allclose(listed, np.stack([-root, root], 1), atol=0.15)
    # The nearest answer counts, not the mean of both, which would be off by the root.
    assert run.report["validation_mse"] < 0.02


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:, :0], Y, "a problem without numbers has no answer"),
        (X, Y[:-1], "expected as many problems as answers"),
        (X[:1], Y[:1], r"1 sample \(rows\), and fitting needs at least 8"),
        (X[:7], Y[:7], "have 7 samples"),
        (np.array([["a", "b"]] * 9), Y[:9], "`x` must hold numbers"),
        (X, np.where(Y[0] == Y, np.nan, Y), "`y` must be finite, but 2 of its 800 numbers are NaN"),
        (
            np.where(X[0] == X, np.inf, X),
            Y,
            "`x` must be finite, but 3 of its 1200 numbers are inf",
        ),
        ([[1.0], [1.0, 2.0]] * 9, Y[:18], "not a rectangular array"),
    ],
)
def test_rows_that_cannot_be_fitted_are_refused(x, y, message):
    with pytest.raises(irem.InputError, match=message):
        irem.fit(x, y, effort=SHORT)


def test_constant_columns_and_constant_answers_are_no_trouble():
    x, y = X.copy(), Y.copy()
    x[:, 1], y[:, 1] = 7.0, -3.0
    run = irem.fit(x, y, effort=SHORTER)
    np.testing.assert_allclose(run.solve(x[:5]).y[:, 1], -3.0, atol=0.3)


def test_rows_on_a_disk_stay_there(monkeypatch, tmp_path):
    monkeypatch.setattr(arrays, "_LARGEST_SHARE", 0.0)
    np.save(tmp_path / "x.npy", X)
    task = read_rows(np.load(tmp_path / "x.npy", mmap_mode="r"), Y)
    assert task.is_streamed
    assert task.rows == 360
    assert isinstance(task.x.array, np.memmap)
    held = np.asarray(task.problems("same").x, np.float64)
    block = np.asarray(task.for_chunk(0).x, np.float64)
    assert not {tuple(row) for row in held} & {tuple(row) for row in block}


def test_a_fit_that_was_stopped_goes_on_with_what_it_chose(tmp_path, monkeypatch):
    whole = irem.fit(X, Y, effort=SHORTER)
    with monkeypatch.context() as patch:
        module = sys.modules["irem.fitting.fit"]  # the function has the name of its module
        patch.setattr(module._Fitting, "measured", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            irem.fit(X, Y, effort=SHORTER, out=tmp_path / "run")
    kept = Checkpoints(tmp_path / "run", resume=True)
    resumed = irem.fit(X, Y, effort=SHORTER, out=kept)
    np.testing.assert_array_equal(resumed.solve(X[:5]).y, whole.solve(X[:5]).y)
    assert json.loads((tmp_path / "run" / "fit.json").read_text())["report"] == resumed.report
    with pytest.raises(irem.InputError, match="was fitted to other rows"):
        irem.fit(X + 1, Y, effort=SHORTER, out=kept)


def errors_by(monkeypatch, error):
    """Trials of given errors, and the plans that were tried."""
    tried = []

    def run(task, plan, *_):
        tried.append(plan)
        return Trial(plan, error(plan), 0.001)

    monkeypatch.setattr(trials, "_run", run)
    return tried


def chosen(monkeypatch, error, seconds=1e9):
    tried = errors_by(monkeypatch, error)
    task = read_rows(X, Y)
    found = trials.choose(
        task,
        first_plans(task, None, width=8, several=False),
        Validation(task.problems("same")),
        length=Length(1.0),
        batch_size=4,
        seconds=seconds,
        key=jax.random.key(0),
    )
    return found.plan, tried


def test_trials_choose_units_then_the_energy_then_the_learning_rate(monkeypatch):
    def error(plan):
        wrong = (plan.relative != "size") + (plan.energy["products"] == 0)
        return 1.0 + wrong + (plan.learning_rate != 3e-3)

    plan, tried = chosen(monkeypatch, error)
    assert (plan.relative, plan.learning_rate) == ("size", 3e-3)
    assert plan.energy["products"] > 0
    assert len(tried) == 1 + 2 + 3 + 2
    assert chosen(monkeypatch, error, seconds=-1.0)[1] == tried[:1]


@pytest.mark.parametrize(("share", "expected"), [(1.05, "size"), (1.2, "none")])
def test_units_of_each_problem_may_be_a_tenth_worse(monkeypatch, share, expected):
    found, _ = chosen(
        monkeypatch,
        lambda p: share if p.relative == "size" else 1.0 if p.relative == "none" else 9.0,
    )
    assert found.relative == expected


def test_trials_have_the_same_time_or_the_same_number_of_iterations():
    assert Length(2.0).chunks(0.001) == 20
    assert Length(2.0).chunks(1.0) == 2
    assert Length(2.0, 500).chunks(123.0) == 5


def test_what_is_tried_differs_in_one_thing_each():
    plan = Plan({"name": "pair"})
    assert [p.relative for p in other_units(plan)] == ["size", "mean-and-size"]
    assert [p.step_size for p in other_step_sizes(plan)] == list(plans.STEP_SIZES[1:])
    assert [p.learning_rate for p in other_learning_rates(plan)] == list(plans.LEARNING_RATES[1:])
    assert other_step_sizes(Plan({"name": "equations"})) == []


def test_the_network_that_is_compared_with_has_as_many_parameters():
    task = read_rows(X, Y)
    for wanted in (500, 20_000):
        baseline = Plan({"name": "equations"}).baseline(task, wanted, key=jax.random.key(0))
        assert plans.count_parameters(baseline) == pytest.approx(wanted, rel=0.05)


def test_a_report_is_a_table(run):
    text = Report(**run.report).table().as_text()
    for part in ("equations energy", "feedforward net", "mean answer", "not measured", "±"):
        assert part in text
