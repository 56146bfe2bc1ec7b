"""Table 1's graphs with the sum of messages, as GINE has it."""

from irem.formats import Graphs
from irem.paper import table1
from irem.paper.experiment import Experiment
from irem.paper.study import Study

SETTINGS = table1.Settings(experiment="sums", aggregate="sum")


def run(study: Study, settings: table1.Settings = SETTINGS) -> list[table1.Table1Cell]:
    """Return the cells of all methods on the graph tasks of the study."""
    graphs = [name for name, task in study.tasks.items() if isinstance(task.format, Graphs)]
    return table1.method_cells(study, graphs, settings)


EXPERIMENT = Experiment(
    name="sums",
    title="Table 1 with the sum of messages",
    explanation=(
        "The graphs of Table 1, all methods with the sum of messages as GINE has it. Trained on 2 "
        "to 10 nodes, sums leave the range of training at 15."
    ),
    run=run,
    kinds=(table1.Table1Cell,),
    table=table1.table,
)
