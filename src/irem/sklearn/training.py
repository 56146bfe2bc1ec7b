"""The loop of training, whose programs serve tables of all lengths and trainings of all lengths."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from irem.errors import DivergenceError
from irem.fitting.plans import Plan
from irem.fitting.trials import AVERAGE, CLIP_NORM, replay_of
from irem.methods import Scaled
from irem.sklearn.rows import Rows
from irem.training import StepInfo, Training, TrainState, init, run_chunk
from irem.trees import map_arrays

CHUNK = 25
"""Iterations of one compiled call."""

# Measurements of a training, and after how many without a smaller error it stops.
_MEASUREMENTS, _PATIENCE = 40, 15


@dataclasses.dataclass(frozen=True)
class Length:
    """How long training goes on.

    Arguments:
        iterations: Number of updates; `None` where time decides.
        seconds: Time; `None` where the number of updates decides.
        decays: Whether the learning rate falls to zero along the way.
    """

    iterations: int | None = None
    seconds: float | None = None
    decays: bool = True

    @staticmethod
    def one_pass(rows: int, batch_size: int) -> Length:
        """Return about one pass over so many rows, of at least one compiled call."""
        return Length(CHUNK * math.ceil(rows / (CHUNK * batch_size)), decays=False)

    def share(self, done: int, seconds: float) -> float:
        """Return which share of training is over after so many iterations and seconds."""
        by_count = 0.0 if self.iterations is None else done / self.iterations
        by_time = 0.0 if self.seconds is None else seconds / self.seconds
        return min(max(by_count, by_time), 1.0)

    def chunk(self, done: int) -> int:
        """Return the number of iterations of the next compiled call."""
        return CHUNK if self.iterations is None else min(CHUNK, self.iterations - done)

    def rate(self, share: float) -> float:
        """Return the learning rate at a share of training, relative to the first one."""
        return 0.5 * (1 + math.cos(math.pi * share)) if self.decays else 1.0


class Measurement(NamedTuple):
    """What is known after some iterations.

    Arguments:
        iteration: Iterations done.
        loss: Mean loss since the measurement before.
        validation_error: Error on validation rows; NaN where there are none.
    """

    iteration: int
    loss: float
    validation_error: float


class Trained(NamedTuple):
    """The end of a training.

    Arguments:
        model: The trained model.
        iterations: Iterations done.
        measurements: What was measured along the way.
    """

    model: Scaled
    iterations: int
    measurements: list[Measurement]


def train(
    model: Scaled,
    plan: Plan,
    rows: Rows,
    length: Length,
    *,
    batch_size: int,
    key: PRNGKeyArray,
    error: Callable[[Scaled], float] | None = None,
    on_measurement: Callable[[Measurement], None] = lambda _: None,
) -> Trained:
    """Train a model on rows.

    Arguments:
        model: The model with its first weights.
        plan: The settings that the model was built with.
        rows: What it is trained on.
        length: For how long.
        batch_size: Rows of an iteration.
        key: Source of all randomness.
        error: The error on validation rows: the model of smallest error is returned, and training
            stops where the error no longer falls. By default the last average of weights is.
        on_measurement: Called with every measurement.
    """
    training = Training(rows.drawn(), _optimiser(), replay_of(plan), AVERAGE, batch_size)
    states, begun = _begin(training, model, key), time.monotonic()
    best, found = (math.inf if error is None else error(model), 0), model
    measurements, losses, done, share = [], [], 0, 0.0
    while share < 1 and len(measurements) - best[1] < _PATIENCE:
        size = length.chunk(done)
        states = _with_rate(states, plan.learning_rate * length.rate(share))
        states, info = run_chunk(training, states, size)
        losses.append(_loss(info, done))
        done += size
        share = length.share(done, time.monotonic() - begun)
        if share * _MEASUREMENTS < len(measurements) + 1:
            continue
        current = _averaged(states)
        now = math.nan if error is None else error(current)
        measurements.append(Measurement(done, float(np.mean(losses)), now))
        on_measurement(measurements[-1])
        losses = []
        if error is None or now < best[0]:
            best, found = (now, len(measurements)), current
    return Trained(found, done, measurements)


@functools.cache
def _optimiser() -> optax.GradientTransformation:
    """Adam on one long vector, which is compiled in less time, with its rate in its state."""

    def rule(learning_rate: float) -> optax.GradientTransformation:
        return optax.chain(optax.clip_by_global_norm(CLIP_NORM), optax.adam(learning_rate))

    return optax.flatten(optax.inject_hyperparams(rule)(learning_rate=1.0))


@eqx.filter_jit
def _begin(training: Training, model: Scaled, key: PRNGKeyArray) -> TrainState:
    """The state before the first iteration, with the axis of seeds that `run_chunk` expects."""
    return map_arrays(lambda a: a[None], init(training, model, key))


def _with_rate(states: TrainState, rate: float) -> TrainState:
    return eqx.tree_at(
        lambda s: s.optimiser.hyperparams["learning_rate"],
        states,
        jnp.asarray([rate], jnp.float32),
    )


def _loss(info: StepInfo, since: int) -> float:
    """The mean loss of the updates of a chunk, most of which must be finite."""
    applied = np.asarray(info.applied)
    if 2 * applied.sum() < applied.size:
        raise DivergenceError(
            f"Training diverged: most updates between iterations {since} and "
            f"{since + applied.size} were not finite; scale `X` and `y`, or name another energy."
        )
    return float(np.asarray(info.loss)[applied].mean())


@eqx.filter_jit
def _averaged(states: TrainState) -> Scaled:
    """A copy of the average of the weights: the states are donated to the next chunk."""
    averaged = AVERAGE.read(states.average, states.method)
    model = map_arrays(lambda a: a[0], averaged)
    assert isinstance(model, Scaled)
    return model
