"""Cells of Table 1 made by hand."""

from irem.paper.cells import spread
from irem.paper.table1 import Table1Cell


def cell(task="addition", method="irem", difficulty="same", seeds_at=(0.0010, 0.0030), **values):
    """A cell of Table 1 with two seeds."""
    fields = {
        **vars(spread(seeds_at)),
        "paper": 0.0019,
        "trivial": 0.5,
        "best": 0.0,
        "best_problems": 10,
        "problems": 10,
        "sem": 0.1,
        "steps_mean": 9.0,
        "converged": None,
        "parameters": 1234,
        "method_settings": {},
        "train_seconds": 1.0,
        "last_loss_by_seed": (0.1,),
        "skipped_updates": 0,
        "run": "models/it",
        "also": {},
        "commit": "c0ffee" * 6,
    }
    return Table1Cell(task=task, method=method, difficulty=difficulty, **{**fields, **values})
