"""An energy on square matrices whose every feature is a polynomial of the problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.energy.base import AbstractEnergy
from irem.energy.entries import linear_map
from irem.errors import InputError
from irem.formats import Graphs, Vectors
from irem.nn.fitting import check_depth
from irem.problem import Graph
from irem.settings import HasFormat, setting, weights


class Polynomial(AbstractEnergy):
    r"""An energy of square matrices that is a function of their eigenvalues alone.

    Two matrices of learned coefficients say which equation an answer satisfies,

    $$(w_0 I + w_1 x)\, y = v_0 I + v_1 x,$$

    and a network of products of matrices gives a polynomial $D(x)$ that makes it easy to solve. A
    descent walks in $z$, from which the answer is read as $y = D(x)\, z$:

    $$E(x, z) = \tfrac12 \| (A z - v_0 I - v_1 x) / \|A\|\, \|^2, \quad A = (w_0 I + w_1 x) D(x).$$

    All of it commutes with a change of basis: what is learned of some eigenvalues holds for every
    matrix that has them, of any size and structure. There is nothing that breaks it: no biases, no
    activations, no flags. The energy is a convex quadratic whose curvature is at most 1, since $A$
    is divided by a bound of its largest singular value, so that steps of size 1 never diverge.

    Arguments:
        width: Number of polynomials that a layer passes on.
        depth: Number of layers; each one doubles the degree of the polynomials.
        power: If $c^p y$ answers $c\,x$, that $p$, 1 or -1: the energy then scales along.
        key: Source of the initial weights.
    """

    default_step: ClassVar[str] = "lbfgs"

    width: int = setting(8)
    depth: int = setting(6)
    power: int | None = setting(None)
    embed: Float[Array, "2 width"] = weights()
    layers: tuple[_Products, ...] = weights()
    readout: Float[Array, "width 1"] = weights()
    equation: Float[Array, "2 2"] = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("depth", self.depth)
        if self.power not in (None, 1, -1):
            raise InputError(f"`power` must be 1, -1 or None, got {self.power!r}.")
        key_embed, key_readout, key_equation, *keys = jax.random.split(key, 3 + self.depth)
        self.embed = linear_map(key_embed, 2, self.width)
        self.layers = tuple(_Products(self.width, key=k) for k in keys)
        self.readout = linear_map(key_readout, self.width, 1, gain=0.3)
        self.equation = jax.random.normal(key_equation, (2, 2))

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the power of a task of graphs or square matrices."""
        shapes = task.format
        if isinstance(shapes, Vectors):
            x_shape = shapes.x_shape
            if len(x_shape) == 2 and x_shape[0] == x_shape[1] and x_shape == shapes.y_shape:
                return {"power": task.power}
            has = f"problems of shape {x_shape} with answers of shape {shapes.y_shape}"
        elif isinstance(shapes, Graphs) and not shapes.missing:
            return {"power": task.power}
        else:
            has = f"{shapes.noun}, of which entries may be missing"
        raise InputError(
            f"The Polynomial energy needs whole square matrices, and '{task.name}' has {has}."
        )

    @property
    def format(self) -> Graphs:
        """Square matrices of any size."""
        return Graphs()

    def landscape(self, x: Graph | Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from `z` to its energy; the problem is encoded once."""
        encoded = self._encode(x)

        def energy(z: Float[Array, "n n"]) -> Float[Array, ""]:
            return 0.5 * jnp.sum(jnp.square(encoded.factor @ z - encoded.target))

        return energy

    def guess(self, x: Graph | Array, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a guess with singular values of about the smallest size of an answer."""
        matrix, _ = _real(x)
        guess = super().guess(x, shape, key=key)
        return self._unit(self._scale(matrix)) / matrix.shape[-1] ** 0.5 * guess

    def begin(self, x: Graph | Array, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the `z` from which about this answer is read."""
        del key
        encoded = self._encode(x)
        return encoded.equation @ (y0 / encoded.unit)

    def read(self, x: Graph | Array, point: Array) -> Array:
        """Return the answer that is read from `z`."""
        encoded = self._encode(x)
        return encoded.unit * (encoded.reader @ point)

    def _encode(self, x: Graph | Array) -> _Encoded:
        """Do all work that depends on the problem alone."""
        matrix, one = _real(x)
        scale = self._scale(matrix)
        powers = jnp.stack([one, matrix / scale])
        features = _mixed(self.embed, powers)
        for layer in self.layers:
            features = layer(features)
        reader = one + _mixed(self.readout, features)[0]
        left, right = _mixed(self.equation.T, powers)
        factor = left @ reader
        size = singular_bound(factor)
        size = jnp.where(size > 0, size, 1.0)
        return _Encoded(reader, left / size, factor / size, right / size, self._unit(scale))

    def _scale(self, matrix: Float[Array, "n n"]) -> Float[Array, ""]:
        """A bound of the largest singular value; one where problems do not scale, or are zero."""
        bound = singular_bound(matrix)
        return jnp.where((bound > 0) & (self.power is not None), bound, 1.0)

    def _unit(self, scale: Float[Array, ""]) -> Float[Array, ""]:
        """The size by which answers are measured."""
        return scale if self.power is None else scale**self.power


class _Encoded(NamedTuple):
    """What a landscape needs of its problem.

    Arguments:
        reader: The polynomial $D$ that an answer is read with.
        equation: The left side of the equation without the answer.
        factor: The left side times the reader.
        target: The right side of the equation.
        unit: The size by which answers are measured.
    """

    reader: Float[Array, "n n"]
    equation: Float[Array, "n n"]
    factor: Float[Array, "n n"]
    target: Float[Array, "n n"]
    unit: Float[Array, ""]


class _Products(eqx.Module):
    """A layer: every polynomial plus a mixture of products of two mixtures of them."""

    factors: Float[Array, "2 width width"]
    mix: Float[Array, "width width"]

    def __init__(self, width: int, *, key: PRNGKeyArray) -> None:
        left, right, mix = jax.random.split(key, 3)
        self.factors = jnp.stack([linear_map(k, width, width) for k in (left, right)])
        self.mix = linear_map(mix, width, width, gain=0.5)

    def __call__(self, features: Float[Array, "width n n"]) -> Float[Array, "width n n"]:
        products = _mixed(self.factors[0], features) @ _mixed(self.factors[1], features)
        return features + _mixed(self.mix, products)


def singular_bound(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    r"""Return a bound of the largest singular value, which exceeds it by $n^{1/16}$ at most.

    It is the Schatten norm of order 16, $(\sum_i \sigma_i^{16})^{1/16}$, from four products.
    """
    # The largest entry and the root of the sum of squares come first: no power of what is left
    # overflows.
    largest = jnp.max(jnp.abs(jax.lax.stop_gradient(matrix)))
    largest = jnp.where(largest > 0, largest, 1.0)
    square = jnp.sum(jnp.square(matrix / largest))
    root = jnp.sqrt(jnp.where(square > 0, square, 1.0))
    unit = matrix / largest / root
    eighth = unit @ unit.T
    for _ in range(2):
        eighth = eighth @ eighth
    total = jnp.sum(jnp.square(eighth))
    norm = jnp.where(total > 0, total, 1.0) ** (1 / 16)
    return jnp.where(square > 0, largest * root * norm, 0.0)


def _mixed(
    weights: Float[Array, "num_in num_out"], features: Float[Array, "num_in n n"]
) -> Float[Array, "num_out n n"]:
    """Mixtures of matrices."""
    return jnp.einsum("io,ijk->ojk", weights, features)


def _real(x: Graph | Array) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """A matrix without its padding, and the one of its products."""
    if not isinstance(x, Graph):
        return x, jnp.eye(x.shape[-1], dtype=x.dtype)
    return jnp.where(x.pairs, x.edges, 0.0), jnp.diag(x.nodes.astype(x.edges.dtype))
