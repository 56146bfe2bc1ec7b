"""The optimiser of training: Adam with settings, or any Optax transformation."""

import abc
import functools
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import optax

from irem.checks import count_or_zero, known, positive
from irem.errors import InputError
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


class AdamW(AbstractOptimiser):
    """Adam with weights that decay, a learning rate that rises at first and then falls to zero.

    Arguments:
        learning_rate: The largest learning rate.
        weight_decay: What is taken off every weight in an iteration, as a fraction of it times the
            learning rate.
        warm_up: Over how many iterations the learning rate rises from zero.
        clip_norm: Largest norm of a gradient; longer ones are scaled down to it.
    """

    learning_rate: float = setting(1e-3, positional=True)
    weight_decay: float = setting(0.01)
    warm_up: int = setting(100)
    clip_norm: float | None = setting(1.0)

    def __check_init__(self) -> None:
        """Refuse rates and norms that are not positive, and weights that would grow."""
        positive("learning_rate", self.learning_rate)
        if not self.weight_decay >= 0:
            raise InputError(f"`weight_decay` must be at least 0, got {self.weight_decay}.")
        count_or_zero("warm_up", self.warm_up)
        if self.clip_norm is not None:
            positive("clip_norm", self.clip_norm)

    @property
    def fixes_length(self) -> bool:
        """Whether the learning rate decays: always."""
        return True

    def transformation(self, iterations: int) -> optax.GradientTransformation:
        """Return the same object for the same settings, so that nothing is compiled anew."""
        clip_norm = None if self.clip_norm is None else float(self.clip_norm)
        rates = (float(self.learning_rate), float(self.weight_decay))
        return _adamw(*rates, self.warm_up, iterations, clip_norm)


OPTIMISERS: Registry[type[AbstractOptimiser]] = Registry(
    "optimiser", {"adam": Adam, "adamw": AdamW}
)
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


@functools.lru_cache(maxsize=32)
def _adamw(
    learning_rate: float,
    weight_decay: float,
    warm_up: int,
    iterations: int,
    clip_norm: float | None,
) -> optax.GradientTransformation:
    falling = optax.cosine_decay_schedule(learning_rate, iterations)
    rate = lambda done: falling(done) * jnp.minimum(1.0, (done + 1) / max(warm_up, 1))  # noqa: E731
    rule = optax.adamw(rate, weight_decay=weight_decay)
    return rule if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), rule)
