r"""Minima of the convolutional energy, found without its gradient.

The energy is $\tfrac12 \lVert y - c(y) \rVert^2$, where $c(y) = x - R(x, y)$ is what the network
takes for the clean picture, given the candidate $y$. It is zero, and so lowest, where $y = c(y)$.
A network that depends little on the candidate has such a fixed point close by: a step to
$y - s\,(y - c(y))$ divides the distance by nine, one along the gradient by two, and it costs half
of that, as nothing is differentiated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.descent import Backtracking, EnergyUnchanged, GradientSmall, Solution, solve
from irem.energy import AbstractEnergy, Conv
from irem.evaluation import Answering
from irem.formats import Pictures
from irem.methods import IREM

# The distance |y - c(y)| that counts as none: a share of that of the noisy picture, or a hundredth
# of a level of 16 bits in every pixel.
_SHARE, _PER_PIXEL = 2e-4, 1.5e-7
# A shipped network takes a sixth of what is added to a candidate for noise, which makes full steps
# too long. Answers do not depend on it, only how many steps there are: 4, and 6 with full ones.
_STEP_SIZE = 0.9
# A step is not along the gradient, so less of what it promises comes true.
_DECREASE = 0.1
# A network that depends so much on the candidate that more are needed is left to the gradient.
_MOST_STEPS = 30
# Rounding of sums over all pixels.
_SLACK = 1.01


class TargetHeld(AbstractEnergy):
    """The energy whose gradient takes the clean picture of the network for a constant.

    Its values are those of the energy inside. A step of size 1 goes to that clean picture.

    Arguments:
        energy: The energy.
    """

    energy: Conv

    @property
    def format(self) -> Pictures:
        """That of the energy."""
        return self.energy.format

    def landscape(self, x: Float[Array, "h w"]) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a candidate to its energy; the picture is encoded once."""
        noise = self.energy.network.encode(x)
        return lambda y: 0.5 * jnp.sum(jnp.square(y - x + jax.lax.stop_gradient(noise(y))))

    def guess(
        self, x: Float[Array, "h w"], shape: tuple[int, ...], *, key: PRNGKeyArray
    ) -> Float[Array, "h w"]:
        """Return the noisy picture."""
        return self.energy.guess(x, shape, key=key)


def clean(
    model: Answering,
    x: Float[np.ndarray, "pictures h w"],
    *,
    max_steps: int | None,
    key: PRNGKeyArray,
) -> Solution:
    """Return the answers to noisy pictures, by fixed-point steps if those reach a minimum.

    Arguments:
        model: A model of pictures.
        x: The noisy pictures.
        max_steps: Step budget of every descent; by default as in `irem.solve`.
        key: For models that draw random numbers.
    """
    if isinstance(model, IREM) and isinstance(model.energy, Conv):
        budget = _MOST_STEPS if max_steps is None else min(max_steps, _MOST_STEPS)
        found = _iterate(model, model.energy, x, budget, key)
        if budget == max_steps or _is_minimum(found).all():
            return found
    return solve(model, x, max_steps=max_steps, key=key)


def _iterate(
    model: IREM,
    energy: Conv,
    x: Float[np.ndarray, "pictures h w"],
    budget: int,
    key: PRNGKeyArray,
) -> Solution:
    held = dataclasses.replace(model, energy=TargetHeld(energy), step_size=_STEP_SIZE)
    near = GradientSmall(_SHARE, _PER_PIXEL * math.sqrt(x[0].size))
    return solve(
        held,
        x,
        step=Backtracking(decrease=_DECREASE),
        halt=near | EnergyUnchanged(),
        max_steps=budget,
        key=key,
    )


def _is_minimum(found: Solution) -> Bool[np.ndarray, " pictures"]:
    """Whether the energy is as good as zero; one that only stopped changing need not be."""
    first, last = (
        np.sqrt(2 * np.asarray(energy, np.float64)) for energy in (found.first_energy, found.energy)
    )
    enough = _SHARE * first + _PER_PIXEL * math.sqrt(found.y[0].size)
    return last <= _SLACK * enough
