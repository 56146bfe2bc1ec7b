"""Short trainings that choose settings by their error on validation problems."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from irem.fitting.plans import Plan, variations
from irem.methods import Scaled
from irem.tasks import Arrays
from irem.training import (
    AbstractReplay,
    ExponentialAverage,
    NoReplay,
    Replay,
    Training,
    Validation,
    init,
    run_chunk,
)
from irem.trees import map_arrays

CHUNK = 100
"""Iterations of one compiled call."""

CLIP_NORM = 1.0
"""Largest norm of a gradient."""

_GROUPS = 3

AVERAGE = ExponentialAverage(0.999)
"""Which weights a fitted model has."""


class Trial(NamedTuple):
    """What a short training found.

    Arguments:
        plan: Its settings.
        error: Its error on validation problems.
        pace: Seconds of an iteration.
    """

    plan: Plan
    error: float
    pace: float


def replay_of(plan: Plan) -> AbstractReplay:
    """Return where half of the starting points come from; a minimum needs none of them."""
    return NoReplay() if plan.at_minimum else Replay()


def choose(
    task: Arrays,
    plans: list[Plan],
    validation: Validation,
    *,
    iterations: int,
    batch_size: int,
    seconds: float,
    key: PRNGKeyArray,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Trial:
    """Return the best of short trainings: first of the plans, then with other units and rates.

    Arguments:
        task: The rows.
        plans: What to begin with.
        validation: The problems that decide.
        iterations: Of every trial.
        batch_size: Rows of an iteration.
        seconds: After so much time no further trial begins; the first one is always made.
        key: Source of weights and rows, the same in every trial.
        on_trial: Called with every trial.
    """
    begun, trials = time.monotonic(), []
    for plan in _candidates(plans, trials):
        if trials and time.monotonic() - begun > seconds:
            break
        trials.append(_run(task, plan, validation, iterations, batch_size, key))
        on_trial(trials[-1])
    return _best(trials)


def _candidates(plans: list[Plan], trials: list[Trial]) -> Iterator[Plan]:
    """The plans, then variations of whatever was best by then."""
    yield from plans
    for group in range(_GROUPS):
        groups = variations(_best(trials).plan)
        if group < len(groups):
            yield from groups[group]


def _best(trials: list[Trial]) -> Trial:
    return min(trials, key=lambda trial: trial.error)


def _run(
    task: Arrays,
    plan: Plan,
    validation: Validation,
    iterations: int,
    batch_size: int,
    key: PRNGKeyArray,
) -> Trial:
    """Train for a short while and measure the error."""
    replay = replay_of(plan)
    training = Training(task.for_chunk(0), _optimiser(), replay, AVERAGE, batch_size)
    key_weights, key_rows = jax.random.split(key)
    stacked = map_arrays(lambda a: a[None], plan.build(task, key=key_weights))
    states = eqx.filter_vmap(lambda m, k: init(training, m, k))(stacked, key_rows[None])
    rate = jnp.full(1, plan.learning_rate), jnp.full(1, float(iterations))
    states = eqx.tree_at(lambda s: (s.optimiser[-1].rate, s.optimiser[-1].total), states, rate)
    paces = []
    for number in range(max(2, iterations // CHUNK)):
        begun = time.monotonic()
        training = dataclasses.replace(training, task=task.for_chunk(number))
        states, info = run_chunk(training, states, CHUNK)
        jax.block_until_ready(info.loss)
        paces.append((time.monotonic() - begun) / CHUNK)
    averaged = AVERAGE.read(states.average, states.method)
    model: Any = map_arrays(lambda a: a[0], averaged)
    assert isinstance(model, Scaled)
    return Trial(plan, validation.error(model), min(paces))


class _Rate(NamedTuple):
    """The state of a learning rate that falls to zero: its value and length may be set."""

    done: Float[Array, ""]
    rate: Float[Array, ""]
    total: Float[Array, ""]


@functools.cache
def _optimiser() -> optax.GradientTransformation:
    """Adam whose learning rate is part of its state, so that others need no new program."""
    return optax.chain(
        optax.clip_by_global_norm(CLIP_NORM), optax.scale_by_adam(), _scale_by_rate()
    )


def _scale_by_rate() -> optax.GradientTransformation:
    def start(params: Any) -> _Rate:
        del params
        return _Rate(jnp.zeros(()), jnp.ones(()), jnp.ones(()))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, _Rate]:
        del params
        left = jnp.clip(1 - state.done / state.total, 0.0, 1.0)
        rate = state.rate * 0.5 * (1 - jnp.cos(jnp.pi * left))
        scaled = jax.tree.map(lambda u: -rate * u, updates)
        return scaled, state._replace(done=state.done + 1)

    return optax.GradientTransformation(start, update)
