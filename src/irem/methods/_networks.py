"""The network that fits a task, in the size of the paper."""

from typing import Any

from jaxtyping import PRNGKeyArray

from irem._checks import count, known
from irem._errors import InputError
from irem.energy import AGGREGATES
from irem.energy.base import TaskShapes
from irem.methods._bodies import AbstractCell, AbstractNetwork
from irem.methods._dense import Dense, DenseCell
from irem.methods._graph import GraphCell, GraphNet
from irem.methods._image import DENOISERS


def network_for(
    task: TaskShapes,
    *,
    answers: int = 0,
    scalars: int = 0,
    width: int | None = None,
    dense_width: int = 512,
    depth: int | None = None,
    aggregate: str | None = None,
    network: str | None = None,
    bias: bool | None = None,
    key: PRNGKeyArray,
) -> AbstractNetwork:
    """A network of the paper's size for `task`, which takes answers and single numbers beside `x`.

    Arguments:
        task: Whose problems it takes.
        answers: How many arrays shaped like the answer stand beside `x`.
        scalars: How many single numbers do.
        width: Units of a layer; by default 128 for graphs, `dense_width` for vectors.
        dense_width: See above.
        depth: Number of layers; by default 3, and for pictures what the network has.
        aggregate: For graphs: `"mean"` of messages, the default, or their `"sum"`.
        network: For pictures: `"unet"`, the default, or `"dncnn"`.
        bias: For pictures: whether convolutions add a bias.
        key: Where the initial weights come from.
    """
    if task.kind == "images":
        _refuse_aggregate(task, aggregate)
        if answers or scalars:
            raise InputError(f"Of the baselines, '{task.name}' has the feedforward network alone.")
        return _denoiser(network, width=width, depth=depth, bias=bias, key=key)
    for name, value in (("network", network), ("bias", bias)):
        if value is not None:
            raise InputError(f"`{name}` is for pictures, and '{task.name}' has none; leave it out.")
    depth = 3 if depth is None else depth
    count("depth", depth)
    width = _width(task, width, graph=128, dense=dense_width)
    options = {"answers": answers, "scalars": scalars, "width": width, "depth": depth, "key": key}
    if _has_graphs(task):
        return GraphNet(aggregate=_aggregate(aggregate), **options)
    _refuse_aggregate(task, aggregate)
    return Dense(*task.shapes, **options)  # pyright: ignore[reportArgumentType]


def cell_for(
    task: TaskShapes,
    *,
    width: int | None = None,
    aggregate: str | None = None,
    key: PRNGKeyArray,
) -> AbstractCell:
    """A recurrent step for `task`; arguments as in `network_for`.

    The widths of the paper (196 for vectors, 128 for graphs) give half and twice the parameters of
    the other methods. These give about as many, as the paper asks.
    """
    if task.kind == "images":
        raise InputError(f"Of the baselines, '{task.name}' has the feedforward network alone.")
    width = _width(task, width, graph=96, dense=304)
    if _has_graphs(task):
        return GraphCell(width=width, aggregate=_aggregate(aggregate), key=key)
    _refuse_aggregate(task, aggregate)
    return DenseCell(*task.shapes, width=width, key=key)  # pyright: ignore[reportArgumentType]


def _width(task: TaskShapes, width: int | None, *, graph: int, dense: int) -> int:
    if width is None:
        return graph if _has_graphs(task) else dense
    count("width", width)
    return width


def _has_graphs(task: TaskShapes) -> bool:
    return task.kind == "graphs"


def _denoiser(name: str | None, **options: Any) -> AbstractNetwork:
    name = "unet" if name is None else name
    known("network", name, DENOISERS)
    return DENOISERS[name](**{n: value for n, value in options.items() if value is not None})


def _aggregate(aggregate: str | None) -> str:
    aggregate = "mean" if aggregate is None else aggregate
    known("aggregate", aggregate, AGGREGATES)
    return aggregate


def _refuse_aggregate(task: TaskShapes, aggregate: str | None) -> None:
    if aggregate is not None:
        raise InputError(
            f"`aggregate` says how graphs join messages, and '{task.name}' has no graphs; leave "
            "it out."
        )
