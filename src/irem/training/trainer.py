"""Training, from first iteration to last, with everything that can happen in between."""

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Key

from irem.checks import count
from irem.errors import DivergenceError, InputError
from irem.hosts import any_host, check_same, is_first, of_first
from irem.interrupt import Interrupt
from irem.memory import check_memory
from irem.methods import AbstractMethod, describe_method, device_memory, model_bytes, num_bytes
from irem.tasks import AbstractTask
from irem.training.algorithm1 import (
    StepInfo,
    Training,
    TrainState,
    init,
    init_stack,
    iterate,
    laid_out,
    run_chunk,
    sample,
    state_specs,
)
from irem.training.averages import AVERAGES, AbstractAverage, NoAverage
from irem.training.folder import Checkpoints, RunFolder, Weights
from irem.training.layout import ALONE, Layout
from irem.training.optimisers import OPTIMISERS, AbstractOptimiser, Adam
from irem.training.progress import Progress
from irem.training.replay import REPLAYS, AbstractReplay, NoReplay, Replay
from irem.training.run import FORMAT, SETTINGS, History, Run, read_settings, unstack
from irem.training.validation import Validation, is_best
from irem.trees import is_key, map_arrays
from irem.version import __version__

Method = TypeVar("Method", bound=AbstractMethod)

_STOPPING = "Stopping at the end of this chunk of iterations; Ctrl-C again drops the chunk."

# Iterations in one compiled call. Chunks end at multiples of it, also after a resume, so that an
# interrupted run goes through the very same calls as one that was not.
_CHUNK = 100
# They are counted in 32 bits.
_MOST_ITERATIONS = 2**31 - 1
_SMALLER = "choose a smaller batch size, replay capacity or width, or fewer seeds"


def train(
    task: AbstractTask,
    method: Method,
    *,
    iterations: int | Validation = 10_000,
    batch_size: int = 128,
    optimiser: AbstractOptimiser | optax.GradientTransformation | None = None,
    replay: AbstractReplay | None = None,
    average: AbstractAverage | None = None,
    key: Array,
    out: str | Path | Checkpoints | None = None,
    progress: bool | str = False,
) -> Run[Method]:
    """Train `method` on `task` (Algorithm 1).

    The defaults are the paper's. Several models train at once if `key` is an array of keys and
    `method` a stack of methods, as `eqx.filter_vmap` over keys makes it. Products are in JAX's
    default precision, the fastest of the device; `with jax.default_matmul_precision("float32"):`
    around the call asks for full ones, and is kept with the run. Inside `with irem.Devices():` the
    models and their batches are shared among several devices.

    Arguments:
        task: The source of problems.
        method: What is trained.
        iterations: Number of updates; or a `Validation`, which stops earlier where models no longer
            become better on problems that training never sees, and chooses the best weights.
        batch_size: Fresh problems in an iteration; a replay puts as many beside them.
        optimiser: `Adam(...)`, or any Optax transformation; by default `Adam()`.
        replay: The source of the other half of the starting candidates; by default `Replay()`
            for methods that start from candidates, `NoReplay()` for the baselines.
        average: Which weights the trained model has; by default `NoAverage()`, the last ones.
        key: Source of all randomness in training.
        out: Folder to keep the run in, or `Checkpoints(folder, resume=True)` to go on with it.
        progress: Whether to draw a progress bar on standard error; `"lines"` for lines instead.

    Returns:
        The trained models with their history. If some of several models diverged, their numbers
        are in `diverged`; they have the last weights that were finite.

    Raises:
        DivergenceError: Most updates of a chunk were not finite, in every model. The last state
            that was saved and was good by its loss (`History.good`) is kept in `out`.
    """
    validation = iterations if isinstance(iterations, Validation) else None
    if validation is not None:
        iterations = validation.iterations
    assert not isinstance(iterations, Validation)
    count("iterations", iterations)
    if iterations > _MOST_ITERATIONS:
        raise InputError(f"`iterations` must be at most {_MOST_ITERATIONS:,}, got {iterations:,}.")
    count("batch_size", batch_size)
    optimiser = Adam() if optimiser is None else optimiser
    if replay is None:
        replay = Replay() if method.replays else NoReplay()
    average = NoAverage() if average is None else average
    rule = optimiser
    if isinstance(rule, AbstractOptimiser):
        rule = rule.transformation(int(iterations))
    keys, methods = _stack(key, method)
    layout = Layout.of(keys.size, int(batch_size))
    checkpoints = Checkpoints(out) if isinstance(out, str | Path) else out
    replay = replay.for_parts(_parts_before(checkpoints) or layout.parts)
    training = Training(task.for_chunk(0), rule, replay, average, int(batch_size))
    one = method if key.ndim == 0 else map_arrays(lambda a: a[0], method)
    _check_fit(laid_out(training, ALONE), one, keys, layout)
    settings = _describe(training, method, optimiser, int(iterations), keys)
    if validation is not None:
        settings["validation"] = validation.describe()
    check_same("task, method or setting", json.dumps(settings))
    with _told_if_out_of_memory():
        steps = _Steps(laid_out(training, layout), task, int(iterations), validation)
        states = init_stack(steps.training, methods, keys)
        states, history, best = _run(steps, states, settings, checkpoints, progress)
    chosen = steps.averaged(states) if best is None else best
    models = unstack(chosen, keys.shape[0])
    trained = tuple(model.bound_to(task) for model in models)
    path = None if checkpoints is None else checkpoints.path
    done = steps.iteration(states)
    return Run(task, trained, done, history, settings, path)  # pyright: ignore[reportReturnType]


def _describe(
    training: Training,
    method: AbstractMethod,
    optimiser: AbstractOptimiser | optax.GradientTransformation,
    iterations: int,
    keys: Key[Array, " seeds"],
) -> dict[str, Any]:
    """Everything a run is made with, as its folder keeps it."""
    named = isinstance(optimiser, AbstractOptimiser)
    precision = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    settings = {
        "format": FORMAT,
        "version": __version__,
        "task": {"name": training.task.name, **training.task.settings()},
        **describe_method(method),
        "iterations": iterations,
        "batch_size": training.batch_size,
        "precision": precision or "default",
        "optimiser": OPTIMISERS.describe(optimiser) if named else {"name": "optax"},
        "replay": REPLAYS.describe(training.replay),
        "average": AVERAGES.describe(training.average),
        "keys": np.asarray(jax.random.key_data(keys)).tolist(),
    }
    # As a file has them: lists for tuples, and what JSON cannot hold in words.
    return json.loads(json.dumps(settings, default=repr))


def _parts_before(checkpoints: Checkpoints | None) -> int | None:
    """Return into how many parts the replay of a run to be resumed was split."""
    if checkpoints is None or not checkpoints.resume or not (checkpoints.path / SETTINGS).exists():
        return None
    return read_settings(checkpoints.path).get("replay", {}).get("parts")


class _Steps(NamedTuple):
    """What is done, and for how long.

    Arguments:
        training: What stays the same from iteration to iteration.
        task: The source of problems, of which every chunk of iterations may have another part.
        iterations: Number of updates.
        validation: Problems by whose error training stops, if it does.
    """

    training: Training
    task: AbstractTask
    iterations: int
    validation: Validation | None

    def for_chunk(self, number: int) -> Training:
        """Return what a chunk of iterations trains with."""
        task = self.task.for_chunk(number)
        if task is self.task:
            return self.training
        training = dataclasses.replace(self.training, task=task)
        return training.layout.spread(training, PartitionSpec())

    def iteration(self, states: TrainState) -> int:
        """Return how many iterations are done."""
        return int(self.training.layout.gather(states.iteration)[0])

    def averaged(self, states: TrainState) -> AbstractMethod:
        """Return the stack of models that training would end with now."""
        average, method = self.training.layout.gather((states.average, states.method))
        return self.training.average.read(average, method)

    def first_best(self, states: TrainState) -> Weights:
        """Return the weights to begin with where the best ones are kept."""
        return None if self.validation is None else self._copied(states)

    def validated(
        self, states: TrainState, history: History, best: Weights
    ) -> tuple[History, Weights]:
        """Return the history with errors on validation problems, and the best weights, if due."""
        done = int(history.iteration[-1])
        if self.validation is None or not self.validation.is_due(done):
            return history, best
        averaged = self._copied(states)
        models = unstack(averaged, states.iteration.shape[0])
        history = history.with_validation(of_first(self.validation.errors(models)))
        better = jnp.asarray(is_best(history))

        def choose(new: Any, old: Any) -> Any:
            if not eqx.is_array(new):
                return new
            return jnp.where(better.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        return history, jax.tree.map(choose, averaged, best)

    def is_over(self, done: int, history: History) -> bool:
        """Return whether training ends here."""
        stopped = self.validation is not None and self.validation.is_over(history)
        return done >= self.iterations or stopped

    def _copied(self, states: TrainState) -> AbstractMethod:
        """A copy: the states are donated to the next chunk."""
        return map_arrays(jnp.array, self.averaged(states))


def _run(
    steps: _Steps,
    states: TrainState,
    settings: dict[str, Any],
    checkpoints: Checkpoints | None,
    progress: bool | str,
) -> tuple[TrainState, History, Weights]:
    """Train from the given states, or from those of the folder, to the end."""
    seeds, iterations = states.iteration.shape[0], steps.iterations
    layout = steps.training.layout
    history, best = History.empty(seeds), steps.first_best(states)
    with contextlib.ExitStack() as stack:
        folder, seconds = None, 0.0
        if checkpoints is not None:
            path, seconds = checkpoints.path, checkpoints.seconds
            held = RunFolder.hold(path, settings, resume=checkpoints.resume)
            folder = stack.enter_context(held)
            states, history = folder.start(settings, states, history)
            states = layout.spread(states, state_specs(layout))
            folder.keep_plan(checkpoints.plan)
            best = folder.best(best)
        path = folder.path if folder is not None and is_first() else None
        done, drawn = steps.iteration(states), progress if is_first() else False
        shown = stack.enter_context(Progress(path, iterations, seeds, drawn, done))
        return _loop(steps, states, history, best, folder, seconds, shown)


def _loop(
    steps: _Steps,
    states: TrainState,
    history: History,
    best: Weights,
    folder: RunFolder | None,
    checkpoint_seconds: float,
    shown: Progress,
) -> tuple[TrainState, History, Weights]:
    done, iterations, layout = steps.iteration(states), steps.iterations, steps.training.layout
    saved_at = time.monotonic()
    with Interrupt(_STOPPING) as interrupt:
        while not steps.is_over(done, history):
            end = min(iterations, (done // _CHUNK + 1) * _CHUNK)
            states, infos = run_chunk(steps.for_chunk(done // _CHUNK), states, end - done)
            history = _record(history, end, layout.gather(infos))
            shown.show(history)
            if history.diverging.all() and (end - done == _CHUNK or end == iterations):
                raise DivergenceError(_diverged(done, end, folder))
            done = end
            history, best = steps.validated(states, history, best)
            over = steps.is_over(done, history)
            due = time.monotonic() - saved_at >= checkpoint_seconds
            # What one host wants, all do.
            due, asked = any_host(due, interrupt.asked)
            if folder is not None and (due or over or asked):
                folder.save(layout.gather(states), history, best, last=over)
                saved_at = time.monotonic()
            if asked:
                raise KeyboardInterrupt
    return states, history, best


def _stack(key: Array, method: AbstractMethod) -> tuple[Key[Array, " seeds"], AbstractMethod]:
    """Keys and methods with a leading seed axis."""
    if not (eqx.is_array(key) and is_key(key)):
        raise InputError("`key` must be a key of `jax.random.key(seed)`, or an array of such keys.")
    if key.ndim == 0:
        return key[None], map_arrays(lambda leaf: leaf[None], method)
    arrays = jax.tree.leaves(eqx.filter(method, eqx.is_array))
    if key.ndim > 1 or key.size == 0 or any(a.shape[:1] != key.shape for a in arrays):
        raise InputError(
            f"`key` of shape {key.shape} asks for {key.size} models, so every array of `method` "
            "needs that leading axis; make the stack with `eqx.filter_vmap` over the keys."
        )
    return key, method


def _check_fit(
    training: Training,
    method: AbstractMethod,
    keys: Key[Array, " seeds"],
    layout: Layout = ALONE,
) -> None:
    """Refuse a method that cannot answer the problems of the task, and one that needs too much.

    Nothing is written or computed before.
    """
    try:
        state = eqx.filter_eval_shape(init, training, method, keys[0])
        _check_memory(training, state, keys.size, layout)
        eqx.filter_eval_shape(iterate, training, state)
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The method does not fit the problems of '{training.task.name}': {reason}"
        ) from error


def _check_memory(
    training: Training, state: TrainState, seeds: int, layout: Layout = ALONE
) -> None:
    """Refuse a training for which there is not enough memory.

    The state is there twice while it is saved; of a batch there are fresh problems, these with as
    many replayed ones, and the end points of all. In the end every model stands alone. On a CPU all
    devices share the memory; elsewhere each has its own, but for the checkpoint.
    """
    batch = num_bytes(eqx.filter_eval_shape(sample, training, state.method, state.key))
    if jax.default_backend() != "cpu":
        seeds, batch = math.ceil(seeds / layout.apart), batch // layout.parts
    check_memory(
        f"Training {seeds:,} {'model' if seeds == 1 else 'models'} with batches of "
        f"{training.batch_size:,} problems",
        seeds * (2 * num_bytes(state) + 4 * batch + model_bytes(state.method)),
        _SMALLER,
        limit=device_memory(),
    )


@contextlib.contextmanager
def _told_if_out_of_memory() -> Iterator[None]:
    """Say in one sentence that memory ran out, whoever ran out of it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # what JAX raises is a RuntimeError
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise InputError(f"Training needs more memory than there is; {_SMALLER}.") from error


def _record(history: History, done: int, infos: StepInfo) -> History:
    applied = np.asarray(infos.applied)

    def mean(values: Array) -> np.ndarray:
        """The mean over what was applied; NaN where nothing was."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(applied, np.asarray(values), 0).sum(1) / applied.sum(1)

    return history.append(
        iteration=done,
        loss=mean(infos.loss),
        gradient_norm=mean(infos.gradient_norm),
        skipped=(~applied).sum(1),
        constant_error=np.asarray(infos.constant_error).mean(1),
        validation_error=np.full(applied.shape[0], np.nan),
    )


def _diverged(since: int, done: int, folder: RunFolder | None) -> str:
    kept = "" if folder is None else f" {folder.keep_good()}"
    return (
        f"Training diverged: most updates between iterations {since} and {done} were not "
        f"finite.{kept} Try a smaller learning rate, a smaller step size, or clipped gradients."
    )
