"""`export`: a descent as one file that needs none of this code to be run."""

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree, ScalarLike, UInt32

from irem.checks import count, known
from irem.descent.algorithm2 import State, advance, finish, first_point, minimise, start
from irem.descent.precision import in_double, wants_double
from irem.descent.protocols import MOST_STEPS, Baseline, Energy, default_max_steps
from irem.descent.rules import Descent, make_descent
from irem.descent.searches import AbstractSearch
from irem.descent.solution import RUNNING, Solution
from irem.descent.solver import read_answers
from irem.descent.steps import Step
from irem.errors import InputError
from irem.files import whole_file
from irem.formats import Cells, Puzzles
from irem.trees import choose

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
"""The platforms that an exported descent can be made for."""

_WITH_DOUBLE = ("cpu", "cuda", "rocm")
_SYMBOLS = (Cells, Puzzles)
_FIELDS = ("y", "energy", "steps", "converged", "reason")


def export(
    model: Energy | Baseline,
    out: str | Path,
    shape: Sequence[int] | None = None,
    *,
    problems: int | None = None,
    steps: int | None = None,
    max_steps: int | None = None,
    step: Step | AbstractSearch | ScalarLike | str | None = None,
    platforms: Sequence[str] = ("cpu", "cuda"),
) -> jax.export.Exported:
    """Write the descents of a model to a file that is run without irem, by `jax.export`.

    The file holds one function of problems of one shape and of a seed. It returns a dictionary with
    `y`, `energy`, `steps`, `converged` and `reason`, as in the `Solution` that
    `irem.solve(model, x, key=jax.random.key(seed))` returns. It holds the weights as well, but
    neither the domain of the model nor its check, no further tries and no expected error.

    Arguments:
        model: A trained model or an energy, such as `run.model`.
        out: The file, which is written whole or not at all.
        shape: Shape of one problem; by default that of training, where there is only one.
        problems: How many problems the function takes; by default any number, along the first axis.
        steps: How many steps are computed for all problems; those that have stopped do not change
            any more. By default as many as the slowest problem needs until it stops.
        max_steps: Step budget of every descent that is not of a fixed number of steps; by default
            that of the model.
        step: How a step is taken, as in `irem.solve`.
        platforms: Where the function can be run: any of `cpu`, `cuda`, `rocm`, `tpu`.

    Returns:
        What `jax.export.deserialize` makes of the file.

    Examples:
        >>> import irem, jax.numpy as jnp, numpy as np, tempfile, pathlib
        >>> energy = irem.energy.from_function(
        ...     lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(2,)
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = irem.export(energy, pathlib.Path(folder, "model.bin"), shape=(2,))
        >>> exported.call(np.array([[1.0, 2.0]], np.float32), np.uint32(0))["y"].round(2)
        Array([[1., 2.]], dtype=float32)
    """
    _check_options(steps, max_steps, problems, platforms)
    energy = _as_energy(model)
    x = _example(energy, shape)
    budget = steps or max_steps or default_max_steps(energy, energy.format.as_batch(x)[0])
    descent = make_descent(energy, step, None, budget)
    double = wants_double(descent) and set(platforms) <= set(_WITH_DOUBLE)
    answer = _answering(descent, steps, double=double)
    first = jax.export.symbolic_shape("problems") if problems is None else (problems,)
    given = jax.ShapeDtypeStruct((*first, *x.shape[1:]), x.dtype)
    seed = jax.ShapeDtypeStruct((), np.uint32)
    with jax.enable_x64(double):
        exported = jax.export.export(jax.jit(answer), platforms=tuple(platforms))(given, seed)
    with whole_file(Path(out)) as file:
        file.write(exported.serialize())
    return exported


def _answering(
    descent: Descent, steps: int | None, *, double: bool
) -> Callable[[Array, Array], dict[str, Array]]:
    """Return the function that is exported."""
    energy = descent.energy
    walk = _minimise if steps is None else _minimise_in(steps)
    walk = in_double(walk) if double else walk

    def begin(x: Array, key: PRNGKeyArray) -> tuple[PyTree, Array]:
        one = jax.tree.map(operator.itemgetter(0), energy.format.as_batch(x[None])[0])
        return one, first_point(energy, one, _answer_shape(energy, one), key=key)

    def solve(x: Array, seed: UInt32[Array, ""]) -> dict[str, Array]:
        # What is in 64 bits is the walk alone, as in `irem.solve`.
        with jax.enable_x64(False), jax.default_matmul_precision("float32"):
            keys = jax.random.split(jax.random.key(seed), x.shape[0])
            batch, points = jax.vmap(begin)(x, keys)
            found = read_answers(energy, batch, walk(descent, batch, points))
        return {name: getattr(found, name) for name in _FIELDS}

    return solve


def _minimise(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."]) -> Solution:
    """Descend until the slowest problem has stopped."""
    return minimise(descent, x, y0)


def _minimise_in(steps: int) -> Callable[..., Solution]:
    """Return what computes so many steps for every problem, also for those that have stopped."""

    def walk(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."]) -> Solution:
        def one(x: PyTree, y0: Array) -> Solution:
            landscape = descent.energy.landscape(x)

            def body(state: State, _: None) -> tuple[State, None]:
                after = advance(descent, landscape, state)
                return choose(state.reason == RUNNING, after, state), None

            return finish(jax.lax.scan(body, start(descent, landscape, y0), length=steps)[0])

        return jax.vmap(one)(x, y0)

    return walk


def _check_options(
    steps: int | None, max_steps: int | None, problems: int | None, platforms: Sequence[str]
) -> None:
    """Refuse options that make no function."""
    for name, value in (("steps", steps), ("max_steps", max_steps)):
        if value is not None:
            count(name, value, most=MOST_STEPS)
    if steps is not None and max_steps is not None:
        raise InputError(
            "`steps` computes a fixed number of steps and `max_steps` bounds descents that stop by "
            "themselves; give one of them."
        )
    if problems is not None:
        count("problems", problems)
    if not platforms:
        raise InputError(f"`platforms` is empty; give some of {', '.join(PLATFORMS)}.")
    for platform in platforms:
        known("platform", platform, PLATFORMS)


def _as_energy(model: Any) -> Energy:
    """Return a model that has an energy, and refuse any other."""
    if isinstance(model, Energy):
        return model
    raise InputError(
        f"`export` takes an energy or a trained model that has one, got a {type(model).__name__}; "
        "of a run pass `run.model`. Baselines have no descent to export."
    )


def _example(energy: Energy, shape: Sequence[int] | None) -> np.ndarray:
    """Return a batch of one problem of zeros, in the type that the exported function takes."""
    form = energy.format
    if isinstance(form, Puzzles):
        raise InputError(
            "An exported function takes problems of one shape, and of puzzles each has a number of "
            "open variables of its own: answer them with `irem.solve`."
        )
    if shape is None:
        shape = getattr(form, "x_shape", None)
    if shape is None:
        raise InputError(
            f"This model takes {form.noun} of any size, and an exported function those of one: "
            "give the `shape` of a problem (on the command line `--shape 5,5`)."
        )
    for size in shape:
        count("shape", size)
    x = np.zeros((1, *shape), np.int8 if isinstance(form, Cells) else np.float32)
    readings = form.readings(x.shape)
    if not readings or readings[-1].shape != x.shape:
        raise InputError(f"`shape` is {tuple(shape)}; expected that of {form.expected}.")
    return x


def _answer_shape(energy: Energy, x: PyTree) -> tuple[int, ...]:
    shape = energy.format.answer_shape(x)
    if shape is None:
        raise InputError(
            "This energy does not know the shape of its answers: build it with "
            "`from_function(f, answer_shape=...)`."
        )
    return shape
