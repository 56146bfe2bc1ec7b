"""The network that fits a task, by name or by default."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import PRNGKeyArray

from irem.nn import CELLS, NETWORKS, AbstractCell, AbstractNetwork
from irem.settings import HasFormat, first_fitting, parsed


def network_for(
    task: HasFormat,
    settings: Mapping[str, Any] | None = None,
    *,
    answers: int = 0,
    scalars: int = 0,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
    key: PRNGKeyArray,
) -> AbstractNetwork:
    """Return a network for `task` that takes further inputs beside `x`.

    Arguments:
        task: Whose problems it takes.
        settings: Its settings; `name` is one of `irem.nn.NETWORKS`, by default the first that fits.
        answers: How many arrays shaped like the answer are given beside `x`.
        scalars: How many single numbers are given beside `x`.
        defaults: By name of the network, settings in place of its own defaults.
        key: Source of the initial weights.
    """
    own = dict(settings or {})
    name = own.pop("name", None) or first_fitting(NETWORKS, task)
    kind: Any = NETWORKS[name]
    own = {**(defaults or {}).get(name, {}), **parsed(kind, own, f"the {name} network")}
    return kind(**kind.fit(task), answers=answers, scalars=scalars, **own, key=key)


def cell_for(
    task: HasFormat, settings: Mapping[str, Any] | None = None, *, key: PRNGKeyArray
) -> AbstractCell:
    """Return a recurrent step for `task`; arguments as in `network_for`."""
    own = dict(settings or {})
    name = own.pop("name", None) or first_fitting(CELLS, task)
    kind: Any = CELLS[name]
    return kind(**kind.fit(task), **parsed(kind, own, f"the {name} cell"), key=key)
