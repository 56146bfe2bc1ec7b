"""Baselines on addition after five times the training of Table 1."""

from irem.paper import table1
from irem.paper.experiment import Experiment, Result, training_sentence
from irem.paper.scale import TrainedScale
from irem.paper.study import Study

# Their errors are above the printed ones after the paper's 10,000 iterations.
_SLOW = ("feedforward", "programmatic", "iterative-feedforward")

SETTINGS = table1.Settings(experiment="longer", methods=_SLOW, times=5)


def run(study: Study, settings: table1.Settings = SETTINGS) -> list[table1.Table1Cell]:
    """Return the cells of addition."""
    return table1.method_cells(study, ["addition"], settings)


def _describe(result: Result) -> str:
    first = result.cells[0]
    assert isinstance(first, table1.Table1Cell)
    planned = SETTINGS.times * result.settings(TrainedScale).vectors.iterations
    return training_sentence(result, planned if first.iterations is None else first.iterations)


EXPERIMENT = Experiment(
    name="longer",
    title="Addition after five times the training",
    explanation=(
        "The paper says 10,000 iterations for every method. Baselines that learn more slowly gain "
        "from more of them; here everything is as in Table 1 but for five times as many."
    ),
    run=run,
    kinds=(table1.Table1Cell,),
    table=table1.table,
    describe=_describe,
)
