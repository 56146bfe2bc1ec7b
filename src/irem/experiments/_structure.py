"""Beyond the paper: energies that see the structure of each task."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from irem._keys import fresh_key
from irem.experiments._compose import compose
from irem.experiments._evaluate import draw, score
from irem.experiments._landscape import descents
from irem.experiments._paper import PAPER_COMPOSITIONS
from irem.experiments._scale import Budget
from irem.experiments._study import Study, num_parameters, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import Replay, Run
from irem.tasks import AbstractGraphTask, AbstractTask, Difficulty, MatrixCompletion, MatrixInverse

STEPS = (5, 10, 20, 50, 100, 500)
"""Steps after which errors are kept; training has five."""

OPERATIONS = 10
"""Nested additions."""

_LARGER_GRAPHS = (30, 60)
# One problem of so many is walked step by step, and one of so many large graphs is answered.
_WALKED, _LARGE = 10, 5


@dataclasses.dataclass(frozen=True)
class Form:
    """How a task is best learned.

    Arguments:
        energy: Settings of the energy, with its name.
        budget: What training is given.
        clip: Largest size of a replayed entry.
        precision: Of the products of training.
    """

    energy: Mapping[str, Any]
    budget: Budget
    clip: float = 3.0
    precision: str = "default"

    def method(self) -> dict[str, Any]:
        """As `build_methods` takes it."""
        energy = dict(self.energy)
        return {"name": "irem", "step_size": 1.0, "gradient": "last-step", "energy": energy}


def _budget(
    iterations: int,
    batch_size: int = 64,
    learning_rate: float = 2e-3,
    clip_norm: float = 0.5,
) -> Budget:
    return Budget(iterations, batch_size, learning_rate, decay="cosine", clip_norm=clip_norm)


# Enough for answers that are linear in their problems, entry by entry.
_BOWL = {"width": 16, "look": 0, "products": 0, "activation": "none"}

FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "edge-copy": Form({**_BOWL, "name": "pair", "maxima": 0}, _budget(5_000)),
        # That a path exists does not depend on how many there are, nor on what else there is.
        "connected-components": Form(
            {"name": "pair", "look": 2, "products": 0, "means": False},
            _budget(10_000, batch_size=32),
        ),
        "shortest-path": Form({"name": "pair", "products": 1}, _budget(15_000)),
        "addition": Form({**_BOWL, "name": "table"}, _budget(5_000)),
        "matrix-completion": Form({"name": "table", "look": 2}, _budget(10_000)),
        "matrix-inverse": Form(
            {
                "name": "pair",
                "look": 3,
                "depth": 2,
                "maxima": 0,
                "aggregate": "sum",
                "means": False,
                "activation": "none",
            },
            _budget(10_000, learning_rate=1e-3, clip_norm=0.1),
            precision="float32",
        ),
    }
)
"""The energy and the training of every task."""


def structure(study: Study) -> list[dict[str, Any]]:
    """Errors of energies that see structure: same, harder, and beyond what the paper asks."""
    return [
        row
        for name, task in study.tasks.items()
        for row in study.cell("structure", name, lambda t=task: _rows(study, t))
    ]


def trained_form(study: Study, task: AbstractTask) -> tuple[Run, float | None]:
    """The models of a task."""
    form = FORMS[task.name]
    share = study.scale.structure
    budget = dataclasses.replace(form.budget, iterations=round(share * form.budget.iterations))
    return study.trained(
        task,
        form.method(),
        f"{task.name}-structure",
        replay=Replay(clip=form.clip),
        budget=budget,
        seeds=min(study.scale.seeds, 3),
        precision=form.precision,
    )


def _rows(study: Study, task: AbstractTask) -> list[dict[str, Any]]:
    run, seconds = trained_form(study, task)
    about = {
        "energy": run.settings["method"]["energy"],
        "iterations": run.iteration,
        "parameters": num_parameters(run.models[0]),
        "train_seconds": seconds,
        "skipped_updates": int(run.history.skipped.sum()),
        "run": f"models/{task.name}-structure",
        **study.origin(),
    }
    rows = [_measured(study, run, *case) for case in _cases(task)]
    if task.name == "addition":
        rows.append(_composed(study, run))
    return [{**row, **about} for row in rows]


def _cases(task: AbstractTask) -> list[tuple[str, AbstractTask, Difficulty]]:
    """What is measured: a name, and where problems come from."""
    cases: list[tuple[str, AbstractTask, Difficulty]] = [(d, task, d) for d in DIFFICULTIES]
    if isinstance(task, AbstractGraphTask):
        cases += [(f"{n} nodes", task, n) for n in _LARGER_GRAPHS]
    if isinstance(task, MatrixInverse):
        cases.append(("30 x 30", dataclasses.replace(task, size=30), "same"))
    if isinstance(task, MatrixCompletion):
        cases.append(("30 x 15", dataclasses.replace(task, size=30, columns=15), "same"))
        cases.append(("30% given", dataclasses.replace(task, given=0.3), "same"))
    return cases


def _measured(
    study: Study, run: Run, name: str, task: AbstractTask, difficulty: Difficulty
) -> dict[str, Any]:
    some = study.scale.problems
    problems = max(some // _LARGE, 1) if isinstance(difficulty, int) else some
    test_set, key = draw(task, difficulty, problems, fresh_key(0, "evaluate"))
    found = score(run, test_set, key=key)
    walked = max(some // _WALKED, 1)
    return {
        "task": task.name,
        "method": "irem",
        "difficulty": name,
        **spread(found.mse_by_model),
        "problems": problems,
        "paper": found.paper_mse,
        "trivial": found.trivial_mse,
        "best": found.oracle_mse,
        "steps_mean": found.steps_mean,
        "converged": found.converged,
        "entries_right": found.entries_right,
        "exact": found.exact,
        "walked": walked,
        "error_by_step": _error_by_step(run, task, difficulty, walked),
    }


def _error_by_step(
    run: Run, task: AbstractTask, difficulty: Difficulty, problems: int
) -> dict[str, float]:
    """Mean over models of the error after some numbers of steps; a descent that rests stays."""
    key_problems, key_guesses = jax.random.split(fresh_key(0, "steps"))
    batch = task.batch(key_problems, problems, difficulty)
    walks = [descents(model, batch, STEPS[-1], key=key_guesses) for model in run.models]
    errors = np.mean([walk.errors.mean(0) for walk in walks], axis=0)
    return {str(t): float(errors[t]) for t in STEPS}


def _composed(study: Study, run: Run) -> dict[str, Any]:
    problems = study.scale.problems
    key = fresh_key(0, "compose")
    curves = [compose(m, run.task, OPERATIONS, problems=problems, key=key)[-1] for m in run.models]
    return {
        "task": run.task.name,
        "method": "irem",
        "difficulty": f"{OPERATIONS} nested",
        **spread(curves),
        "problems": problems,
        "paper": PAPER_COMPOSITIONS["irem"][OPERATIONS],
        "trivial": (OPERATIONS + 1) / 3,
        "best": 0.0,
    }
