"""Training, from first iteration to last, with everything that can happen in between."""

import contextlib
import dataclasses
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
from irem._files import remove_unfinished
from irem._trees import is_key, map_arrays
from irem._version import __version__
from irem.learning._checkpoint import load_arrays, save_arrays
from irem.learning._interrupt import Interrupt
from irem.learning._replay import AbstractReplay, Replay
from irem.learning._run import (
    CHECKPOINT,
    FORMAT,
    SETTINGS,
    History,
    Run,
    load_history,
    read_settings,
    unstack,
    write_settings,
)
from irem.learning._step import Recipe, StepInfo, TrainState, init, run_chunk
from irem.learning._watch import Watcher
from irem.methods import AbstractMethod, describe_method
from irem.tasks import AbstractTask

DECAYS = ("constant", "cosine")
PRECISIONS = ("default", "float32")

# Iterations in one compiled call. Chunks end at multiples of it, also after a resume, so that an
# interrupted run goes through the very same calls as one that was not.
_CHUNK = 100
# A run in which this many updates in a row were not finite will not recover.
_HOPELESS = 100


def train(
    task: AbstractTask,
    method: AbstractMethod,
    *,
    iterations: int = 10_000,
    batch_size: int = 128,
    learning_rate: float = 1e-4,
    decay: str = "constant",
    clip_norm: float | None = None,
    replay: AbstractReplay = Replay(),  # noqa: B008
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
        batch_size: Fresh problems in an iteration; as many are replayed beside them.
        learning_rate: Of Adam.
        decay: `"constant"`, or `"cosine"` to let the learning rate fall to zero.
        clip_norm: Largest norm of a gradient; longer ones are scaled down to it.
        replay: Where the other half of the starting candidates come from.
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
        DivergenceError: 100 updates in a row were not finite in every model. The last good state
            is kept in `out`.
    """
    count("iterations", iterations)
    count("batch_size", batch_size)
    positive("learning_rate", learning_rate)
    if not checkpoint_seconds >= 0:
        raise InputError(f"`checkpoint_seconds` must be 0 or more, got {checkpoint_seconds}.")
    known("decay", decay, DECAYS)
    known("precision", precision, PRECISIONS)
    keys, methods = _stack(key, method)
    seeds = keys.shape[0]
    settings = {
        "format": FORMAT,
        "version": __version__,
        "task": {"name": task.name, "settings": task.settings()},
        "method": describe_method(method),
        "iterations": iterations,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "decay": decay,
        "clip_norm": clip_norm,
        "replay_capacity": replay.capacity if isinstance(replay, Replay) else 0,
        "precision": precision,
        "keys": np.asarray(jax.random.key_data(keys)).tolist(),
    }
    optimiser = _optimiser(learning_rate, decay, clip_norm, iterations)
    recipe = Recipe(task, optimiser, replay, batch_size)
    states = eqx.filter_vmap(lambda m, k: init(recipe, m, k))(methods, keys)
    history = History.empty(seeds)
    folder = None if out is None else Path(out)
    if folder is not None:
        states, history = _open_folder(folder, settings, resume, states, history)
    products = contextlib.nullcontext()
    if precision == "float32":
        products = jax.default_matmul_precision("float32")
    with (
        products,
        Watcher(folder, iterations, seeds, progress, int(states.iteration[0])) as watcher,
    ):
        states, history = _loop(
            recipe, states, history, iterations, folder, checkpoint_seconds, watcher
        )
    return Run(task, unstack(states.method, seeds), iterations, history, settings, folder)


def _loop(
    recipe: Recipe,
    states: TrainState,
    history: History,
    iterations: int,
    folder: Path | None,
    checkpoint_seconds: float,
    watcher: Watcher,
) -> tuple[TrainState, History]:
    done = int(states.iteration[0])
    saved_at = time.monotonic()
    with Interrupt() as interrupt:
        while done < iterations:
            end = min(iterations, (done // _CHUNK + 1) * _CHUNK)
            states, infos = run_chunk(recipe, states, end - done)
            done = end
            history = _record(history, done, infos)
            watcher.show(history)
            hopeless = bool((np.asarray(states.skipped_in_a_row) >= _HOPELESS).all())
            due = time.monotonic() - saved_at >= checkpoint_seconds
            if folder is not None and (due or done == iterations or interrupt.asked or hopeless):
                _save(folder, states, history, only_if_missing=hopeless)
                saved_at = time.monotonic()
            if hopeless:
                raise DivergenceError(_diverged(done, folder))
            if interrupt.asked and done < iterations:
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


def _optimiser(
    learning_rate: float, decay: str, clip_norm: float | None, iterations: int
) -> optax.GradientTransformation:
    rate = (
        learning_rate
        if decay == "constant"
        else optax.cosine_decay_schedule(learning_rate, iterations)
    )
    adam = optax.adam(rate)
    if clip_norm is None:
        return adam
    positive("clip_norm", clip_norm)
    return optax.chain(optax.clip_by_global_norm(clip_norm), adam)


def _open_folder(
    folder: Path, settings: dict[str, Any], resume: bool, states: TrainState, history: History
) -> tuple[TrainState, History]:
    """Make the folder of a run, or take up the run that is in it."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"'{folder}' is a file; choose a folder for the run.")
    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True)
        write_settings(folder, settings)
        return states, history
    remove_unfinished(folder)
    if not (folder / SETTINGS).exists() and any(folder.iterdir()):
        raise InputError(f"'{folder}' exists and is not a run; choose another folder.")
    if not resume:
        raise InputError(
            f"'{folder}' already holds a run; pass --resume to go on with it, or choose another "
            "folder."
        )
    if (folder / SETTINGS).exists():
        _check_same(folder, read_settings(folder), settings)
    if (folder / CHECKPOINT).exists():
        states = load_arrays(folder / CHECKPOINT, {"state": states})["state"]
        history = load_history(folder, states.iteration.shape[0])
    done = int(states.iteration[0])
    if done > settings["iterations"]:
        raise InputError(
            f"The run in '{folder}' has done {done} iterations already, more than the "
            f"{settings['iterations']} asked for."
        )
    write_settings(folder, settings)
    return states, history


def _check_same(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse to go on with other settings than a run was started with."""
    free = {"version"} | ({"iterations"} if new["decay"] == "constant" else set())
    changed = [name for name in new if name not in free and old.get(name) != new[name]]
    if changed:
        differences = ", ".join(f"{name} was {old.get(name)}, now {new[name]}" for name in changed)
        raise InputError(
            f"The run in '{folder}' was started with other settings ({differences}); repeat the "
            "old ones, or choose another folder."
        )


def _record(history: History, done: int, infos: StepInfo) -> History:
    loss, norm, applied = (np.asarray(a) for a in (infos.loss, infos.gradient_norm, infos.applied))
    # Means over what was applied; NaN where nothing was.
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = lambda a: np.where(applied, a, 0).sum(1) / applied.sum(1)  # noqa: E731
        return history.append(done, mean(loss), mean(norm), (~applied).sum(1))


def _save(folder: Path, states: TrainState, history: History, *, only_if_missing: bool) -> None:
    path = folder / CHECKPOINT
    if only_if_missing and path.exists():
        return
    chunks = np.asarray(len(history.iteration), np.int32)
    save_arrays(path, {"state": states, "history": dataclasses.asdict(history), "chunks": chunks})


def _diverged(done: int, folder: Path | None) -> str:
    kept = f" The last good state is kept in '{folder}'." if folder is not None else ""
    return (
        f"Training diverged: the last {_HOPELESS} updates up to iteration {done} were not "
        f"finite.{kept} Try a smaller learning rate, a smaller step size, or clipped gradients."
    )
