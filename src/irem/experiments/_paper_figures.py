"""The numbers behind every figure of the paper but those of images."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from irem._keys import fresh_key
from irem.descent import solve
from irem.experiments._evaluate import problem_errors
from irem.experiments._figures import (
    element_errors,
    error_curves,
    heights,
    problem_plane,
    sizes,
)
from irem.experiments._study import Study, method_settings
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import Run
from irem.methods import METHODS, AbstractBaseline, answers_by_step
from irem.tasks import AbstractTask, Difficulty

STEPS = 40
"""Steps of the curves that compare methods; all were trained with 5."""

_PROBLEMS = 100
_VECTORS = ("addition", "matrix-completion", "matrix-inverse")


def figures(study: Study) -> dict[str, Any]:
    """Every figure as plain numbers, by name."""
    made = {
        "teaser": lambda: _teaser(study),
        "steps-by-size": lambda: _steps_by_size(study),
        "steps-by-difficulty": lambda: _steps_by_difficulty(study),
        "element-error": lambda: _elements(study),
        "energy-landscape": lambda: _energies(study),
        "composition-example": lambda: _example(study),
    }
    return {name: study.cell("figures", name, make) for name, make in made.items()}


def _run(study: Study, task: AbstractTask, method: str) -> Run:
    """The models of Table 1."""
    return study.trained(task, method_settings(task, method), f"{task.name}-{method}")[0]


def _teaser(study: Study) -> dict[str, Any]:
    """A slice of the landscape of one harder addition, and two paths on it."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    plane = problem_plane(model, task, max_steps=30, key=fresh_key(0, "teaser"))
    return {
        "first": _plain(plane.first[0]),
        "second": _plain(plane.second[:, 0]),
        "energies": _plain(plane.energies),
        "paths": [_plain(path) for path in plane.paths],
    }


def _steps_by_size(study: Study) -> dict[str, Any]:
    """Error against steps on shortest paths, by number of nodes."""
    task = study.tasks["shortest-path"]
    return _curves(study, task, sizes(task), ("irem", "recurrent"), 100)


def _steps_by_difficulty(study: Study) -> dict[str, Any]:
    """Error against steps on the tasks of a fixed size, for all methods."""
    tasks = (study.tasks[name] for name in _VECTORS if name in study.tasks)
    return {task.name: _curves(study, task, DIFFICULTIES, tuple(METHODS), STEPS) for task in tasks}


def _curves(
    study: Study,
    task: AbstractTask,
    levels: tuple[Difficulty, ...],
    methods: tuple[str, ...],
    num_steps: int,
) -> dict[str, Any]:
    """Mean error over problems and seeds after every step, by method and level."""
    key = fresh_key(0, "curves")
    options = {"problems": _PROBLEMS, "max_steps": num_steps, "key": key}
    walked = error_curves(_run(study, task, "irem").models, task, levels, **options)
    labels = list(walked.errors)
    mse: dict[str, dict[str, Any]] = {}
    for method in methods:
        if method == "irem":
            mse[method] = {label: e.mean(0) for label, e in walked.errors.items()}
            continue
        models = _run(study, task, method).models
        curves = (_baseline_curve(models, task, level, num_steps, key) for level in levels)
        mse[method] = dict(zip(labels, curves, strict=True))
    return {
        "problems": _PROBLEMS,
        "mse_by_step": {m: {k: _plain(v) for k, v in by.items()} for m, by in mse.items()},
        "trivial": walked.trivial,
    }


def _baseline_curve(
    models: tuple[AbstractBaseline, ...],
    task: AbstractTask,
    level: Difficulty,
    num_steps: int,
    key: jax.Array,
) -> np.ndarray:
    key_problems, key_steps = jax.random.split(key)
    batch = task.batch(key_problems, _PROBLEMS, level)
    curves = []
    for model in models:
        ys = answers_by_step(model, batch.x, num_steps, key_steps)
        by_step = [problem_errors(y, batch).mean() for y in jnp.moveaxis(ys, 1, 0)]
        curves.append(by_step)
    return np.mean(curves, axis=0)


def _elements(study: Study) -> dict[str, Any]:
    """Squared error of every entry of one harder addition after every step."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    found = element_errors(model, task, max_steps=STEPS, key=fresh_key(0, "elements"))
    return {"errors": _plain(found.errors)}


def _energies(study: Study) -> dict[str, Any]:
    """Energies of perturbed answers above the minimum, and their distance from the truth."""
    shown = {}
    for name in _VECTORS:
        if name not in study.tasks:
            continue
        task = study.tasks[name]
        models = _run(study, task, "irem").models[:1]
        found = heights(models, task, DIFFICULTIES, problems=50, key=fresh_key(0, "energies"))
        correlation = found.as_dict()["rank_correlation"]
        shown[name] = {
            level: {
                "distance": _plain(distance),
                "height": _plain(height),
                "rank_correlation": correlation[level],
            }
            for level, (distance, height) in found.points.items()
        }
    return shown


def _example(study: Study) -> dict[str, Any]:
    """The sum of four vectors by three nested additions: the first nine entries as 3 x 3."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    key_operands, key = jax.random.split(fresh_key(0, "example"))
    shape = (4, *task.shapes[1])
    operands = jax.random.uniform(key_operands, shape, minval=-1.0, maxval=1.0)  # pyright: ignore[reportArgumentType]
    answer = operands[0]
    for k, operand in enumerate(operands[1:]):
        answer = solve(model, jnp.stack([answer, operand]), key=jax.random.fold_in(key, k)).y
    truth = operands.sum(0)
    return {
        "operands": [_plain(o[:9]) for o in operands],
        "answer": _plain(answer[:9]),
        "truth": _plain(truth[:9]),
        "mse": float(jnp.mean(jnp.square(answer - truth))),
    }


def _plain(values: Any) -> Any:
    """Nested lists of numbers with six digits that count, which is more than a figure shows."""
    values = np.asarray(values, np.float64)
    if values.ndim:
        return [_plain(v) for v in values]
    return float(f"{values:.6g}")
