"""Appendix B: what a scratchpad does to the error, at an equal number of parameters."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from irem._keys import fresh_key
from irem.experiments._figures import RECORDED_STEPS
from irem.experiments._landscape import descents
from irem.experiments._study import Study, method_settings, num_parameters, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import Run
from irem.methods import AbstractMethod, build_method, describe_method
from irem.tasks import AbstractGraphTask, AbstractTask

VECTOR_SIZE, NODE_SIZE = 128, 16
"""Sizes of the scratchpad: of a problem of a fixed size, and of every node of a graph."""


def scratchpad(study: Study) -> list[dict[str, Any]]:
    """Errors on both difficulties of IREM without a scratchpad and with one, on every task.

    The networks with a scratchpad are narrower, so that they have no more parameters than those
    without, whose models are those of Table 1.
    """
    return [
        row
        for task in study.tasks.values()
        for size in (0, NODE_SIZE if isinstance(task, AbstractGraphTask) else VECTOR_SIZE)
        for row in study.cell(
            "scratchpad", f"{task.name}-{size}", lambda t=task, s=size: _rows(study, t, s)
        )
    ]


def _rows(study: Study, task: AbstractTask, size: int) -> list[dict[str, Any]]:
    settings = with_scratchpad(task, size) if size else method_settings(task, "irem")
    label = f"{task.name}-irem" + (f"-scratchpad-{size}" if size else "")
    run, seconds = study.trained(task, settings, label)
    chosen = _chosen_steps(study, run)
    rows = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        stopped = study.score(run, difficulty, max_steps=chosen)
        rows.append(
            {
                "task": task.name,
                "method": "irem",
                "scratchpad": size,
                "difficulty": difficulty,
                **spread(found.mse_by_model),
                "paper": found.paper_mse,
                "trivial": found.trivial_mse,
                "best": found.oracle_mse,
                "steps_mean": found.steps_mean,
                "converged": found.converged,
                "stopped": {**spread(stopped.mse_by_model), "max_steps": chosen},
                "width": run.settings["method"]["energy"]["width"],
                "parameters": num_parameters(run.models[0]),
                "train_seconds": seconds,
                "run": f"models/{label}",
                **study.origin(),
            }
        )
    return rows


def _chosen_steps(study: Study, run: Run) -> int:
    """The number of steps with the smallest error on validation problems like those of training.

    The loss leaves open where a scratchpad comes to rest, so a descent until the energy stops
    changing may walk past the answer.
    """
    key_problems, key_guesses = jax.random.split(fresh_key(0, "validate"))
    batch = run.task.batch(key_problems, study.scale.problems, "same")
    walks = [descents(model, batch, RECORDED_STEPS, key=key_guesses) for model in run.models]
    errors = np.mean([walk.errors.mean(0) for walk in walks], axis=0)[1:]
    return 1 + int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))


def with_scratchpad(task: AbstractTask, size: int) -> dict[str, Any]:
    """IREM with a scratchpad, as wide as it can be with no more parameters than without one."""
    settings = method_settings(task, "irem")
    plain = _form(task, settings)
    width, most = describe_method(plain)["energy"]["width"], _count(plain)
    narrower = range(width, 0, -2 if isinstance(task, AbstractGraphTask) else -1)  # GINE's is even
    energies = ({**settings["energy"], "width": w, "scratch": size} for w in narrower)
    candidates = ({**settings, "energy": energy} for energy in energies)
    return next(c for c in candidates if _count(_form(task, c)) <= most)


def _form(task: AbstractTask, settings: dict[str, Any]) -> AbstractMethod:
    """A method whose arrays are mere shapes."""
    build = lambda key: build_method(task, settings, key=key)  # noqa: E731
    return eqx.filter_eval_shape(build, jax.random.key(0))


def _count(form: AbstractMethod) -> int:
    shapes = [s for s in jax.tree.leaves(form) if isinstance(s, jax.ShapeDtypeStruct)]
    return sum(shape.size for shape in shapes)
