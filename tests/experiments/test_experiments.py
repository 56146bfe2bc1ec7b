import json

import jax
import numpy as np
import optax
import pytest

import irem
from irem._keys import fresh_key
from irem.experiments import (
    EXPERIMENTS,
    FULL,
    PAPER_TABLE1,
    _step_size,
    committed_results,
    read_result,
    reproduce,
)
from irem.experiments import _paper_figures as made
from irem.experiments._ablation import _memory
from irem.experiments._composition import OPERATIONS
from irem.learning import Recipe, init
from irem.methods import METHODS

KEYS = {"task", "method", "difficulty", "mean", "std", "seeds", "paper", "trivial", "best"}


@pytest.fixture(scope="module")
def table1(kept_study):
    return reproduce(kept_study, "table1")


def test_table1_has_a_cell_for_every_method_and_difficulty(table1):
    cells = table1["cells"]
    places = [(c["task"], c["method"], c["difficulty"]) for c in cells]
    assert places == [("addition", m, d) for m in METHODS for d in ("same", "harder")]
    for cell in cells:
        assert set(cell) >= KEYS
        assert cell["seeds"] == len(cell["mse_by_seed"]) == 2
        assert cell["mean"] == pytest.approx(np.mean(cell["mse_by_seed"]))
        assert cell["std"] == pytest.approx(np.std(cell["mse_by_seed"], ddof=1))
        assert cell["paper"] is None  # of a task that the paper does not have


@pytest.mark.parametrize("method", METHODS)
def test_a_cell_can_be_traced_to_its_run(table1, kept_study, method):
    cell = next(c for c in table1["cells"] if (c["method"], c["difficulty"]) == (method, "harder"))
    run = irem.load(kept_study.folder / cell["run"])
    found = irem.evaluate(run, run.task, "harder", problems=10, key=fresh_key(0, "evaluate"))
    np.testing.assert_allclose(cell["mse_by_seed"], found.mse_by_model, rtol=1e-5)
    assert cell["trivial"] == pytest.approx(found.trivial_mse)
    assert run.settings["method"]["name"] == method


def test_all_methods_answer_the_same_problems(table1):
    floors = {(c["difficulty"], c["trivial"], c["best"]) for c in table1["cells"]}
    assert len(floors) == 2


def test_expected_halting_and_the_fixed_step_stand_beside_the_default(table1):
    also = {c["method"]: set(c["also"]) for c in table1["cells"]}
    assert also["programmatic"] == {"expected halting"}
    assert also["irem"] == {"fixed step"}


def test_a_result_is_kept_with_where_it_comes_from(table1, kept_study):
    kept = read_result(kept_study.folder, "table1")
    assert kept == json.loads(json.dumps(table1))
    assert kept["versions"]["jax"] == jax.__version__
    assert kept["device"] == jax.devices()[0].device_kind
    assert kept["scale"]["name"] == "tiny"


def test_composition_is_that_of_compose(kept_study):
    cells = reproduce(kept_study, "composition")["cells"]
    assert len(cells) == len(METHODS) * OPERATIONS
    curve = [c["mean"] for c in cells if c["method"] == "recurrent"]
    run = irem.load(kept_study.folder / "models/addition-recurrent")
    options = {"problems": 10, "key": fresh_key(0, "compose")}
    again = [irem.compose(model, run.task, OPERATIONS, **options) for model in run.models]
    np.testing.assert_allclose(curve, np.mean(again, axis=0), rtol=1e-5)


def test_answering_zero_errs_by_the_variance_of_the_sum(kept_study):
    cells = reproduce(kept_study, "composition")["cells"]
    operands = np.random.default_rng(0).uniform(-1, 1, (6, 200_000))
    five = next(c["trivial"] for c in cells if c["operations"] == 5)
    assert five == pytest.approx(np.mean(operands.sum(0) ** 2), rel=0.02)


def test_the_smallest_error_is_not_above_the_last(kept_study):
    for cell in reproduce(kept_study, "protocol")["cells"]:
        looks = np.asarray(cell["mse_by_iteration"])
        np.testing.assert_array_equal(cell["mse_by_seed"], looks.min(0))
        np.testing.assert_array_equal(cell["last"]["mse_by_seed"], looks[-1])
        assert cell["iterations"][-1] == 20


def test_truncation_needs_at_most_half_the_memory_of_the_full_unroll():
    task = irem.tasks.get("shortest-path")
    bytes_of = {}
    for gradient in (irem.LastStep(), irem.FullUnroll()):
        energy = irem.energy.GINE.for_task(task, width=32, key=jax.random.key(0))
        recipe = Recipe(task, optax.adam(1e-4), irem.Replay(100), 16)
        state = init(recipe, irem.IREM(energy, gradient=gradient), jax.random.key(0))
        bytes_of[type(gradient)] = _memory(recipe, state)["temporary_bytes"]
    assert 0 < bytes_of[irem.LastStep] <= bytes_of[irem.FullUnroll] / 2


def test_the_papers_table_is_whole():
    assert len(PAPER_TABLE1) == 60
    assert PAPER_TABLE1["connected-components", "programmatic", "harder"] == 3.1381
    assert PAPER_TABLE1["addition", "irem", "harder"] == 0.0021
    irem_wins = [
        PAPER_TABLE1[t, "irem", d] == min(PAPER_TABLE1[t, m, d] for m in METHODS)
        for t in irem.tasks.TASKS
        for d in ("same", "harder")
    ]
    assert all(irem_wins)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(irem.InputError, match=r"no result of table1 .* table1 --quick`"):
        read_result(tmp_path, "table1")
    (tmp_path / "table1.json").write_text("[")
    with pytest.raises(irem.InputError, match="damaged"):
        read_result(tmp_path, "table1")
    (tmp_path / "table1.json").write_text("{}")
    with pytest.raises(irem.InputError, match="not a result of table1"):
        read_result(tmp_path, "table1")
    with pytest.raises(irem.InputError, match=r"Unknown experiment 'tabel1'.*mean 'table1'"):
        read_result(tmp_path, "tabel1")


def assert_part_of(kept, scale):
    """Every setting that a result names is that of the scale; later versions may have more."""
    for name, value in kept.items():
        if isinstance(value, dict):
            assert_part_of(value, scale[name])
        else:
            assert value == scale[name], name


def test_every_committed_result_is_at_full_scale():
    folder = committed_results()
    results = [read_result(folder, n) for n in EXPERIMENTS if (folder / f"{n}.json").exists()]
    assert {"table1", "ablation", "step-size", "composition", "figures"} <= {
        result["experiment"] for result in results
    }
    for result in results:
        assert_part_of(result["scale"], FULL.as_dict())
        assert result["commit"]


def test_the_example_adds_four_operands(kept_study):
    example = made._example(kept_study)
    assert np.shape(example["operands"]) == (4, 9)
    np.testing.assert_allclose(np.sum(example["operands"], axis=0), example["truth"], atol=1e-5)
    error = np.mean(np.square(np.subtract(example["answer"], example["truth"])))
    assert example["mse"] == pytest.approx(error, rel=1e-3)  # all nine entries are shown


def test_the_teaser_walks_from_two_guesses_to_the_answer(kept_study):
    teaser = made._teaser(kept_study)
    starts = [path[0] for path in teaser["paths"]]
    np.testing.assert_allclose(starts, [[1, 0], [0, 1]], atol=1e-3)
    np.testing.assert_allclose(teaser["paths"][0][-1], [0, 0], atol=1e-3)
    assert np.shape(teaser["energies"]) == (len(teaser["second"]), len(teaser["first"]))


def test_curves_have_every_method_at_every_difficulty(kept_study):
    curves = made._steps_by_difficulty(kept_study)["addition"]["mse_by_step"]
    for by_level in curves.values():
        assert set(by_level) == {"same", "harder"}
    feedforward = curves["feedforward"]["same"]
    assert len(feedforward) == made.STEPS + 1
    assert len(set(feedforward[1:])) == 1  # one pass, and nothing after it
    assert len(set(curves["recurrent"]["same"])) > 5
    # Zero and noise of the same variance are the first guesses of the baselines.
    assert feedforward[0] == pytest.approx(2 / 3, rel=0.1)


def test_energies_are_measured_around_the_truth(kept_study):
    points = made._energies(kept_study)["addition"]["same"]
    distance = np.asarray(points["distance"])
    assert len(points["height"]) == len(distance)
    assert distance.min() < 1e-3 < 0.3 < distance.max()


def test_entries_are_sorted_by_their_first_error(kept_study):
    errors = np.asarray(made._elements(kept_study)["errors"])
    assert errors.shape[0] == 9
    assert (np.diff(errors[:, 0]) <= 0).all()


def test_the_usual_step_size_has_the_models_of_table1(kept_study, monkeypatch):
    monkeypatch.setattr(_step_size, "PAPER_STEP_SIZE", {30: (0.1, 0.2), 100: (0.3, 0.4)})
    cells = _step_size.step_size(kept_study)
    places = [(c["step_size"], c["difficulty"], c["paper"]) for c in cells]
    assert places == [
        (30, "same", 0.1),
        (30, "harder", 0.2),
        (100, "same", 0.3),
        (100, "harder", 0.4),
    ]
    usual = [c["run"] for c in cells if c["step_size"] == 100]
    assert usual == ["models/addition-irem"] * 2
    assert cells[0]["mean"] != cells[2]["mean"]
