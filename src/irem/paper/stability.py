"""What keeps training stable: each safeguard left out in turn."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from irem.errors import DivergenceError
from irem.evaluation.tables import Entry, Table, measured
from irem.paper.cells import DIFFICULTIES, DifficultyCell, indexed_by_difficulty, spread
from irem.paper.experiment import Experiment, Result
from irem.paper.scale import TrainedScale
from irem.paper.structure import best_recipe
from irem.paper.study import Study
from irem.paper.table1 import printed_mse
from irem.tasks import AbstractTask
from irem.training import Recipe, Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Safeguards:
    """What keeps training stable.

    Arguments:
        replay: Replayed candidates are clipped to a few times the range of answers.
        gradients: Gradients are clipped at a norm.
        decay: The learning rate falls to zero along a cosine.
    """

    replay: bool = True
    gradients: bool = True
    decay: bool = True


VARIANTS: Mapping[str, Safeguards] = MappingProxyType(
    {
        "all": Safeguards(),
        "replay-not-clipped": Safeguards(replay=False),
        "gradients-not-clipped": Safeguards(gradients=False),
        "no-decay": Safeguards(decay=False),
        "none": Safeguards(replay=False, gradients=False, decay=False),
    }
)
"""All safeguards, each one left out, and none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StabilityCell(DifficultyCell):
    """The error of training with some safeguards; what diverged has no error.

    Arguments:
        energies: Whose recipe is trained: `paper`, or `structure` for that of the zoo.
        variant: A name of `VARIANTS`.
        replay: Whether replayed candidates are clipped.
        gradients: Whether gradients are clipped.
        decay: Whether the learning rate decays.
        skipped: Updates that were not finite, over all seeds.
        iterations: Updates of training.
        steps_mean: Mean number of steps of inference.
        run: Folder of the models within the study.
    """

    energies: str
    variant: str
    replay: bool
    gradients: bool
    decay: bool
    skipped: int | None
    iterations: int | None
    steps_mean: float | None
    run: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        paper: Tasks of the paper's recipe: where it beats the trivial predictor.
        structure: Tasks of the recipe `best`.
        share: Share of the iterations of the recipe `best` that are trained.
        seeds: Models of every variant.
        clip_norm: Norm at which gradients of the paper's recipe are clipped.
        clip: Size at which its replayed candidates are clipped.
        changes: What differs from the recipes `best`, as `Recipe.override` takes it.
    """

    paper: tuple[str, ...] = ("addition", "shortest-path")
    structure: tuple[str, ...] = ("connected-components", "matrix-inverse")
    share: float = 0.2
    seeds: int = 3
    clip_norm: float = 0.5
    clip: float = 3.0
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[StabilityCell]:
    """Return errors with and without the safeguards."""
    recipes = {
        **{(name, "paper"): _paper_recipe for name in settings.paper},
        **{(name, "structure"): _best_recipe for name in settings.structure},
    }
    return [
        cell
        for (name, energies), make in recipes.items()
        if name in study.tasks
        for variant in VARIANTS
        for cell in study.cells(
            "stability",
            f"{name}-{energies}-{variant}",
            [StabilityCell],
            lambda n=name, e=energies, m=make, v=variant: _measure(
                study, study.tasks[n], e, v, m(study, study.tasks[n], settings), settings.seeds
            ),
        )
    ]


def _paper_recipe(study: Study, task: AbstractTask, settings: Settings) -> Recipe:
    safeguards = {"replay.clip": settings.clip, "optimiser.clip_norm": settings.clip_norm}
    return study.recipe(task).override(safeguards)


def _best_recipe(study: Study, task: AbstractTask, settings: Settings) -> Recipe:
    return best_recipe(task, study.scale.structure * settings.share, settings.changes)


def _without(recipe: Recipe, safeguards: Safeguards) -> Recipe:
    """The recipe with a decaying learning rate, less the safeguards that are left out."""
    changes: dict[str, Any] = {"optimiser.decay": "cosine" if safeguards.decay else "constant"}
    if not safeguards.replay:
        changes["replay.clip"] = None
    if not safeguards.gradients:
        changes["optimiser.clip_norm"] = None
    return recipe.override(changes)


def _measure(
    study: Study, task: AbstractTask, energies: str, variant: str, recipe: Recipe, seeds: int
) -> list[StabilityCell]:
    label, safeguards = f"{task.name}-{energies}-{variant}", VARIANTS[variant]
    run: Run | None = None
    try:
        run, _ = study.trained(task, _without(recipe, safeguards), label, seeds=seeds)
    except DivergenceError as error:
        study.say(f"stability: {label}: {error}")
    cells = []
    for difficulty in DIFFICULTIES:
        found = None if run is None else study.score(run, difficulty)
        test_set, _ = study.test_set(task, difficulty)
        errors = [float("nan")] * seeds if found is None else found.mse_by_model
        cells.append(
            StabilityCell(
                task=task.name,
                method="irem",
                energies=energies,
                variant=variant,
                **vars(safeguards),
                difficulty=difficulty,
                **vars(spread(errors)),
                skipped=None if run is None else int(run.history.skipped.sum()),
                iterations=None if run is None else run.iteration,
                paper=printed_mse("irem", task, difficulty),
                trivial=test_set.floors[0],
                best=test_set.floors[1],
                steps_mean=None if found is None else found.steps_mean,
                run=f"models/{label}",
                **study.origin(),
            )
        )
    return cells


def table(cells: Sequence[StabilityCell], file: str) -> Table:
    """Tasks, energies and variants of training down; both difficulties across."""
    rows = []
    groups = indexed_by_difficulty(cells, "task", "energies", "variant")
    for (task, energies, variant), levels in groups.items():
        row = [Entry(task), Entry(energies), Entry(variant.replace("-", " "))]
        found = (levels.get(difficulty) for difficulty in DIFFICULTIES)
        row += [Entry("") if f is None else measured(f[1], file, f[0]) for f in found]
        _, first = next(iter(levels.values()))
        skipped = first.skipped
        row.append(Entry("" if skipped is None else f"{skipped:,}"))
        rows.append(tuple(row))
    header = ("task", "energy", "training", *DIFFICULTIES, "skipped updates")
    return Table(header, tuple(rows), labels=3)


def _describe(result: Result) -> str:
    first = result.cells[0]
    assert isinstance(first, StabilityCell)
    problems = result.settings(TrainedScale).problems
    return f"{result.file}: {first.seeds} seeds, {problems} test problems; {result.origin}"


EXPERIMENT = Experiment(
    name="stability",
    title="What keeps training stable",
    explanation=(
        "IREM with all of clipped replay, clipped gradients and a decaying learning rate, with all "
        "but one, and with none, as in the paper. Energies of the paper train as in "
        "Table 1, those of structure for a fifth of their iterations. Updates that are not "
        "finite are skipped everywhere; their number over all seeds is shown."
    ),
    run=run,
    kinds=(StabilityCell,),
    table=table,
    describe=_describe,
)
