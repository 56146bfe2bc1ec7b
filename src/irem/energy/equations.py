"""An energy for vectors: equations that a network writes down, solved by least squares."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count, count_or_zero
from irem.energy.base import AbstractEnergy, require
from irem.energy.entries import linear_map
from irem.formats import Vectors
from irem.nn.fitting import check_depth
from irem.settings import HasFormat, setting, weights

# Of every entry of an answer, so that a problem with too few equations has one minimum too.
_RIDGE = 1e-4
# Coefficients of this many numbers may each depend on every entry of a problem.
_MOST_COEFFICIENTS = 2**16
_FIRST_GATE = 0.3


class Equations(AbstractEnergy):
    r"""The squared residuals of equations that are linear in the answer: a convex quadratic.

    A ReLU network with features $h(x)$ and a linear map propose an answer, $F(x)$. Products of the
    problem with the answer correct the proposal, and further equations are weighted by gates:

    $$E(x, y) = \tfrac12 \|y + B(x)\,y - F(x)\|^2
      + \tfrac12 \|g(x) \circ (W y + C(x)\,y - L x) - t(x)\|^2 + \tfrac\epsilon2 \|y\|^2$$

    $B$ and $C$ are linear in $x$, $g$ and $t$ linear in $h(x)$. An answer is often hard to compute
    and easy to check: that $A y = b$, or that an entry of the answer is the one that is given, is
    one such equation, which holds for problems of any size as it does for those of training. With
    neither products nor equations the energy is $\tfrac12 \|y - F(x)\|^2$, a feedforward network.
    There is one minimum, whatever the problem: where it has several answers, use `Refiner`.

    Train it with the gradient rule `Minimum()`.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        equations: Number of further equations.
        products: Number of products, each of a linear function of `x` and one of `y`; 0 for none.
            Small problems have all products instead: of every entry of `x` with every one of `y`.
        completes: Whether a problem is an answer with missing entries, in two parts: its entries,
            and flags of those that are given. The first equations then begin by keeping those.
        key: Source of the initial weights.
    """

    default_step: ClassVar[str] = "lbfgs"

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    width: int = setting(128)
    depth: int = setting(3)
    equations: int = setting(32)
    products: int = setting(64)
    completes: bool = eqx.field(static=True, kw_only=True, default=False)
    network: _Network = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("depth", self.depth)
        count_or_zero("equations", self.equations)
        count_or_zero("products", self.products)
        self.network = _Network(self, key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        shapes = require("Equations", task, Vectors)
        x_shape, y_shape = shapes.x_shape, shapes.y_shape
        completes = getattr(task, "has_flags", False) and x_shape[1:] == y_shape
        return {"x_shape": x_shape, "y_shape": y_shape, "completes": completes}

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return Vectors(self.x_shape, self.y_shape)

    def minimum(self, x: Array) -> Array | None:
        """Return the proposal, where there is nothing else, as the ridge shrinks it."""
        if self.equations or self.products:
            return None
        x = jnp.ravel(x)
        proposed, _ = self.network.propose(x)
        return (proposed / (1 + _RIDGE)).reshape(self.y_shape)

    def guess(self, x: Array, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return zero: there is one minimum, whatever the first guess."""
        del key
        return jnp.zeros(shape, x.dtype)

    def landscape(self, x: Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from an answer to its energy; all coefficients are computed once."""
        coefficients = self.network(jnp.ravel(x))

        def energy(y: Array) -> Float[Array, ""]:
            y = jnp.ravel(y)
            residuals = (*coefficients(y), math.sqrt(_RIDGE) * y)
            return 0.5 * sum(jnp.sum(jnp.square(part)) for part in residuals)  # pyright: ignore[reportReturnType]

        return energy


class _Network(eqx.Module):
    """The network that writes the equations of a problem down."""

    layers: tuple[eqx.nn.Linear, ...]
    proposal: eqx.nn.Linear
    shortcut: Float[Array, "x y"]
    products: _AllProducts | _SharedProducts | None
    further: _Further | None

    def __init__(self, energy: Equations, *, key: PRNGKeyArray) -> None:
        num_x, num_y = math.prod(energy.x_shape), math.prod(energy.y_shape)
        *keys, key_proposal, key_shortcut, key_products, key_further = jax.random.split(
            key, energy.depth + 4
        )
        sizes = [num_x] + [energy.width] * energy.depth
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.proposal = eqx.nn.Linear(energy.width, num_y, key=key_proposal)
        self.shortcut = linear_map(key_shortcut, num_x, num_y, gain=0.1)
        rows = num_y + energy.equations
        self.products, self.further = None, None
        if energy.products and num_x * rows * num_y <= _MOST_COEFFICIENTS:
            self.products = _AllProducts(num_x, num_y, rows, key=key_products)
        elif energy.products:
            self.products = _SharedProducts(num_x, num_y, rows, energy.products, key=key_products)
        if energy.equations:
            self.further = _Further(energy, num_x, num_y, key=key_further)

    def propose(self, x: Float[Array, " x"]) -> tuple[Float[Array, " y"], Float[Array, " width"]]:
        """Return the proposed answer, and the features it is made from."""
        features = x
        for layer in self.layers:
            features = jax.nn.relu(layer(features))
        return self.proposal(features) + x @ self.shortcut, features

    def __call__(self, x: Float[Array, " x"]) -> Callable[[Array], tuple[Array, ...]]:
        """Return the map from an answer to the residuals of all equations."""
        proposed, features = self.propose(x)
        products = None if self.products is None else self.products(x)
        further = None if self.further is None else self.further(x, features)

        def residuals(y: Float[Array, " y"]) -> tuple[Array, ...]:
            added = None if products is None else products(y)
            first = y - proposed if added is None else y - proposed + added[: y.shape[0]]
            if further is None:
                return (first,)
            return first, further(y, 0.0 if added is None else added[y.shape[0] :])

        return residuals


class _AllProducts(eqx.Module):
    """A coefficient for every entry of the problem, equation and entry of the answer."""

    coefficients: Float[Array, "x rows_times_y"]

    def __init__(self, num_x: int, num_y: int, rows: int, *, key: PRNGKeyArray) -> None:
        self.coefficients = linear_map(key, num_x, rows * num_y, gain=0.1)

    def __call__(self, x: Float[Array, " x"]) -> Callable[[Array], Float[Array, " rows"]]:
        """Return the map from an answer to the sum of its products in every equation."""
        matrix = x @ self.coefficients
        return lambda y: matrix.reshape(-1, y.shape[0]) @ y


class _SharedProducts(eqx.Module):
    """Products of linear functions of the problem and the answer, which all equations share."""

    of_x: Float[Array, "x products"]
    of_y: Float[Array, "y products"]
    mix: Float[Array, "products rows"]

    def __init__(
        self, num_x: int, num_y: int, rows: int, products: int, *, key: PRNGKeyArray
    ) -> None:
        keys = jax.random.split(key, 3)
        self.of_x = linear_map(keys[0], num_x, products)
        self.of_y = linear_map(keys[1], num_y, products)
        self.mix = linear_map(keys[2], products, rows, gain=0.1)

    def __call__(self, x: Float[Array, " x"]) -> Callable[[Array], Float[Array, " rows"]]:
        """Return the map from an answer to the sum of its products in every equation."""
        of_x = x @ self.of_x
        return lambda y: (of_x * (y @ self.of_y)) @ self.mix


class _Further(eqx.Module):
    """Equations beside those of the proposal, each with a gate that says how much it counts."""

    of_y: Float[Array, "y rows"]
    of_x: Float[Array, "x rows"]
    gates_of_x: Float[Array, "x rows"]
    gates: eqx.nn.Linear
    targets: eqx.nn.Linear

    def __init__(self, energy: Equations, num_x: int, num_y: int, *, key: PRNGKeyArray) -> None:
        width, rows = energy.width, energy.equations
        keys = jax.random.split(key, 4)
        # Entry after entry of the answer has an equation of its own.
        own = jnp.tile(jnp.eye(num_y), (1, rows // num_y + 1))[:, :rows]
        self.of_y = own + linear_map(keys[0], num_y, rows, gain=0.1)
        self.of_x = linear_map(keys[1], num_x, rows, gain=0.1)
        self.gates_of_x = jnp.zeros((num_x, rows))
        if energy.completes:
            first = own * (jnp.arange(rows) < num_y)
            self.of_x += jnp.concatenate([first, jnp.zeros_like(first)])
            self.gates_of_x += jnp.concatenate([jnp.zeros_like(first), first])
        gates = eqx.nn.Linear(width, rows, key=keys[2])
        assert gates.bias is not None
        self.gates = eqx.tree_at(lambda g: g.bias, gates, gates.bias + _FIRST_GATE)
        self.targets = eqx.nn.Linear(width, rows, key=keys[3])

    def __call__(
        self, x: Float[Array, " x"], features: Float[Array, " width"]
    ) -> Callable[[Array, Array | float], Float[Array, " rows"]]:
        """Return the map from an answer and its products to the residuals."""
        gates = self.gates(features) + x @ self.gates_of_x
        targets = self.targets(features)
        from_x = x @ self.of_x
        return lambda y, products: gates * (y @ self.of_y + products - from_x) - targets
