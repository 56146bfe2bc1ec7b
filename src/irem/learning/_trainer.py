"""Training, from first iteration to last, with everything that can happen in between."""

import contextlib
import dataclasses
import functools
import json
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Key

from irem._checks import count, known, positive
from irem._errors import DivergenceError, InputError
from irem._interrupt import Interrupt
from irem._trees import is_key, map_arrays
from irem._version import __version__
from irem.learning._folder import RunFolder
from irem.learning._replay import AbstractReplay, NoReplay, Replay
from irem.learning._run import FORMAT, History, Run, iterations_done, unstack
from irem.learning._step import Recipe, StepInfo, TrainState, healthy, init, iterate, run_chunk
from irem.learning._watch import Watcher
from irem.methods import AbstractMethod, describe_method
from irem.tasks import AbstractTask

DECAYS = ("constant", "cosine")
PRECISIONS = ("default", "float32")

_STOPPING = "Stopping at the end of this chunk of iterations; Ctrl-C again drops the chunk."

# Iterations in one compiled call. Chunks end at multiples of it, also after a resume, so that an
# interrupted run goes through the very same calls as one that was not.
_CHUNK = 100


def train(
    task: AbstractTask,
    method: AbstractMethod,
    *,
    iterations: int = 10_000,
    batch_size: int = 128,
    learning_rate: float = 1e-4,
    decay: str = "constant",
    clip_norm: float | None = None,
    replay: AbstractReplay | None = None,
    precision: str = "default",
    key: Array,
    out: str | Path | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    progress: bool = False,
) -> Run:
    """Train `method` on `task` (Algorithm 1).

    The defaults are the paper's. Several models train at once if `key` is an array of keys and
    `method` a stack of methods, as `eqx.filter_vmap` over keys makes it.

    Arguments:
        task: Where problems come from.
        method: What is trained.
        iterations: Number of updates.
        batch_size: Fresh problems in an iteration; a replay puts as many beside them.
        learning_rate: Of Adam.
        decay: `"constant"`, or `"cosine"` to let the learning rate fall to zero.
        clip_norm: Largest norm of a gradient; longer ones are scaled down to it.
        replay: Where the other half of the starting candidates come from; by default `Replay()`
            for methods that start from candidates, `NoReplay()` for the baselines.
        precision: `"default"` is the fastest the device offers (TF32 on recent GPUs); `"float32"`
            asks for full products. They are the same on a CPU.
        key: Source of all randomness in training.
        out: Folder to keep the run in: settings, whole state, TensorBoard scalars.
        resume: Go on with the run in `out`, if there is one. On the same device the result is bit
            for bit that of a run which was never stopped.
        checkpoint_seconds: At most this much work is lost to a crash (and one chunk of 100
            iterations).
        progress: Whether to draw a progress bar on standard error.

    Returns:
        The trained models with their history.

    Raises:
        DivergenceError: Most updates of a chunk were not finite, in every model. The last good
            state is kept in `out`.
    """
    count("iterations", iterations)
    count("batch_size", batch_size)
    positive("learning_rate", learning_rate)
    if clip_norm is not None:
        positive("clip_norm", clip_norm)
    if not checkpoint_seconds >= 0:
        raise InputError(f"`checkpoint_seconds` must be 0 or more, got {checkpoint_seconds}.")
    known("decay", decay, DECAYS)
    known("precision", precision, PRECISIONS)
    if replay is None:
        replay = Replay() if method.replays else NoReplay()
    keys, methods = _stack(key, method)
    seeds = keys.shape[0]
    settings = {
        "format": FORMAT,
        "version": __version__,
        "task": {"name": task.name, "settings": task.settings()},
        "method": describe_method(method),
        "iterations": int(iterations),
        "batch_size": int(batch_size),
        "learning_rate": float(learning_rate),
        "decay": decay,
        "clip_norm": None if clip_norm is None else float(clip_norm),
        "replay": {"name": type(replay).__qualname__, **_given(dataclasses.asdict(replay))},
        "precision": precision,
        "keys": np.asarray(jax.random.key_data(keys)).tolist(),
    }
    settings = json.loads(json.dumps(settings))  # as a file has them: lists for tuples
    optimiser = adam(
        settings["learning_rate"], decay, settings["iterations"], settings["clip_norm"]
    )
    recipe = Recipe(task, optimiser, replay, int(batch_size))
    _check_fit(recipe, method if key.ndim == 0 else map_arrays(lambda a: a[0], method), keys[0])
    states = eqx.filter_vmap(lambda m, k: init(recipe, m, k))(methods, keys)
    history = History.empty(seeds)
    with contextlib.ExitStack() as stack:
        folder = None
        if out is not None:
            folder = stack.enter_context(RunFolder.hold(Path(out), settings, resume=resume))
            states, history = folder.start(settings, states, history)
        if precision == "float32":
            stack.enter_context(jax.default_matmul_precision("float32"))
        path = None if folder is None else folder.path
        done = int(states.iteration[0])
        watcher = stack.enter_context(Watcher(path, iterations, seeds, progress, done))
        states, history = _loop(
            recipe, states, history, iterations, folder, checkpoint_seconds, watcher
        )
    return Run(task, unstack(states.method, seeds), int(iterations), history, settings, path)


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Without what is not set, so that runs from before a setting existed can be taken up again."""
    return {name: value for name, value in settings.items() if value is not None}


def _loop(
    recipe: Recipe,
    states: TrainState,
    history: History,
    iterations: int,
    folder: RunFolder | None,
    checkpoint_seconds: float,
    watcher: Watcher,
) -> tuple[TrainState, History]:
    done = int(states.iteration[0])
    saved_at = time.monotonic()
    with Interrupt(_STOPPING) as interrupt:
        while done < iterations:
            end = min(iterations, (done // _CHUNK + 1) * _CHUNK)
            states, infos = run_chunk(recipe, states, end - done)
            sound = np.asarray(healthy(states))
            diverging = (np.asarray(infos.applied).mean(1) < 0.5) | ~sound
            history = _record(history, end, infos)
            watcher.show(history)
            hopeless = diverging.all() and (end - done == _CHUNK or end == iterations)
            done = end
            due = time.monotonic() - saved_at >= checkpoint_seconds
            if folder is not None and (due or done == iterations or interrupt.asked or hopeless):
                folder.save(states, history, good=not diverging.all(), sound=bool(sound.all()))
                saved_at = time.monotonic()
            if hopeless:
                raise DivergenceError(_diverged(done, history, folder))
            if interrupt.asked:
                raise KeyboardInterrupt
    return states, history


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


def _check_fit(recipe: Recipe, method: AbstractMethod, key: Key[Array, ""]) -> None:
    """Refuse a method that cannot answer the problems of the task, before anything is written."""
    try:
        state = eqx.filter_eval_shape(init, recipe, method, key)
        eqx.filter_eval_shape(iterate, recipe, state)
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"The method does not fit the problems of '{recipe.task.name}': {reason}"
        ) from error


def adam(
    learning_rate: float, decay: str, iterations: int, clip_norm: float | None = None
) -> optax.GradientTransformation:
    """The optimiser of `train`, whose arguments these are."""
    return _adam(learning_rate, iterations if decay == "cosine" else None, clip_norm)


@functools.lru_cache(maxsize=32)
def _adam(
    learning_rate: float, decay_steps: int | None, clip_norm: float | None
) -> optax.GradientTransformation:
    """The same settings give the same object, so that nothing is compiled anew for them."""
    rate = learning_rate
    if decay_steps is not None:
        rate = optax.cosine_decay_schedule(learning_rate, decay_steps)
    rule = optax.adam(rate)
    return rule if clip_norm is None else optax.chain(optax.clip_by_global_norm(clip_norm), rule)


def _record(history: History, done: int, infos: StepInfo) -> History:
    loss, norm, applied = (np.asarray(a) for a in (infos.loss, infos.gradient_norm, infos.applied))
    # Means over what was applied; NaN where nothing was.
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = lambda a: np.where(applied, a, 0).sum(1) / applied.sum(1)  # noqa: E731
        return history.append(done, mean(loss), mean(norm), (~applied).sum(1))


def _diverged(done: int, history: History, folder: RunFolder | None) -> str:
    since = int(history.iteration[-2]) if len(history.iteration) > 1 else 0
    kept = ""
    if folder is not None and (reached := iterations_done(folder.path)):
        kept = f" The last good state, of iteration {reached}, is kept in '{folder.path}'."
    return (
        f"Training diverged: most updates between iterations {since} and {done} were not "
        f"finite.{kept} Try a smaller learning rate, a smaller step size, or clipped gradients."
    )
