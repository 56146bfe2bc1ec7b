"""Algorithm 1: one iteration of training, and a compiled chunk of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from irem._trees import map_arrays
from irem.learning._replay import AbstractReplay, Candidates
from irem.methods import AbstractMethod
from irem.tasks import AbstractTask


class TrainState(eqx.Module):
    """All that the next iteration depends on."""

    method: AbstractMethod
    optimiser: PyTree[Array]
    replay: PyTree[Array]
    key: PRNGKeyArray
    iteration: Int[Array, ""]


class StepInfo(eqx.Module):
    """What one iteration tells those who watch."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    applied: Bool[Array, ""]


class Recipe(eqx.Module):
    """What stays the same from iteration to iteration."""

    task: AbstractTask
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    replay: AbstractReplay
    batch_size: int = eqx.field(static=True)


def init(recipe: Recipe, method: AbstractMethod, key: PRNGKeyArray) -> TrainState:
    """The state before the first iteration."""
    fresh = jax.eval_shape(lambda k: _fresh(recipe, method, k), key)
    optimiser = recipe.optimiser.init(eqx.filter(method, eqx.is_inexact_array))
    iteration = jnp.zeros((), jnp.int32)
    return TrainState(method, optimiser, recipe.replay.init(fresh), key, iteration)


def iterate(recipe: Recipe, state: TrainState) -> tuple[TrainState, StepInfo]:
    """Draw, descend, measure, update, remember.

    An update that is not finite is skipped, and end points that are not finite are not kept.
    """
    key = jax.random.fold_in(state.key, state.iteration)
    key_fresh, key_replay, key_loss = jax.random.split(key, 3)
    starts = recipe.replay.extend(state.replay, _fresh(recipe, state.method, key_fresh), key_replay)
    (loss, ends), gradient = eqx.filter_value_and_grad(_batch_loss, has_aux=True)(
        state.method, starts, key_loss
    )
    norm = optax.tree.norm(gradient)
    applied = jnp.isfinite(norm) & jnp.isfinite(loss)
    method, optimiser = _update(recipe, state, gradient, applied)
    finite = jnp.isfinite(ends).all(axis=tuple(range(1, ends.ndim)), keepdims=True)
    ended = Candidates(starts.problem, jnp.where(finite, ends, starts.y))
    replay = recipe.replay.push(state.replay, ended)
    info = StepInfo(loss, norm, applied)
    return TrainState(method, optimiser, replay, state.key, state.iteration + 1), info


@eqx.filter_jit(donate="all-except-first")
def run_chunk(recipe: Recipe, states: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    """Run `length` iterations on every state of a stack; every array has a leading seed axis."""

    def chunk(state: TrainState) -> tuple[TrainState, StepInfo]:
        arrays, rest = eqx.partition(state, eqx.is_array)

        def body(arrays: PyTree[Array], _: None) -> tuple[PyTree[Array], StepInfo]:
            state, info = iterate(recipe, eqx.combine(arrays, rest))
            return eqx.filter(state, eqx.is_array), info

        arrays, infos = jax.lax.scan(body, arrays, length=length)
        return eqx.combine(arrays, rest), infos

    if states.iteration.shape[0] > 1:
        return eqx.filter_vmap(chunk)(states)
    # One seed alone runs without a batch axis of size one around every product.
    return map_arrays(lambda a: a[None], chunk(map_arrays(lambda a: a[0], states)))


def _fresh(recipe: Recipe, method: AbstractMethod, key: PRNGKeyArray) -> Candidates:
    """New problems, each with a start that the method makes."""
    key_problems, key_starts = jax.random.split(key)

    def one(key_problem: PRNGKeyArray, key_start: PRNGKeyArray) -> Candidates:
        problem = recipe.task.sample(key_problem, recipe.task.training)
        return Candidates(problem, method.start(problem.x, problem.y.shape, key=key_start))

    keys = (jax.random.split(k, recipe.batch_size) for k in (key_problems, key_starts))
    return jax.vmap(one)(*keys)


def _batch_loss(
    method: AbstractMethod, starts: Candidates, key: PRNGKeyArray
) -> tuple[Float[Array, ""], Float[Array, "batch ..."]]:
    """Mean squared error over all real entries of the batch, and where the descents ended."""
    keys = jax.random.split(key, starts.y.shape[0])
    squares, ends = jax.vmap(lambda p, y, k: method.loss(p, y, key=k))(
        starts.problem, starts.y, keys
    )
    mask = starts.problem.mask
    entries = starts.problem.y.size if mask is None else mask.sum()
    return squares.sum() / entries, ends


def _update(
    recipe: Recipe, state: TrainState, gradient: PyTree, applied: Bool[Array, ""]
) -> tuple[AbstractMethod, PyTree]:
    """The method and optimiser after one update, or as they were if it is not to be applied."""
    parameters = eqx.filter(state.method, eqx.is_inexact_array)
    updates, optimiser = recipe.optimiser.update(gradient, state.optimiser, parameters)
    method = eqx.apply_updates(state.method, updates)
    keep = lambda new, old: jnp.where(applied, new, old) if eqx.is_array(new) else new  # noqa: E731
    return (
        jax.tree.map(keep, method, state.method),
        jax.tree.map(keep, optimiser, state.optimiser),
    )


@eqx.filter_jit
def healthy(states: TrainState) -> Bool[Array, " seeds"]:
    """Whether all parameters are finite, for each state of a stack.

    A finite gradient can still lead out of the numbers, if the learning rate is absurd. That is
    seen here, once per chunk, rather than at every iteration, where it would cost a twentieth of
    the time.
    """
    arrays = eqx.filter(states.method, eqx.is_inexact_array)
    return jax.vmap(lambda one: jnp.isfinite(optax.tree.norm(one)))(arrays)
