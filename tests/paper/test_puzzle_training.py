"""The ingredients of training on Sudokus, at a size that takes seconds."""

import dataclasses
import functools
import types

import jax
import numpy as np
import pytest

import irem
from irem.paper import EXPERIMENTS, as_text, puzzle_training, read_result, reproduce
from irem.tasks.sudoku import TRAINING, Sudoku

# One step is differentiated, which is quick to compile.
TINY = {"energy.width": 4, "energy.layers": 1, "energy.scratch": 2, "gradient.name": "last-steps"}
SMALL = puzzle_training.Settings(
    variants=("no scratchpad",),
    iterations=2,
    batch_size=2,
    warm_up=1,
    puzzles=2,
    steps=(1, 2),
    changes=TINY,
)


@pytest.fixture
def few(tmp_path):
    """A file of three puzzles to train on."""
    path = tmp_path / "few.npz"
    with np.load(TRAINING) as file:
        np.savez(path, puzzles=file["puzzles"][:3], solutions=file["solutions"][:3])
    return path


def test_variants_are_trained_and_counted_and_cells_are_kept(tiny_study, few):
    study = tiny_study(training_puzzles=few)
    run = functools.partial(puzzle_training.run, settings=SMALL)
    experiment = dataclasses.replace(EXPERIMENTS["puzzle-training"], run=run)
    result = reproduce(study, experiment)
    (cell,) = result.cells
    assert cell.variant == "no scratchpad"
    assert cell.training_puzzles == 3
    assert (cell.seeds, cell.iterations, cell.batch_size, cell.puzzles) == (2, 2, 2, 2)
    assert [len(counts) for counts in cell.solved] == [2, 2]
    assert len(cell.final_loss) == 2
    assert str(few) not in str(cell)
    assert read_result(study.folder, "puzzle-training") == result
    assert "2 minimal puzzles" in as_text(result)
    with pytest.raises(irem.InputError, match="other settings"):  # the few puzzles of irem
        puzzle_training.run(tiny_study(), SMALL)


def test_every_variant_is_a_recipe_that_differs_from_the_whole_in_its_ingredient():
    made = {
        name: puzzle_training.recipe_of(name, dataclasses.replace(SMALL, changes={}))
        .complete()
        .settings
        for name in puzzle_training.VARIANTS
    }
    whole = made.pop("whole")
    assert whole["iterations"] == 2
    assert whole["gradient"]["name"] == "random-steps"
    changed = {n: [s for s in whole if whole[s] != found[s]] for n, found in made.items()}
    assert changed == {
        "last step alone": ["gradient"],
        "always 5 steps": ["gradient"],
        "no average of the weights": ["average"],
        "no weight decay": ["optimiser"],
        "no scratchpad": ["energy"],
        "no replay": ["replay"],
        "noise on the way": ["gradient"],
        "term for fixed points": ["gradient"],
    }


def test_a_share_has_fewer_iterations_and_a_small_network():
    share = puzzle_training.SETTINGS.scaled(0.05)
    assert (share.iterations, share.warm_up, share.puzzles, share.batch_size) == (30, 5, 26, 8)
    assert share.changes == {"energy.width": 16, "energy.layers": 2}
    assert puzzle_training.SETTINGS.scaled(1.0) == puzzle_training.SETTINGS


def test_solutions_are_counted_after_every_number_of_steps(monkeypatch):
    answered = {1: [True, False, False], 3: [True, True, False]}
    model = types.SimpleNamespace(
        energy=irem.energy.Groups(families=3, width=2, layers=1, key=jax.random.key(0)),
        format=irem.formats.Puzzles(3, "sudoku"),
        step_size=1.0,
    )
    monkeypatch.setattr(puzzle_training, "begun", lambda *_: 0)
    # Points are the number of steps so far.
    monkeypatch.setattr(
        puzzle_training, "walked", lambda _, __, steps, more: (steps + more, None, steps + more)
    )
    monkeypatch.setattr(
        puzzle_training, "right_answers", lambda _, steps: np.array(answered[steps])
    )
    settings = puzzle_training.Settings(puzzles=3, steps=(1, 3))
    assert puzzle_training.count_solved(model, settings) == (1, 2)


def cell(variant, solved, **others):
    about = {"commit": "c0ffee", "task": "sudoku", "method": "irem", "paper": None}
    measured = {
        "variant": variant,
        "seeds": len(solved[0]),
        "iterations": 600,
        "batch_size": 32,
        "training_puzzles": 307_000,
        "training_sha256": "ab",
        "puzzles": 200,
        "steps": (16, 64),
        "solved": solved,
        "final_loss": (0.1,) * len(solved[0]),
        "run": "models/run",
    }
    return puzzle_training.TrainingCell(**{**about, **measured, **others})


def test_the_table_has_means_spreads_and_differences():
    whole = cell("whole", ((100, 120), (140, 160)))
    other = cell("no replay", ((80, 80), (100, 110)))
    found = puzzle_training.table([whole, other], "x.json")
    assert found.header[1:3] == ("solved after 16 steps, %", "solved after 64 steps, %")
    texts = [[entry.text for entry in row] for row in found.rows]
    assert texts[0] == ["whole", "55.0 ± 7.1", "75.0 ± 7.1", "", "600"]
    assert texts[1][:4] == ["no replay", "40.0 ± 0.0", "52.5 ± 3.5", "-22.5"]
    alone = puzzle_training.table([cell("no replay", ((1,), (2,)))], "x.json")
    assert [entry.text for entry in alone.rows[0]][1:4] == ["0.5", "1.0", ""]


def test_a_file_that_is_no_file_of_puzzles_is_refused_before_anything_is_written(
    tiny_study, tmp_path
):
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, puzzles=np.zeros((2, 5), np.uint8), solutions=np.zeros((2, 5), np.uint8))
    for path, sentence in ((tmp_path / "no.npz", "cannot be read"), (wrong, "rows of 81")):
        with pytest.raises(irem.InputError, match=sentence):
            tiny_study(training_puzzles=path)
    assert not (tmp_path / "study").exists()


def test_the_puzzles_that_are_tested_are_none_of_those_of_training():
    banks = Sudoku().banks
    trained = {bytes(row) for row in np.asarray(banks["training"].puzzles)}
    assert trained.isdisjoint(bytes(row) for row in np.asarray(banks["same"].puzzles))
