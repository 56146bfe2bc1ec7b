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

from irem.fitting.plans import Plan, other_learning_rates, other_step_sizes, other_units
from irem.methods import Scaled
from irem.tasks import Arrays
from irem.training import (
    AbstractReplay,
    ExponentialAverage,
    NoReplay,
    Replay,
    Training,
    TrainState,
    Validation,
    init,
    run_chunk,
)
from irem.trees import map_arrays

CHUNK = 100
"""Iterations of one compiled call."""

CLIP_NORM = 1.0
"""Largest norm of a gradient."""

_PREFERRED = 0.9

AVERAGE = ExponentialAverage(0.999)
"""Which weights a fitted model has."""


@dataclasses.dataclass(frozen=True)
class Length:
    """How long a trial is: all of them have the same time, or the same number of iterations.

    Arguments:
        seconds: The time, once a program is compiled.
        iterations: The number of iterations instead, for choices that can be repeated.
    """

    seconds: float
    iterations: int | None = None

    def chunks(self, pace: float) -> int:
        """Return the number of chunks of a trial whose iterations take so many seconds."""
        iterations = self.seconds / pace if self.iterations is None else self.iterations
        return max(2, int(iterations) // CHUNK)


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
    """Return where half of the starting points come from, if training descends at all."""
    return NoReplay() if plan.at_minimum or plan.by_likelihood else Replay()


def choose(
    task: Arrays,
    plans: list[Plan],
    validation: Validation,
    *,
    length: Length,
    batch_size: int,
    seconds: float,
    key: PRNGKeyArray,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Trial:
    """Return the best of short trainings: of the first plan, its units, other plans, and rates.

    Arguments:
        task: The rows.
        plans: What to begin with.
        validation: The problems that decide.
        length: Of every trial.
        batch_size: Rows of an iteration.
        seconds: After so much time no further trial begins; the first one is always made.
        key: Source of weights and rows, the same in every trial.
        on_trial: Called with every trial.
    """
    begun, trials = time.monotonic(), []
    for plan in _candidates(plans, trials):
        if trials and time.monotonic() - begun > seconds:
            break
        trials.append(_run(task, plan, validation, length, batch_size, key))
        on_trial(trials[-1])
    return _best(trials)


def _candidates(plans: list[Plan], trials: list[Trial]) -> Iterator[Plan]:
    """The first plan, then variations of whatever was best by then.

    Units and learning rates come cheap: their trials share a program that is compiled once.
    """
    yield plans[0]
    yield from other_units(_best(trials).plan)
    for plan in plans[1:]:
        yield dataclasses.replace(plan, relative=_best(trials).plan.relative)
    yield from other_step_sizes(_best(trials).plan)
    yield from other_learning_rates(_best(trials).plan)


def _best(trials: list[Trial]) -> Trial:
    """The trial of least error, where units of each problem's own may be a tenth worse.

    What is learned in them carries over to problems of any size, which no validation row shows.
    """
    return min(trials, key=lambda t: t.error * (1.0 if t.plan.relative == "none" else _PREFERRED))


def _run(
    task: Arrays,
    plan: Plan,
    validation: Validation,
    length: Length,
    batch_size: int,
    key: PRNGKeyArray,
) -> Trial:
    """Train for a short while and measure the error."""
    replay = replay_of(plan)
    training = Training(task.for_chunk(0), _optimiser(), replay, AVERAGE, batch_size)
    key_weights, key_rows = jax.random.split(key)
    stacked = map_arrays(lambda a: a[None], plan.build(task, key=key_weights))
    states = eqx.filter_vmap(lambda m, k: init(training, m, k))(stacked, key_rows[None])
    states = _with_rate(states, rate=plan.learning_rate)
    number, chunks, paces = 0, 2, []
    while number < chunks:
        begun = time.monotonic()
        training = dataclasses.replace(training, task=task.for_chunk(number))
        states, info = run_chunk(training, states, CHUNK)
        jax.block_until_ready(info.loss)
        paces.append((time.monotonic() - begun) / CHUNK)
        number += 1
        if number == 2:  # the first chunk was compiled, the second tells the pace
            chunks = length.chunks(paces[-1])
            states = _with_rate(states, total=float(chunks * CHUNK))
    averaged = AVERAGE.read(states.average, states.method)
    model: Any = map_arrays(lambda a: a[0], averaged)
    assert isinstance(model, Scaled)
    return Trial(plan, validation.error(model), min(paces))


def _with_rate(states: TrainState, **values: float) -> TrainState:
    """The states with another learning rate, or another length of its decay."""
    for name, value in values.items():
        where = lambda s, name=name: getattr(s.optimiser[-1], name)  # noqa: E731
        states = eqx.tree_at(where, states, jnp.full(1, value))
    return states


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
        return _Rate(jnp.zeros(()), jnp.ones(()), jnp.full((), jnp.inf))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, _Rate]:
        del params
        left = jnp.clip(1 - state.done / state.total, 0.0, 1.0)
        rate = state.rate * 0.5 * (1 - jnp.cos(jnp.pi * left))
        scaled = jax.tree.map(lambda u: -rate * u, updates)
        return scaled, state._replace(done=state.done + 1)

    return optax.GradientTransformation(start, update)
