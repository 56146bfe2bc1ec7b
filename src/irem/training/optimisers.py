"""The optimiser of training: Adam with settings, or any Optax transformation."""

import abc
import functools
from collections.abc import Mapping
from typing import Any

import optax

from irem.checks import known, positive
from irem.settings import AbstractComponent, Registry, parsed, setting

DECAYS = ("constant", "cosine")


class AbstractOptimiser(AbstractComponent):
    """Settings of an optimiser, kept with a run."""

    @abc.abstractmethod
    def transformation(self, iterations: int) -> optax.GradientTransformation:
        """Return the Optax transformation for a training of so many iterations."""

    @property
    @abc.abstractmethod
    def fixes_length(self) -> bool:
        """Whether another number of iterations would be another training from the start."""


class Adam(AbstractOptimiser):
    """Adam; the defaults are the paper's.

    Arguments:
        learning_rate: The learning rate, at the start if it decays.
        decay: `"constant"`, or `"cosine"` to let the learning rate fall to zero.
        clip_norm: Largest norm of a gradient; longer ones are scaled down to it.
    """

    learning_rate: float = setting(1e-4, positional=True)
    decay: str = setting("constant")
    clip_norm: float | None = setting(None)

    def __check_init__(self) -> None:
        """Refuse rates and norms that are not positive, and unknown decays."""
        positive("learning_rate", self.learning_rate)
        known("decay", self.decay, DECAYS)
        if self.clip_norm is not None:
            positive("clip_norm", self.clip_norm)

    @property
    def fixes_length(self) -> bool:
        """Whether the learning rate decays."""
        return self.decay != "constant"

    def transformation(self, iterations: int) -> optax.GradientTransformation:
        """Return the same object for the same settings, so that nothing is compiled anew."""
        decay_steps = iterations if self.decay == "cosine" else None
        clip_norm = None if self.clip_norm is None else float(self.clip_norm)
        return _adam(float(self.learning_rate), decay_steps, clip_norm)


OPTIMISERS: Registry[type[AbstractOptimiser]] = Registry("optimiser", {"adam": Adam})
"""Every optimiser that can be named in a recipe."""


def fixes_length(described: Mapping[str, Any]) -> bool:
    """Return whether a described optimiser depends on the number of iterations.

    Of an Optax transformation given in Python that is not known; it is taken not to.
    """
    settings = dict(described)
    name = settings.pop("name")
    return (
        name in OPTIMISERS and OPTIMISERS[name](**parsed(OPTIMISERS[name], settings)).fixes_length
    )


@functools.lru_cache(maxsize=32)
def _adam(
    learning_rate: float, decay_steps: int | None, clip_norm: float | None
) -> optax.GradientTransformation:
    rate = learning_rate
    if decay_steps is not None:
        rate = optax.cosine_decay_schedule(learning_rate, decay_steps)
    rule = optax.adam(rate)
    return rule if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), rule)
