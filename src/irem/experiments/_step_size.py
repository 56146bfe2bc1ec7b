"""Table 3: the step size of training, on addition."""

from typing import Any

from irem.experiments._paper import PAPER_STEP_SIZE
from irem.experiments._study import Study, method_settings, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.tasks import AbstractTask

# The one of all other experiments, whose models are those of Table 1.
_USUAL = 100


def step_size(study: Study) -> list[dict[str, Any]]:
    """Errors on both difficulties for every step size of the paper."""
    task = study.tasks["addition"]
    return [
        row
        for size in PAPER_STEP_SIZE
        for row in study.cell("step-size", str(size), lambda s=size: _rows(study, task, s))
    ]


def _rows(study: Study, task: AbstractTask, size: int) -> list[dict[str, Any]]:
    settings = {**method_settings(task, "irem"), "step_size": float(size)}
    label = f"{task.name}-irem" + ("" if size == _USUAL else f"-step-{size}")
    run, _ = study.trained(task, settings, label)
    rows = []
    for difficulty, paper in zip(DIFFICULTIES, PAPER_STEP_SIZE[size], strict=True):
        found = study.score(run, difficulty)
        rows.append(
            {
                "task": task.name,
                "method": "irem",
                "step_size": size,
                "difficulty": difficulty,
                **spread(found.mse_by_model),
                "paper": paper,
                "trivial": found.trivial_mse,
                "best": found.oracle_mse,
                "steps_mean": found.steps_mean,
                "run": f"models/{label}",
                **study.origin(),
            }
        )
    return rows
