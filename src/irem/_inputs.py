"""What users give as problems, checked and shaped for a network."""

import math
from typing import Any

import jax
from jaxtyping import Array

from irem._checks import numeric
from irem._errors import InputError
from irem._problem import Graph


def vectors(x: Any, shape: tuple[int, ...]) -> tuple[Array, bool]:
    """`x` as a batch of problems of `shape`, each also as one flat row, and whether it was one."""
    x = numeric("x", x)
    flat = (math.prod(shape),)
    if x.shape in (shape, flat):
        return x.reshape(1, *shape), True
    if x.ndim > 1 and x.shape[0] > 0 and x.shape[1:] in (shape, flat):
        return x.reshape(-1, *shape), False
    raise InputError(
        f"`x` has shape {x.shape}; expected one problem of shape {shape}, or a stack of "
        f"them of shape (n, {', '.join(map(str, shape))}), each also as a flat row of "
        f"{flat[0]}."
    )


def graphs(x: Any) -> tuple[Graph, bool]:
    """`x` as a batch of graphs: an n x n matrix, a stack of them, or a table of flat ones.

    A square table is one graph, whatever it may have been meant to be.
    """
    if isinstance(x, Graph):
        edges, nodes = numeric("x", x.edges), jax.numpy.asarray(x.nodes)
    else:
        edges, nodes = _square(numeric("x", x)), None
    if edges.ndim not in (2, 3) or edges.shape[-1] != edges.shape[-2] or edges.size == 0:
        raise InputError(
            f"`x` has shape {edges.shape}; expected one graph or square matrix of shape (n, n), "
            "a stack of them of shape (count, n, n), or flat rows of n x n numbers."
        )
    if nodes is not None and nodes.shape != edges.shape[:-1]:
        raise InputError(f"`x` has nodes of shape {nodes.shape} and edges of {edges.shape}.")
    graph = Graph.of(edges) if nodes is None else Graph(edges, nodes)
    if edges.ndim == 3:
        return graph, False
    return jax.tree.map(lambda leaf: leaf[None], graph), True


def pictures(x: Any) -> tuple[Array, bool]:
    """`x` as a stack of grey pictures of one size, and whether it was one."""
    x = numeric("x", x)
    if x.ndim not in (2, 3) or x.size == 0:
        raise InputError(
            f"`x` has shape {x.shape}; expected one grey picture of shape (height, width), or a "
            "stack of them of shape (n, height, width)."
        )
    return (x[None], True) if x.ndim == 2 else (x, False)


def _square(edges: Array) -> Array:
    """A table of flat graphs as a stack of matrices; anything else as it is."""
    if edges.ndim != 2 or edges.shape[0] == edges.shape[1]:
        return edges
    nodes = math.isqrt(edges.shape[1])
    return edges.reshape(-1, nodes, nodes) if nodes**2 == edges.shape[1] else edges
