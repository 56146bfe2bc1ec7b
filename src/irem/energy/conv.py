"""A convolutional energy, for pictures of any size."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.energy.base import AbstractEnergy, require
from irem.formats import Pictures
from irem.nn import NoiseNet
from irem.settings import HasFormat, setting, weights


class Conv(AbstractEnergy):
    r"""How far a candidate is from a picture less what a network takes for noise in it.

    $$E(x, y) = \tfrac12 \lVert y - (x - R(x, y)) \rVert^2$$

    with a `NoiseNet` for $R$, most of which depends on `x` alone and is computed once per problem.
    A descent starts from `x` itself. Where $R$ does not depend on `y`, one step of size 1 ends at
    the answer of a feedforward network, $x - R(x)$; what a descent gains beyond that comes from
    $R$ depending on the candidate.

    Without biases a picture of twice the contrast has four times the energy, and every step of a
    descent scales with the picture.

    Arguments:
        width: Features at half the size of the picture; up to twice as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        head: Pairs of convolutions that depend on the candidate.
        bias: Whether convolutions add a bias.
        key: Source of the initial weights.
    """

    width: int = setting(48)
    depth: int = setting(3)
    head: int = setting(2)
    bias: bool = setting(False)
    network: NoiseNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the network."""
        self.network = NoiseNet(**self.settings(), key=key)

    @property
    def format(self) -> Pictures:
        """Pictures of any size."""
        return Pictures()

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Check that the problems are pictures."""
        require("Conv", task, Pictures)
        return {}

    def landscape(self, x: Float[Array, "h w"]) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a candidate to its energy; the picture is encoded once."""
        noise = self.network.encode(x)
        return lambda y: 0.5 * jnp.sum(jnp.square(y - x + noise(y)))

    def guess(
        self, x: Float[Array, "h w"], shape: tuple[int, ...], *, key: PRNGKeyArray
    ) -> Float[Array, "h w"]:
        """Return the noisy picture."""
        del shape, key
        return x
