"""A convolutional network of three scales, for pictures of any size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.nn.convolving import convolve
from irem.nn.fitting import check_depth


class Convolution(eqx.Module):
    """A convolution with zeros around the picture; height and width come before channels.

    Arguments:
        num_in: Channels that come in.
        num_out: Channels that go out.
        size: Height and width of the kernel; its stride too if `shrink`.
        shrink: Whether every `size` x `size` square becomes one entry.
        bias: Whether a number is added to every channel.
        gain: Factor of the initial weights, which keep the variance of rectified inputs.
        key: Source of the initial weights.
    """

    weight: Float[Array, "size size num_in num_out"]
    bias: Float[Array, " num_out"] | None
    shrink: bool = eqx.field(static=True)

    def __init__(
        self,
        num_in: int,
        num_out: int,
        *,
        size: int = 3,
        shrink: bool = False,
        bias: bool = False,
        gain: float = 1.0,
        key: PRNGKeyArray,
    ) -> None:
        bound = gain * (6 / (num_in * size**2)) ** 0.5
        shape = (size, size, num_in, num_out)
        self.weight = jax.random.uniform(key, shape, minval=-bound, maxval=bound)
        self.bias = jnp.zeros(num_out) if bias else None
        self.shrink = shrink

    def split(self, first: int) -> tuple[Convolution, Convolution]:
        """Return convolutions of the `first` channels and of the others, which sum to this one."""
        one = eqx.tree_at(lambda c: c.weight, self, self.weight[:, :, :first])
        other = eqx.tree_at(
            lambda c: (c.weight, c.bias),
            self,
            (self.weight[:, :, first:], None),
            is_leaf=lambda leaf: leaf is None,
        )
        return one, other

    def __call__(self, features: Float[Array, "h w num_in"]) -> Float[Array, "..."]:
        """Return the convolved features."""
        size = self.weight.shape[0]
        if self.shrink:
            out = _matrix_product(_squares(features, size), self.weight)
        else:
            out = convolve(features, self.weight)
        return out if self.bias is None else out + self.bias


def _squares(features: Float[Array, "h w c"], size: int) -> Float[Array, "..."]:
    """Every `size` x `size` square as one entry, its numbers in a row."""
    height, width, channels = features.shape
    squares = features.reshape(height // size, size, width // size, size, channels)
    return squares.transpose(0, 2, 1, 3, 4).reshape(height // size, width // size, -1)


def _matrix_product(
    rows: Float[Array, "h w many"], weight: Float[Array, "size size i o"]
) -> Float[Array, "h w o"]:
    return rows @ weight.reshape(-1, weight.shape[-1])


class _Block(eqx.Module):
    """Two convolutions beside a skip connection."""

    first: Convolution
    second: Convolution

    def __init__(self, width: int, *, bias: bool, key: PRNGKeyArray) -> None:
        key_first, key_second = jax.random.split(key)
        self.first = Convolution(width, width, bias=bias, key=key_first)
        self.second = Convolution(width, width, bias=bias, gain=0.3, key=key_second)

    def __call__(self, features: Float[Array, "h w width"]) -> Float[Array, "h w width"]:
        return features + self.second(jax.nn.relu(self.first(features)))


class UNet(eqx.Module):
    """Features of a picture, gathered at a half, a quarter and an eighth of its size.

    Every 2 x 2 square of pixels becomes one entry of four numbers first, so that most of the work
    is done on a quarter of the pixels.

    Arguments:
        width: Features; 1.5 and 2 times as many channels at the smaller scales.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        bias: Whether convolutions add a bias.
        key: Source of the initial weights.
    """

    embed: Convolution
    down: tuple[tuple[_Block, ...], ...]
    shrink: tuple[Convolution, ...]
    grow: tuple[Convolution, ...]
    up: tuple[tuple[_Block, ...], ...]

    def __init__(self, *, width: int, depth: int, bias: bool, key: PRNGKeyArray) -> None:
        widths = (width, 3 * width // 2, 2 * width)
        pairs = list(itertools.pairwise(widths))
        keys = iter(jax.random.split(key, 2 * depth * len(widths) + 2 * len(pairs) + 1))
        stack = lambda w: tuple(_Block(w, bias=bias, key=next(keys)) for _ in range(depth))  # noqa: E731
        self.embed = Convolution(4, width, bias=bias, key=next(keys))
        self.down = tuple(stack(w) for w in widths)
        self.up = tuple(stack(w) for w in widths)
        self.shrink = tuple(
            Convolution(a, b, size=2, shrink=True, bias=bias, gain=0.7, key=next(keys))
            for a, b in pairs
        )
        self.grow = tuple(
            Convolution(b, 4 * a, size=1, bias=bias, gain=0.7, key=next(keys)) for a, b in pairs
        )

    def __call__(self, plane: Float[Array, "h w"]) -> Float[Array, "..."]:
        """Return features at half the height and width, which are multiples of 8."""
        features = self.embed(_squares(plane[..., None], 2))
        beside = []
        for blocks, shrink in zip(self.down, (*self.shrink, None), strict=True):
            features = _through(blocks, features)
            if shrink is not None:
                beside.append(features)
                features = shrink(features)
        for blocks, grow in zip(reversed(self.up), (*reversed(self.grow), None), strict=True):
            features = _through(blocks, features)
            if grow is not None:
                features = beside.pop() + _unfold(grow(features))
        return features


class NoiseNet(eqx.Module):
    """The noise in a picture, estimated from the picture and a candidate for the clean one.

    A `UNet` encodes the picture, once; a few convolutions take its features and the candidate.
    Without biases the network is homogeneous: for pictures of twice the contrast it answers twice
    the noise, which carries over to noise levels that training has not seen (Mohan et al. 2020).

    Arguments:
        width: Features at half the size of the picture; up to twice as many further down.
        depth: Pairs of convolutions at each scale, on the way down and on the way up.
        head: Pairs of convolutions that depend on the candidate.
        bias: Whether convolutions add a bias.
        key: Source of the initial weights.
    """

    encoder: UNet
    join: Convolution
    head: tuple[_Block, ...]
    readout: Convolution

    def __init__(
        self,
        *,
        width: int = 48,
        depth: int = 3,
        head: int = 2,
        bias: bool = False,
        key: PRNGKeyArray,
    ) -> None:
        count("width", width)
        check_depth("depth", depth)
        check_depth("head", head)
        key_encoder, key_join, key_readout, *keys = jax.random.split(key, 3 + head)
        self.encoder = UNet(width=width, depth=depth, bias=bias, key=key_encoder)
        self.join = Convolution(width + 4, width, bias=bias, key=key_join)
        self.head = tuple(_Block(width, bias=bias, key=k) for k in keys)
        self.readout = Convolution(width, 4, bias=bias, gain=0.1, key=key_readout)

    def encode(
        self, x: Float[Array, "h w"]
    ) -> Callable[[Float[Array, "h w"]], Float[Array, "h w"]]:
        """Encode the picture; return the map from a candidate to the noise."""
        mean, (height, width) = x.mean(), x.shape
        join_x, join_y = self.join.split(-4)
        encoded = join_x(self.encoder(_mirrored(x - mean)))

        def noise(y: Float[Array, "h w"]) -> Float[Array, "h w"]:
            features = encoded + join_y(_squares(_mirrored(y - mean)[..., None], 2))
            features = _through(self.head, features)
            return _unfold(self.readout(features))[:height, :width, 0]

        return noise


def _mirrored(plane: Float[Array, "h w"]) -> Float[Array, "..."]:
    """A plane whose sides are multiples of 8, filled up with its own mirror image."""
    height, width = plane.shape
    return jnp.pad(plane, ((0, -height % 8), (0, -width % 8)), mode="symmetric")


def _through(blocks: Sequence[Callable[[Array], Array]], features: Array) -> Array:
    for block in blocks:
        features = block(features)
    return features


def _unfold(features: Float[Array, "h w c"]) -> Float[Array, "..."]:
    """Every entry as a 2 x 2 square of entries with a quarter of the channels."""
    height, width, channels = features.shape
    squares = features.reshape(height, width, 2, 2, channels // 4)
    return squares.transpose(0, 2, 1, 3, 4).reshape(2 * height, 2 * width, channels // 4)
