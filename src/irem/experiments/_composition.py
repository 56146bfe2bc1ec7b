"""Table 4 and its figure: learned additions applied to their own output, for all methods."""

from typing import Any

import numpy as np

from irem._keys import fresh_key
from irem.experiments._compose import compose
from irem.experiments._paper import PAPER_COMPOSITIONS
from irem.experiments._study import Study, method_settings, spread
from irem.methods import METHODS
from irem.tasks import AbstractTask

OPERATIONS = 20
"""Length of the curve; the paper's table has 2, 5 and 10."""


def composition(study: Study) -> list[dict[str, Any]]:
    """Errors of every method after 1 to 20 nested additions."""
    task = study.tasks["addition"]
    return [
        row
        for method in METHODS
        for row in study.cell("composition", method, lambda m=method: _rows(study, task, m))
    ]


def _rows(study: Study, task: AbstractTask, method: str) -> list[dict[str, Any]]:
    label = f"{task.name}-{method}"
    run, _ = study.trained(task, method_settings(task, method), label)
    options = {"problems": study.scale.problems, "key": fresh_key(0, "compose")}
    curves = np.asarray([compose(model, task, OPERATIONS, **options) for model in run.models])
    return [
        {
            "task": task.name,
            "method": method,
            "operations": k,
            **spread(curves[:, k - 1]),
            "paper": PAPER_COMPOSITIONS[method].get(k),
            # Each of the k + 1 operands has variance 1/3, so answering zero errs by as much.
            "trivial": (k + 1) / 3,
            "best": 0.0,
            "problems": options["problems"],
            "run": f"models/{label}",
            **study.origin(),
        }
        for k in range(1, OPERATIONS + 1)
    ]
