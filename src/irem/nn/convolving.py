"""Convolutions of pictures, and derivatives of them that a CPU is fast at.

What JAX derives from a convolution is one whose kernel has its channels in another order. On a CPU,
XLA calls its fast routine for the usual order alone, at least within loops: the gradient of a
convolution there takes a hundred times as long as the convolution. So on a CPU both derivatives are
written out, as functions that can themselves be differentiated, in reverse mode.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_LAYOUT = ("NHWC", "HWIO", "NHWC")


@jax.jit
def convolve(
    features: Float[Array, "h w num_in"], weight: Float[Array, "size size num_in num_out"]
) -> Float[Array, "h w num_out"]:
    """Return the convolution of a picture with zeros around it.

    Arguments:
        features: The picture; height and width come before channels.
        weight: The kernel.
    """
    before = (weight.shape[0] - 1) // 2
    return jax.lax.platform_dependent(
        features,
        weight,
        cpu=functools.partial(convolve_on_cpu, before),
        default=functools.partial(library_convolve, before),
    )


def library_convolve(
    before: int, features: Float[Array, "h w i"], weight: Float[Array, "size size i o"]
) -> Float[Array, "h w o"]:
    """Convolve a picture that has `before` rows and columns of zeros before it."""
    around = (before, weight.shape[0] - 1 - before)
    return jax.lax.conv_general_dilated(
        features[None], weight, (1, 1), (around, around), dimension_numbers=_LAYOUT
    )[0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def convolve_on_cpu(
    before: int, features: Float[Array, "h w i"], weight: Float[Array, "size size i o"]
) -> Float[Array, "h w o"]:
    """The same, with derivatives of its own."""
    size = weight.shape[0]
    if size > 1 and features.dtype == jnp.float32:
        return library_convolve(before, features, weight)
    # XLA has no fast routine for other types of numbers.
    return sum(
        (shifted @ weight[at] for at, shifted in _under_kernel(features, before, size)),
        start=jnp.zeros((), features.dtype),
    )


def _convolve_forward(
    before: int, features: Array, weight: Array
) -> tuple[Array, tuple[Array, Array]]:
    return convolve_on_cpu(before, features, weight), (features, weight)


def _convolve_backward(before: int, kept: tuple[Array, Array], slope: Array) -> tuple[Any, Any]:
    features, weight = kept
    size = weight.shape[0]
    back = convolve_on_cpu(size - 1 - before, slope, _turned(weight))
    return back, _kernel_slope(before, size, features, slope)


convolve_on_cpu.defvjp(_convolve_forward, _convolve_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _kernel_slope(
    before: int, size: int, features: Float[Array, "h w i"], slope: Float[Array, "h w o"]
) -> Float[Array, "size size i o"]:
    """The derivative in the kernel, from that in the result."""
    # One by one, as all shifted pictures together take much memory.
    products = [
        jnp.einsum("hwi,hwo->io", shifted, slope)
        for _, shifted in _under_kernel(features, before, size)
    ]
    return jnp.stack(products).reshape(size, size, features.shape[-1], slope.shape[-1])


def _kernel_slope_forward(
    before: int, size: int, features: Array, slope: Array
) -> tuple[Array, tuple[Array, Array]]:
    return _kernel_slope(before, size, features, slope), (features, slope)


def _kernel_slope_backward(
    before: int, size: int, kept: tuple[Array, Array], weight: Array
) -> tuple[Any, Any]:
    features, slope = kept
    back = convolve_on_cpu(size - 1 - before, slope, _turned(weight))
    return back, convolve_on_cpu(before, features, weight)


_kernel_slope.defvjp(_kernel_slope_forward, _kernel_slope_backward)


def _turned(weight: Float[Array, "size size i o"]) -> Float[Array, "size size o i"]:
    """The kernel by which a derivative in the result becomes one in the picture."""
    return weight[::-1, ::-1].swapaxes(2, 3)


def _under_kernel(
    features: Float[Array, "h w i"], before: int, size: int
) -> list[tuple[tuple[int, int], Float[Array, "h w i"]]]:
    """Every place of a kernel, and the picture shifted so that those pixels lie under it."""
    (height, width, _), around = features.shape, (before, size - 1 - before)
    padded = jnp.pad(features, (around, around, (0, 0)))
    places = [(i, j) for i in range(size) for j in range(size)]
    return [((i, j), padded[i : i + height, j : j + width]) for i, j in places]
