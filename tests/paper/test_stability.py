"""What keeps training stable: each safeguard left out in turn."""

import dataclasses
import functools

import jax

import irem
from irem.methods import build_method
from irem.paper import EXPERIMENTS, reproduce, result_table, stability
from irem.training import History, Run

SMALL = stability.Settings(
    structure=("addition", "shortest-path"),
    seeds=1,
    changes={
        "energy.width": 4,
        "iterations": 10,
        "batch_size": 4,
        "optimiser.clip_norm": 0.1,
        "replay.clip": 2.5,
        "precision": "float32",
    },
)


def experiment(settings):
    run = functools.partial(stability.run, settings=settings)
    return dataclasses.replace(EXPERIMENTS["stability"], run=run)


def test_every_variant_is_trained_with_what_it_has_and_no_more(tiny_study, monkeypatch):
    study, asked = tiny_study(), {}

    def trained(task, recipe, label, *, seeds):
        asked[f"models/{label}"] = recipe
        model = build_method(task, recipe.method_settings(), key=jax.random.key(0))
        iterations = recipe.length("iterations")
        return Run(task, (model,) * seeds, iterations, History.empty(seeds), {}), 1.0

    monkeypatch.setattr(study, "trained", trained)
    cells = reproduce(study, experiment(SMALL)).cells
    assert [c.variant for c in cells[::2]] == 2 * list(stability.VARIANTS)
    for cell in cells:
        recipe, structure = asked[cell.run], cell.energies == "structure"
        optimiser, clip = recipe.component("optimiser"), recipe.component("replay").clip
        assert recipe.settings["energy"]["name"] == ("table" if structure else "mlp")
        assert recipe.length("precision") == ("float32" if structure else "default")
        assert clip == ((2.5 if structure else 3.0) if cell.replay else None)
        assert optimiser.clip_norm == ((0.1 if structure else 0.5) if cell.gradients else None)
        assert optimiser.decay == ("cosine" if cell.decay else "constant")
        assert cell.iterations == (2 if structure else study.scale.vectors.iterations)
        assert cell.skipped == 0
        assert cell.trivial > cell.best == 0
        task, difficulty = study.tasks[cell.task], cell.difficulty
        assert cell.trivial == study.test_set(task, difficulty)[0].floors[0]
    pairs = zip(cells[::2], cells[1::2], strict=True)
    assert all(same.mse_by_seed != harder.mse_by_seed for same, harder in pairs)
    safeguards = [(c.replay, c.gradients, c.decay) for c in cells[::2]]
    assert [sum(kept) for kept in safeguards] == 2 * [3, 2, 2, 2, 0]
    assert len(set(safeguards)) == len(stability.VARIANTS)


def test_training_that_diverges_is_a_row_that_says_so(tiny_study, monkeypatch):
    said = []
    study = tiny_study(say=said.append)
    train = study.trained

    def diverges(task, recipe, label, **options):
        if recipe.component("optimiser").clip_norm is None:
            raise irem.DivergenceError("Training diverged.")
        return train(task, recipe, label, **options)

    monkeypatch.setattr(study, "trained", diverges)
    result = reproduce(study, experiment(dataclasses.replace(SMALL, structure=())))
    means = {c.variant: c.mean for c in result.cells}
    assert {v for v, mean in means.items() if mean is None} == {"gradients-not-clipped", "none"}
    assert sum("Training diverged." in line for line in said) == 2
    rows = {row[2].text: row for row in result_table(result).rows}
    assert rows["none"][3].text == rows["none"][4].text == "not finite"
    assert rows["none"][5].text == ""
    assert rows["all"][5].text == "0"
