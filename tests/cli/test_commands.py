"""What each command prints and writes."""

import json

import jax
import numpy as np
import pytest

import irem
from irem.cli.program import COMMANDS
from irem.evaluation.tables import with_error

# What the issue tracker's users script against.
EVALUATE_KEYS = {
    "task", "method", "energy", "difficulty", "problems", "max_steps", "mse", "mse_sem",
    "steps_mean", "converged", "trivial_mse", "oracle_mse", "paper_mse",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, irem_cli):
    result = irem_cli(command, "--help")
    assert result.code == 0
    assert f"Example: irem {command}" in result.out.replace("\n", " ")
    assert "--json" in result.out


def test_version(irem_cli):
    assert irem_cli("--version").out == f"irem {irem.__version__}\n"


@pytest.mark.parametrize(
    ("task", "difficulty", "energy"),
    [
        ("addition", "harder", "mlp"),
        ("shortest-path", "7", "gine"),
        ("matrix-inverse", "same", "mlp"),
    ],
)
def test_evaluate_prints_one_json_object(task, difficulty, energy, runs, irem_cli):
    result = irem_cli(
        "evaluate",
        runs[task],
        "--difficulty",
        difficulty,
        "--problems",
        20,
        "--max-steps",
        9,
        "--json",
    )
    assert result.code == 0
    printed = json.loads(result.out)
    assert printed.keys() >= EVALUATE_KEYS
    assert (printed["task"], printed["method"], printed["energy"]) == (task, "irem", energy)
    assert (printed["problems"], printed["max_steps"]) == (20, 9)
    assert str(printed["difficulty"]) == difficulty
    assert printed["mse"] > 0
    assert printed["steps_mean"] <= 9
    assert printed["oracle_mse"] == pytest.approx(0, abs=1e-10)
    # The paper prints nothing for vectors of 6, matrices of 3 or graphs of 7.
    assert printed["paper_mse"] is None
    # No answer of these tasks is 0 or 1.
    assert not any("right" in name or "exact" in name for name in printed)


def test_evaluate_measures_what_python_measures(runs, irem_cli):
    run = irem.load(runs["addition"])
    options = ("--problems", 20, "--max-steps", 9, "--json")
    printed = json.loads(irem_cli("evaluate", runs["addition"], *options).out)
    from irem.cli.common import fresh_key

    key_problems, key_guesses = jax.random.split(fresh_key(0, "evaluate"))
    batch = run.task.batch(key_problems, 20, "same")
    solution = irem.solve(run.model, batch.x, key=key_guesses, max_steps=9)
    assert printed["mse"] == pytest.approx(irem.mse(solution.y, batch.y), rel=1e-5)
    errors = np.mean((np.asarray(solution.y) - np.asarray(batch.y)) ** 2, axis=1)
    assert printed["mse_sem"] == pytest.approx(errors.std(ddof=1) / 20**0.5, rel=1e-4)
    assert printed["trivial_mse"] == pytest.approx(
        float(np.mean(np.asarray(batch.y) ** 2)), rel=1e-5
    )
    assert printed["converged"] == pytest.approx(float(solution.converged.mean()))


def test_evaluate_averages_over_the_models_of_a_run(runs, irem_cli):
    options = ("--problems", 20, "--max-steps", 9)
    printed = json.loads(irem_cli("evaluate", runs["matrix-inverse"], *options, "--json").out)
    assert printed["models"] == len(printed["mse_by_model"]) == 2
    assert printed["scratchpad"] == 0
    assert printed["mse"] == pytest.approx(np.mean(printed["mse_by_model"]))
    shown = irem_cli("evaluate", runs["matrix-inverse"], *options).out
    assert "over models" in shown
    assert f"mse  {with_error(printed['mse'], printed['mse_sem'])} (standard error" in shown


def test_every_json_line_is_alone_on_standard_output(runs, irem_cli, tmp_path, keys):
    for arguments in (
        ("train", "addition", "--iterations", 5, "--batch-size", 4, "--out", tmp_path / "run",
         *keys(task__size=4, energy__width=8, replay__name="none")),
        ("recipes",),
        ("recipes", "addition", "--show", "paper"),
        ("compose", runs["addition"], "--operations", 3, "--problems", 20),
        ("tasks",),
    ):  # fmt: skip
        result = irem_cli(*arguments, "--json")
        assert result.code == 0
        assert json.loads(result.out)


def test_compose_applies_the_addition_to_its_own_output(runs, irem_cli):
    result = irem_cli("compose", runs["addition"], "--operations", 3, "--problems", 20, "--json")
    printed = json.loads(result.out)
    assert printed["operations"] == 3
    assert len(printed["mse_by_operations"]) == 3
    assert printed["mse"] == printed["mse_by_operations"][-1]
    assert printed["mse_sem"] == printed["mse_sem_by_operations"][-1]
    assert all(0 < sem < np.inf for sem in printed["mse_sem_by_operations"])
    assert printed["paper_mse"] is None  # it prints nothing for vectors of six entries
    lines = irem_cli("compose", runs["addition"], "--operations", 2, "--problems", 20).out
    assert [line.split()[0] for line in lines.splitlines()] == ["operations", "1", "2"]
    assert lines.count(" ± ") == 3
    assert "0.0014" not in lines


def test_compose_of_a_perfect_addition_has_no_error():
    task = irem.tasks.get("addition", size=4)
    perfect = irem.energy.from_function(
        lambda x, y: ((y - x[0] - x[1]) ** 2).sum(), answer_shape=(4,)
    )

    model = irem.IREM(perfect, step_size=0.5)
    errors = irem.compose(model, task, 4, problems=10, key=jax.random.key(0))
    np.testing.assert_allclose(errors, 0, atol=1e-10)


@pytest.mark.parametrize("out", ["y.npy", "y.npz", "y.csv"])
@pytest.mark.parametrize("several", [True, False])
def test_solve_writes_answers_of_the_right_shape(out, several, runs, irem_cli, tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (5, 2, 6) if several else (2, 6))
    np.save(tmp_path / "x.npy", x)
    options = ("--out", tmp_path / out, "--max-steps", 9, "--json")
    result = irem_cli("solve", runs["addition"], tmp_path / "x.npy", *options)
    assert result.code == 0
    shape = (5, 6) if several else (6,)
    assert json.loads(result.out)["shape"] == list(shape)
    assert "decided" not in json.loads(result.out)  # a sum is not 0 or 1
    if out == "y.npy":
        y = np.load(tmp_path / out)
    elif out == "y.npz":
        with np.load(tmp_path / out) as kept:
            y = kept["y"]
            assert kept["steps"].shape == shape[:-1]
    else:
        y = np.loadtxt(tmp_path / out, delimiter=",")
    assert y.shape == shape
    # The same key gives the same guesses, so formats and batches agree.
    np.testing.assert_allclose(
        np.atleast_2d(y)[0], first_answer(runs["addition"], x), rtol=1e-4, atol=1e-4
    )


def first_answer(path, x):
    from irem.cli.common import fresh_key

    first = x if x.ndim == 2 else x[0]
    return irem.solve(irem.load(path).model, first, key=fresh_key(0, "solve"), max_steps=9).y


def test_solve_reads_csv_and_npz(runs, irem_cli, tmp_path):
    x = np.random.default_rng(1).uniform(-1, 1, (5, 12)).astype(np.float32)
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", fmt="%.9g")
    np.savez(tmp_path / "x.npz", x=x.reshape(5, 2, 6), other=np.zeros(3))
    answers = []
    options = ("--out", tmp_path / "y.npy", "--max-steps", 9)
    for name in ("x.csv", "x.npz"):
        result = irem_cli("solve", runs["addition"], tmp_path / name, *options)
        assert result.code == 0
        answers.append(np.load(tmp_path / "y.npy"))
    assert answers[0].shape == (5, 6)
    np.testing.assert_array_equal(*answers)


def test_solve_takes_graphs_of_any_size(runs, irem_cli, tmp_path):
    for shape in ((5, 5), (3, 12, 12)):
        np.save(tmp_path / "x.npy", np.ones(shape, np.int64))
        options = ("--out", tmp_path / "y.npy", "--max-steps", 9)
        result = irem_cli("solve", runs["shortest-path"], tmp_path / "x.npy", *options)
        assert result.code == 0
        assert np.load(tmp_path / "y.npy").shape == shape


def test_tasks_lists_every_task_with_its_floors(irem_cli):
    printed = json.loads(irem_cli("tasks", "--json").out)
    assert [row["task"] for row in printed["tasks"]] == list(irem.tasks.TASKS)
    rows = {row["task"]: row for row in printed["tasks"]}
    assert set(rows.pop("denoise")["same"].values()) == {None}  # they depend on the pictures
    for name in ("queens", "latin", "colouring"):  # any solution is right, however far from `y`
        row = rows.pop(name)
        for difficulty in ("same", "harder"):
            assert row[difficulty]["oracle_mse"] is None
            assert row[difficulty]["trivial_mse"] > 0
    for row in rows.values():
        for difficulty in ("same", "harder"):
            assert row[difficulty]["oracle_mse"] < row[difficulty]["trivial_mse"]
    assert "connected-components" in irem_cli("tasks").out


def test_resume_takes_what_is_not_given_from_the_run(runs, irem_cli):
    out = runs["matrix-inverse"]
    before = (out / "run.json").read_text()
    result = irem_cli("train", "matrix-inverse", "--out", out, "--resume")
    assert result.code == 0
    assert f"irem evaluate {out}" in result.out
    assert (out / "run.json").read_text() == before
    changed = ("--set", "energy.width=17")
    result = irem_cli("train", "matrix-inverse", "--out", out, "--resume", *changed)
    assert result.code == 2
    assert "energy.width was 16, now 17" in result.err


def test_solve_reads_the_graphs_it_wrote_as_flat_rows(runs, irem_cli, tmp_path):
    x = np.random.default_rng(0).uniform(0, 1, (3, 4, 4)).astype(np.float32)
    x = x + x.transpose(0, 2, 1)
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "x.csv", x.reshape(3, -1), delimiter=",", fmt="%.9g")
    for name in ("x.npy", "x.csv"):
        options = ("--out", tmp_path / f"{name}.npy", "--max-steps", 9)
        assert irem_cli("solve", runs["shortest-path"], tmp_path / name, *options).code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy.npy"), np.load(tmp_path / "x.csv.npy"))


def test_the_step_that_is_asked_for_is_taken(runs, irem_cli):
    def mse(*step):
        options = ("--problems", 5, "--max-steps", 3, *step, "--json")
        return json.loads(irem_cli("evaluate", runs["addition"], *options).out)["mse"]

    # The trained size of a fixed step is 100.
    assert mse("--step", "fixed") == mse("--step", 100.0) != mse("--step", 1e-6)
    assert mse("--step", irem.descent.DEFAULT_STEP) == mse() != mse("--step", "lbfgs")
