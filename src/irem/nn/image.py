"""Networks from a noisy picture to a clean one."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.errors import InputError
from irem.formats import Pictures
from irem.nn.bodies import AbstractNetwork
from irem.nn.fitting import check_depth, require
from irem.nn.unet import Convolution, NoiseNet
from irem.settings import HasFormat, setting, weights


class _AbstractDenoiser(AbstractNetwork):
    """A picture less what a network takes for noise in it."""

    @property
    def num_features(self) -> int:
        """Zero: nothing halts by a picture as a whole."""
        return 0

    @property
    def format(self) -> Pictures:
        """Pictures of any size."""
        return Pictures()

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Check that the problems are pictures."""
        require(task, Pictures)
        return {}


class UNetDenoiser(_AbstractDenoiser):
    """One pass of the network of the convolutional energy, with the noisy picture as the candidate.

    It has as many parameters as the energy, and is what the first step of a descent would be if
    the energy did not depend on candidates.

    Arguments:
        answers: Zero; nothing is given beside the picture.
        scalars: Zero, likewise.
        width: Features at half the size of the picture; up to twice as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        bias: Whether convolutions add a bias.
        key: Source of the initial weights.
    """

    answers: dataclasses.InitVar[int] = dataclasses.field(kw_only=True, default=0)
    scalars: dataclasses.InitVar[int] = dataclasses.field(kw_only=True, default=0)
    width: int = setting(48)
    depth: int = setting(3)
    bias: bool = setting(False)
    network: NoiseNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, answers: int, scalars: int, key: PRNGKeyArray) -> None:
        """Make the network."""
        _refuse_inputs(answers + scalars)
        self.network = NoiseNet(**self.settings(), key=key)

    def __call__(self, x: Float[Array, "h w"], *beside: Array) -> tuple[Array, Array]:
        """Return the clean picture, and no features."""
        assert not beside
        return x - self.network.encode(x)(x), jnp.zeros(0, x.dtype)


class DnCNN(_AbstractDenoiser):
    """Convolutions in a row (Zhang et al. 2017), without their batch normalisation.

    Arguments:
        answers: Zero; nothing is given beside the picture.
        scalars: Zero, likewise.
        width: Channels of a layer.
        depth: Number of layers; the benchmark of the paper has 20.
        bias: Whether convolutions add a bias.
        key: Source of the initial weights.
    """

    answers: dataclasses.InitVar[int] = dataclasses.field(kw_only=True, default=0)
    scalars: dataclasses.InitVar[int] = dataclasses.field(kw_only=True, default=0)
    width: int = setting(64)
    depth: int = setting(20)
    bias: bool = setting(True)
    layers: tuple[Convolution, ...] = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, answers: int, scalars: int, key: PRNGKeyArray) -> None:
        """Make the layers."""
        _refuse_inputs(answers + scalars)
        count("width", self.width)
        check_depth("depth", self.depth)
        sizes = [1] + [self.width] * (self.depth - 1) + [1]
        gains = [1.0] * (self.depth - 1) + [0.1]
        keys = jax.random.split(key, self.depth)
        self.layers = tuple(
            Convolution(i, o, bias=self.bias, gain=g, key=k)
            for i, o, g, k in zip(sizes, sizes[1:], gains, keys, strict=False)
        )

    def __call__(self, x: Float[Array, "h w"], *beside: Array) -> tuple[Array, Array]:
        """Return the clean picture, and no features."""
        assert not beside
        *most, last = self.layers
        features = x[..., None]
        for layer in most:
            features = jax.nn.relu(layer(features))
        return x - last(features)[..., 0], jnp.zeros(0, x.dtype)


def _refuse_inputs(beside: int) -> None:
    if beside:
        raise InputError("Of the baselines, pictures have the feedforward network alone.")
