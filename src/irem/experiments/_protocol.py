"""What the released program's way of scoring changes: the best test error seen during training."""

from typing import Any

import equinox as eqx
import numpy as np

from irem._keys import training_keys
from irem.experiments._evaluate import score
from irem.experiments._study import Study, method_settings, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import Recipe, Replay, adam, init, run_chunk, unstack
from irem.methods import build_methods
from irem.tasks import AbstractTask

_LOOKS = 10


def protocol(study: Study) -> list[dict[str, Any]]:
    """IREM on addition: its error at the end, and the smallest one on the way there.

    Addition is where the paper's number is not reached. The released program looks at the test
    problems again and again while it trains, and reports the smallest error, for each difficulty
    by itself. No other experiment here does.
    """
    task = study.tasks["addition"]
    return study.cell("protocol", task.name, lambda: _rows(study, task))


def _rows(study: Study, task: AbstractTask) -> list[dict[str, Any]]:
    budget, seeds = study.scale.budget(task), study.scale.seeds
    keys = training_keys(0, seeds)
    methods = build_methods(task, method_settings(task, "irem"), keys=keys)
    optimiser = adam(budget.learning_rate, budget.decay, budget.iterations)
    recipe = Recipe(task, optimiser, Replay(), budget.batch_size)
    states = eqx.filter_vmap(lambda m, k: init(recipe, m, k))(methods, keys)
    errors = {difficulty: [] for difficulty in DIFFICULTIES}
    for _ in range(_LOOKS):
        states, _ = run_chunk(recipe, states, budget.iterations // _LOOKS)
        models: Any = unstack(states.method, seeds)
        for difficulty, seen in errors.items():
            test_set, key = study.test_set(task, difficulty)
            seen.append(list(score(models, test_set, key=key).mse_by_model))
    iterations = [(k + 1) * (budget.iterations // _LOOKS) for k in range(_LOOKS)]
    return [_row(study, task, difficulty, errors[difficulty], iterations) for difficulty in errors]


def _row(
    study: Study,
    task: AbstractTask,
    difficulty: str,
    errors: list[list[float]],
    iterations: list[int],
) -> dict[str, Any]:
    test_set, _ = study.test_set(task, difficulty)
    return {
        "task": task.name,
        "method": "irem",
        "difficulty": difficulty,
        **spread(np.min(errors, axis=0)),
        "last": spread(errors[-1]),
        "iterations": iterations,
        "mse_by_iteration": errors,
        "paper": task.paper_mse.get(difficulty) if task == type(task)() else None,
        "trivial": test_set.floors[0],
        "best": test_set.floors[1],
        **study.origin(),
    }
