"""Table 1: five methods on six tasks, on problems like those of training and on harder ones."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from irem.descent import EnergyUnchanged, FixedStep
from irem.experiments._evaluate import Evaluation
from irem.experiments._study import Study, method_settings, num_parameters, spread
from irem.learning import Run
from irem.methods import METHODS
from irem.tasks import AbstractGraphTask

DIFFICULTIES = ("same", "harder")

# A fixed step of the trained size until the energy has not changed for some steps, the budget that
# of the released program.
_PAPER_WALK = {
    "step": FixedStep(),
    "halt": EnergyUnchanged(rtol=1e-4),
    "max_steps": 80,
}

# Baselines whose errors on addition are above the printed ones after the paper's 10,000 iterations.
_SLOW = ("feedforward", "programmatic", "iterative-feedforward")


def table1(study: Study) -> list[dict[str, Any]]:
    """The cells of Table 1; every method with the mean of messages on graphs."""
    return _cells(study, "table1", list(study.tasks), tuple(METHODS), None)


def sums(study: Study) -> list[dict[str, Any]]:
    """The cells of Table 1's graphs with the sum of messages, as GINE has it."""
    graphs = [name for name, t in study.tasks.items() if isinstance(t, AbstractGraphTask)]
    return _cells(study, "sums", graphs, tuple(METHODS), "sum")


def longer(study: Study) -> list[dict[str, Any]]:
    """The cells of addition after five times the training."""
    return _cells(study, "longer", ["addition"], _SLOW, None, times=5)


def _cells(
    study: Study,
    experiment: str,
    tasks: list[str],
    methods: Sequence[str],
    aggregate: str | None,
    times: int = 1,
) -> list[dict[str, Any]]:
    return [
        row
        for task in tasks
        for method in methods
        for row in study.cell(
            experiment,
            f"{task}-{method}",
            lambda t=task, m=method: _rows(study, t, m, aggregate, times),
        )
    ]


def _rows(
    study: Study, task_name: str, method: str, aggregate: str | None, times: int
) -> list[dict[str, Any]]:
    """Train, and evaluate on both difficulties."""
    task = study.tasks[task_name]
    settings = method_settings(task, method, aggregate)
    label = f"{task_name}-{method}" + (f"-{aggregate}" if aggregate else "")
    label += "" if times == 1 else f"-{times}-times"
    run, seconds = study.trained(
        task, settings, label, budget=study.scale.budget(task).longer(times)
    )
    trained = {
        "iterations": run.iteration,
        "parameters": num_parameters(run.models[0]),
        "method_settings": run.settings["method"],
        "train_seconds": seconds,
        "last_loss_by_seed": [float(v) for v in run.history.loss[-1]],
        "skipped_updates": int(run.history.skipped.sum()),
        "run": f"models/{label}",
        **study.origin(),
    }
    return [
        {**_cell(study.score(run, d), method), **trained, "also": _also(study, run, d)}
        for d in DIFFICULTIES
    ]


def _cell(found: Evaluation, method: str) -> dict[str, Any]:
    return {
        "task": found.task,
        "method": method,
        "difficulty": found.difficulty,
        **spread(found.mse_by_model),
        "paper": found.paper_mse,
        "trivial": found.trivial_mse,
        "best": found.oracle_mse,
        "best_problems": found.oracle_problems,
        "problems": found.problems,
        "sem": found.mse_sem,
        "steps_mean": found.steps_mean,
        "converged": found.converged,
    }


def _also(study: Study, run: Run, difficulty: str) -> dict[str, Any]:
    """The same models, answering in another way."""
    name = run.settings["method"]["name"]
    if name == "irem":
        return {"fixed step": spread(study.score(run, difficulty, **_PAPER_WALK).mse_by_model)}
    if name == "programmatic":
        models = tuple(dataclasses.replace(model, halting="expected") for model in run.models)
        expected = dataclasses.replace(run, models=models)
        return {"expected halting": spread(study.score(expected, difficulty).mse_by_model)}
    return {}
