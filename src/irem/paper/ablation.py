"""Table 2: what the replay buffer and the truncated gradient do to error, speed and memory."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from irem.errors import InputError
from irem.evaluation.tables import Entry, Table, measured, number, printed
from irem.methods import build_method
from irem.paper.cells import (
    DIFFICULTIES,
    DifficultyCell,
    Origin,
    as_plain,
    read_plain,
    spread,
)
from irem.paper.experiment import Experiment
from irem.paper.study import Study
from irem.tasks import AbstractTask
from irem.training import Recipe, Training, TrainState, init, iterate, run_chunk

PAPER_ABLATION: Mapping[tuple[bool, bool], tuple[float, int, int]] = MappingProxyType(
    {
        (False, False): (0.0491, 87, 295),
        (True, False): (0.0287, 83, 295),
        (True, True): (0.0274, 100, 100),
    }
)
"""Table 2: error, speed and memory in %, by whether there is a replay and a truncation."""

# Replay, truncation.
_VARIANTS = ((False, False), (True, False), (False, True), (True, True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Costs:
    """The cost of training one model.

    Arguments:
        ms_per_iteration: Milliseconds of an iteration, one number for every round.
        temporary_bytes: Working memory of one compiled iteration, as XLA's analysis has it.
        argument_bytes: Memory of what it is given.
        speed: In % of the whole method; larger is faster.
        memory: Working memory in % of that of the whole method.
        costs_from: Where these numbers come from; early results do not tell it.
    """

    ms_per_iteration: tuple[float, ...]
    temporary_bytes: int
    argument_bytes: int
    speed: float
    memory: float
    costs_from: Origin | None = None

    @property
    def pace(self) -> float | None:
        """The median of `ms_per_iteration`, if there are any."""
        return float(np.median(self.ms_per_iteration)) if self.ms_per_iteration else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class VariantCell(DifficultyCell):
    """The error of one variant.

    Arguments:
        replay: Whether there is a replay buffer.
        truncate: Whether the gradient is that of the last step alone.
        paper_speed: What the paper prints for its speed, in %.
        paper_memory: What the paper prints for its memory, in %.
        steps_mean: Mean number of steps of inference.
        run: Folder of the models within the study.
    """

    replay: bool
    truncate: bool
    paper_speed: int | None
    paper_memory: int | None
    steps_mean: float
    run: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class AblationCell(VariantCell, Costs):
    """Error and cost of one variant."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        task: On which task.
        rounds: How often every variant is timed.
    """

    task: str = "shortest-path"
    rounds: int = 5


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[AblationCell]:
    """Return error on both difficulties, speed and memory of the four variants."""
    task = study.tasks[settings.task]
    costs = _costs(study, task, settings.rounds)
    return [
        AblationCell(**vars(cell), **vars(costs[_name(*variant)]))
        for variant in _VARIANTS
        for cell in study.cells(
            "ablation",
            _name(*variant),
            [VariantCell],
            lambda v=variant: _measure_errors(study, task, *v),
        )
    ]


def _costs(study: Study, task: AbstractTask, rounds: int) -> dict[str, Costs]:
    """Costs of every variant by its name, measured at most once."""
    names = [_name(*variant) for variant in _VARIANTS]
    measure = lambda: as_plain(measure_costs(study, task, rounds))  # noqa: E731
    given = study.values("ablation", "costs", measure)
    with study.reading("ablation", "costs") as where:
        found = read_plain(Mapping[str, Costs], given, where)
        if set(found) != set(names):
            raise InputError(f"{where} lacks a variant or has another one.")
    measured_at = study.origins("ablation", ["costs"]).get("costs")
    return {n: dataclasses.replace(found[n], costs_from=measured_at) for n in names}


def _measure_errors(
    study: Study, task: AbstractTask, replay: bool, truncate: bool
) -> list[VariantCell]:
    label = f"{task.name}-irem"
    if not (replay and truncate):  # the whole method is a cell of Table 1
        label += f"-{_name(replay, truncate)}"
    run, _ = study.trained(task, _recipe(study, task, replay, truncate), label)
    paper = PAPER_ABLATION.get((replay, truncate), (None, None, None))
    cells = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        cells.append(
            VariantCell(
                task=task.name,
                method="irem",
                replay=replay,
                truncate=truncate,
                difficulty=difficulty,
                **vars(spread(found.mse_by_model)),
                # The paper prints one error; Table 1 shows that it is the one of the same size.
                paper=paper[0] if difficulty == "same" else None,
                paper_speed=paper[1],
                paper_memory=paper[2],
                trivial=found.trivial_mse,
                best=found.oracle_mse,
                steps_mean=found.steps_mean,
                run=f"models/{label}",
                **study.origin(),
            )
        )
    return cells


def measure_costs(study: Study, task: AbstractTask, rounds: int) -> dict[str, Costs]:
    """Return costs of every variant, for one model, by its name.

    The variants are timed one after another in every round, so that what else the machine does
    falls on all of them.
    """
    length = study.scale.pace_iterations
    runners, times, bytes_of = {}, {}, {}
    for variant in _VARIANTS:
        name, recipe = _name(*variant), _recipe(study, task, *variant)
        training = Training(
            task,
            optax.adam(1e-4),
            recipe.component("replay"),
            recipe.component("average"),
            recipe.length("batch_size"),
        )
        method = build_method(task, recipe.method_settings(), key=jax.random.key(0))
        state = init(training, method, jax.random.key(0))
        times[name], bytes_of[name] = [], measure_memory(training, state)
        runners[name] = (training, jax.tree.map(_stacked, state))
    for turn in range(rounds + 1):
        for name, (training, states) in runners.items():
            start = time.perf_counter()
            states, info = run_chunk(training, states, length)
            jax.block_until_ready(info.loss)
            runners[name] = (training, states)
            if turn:  # the first one compiles
                times[name].append(1e3 * (time.perf_counter() - start) / length)
    whole = _name(True, True)
    pace = {name: np.median(found) for name, found in times.items()}
    working = {name: found["temporary_bytes"] for name, found in bytes_of.items()}
    return {
        name: Costs(
            ms_per_iteration=tuple(times[name]),
            **bytes_of[name],
            speed=float(100 * pace[whole] / pace[name]),
            memory=100 * working[name] / working[whole],
        )
        for name in runners
    }


def measure_memory(training: Training, state: TrainState) -> dict[str, int]:
    """Return the working memory of one compiled iteration, and that of its arguments."""
    step: Any = eqx.filter_jit(iterate)
    analysis = step.lower(training, state).compile().compiled.memory_analysis()
    return {
        "temporary_bytes": int(analysis.temp_size_in_bytes),
        "argument_bytes": int(analysis.argument_size_in_bytes),
    }


def _recipe(study: Study, task: AbstractTask, replay: bool, truncate: bool) -> Recipe:
    names = {
        "gradient.name": "last-steps" if truncate else "full-unroll",
        "replay.name": "buffer" if replay else "none",
    }
    return study.recipe(task).override(names)


def _name(replay: bool, truncate: bool) -> str:
    return f"{'replay' if replay else 'no-replay'}-{'last-step' if truncate else 'full-unroll'}"


def _stacked(leaf: Any) -> Any:
    return leaf[None] if eqx.is_array(leaf) else leaf


def table(cells: Sequence[AblationCell], file: str) -> Table:
    """Replay and truncation down; error, pace and memory across."""
    percent = lambda value: "" if value is None else f"{value} %"  # noqa: E731
    rows = [
        (
            Entry("yes" if cell.replay else "no"),
            Entry("yes" if cell.truncate else "no"),
            Entry(cell.difficulty),
            measured(cell, file, index),
            Entry(printed(cell.paper)),
            Entry(number(cell.trivial)),
            Entry(number(cell.best)),
            Entry(number(cell.pace)),
            Entry(f"{cell.speed:.0f} %"),
            Entry(percent(cell.paper_speed)),
            Entry(f"{cell.temporary_bytes / 1e6:.1f}"),
            Entry(f"{cell.memory:.0f} %"),
            Entry(percent(cell.paper_memory)),
        )
        for index, cell in enumerate(cells)
    ]
    header = ("replay", "truncated", "difficulty", "error", "paper", "trivial", "best")
    costs = ("ms an iteration", "speed", "paper", "MB at work", "memory", "paper")
    return Table((*header, *costs), tuple(rows), labels=3)


EXPERIMENT = Experiment(
    name="ablation",
    title="Table 2: replay and truncated gradients",
    explanation=(
        "IREM on shortest paths. Speed is relative to the whole method (larger is faster), memory "
        "is what XLA's own analysis says one compiled training iteration needs beside its "
        "arguments. Without replay an iteration has half the descents."
    ),
    run=run,
    kinds=(AblationCell,),
    table=table,
)
