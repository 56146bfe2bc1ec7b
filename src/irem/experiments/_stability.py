"""What keeps training stable, taken away part by part."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from irem._errors import DivergenceError
from irem.experiments._structure import FORMS
from irem.experiments._study import Study, method_settings, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import Replay, Run
from irem.tasks import AbstractTask


@dataclasses.dataclass(frozen=True)
class Parts:
    """What keeps training stable.

    Arguments:
        replay: Replayed candidates are clipped to a few times the range of answers.
        gradients: Gradients are clipped at a norm.
        decay: The learning rate falls to zero along a cosine.
    """

    replay: bool = True
    gradients: bool = True
    decay: bool = True


VARIANTS: Mapping[str, Parts] = MappingProxyType(
    {
        "all": Parts(),
        "replay-not-clipped": Parts(replay=False),
        "gradients-not-clipped": Parts(gradients=False),
        "no-decay": Parts(decay=False),
        "none": Parts(replay=False, gradients=False, decay=False),
    }
)
"""All parts, each one left out, and none."""

SEEDS = 3
"""Models of every variant."""

# Which energies are trained: of the paper where it beats the trivial predictor, and of structure.
_PAPER = ("addition", "shortest-path")
_STRUCTURE = ("connected-components", "matrix-inverse")
# One of so many iterations that the whole training of a structure has.
_SHARE = 5
_CLIP_NORM, _CLIP = 0.5, 3.0


def stability(study: Study) -> list[dict[str, Any]]:
    """Errors with and without the parts, for the paper's energies and those that see structure."""
    cases = [(name, "paper") for name in _PAPER] + [(name, "structure") for name in _STRUCTURE]
    return [
        row
        for name, kind in cases
        if name in study.tasks
        for variant in VARIANTS
        for row in study.cell(
            "stability",
            f"{name}-{kind}-{variant}",
            lambda n=name, k=kind, v=variant: _rows(study, study.tasks[n], k, v),
        )
    ]


def _rows(study: Study, task: AbstractTask, kind: str, variant: str) -> list[dict[str, Any]]:
    label = f"{task.name}-{kind}-{variant}"
    parts = VARIANTS[variant]
    about = {
        "task": task.name,
        "method": "irem",
        "energies": kind,
        "variant": variant,
        **dataclasses.asdict(parts),
    }
    try:
        run = _trained(study, task, kind, parts, label)
    except DivergenceError as error:
        study.say(f"stability: {label}: {error}")
        nothing = {**spread([float("nan")] * SEEDS), "skipped": None}
        return [{**about, "difficulty": d, **nothing, **study.origin()} for d in DIFFICULTIES]
    rows = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        rows.append(
            {
                **about,
                "difficulty": difficulty,
                **spread(found.mse_by_model),
                "skipped": int(run.history.skipped.sum()),
                "iterations": run.iteration,
                "paper": found.paper_mse,
                "trivial": found.trivial_mse,
                "best": found.oracle_mse,
                "steps_mean": found.steps_mean,
                "run": f"models/{label}",
                **study.origin(),
            }
        )
    return rows


def _trained(study: Study, task: AbstractTask, kind: str, parts: Parts, label: str) -> Run:
    if kind == "paper":
        method, clip, clip_norm = method_settings(task, "irem"), _CLIP, _CLIP_NORM
        budget, precision = study.scale.budget(task), "default"
    else:
        form = FORMS[task.name]
        method, clip, budget = form.method(), form.clip, form.budget
        clip_norm, precision = budget.clip_norm, form.precision
        iterations = max(round(study.scale.structure * budget.iterations / _SHARE), 1)
        budget = dataclasses.replace(budget, iterations=iterations)
    run, _ = study.trained(
        task,
        method,
        label,
        replay=Replay(clip=clip if parts.replay else None),
        budget=dataclasses.replace(
            budget,
            clip_norm=clip_norm if parts.gradients else None,
            decay="cosine" if parts.decay else "constant",
        ),
        seeds=SEEDS,
        precision=precision,
    )
    return run
