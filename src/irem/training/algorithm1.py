r"""Algorithm 1 of the paper: one iteration of training, on one screen.

The method's loss takes the $N$ steps $\tilde y^n = \tilde y^{n-1} - \lambda \nabla_y E_\theta(x,
\tilde y^{n-1})$ of the descent (`irem.descent.descend`) and compares $\tilde y^N$ with $y$. Its
gradient rule says through how many of them $\theta$ is differentiated; the paper's is the last.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, Num, PRNGKeyArray, PyTree

from irem.devices import on_each
from irem.methods import AbstractMethod
from irem.problem import Problem
from irem.tasks import AbstractTask
from irem.training.averages import AbstractAverage
from irem.training.layout import ALONE, Layout
from irem.training.replay import AbstractReplay, Candidates
from irem.trees import map_arrays


class Training(eqx.Module):
    """What stays the same from iteration to iteration.

    Arguments:
        task: The data distribution $p_D$.
        optimiser: Adam, or any other Optax transformation.
        replay: The replay buffer $B$.
        average: Which weights the trained model has.
        batch_size: Fresh problems in an iteration.
        layout: On which devices models and batches are.
    """

    task: AbstractTask
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    replay: AbstractReplay
    average: AbstractAverage
    batch_size: int = eqx.field(static=True)
    layout: Layout = eqx.field(static=True, default=ALONE)


class TrainState(eqx.Module):
    """All that the next iteration depends on."""

    method: AbstractMethod
    optimiser: PyTree[Array]
    replay: PyTree[Array]
    average: PyTree[Array]
    key: PRNGKeyArray
    iteration: Int[Array, ""]


class StepInfo(eqx.Module):
    """What one iteration reports."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    applied: Bool[Array, ""]
    constant_error: Float[Array, ""]
    """Error of the best constant answer to the same problems."""


def iterate(training: Training, state: TrainState) -> tuple[TrainState, StepInfo]:
    """Run one iteration of Algorithm 1.

    An update that is not finite is skipped, and end points that are not finite are not kept.
    """
    key = jax.random.fold_in(state.key, state.iteration)
    key_data, key_replay, key_loss = jax.random.split(key, 3)

    # Sample data and candidate solutions from p_D and the replay buffer B.
    fresh = sample(training, state.method, key_data)
    start = training.replay.extend(state.replay, fresh, key_replay)

    # Generate low energy solutions by N steps of descent; take the gradient of the objective.
    (loss, end), gradient = eqx.filter_value_and_grad(_objective, has_aux=True)(
        state.method, start, key_loss, training.layout
    )
    # Devices that share the batch average what each found in its own part.
    answers = _moments(jax.vmap(state.method.in_units)(start.problem))
    loss, gradient, (mean, square, within) = training.layout.mean(
        (loss, gradient, answers), _entries(start.problem)
    )

    # Update theta with the optimiser.
    norm = optax.tree.norm(gradient)
    applied = jnp.isfinite(norm) & jnp.isfinite(loss)
    method, optimiser = _update(training, state, gradient, applied)
    average = training.average.update(state.average, method, state.iteration)

    # Update the replay buffer: B <- B with (x, y, y~^N).
    finite = jnp.isfinite(end).all(axis=tuple(range(1, end.ndim)), keepdims=True)
    ended = Candidates(start.problem, jnp.where(finite, end, start.y))
    replay = training.replay.push(state.replay, ended)

    constant = within + (square - mean**2)
    after = TrainState(method, optimiser, replay, average, state.key, state.iteration + 1)
    return after, StepInfo(loss, norm, applied, constant)


def sample(training: Training, method: AbstractMethod, key: PRNGKeyArray) -> Candidates:
    """Draw x, y ~ p_D, and for each a candidate, y~ ~ U(-1, 1) unless the method has another."""
    key_problems, key_starts = jax.random.split(key)

    def one(key_problem: PRNGKeyArray, key_start: PRNGKeyArray) -> Candidates:
        problem = training.task.sample(key_problem, training.task.training)
        return Candidates(problem, method.start(problem.x, problem.y.shape, key=key_start))

    keys = (jax.random.split(k, training.batch_size) for k in (key_problems, key_starts))
    return jax.vmap(one)(*map(training.layout.own, keys))


def _objective(
    method: AbstractMethod, start: Candidates, key: PRNGKeyArray, layout: Layout
) -> tuple[Float[Array, ""], Float[Array, "batch ..."]]:
    """Return ||y~^N - y||^2 as a mean over all real entries of the batch, and the end points."""
    keys = layout.own(jax.random.split(key, start.y.shape[0] * layout.parts))
    squares, end = jax.vmap(lambda p, y, k: method.loss(p, y, key=k))(start.problem, start.y, keys)
    return squares.sum() / _entries(start.problem), end


def _entries(problem: Problem) -> int | Num[Array, ""]:
    """Return the number of real entries of the answers of a batch."""
    return problem.y.size if problem.mask is None else problem.mask.sum()


def _moments(problem: Problem) -> tuple[Array, Array, Array]:
    """Return the mean of all real entries of the answers of a batch, its square, their variance."""
    real = jnp.ones_like(problem.y, bool) if problem.mask is None else problem.mask > 0
    mean = jnp.mean(problem.y, where=real)
    return mean, mean**2, jnp.var(problem.y, where=real)


def _update(
    training: Training, state: TrainState, gradient: PyTree, applied: Bool[Array, ""]
) -> tuple[AbstractMethod, PyTree]:
    """Return method and optimiser after one update, or as they were if it is not to be applied."""
    parameters = eqx.filter(state.method, eqx.is_inexact_array)
    updates, optimiser = training.optimiser.update(gradient, state.optimiser, parameters)
    method = eqx.apply_updates(state.method, updates)
    keep = lambda new, old: jnp.where(applied, new, old) if eqx.is_array(new) else new  # noqa: E731
    return (
        jax.tree.map(keep, method, state.method),
        jax.tree.map(keep, optimiser, state.optimiser),
    )


def init(training: Training, method: AbstractMethod, key: PRNGKeyArray) -> TrainState:
    """Return the state before the first iteration, with an empty replay buffer."""
    fresh = jax.eval_shape(lambda k: sample(training, method, k), key)
    optimiser = training.optimiser.init(eqx.filter(method, eqx.is_inexact_array))
    replay, average = training.replay.init(fresh), training.average.init(method)
    return TrainState(method, optimiser, replay, average, key, jnp.zeros((), jnp.int32))


def laid_out(training: Training, layout: Layout) -> Training:
    """Return what stays the same in training, with its arrays on the devices of a layout."""
    replay = training.replay.over(layout)
    training = dataclasses.replace(training, replay=replay, layout=layout)
    return layout.spread(training, PartitionSpec())


def init_stack(
    training: Training, methods: AbstractMethod, keys: Key[Array, " models"]
) -> TrainState:
    """Return the states of several models before the first iteration, where they are to be."""
    layout, each = training.layout, eqx.filter_vmap(init, in_axes=(None, 0, 0))
    if layout.mesh is None:
        return each(training, methods, keys)
    in_specs = (PartitionSpec(), layout.by_model, layout.by_model)
    run = eqx.filter_jit(on_each(each, layout.mesh, in_specs, state_specs(layout)))
    return run(training, *layout.spread((methods, keys), (layout.by_model, layout.by_model)))


def state_specs(layout: Layout) -> TrainState:
    """Return how the parts of a stack of states lie on the devices."""
    names = [field.name for field in dataclasses.fields(TrainState)]
    # Not made by its constructor, which takes arrays.
    specs = object.__new__(TrainState)
    for name in names:
        of_field = layout.by_part if name == "replay" else layout.by_model
        object.__setattr__(specs, name, of_field)
    return specs


@eqx.filter_jit(donate="all-except-first")
def run_chunk(training: Training, states: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    """Run `length` iterations on every state of a stack; every array has a leading seed axis.

    A model whose parameters are not finite at the end has those of the beginning again, and none of
    its updates counts as applied.
    """
    layout = training.layout
    if layout.mesh is None:
        return _run_stack(training, states, length)
    specs = state_specs(layout)
    out_specs = (specs, layout.by_model)
    own_models = lambda training, states: _run_stack(training, states, length)  # noqa: E731
    run = on_each(own_models, layout.mesh, (PartitionSpec(), specs), out_specs)
    return run(training, states)


def _run_stack(training: Training, states: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    def chunk(state: TrainState) -> tuple[TrainState, StepInfo]:
        arrays, rest = eqx.partition(state, eqx.is_array)

        def body(arrays: PyTree[Array], _: None) -> tuple[PyTree[Array], StepInfo]:
            state, info = iterate(training, eqx.combine(arrays, rest))
            return eqx.filter(state, eqx.is_array), info

        arrays, infos = jax.lax.scan(body, arrays, length=length)
        return _undo_unless_finite(state, eqx.combine(arrays, rest), infos)

    if states.iteration.shape[0] > 1:
        return eqx.filter_vmap(chunk)(states)
    # One seed alone runs without a batch axis of size one around every product.
    return map_arrays(lambda a: a[None], chunk(map_arrays(lambda a: a[0], states)))


def _undo_unless_finite(
    before: TrainState, after: TrainState, infos: StepInfo
) -> tuple[TrainState, StepInfo]:
    """Return the state after a chunk, with the weights from before it if they are not finite now.

    A finite gradient can still lead to parameters that are not, if the learning rate is absurd.
    This is checked once per chunk: at every iteration it would cost a twentieth of the time.
    """
    finite = jnp.isfinite(optax.tree.norm(eqx.filter(after.method, eqx.is_inexact_array)))
    learned = lambda state: (state.method, state.optimiser, state.average)  # noqa: E731
    keep = lambda new, old: jnp.where(finite, new, old) if eqx.is_array(new) else new  # noqa: E731
    method, optimiser, average = jax.tree.map(keep, learned(after), learned(before))
    after = dataclasses.replace(after, method=method, optimiser=optimiser, average=average)
    return after, eqx.tree_at(lambda i: i.applied, infos, infos.applied & finite)
