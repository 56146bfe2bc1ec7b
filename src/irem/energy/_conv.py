"""A convolutional energy, for pictures of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._inputs import pictures
from irem.energy._unet import NoiseNet
from irem.energy.base import AbstractEnergy, TaskShapes, check_kind


class Conv(AbstractEnergy):
    r"""How far a candidate is from a picture less what a network takes for noise in it.

    $$E(x, y) = \tfrac12 \lVert y - (x - R(x, y)) \rVert^2$$

    with a `NoiseNet` for $R$, most of which looks at `x` alone and so is done once per problem. A
    descent starts from `x` itself. Where $R$ takes no notice of `y`, one step of size 1 ends at the
    answer of a feedforward network, $x - R(x)$; what a descent gains beyond that is gained by
    looking at the candidate.

    Without biases a picture of twice the contrast has four times the energy, and every step of a
    descent scales with the picture.

    Arguments:
        width: Features at half the size of the picture; up to twice as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        head: Pairs of convolutions that see the candidate.
        bias: Whether convolutions add a bias.
        key: Where the initial weights come from.
    """

    network: NoiseNet

    def __init__(
        self,
        *,
        width: int = 48,
        depth: int = 3,
        head: int = 2,
        bias: bool = False,
        key: PRNGKeyArray,
    ) -> None:
        self.network = NoiseNet(width=width, depth=depth, head=head, bias=bias, key=key)

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int = 48,
        depth: int = 3,
        head: int = 2,
        bias: bool = False,
        key: PRNGKeyArray,
    ) -> Conv:
        """An energy for the pictures of `task`."""
        check_kind("Conv", task, "images")
        return cls(width=width, depth=depth, head=head, bias=bias, key=key)

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        return self.network.settings()

    def landscape(self, x: Float[Array, "h w"]) -> Callable[[Array], Float[Array, ""]]:
        """The map from a candidate to its energy, the look at the picture done."""
        noise = self.network.look(x)
        return lambda y: 0.5 * jnp.sum(jnp.square(y - x + noise(y)))

    def guess(
        self, x: Float[Array, "h w"], shape: tuple[int, ...], *, key: PRNGKeyArray
    ) -> Float[Array, "h w"]:
        """The noisy picture."""
        del shape, key
        return x

    def answer_shape(self, x: Float[Array, "h w"]) -> tuple[int, ...]:
        """That of the picture."""
        return x.shape

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as grey pictures of one size: a table of brightness, or a stack of them."""
        return pictures(x)
