"""Graphs in .graphml and .gml files, which networkx reads."""

from pathlib import Path
from typing import Any

from irem.errors import InputError

SUFFIXES = (".graphml", ".gml")
"""How the names of files end that networkx reads."""

_LARGEST = 50_000_000


def read_graph(path: Path) -> Any:
    """Return the graph in a .graphml or .gml file as one of networkx.

    Raises:
        InputError: networkx is not installed, or does not read the file.
    """
    try:
        import networkx  # noqa: PLC0415  (not a requirement of irem)
    except ImportError as error:
        raise InputError(
            f"'{path}' is read by networkx, which is not installed; install it with `pip install "
            "networkx`, or list the edges in a .csv file."
        ) from error
    if path.stat().st_size > _LARGEST:
        raise InputError(f"'{path}' has more than {_LARGEST:,} bytes; list its edges in a .csv.")
    try:
        return networkx.read_gml(path) if path.suffix == ".gml" else networkx.read_graphml(path)
    except OSError:
        raise
    except Exception as error:  # errors of any kind
        reason = str(error).partition("\n")[0].strip()[:200] or type(error).__name__
        raise InputError(f"'{path}' is not a graph that networkx reads ({reason}).") from error
