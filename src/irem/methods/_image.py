"""Networks from a noisy picture to a clean one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._checks import count
from irem._inputs import pictures
from irem.energy import Convolution, NoiseNet
from irem.methods._bodies import AbstractNetwork


class _AbstractDenoiser(AbstractNetwork):
    """What is left of a picture when that is taken away which a network takes for noise."""

    @property
    def num_features(self) -> int:
        """None: nothing halts by a picture as a whole."""
        return 0

    def answer_shape(self, x: Float[Array, "h w"]) -> tuple[int, ...]:
        """That of the picture."""
        return x.shape

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as grey pictures of one size."""
        return pictures(x)


class UNetDenoiser(_AbstractDenoiser):
    """One pass of the network of the convolutional energy, with the noisy picture as the candidate.

    It has as many parameters as the energy, and is what the first step of a descent would be if
    the energy took no notice of candidates.

    Arguments:
        width: Features at half the size of the picture; up to twice as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        bias: Whether convolutions add a bias.
        key: Where the initial weights come from.
    """

    network: NoiseNet

    def __init__(
        self, *, width: int = 48, depth: int = 3, bias: bool = False, key: PRNGKeyArray
    ) -> None:
        self.network = NoiseNet(width=width, depth=depth, bias=bias, key=key)

    def settings(self) -> dict[str, Any]:
        """What is needed to build a network of this size again."""
        settings = self.network.settings()
        return {"network": "unet", **{name: settings[name] for name in ("width", "depth", "bias")}}

    def __call__(self, x: Float[Array, "h w"], *beside: Array) -> tuple[Array, Array]:
        """The clean picture, and no features."""
        assert not beside
        return x - self.network.look(x)(x), jnp.zeros(0, x.dtype)


class DnCNN(_AbstractDenoiser):
    """Convolutions in a row (Zhang et al. 2017), without their batch normalisation.

    Arguments:
        width: Channels of a layer.
        depth: Number of layers; the benchmark of the paper has 20.
        bias: Whether convolutions add a bias.
        key: Where the initial weights come from.
    """

    layers: tuple[Convolution, ...]

    def __init__(
        self, *, width: int = 64, depth: int = 20, bias: bool = True, key: PRNGKeyArray
    ) -> None:
        count("width", width)
        count("depth", depth)
        sizes = [1] + [width] * (depth - 1) + [1]
        gains = [1.0] * (depth - 1) + [0.1]
        self.layers = tuple(
            Convolution(i, o, bias=bias, gain=g, key=k)
            for i, o, g, k in zip(
                sizes, sizes[1:], gains, jax.random.split(key, depth), strict=False
            )
        )

    def settings(self) -> dict[str, Any]:
        """What is needed to build a network of this size again."""
        first, *_ = self.layers
        return {
            "network": "dncnn",
            "width": first.weight.shape[-1],
            "depth": len(self.layers),
            "bias": first.bias is not None,
        }

    def __call__(self, x: Float[Array, "h w"], *beside: Array) -> tuple[Array, Array]:
        """The clean picture, and no features."""
        assert not beside
        *most, last = self.layers
        features = x[..., None]
        for layer in most:
            features = jax.nn.relu(layer(features))
        return x - last(features)[..., 0], jnp.zeros(0, x.dtype)


DENOISERS = {"unet": UNetDenoiser, "dncnn": DnCNN}
"""Networks for pictures by name."""
