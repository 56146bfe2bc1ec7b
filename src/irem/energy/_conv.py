"""A convolutional energy, for pictures of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._errors import InputError
from irem._inputs import pictures
from irem.energy._unet import UNet
from irem.energy.base import AbstractEnergy, TaskShapes


class Conv(AbstractEnergy):
    r"""How far a candidate is from what a convolutional network makes of it.

    $$E(x, y) = \tfrac12 \lVert y - (x - R(x, y)) \rVert^2$$

    with a `UNet` for $R$, on both pictures less the mean of `x`. Where $R$ takes no notice of `y`,
    one step of size 1 is the feedforward network $x - R(x)$; what a descent gains beyond that is
    gained by looking at the candidate. A descent starts from `x` itself.

    Without biases a picture of twice the contrast has four times the energy, and every step of a
    descent scales with the picture.

    Arguments:
        width: Channels at half the size of the picture; 1.5 and 2 times as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        bias: Whether convolutions add a bias.
        key: Where the initial weights come from.
    """

    network: UNet

    def __init__(
        self, *, width: int = 64, depth: int = 1, bias: bool = False, key: PRNGKeyArray
    ) -> None:
        self.network = UNet(2, width=width, depth=depth, bias=bias, key=key)

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int = 64,
        depth: int = 1,
        bias: bool = False,
        key: PRNGKeyArray,
    ) -> Conv:
        """An energy for the pictures of `task`."""
        if task.kind != "images":
            other = "GINE" if task.kind == "graphs" else "MLP"
            raise InputError(
                f"The Conv energy needs images, and '{task.name}' has {task.kind}; use the {other} "
                "energy for it."
            )
        return cls(width=width, depth=depth, bias=bias, key=key)

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        return self.network.settings()

    def landscape(self, x: Float[Array, "h w"]) -> Callable[[Array], Float[Array, ""]]:
        """The map from a candidate to its energy."""
        return lambda y: 0.5 * jnp.sum(jnp.square(y - x + self._noise(x, y)))

    def _noise(self, x: Float[Array, "h w"], y: Float[Array, "h w"]) -> Float[Array, "h w"]:
        """What the network takes for noise in `x`."""
        planes = jnp.stack([x, y], axis=-1) - x.mean()
        return on_multiples(self.network, planes)

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


def on_multiples(network: UNet, planes: Float[Array, "h w c"]) -> Float[Array, "h w"]:
    """What `network` makes of a picture of any size, which is mirrored at its edges."""
    height, width, _ = planes.shape
    below, right = -height % network.multiple, -width % network.multiple
    padded = jnp.pad(planes, ((0, below), (0, right), (0, 0)), mode="symmetric")
    return network(padded)[:height, :width]
