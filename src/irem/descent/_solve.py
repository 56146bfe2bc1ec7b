"""Algorithm 2: walk landscapes down to their minima."""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Key, PRNGKeyArray, PyTree

from irem._checks import count, numeric
from irem._errors import InputError
from irem.descent._backtracking import DEFAULT_STEP, STEPS
from irem.descent._calibration import Calibration
from irem.descent._halt import AbstractHalt, EnergyUnchanged
from irem.descent._solution import Solution, Trajectory
from irem.descent._step import AbstractStep, FixedStep
from irem.descent._turns import walk_in_turns
from irem.descent._walk import Route, Walkable, first_point, walk, walk_recorded

MAX_STEPS = 500
"""Step budget of a descent where none is given."""

_PAGE = 2**23  # numbers


def solve(
    energy: Walkable,
    x: Any,
    y0: Any = None,
    *,
    key: PRNGKeyArray | Key[Array, " problems"] | None = None,
    step: AbstractStep | float | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int = MAX_STEPS,
    starts: int = 1,
    trajectory: bool = False,
    calibration: Calibration | None = None,
    batch_size: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Solution:
    """Answer problems by descending their energy until it stops changing (Algorithm 2).

    Every problem has its own landscape, starts from its own guess, takes steps of its own length
    and stops by itself; one that is done makes room for the next. Products are taken in full
    float32, whatever the device prefers.

    Arguments:
        energy: A trained model, or an energy.
        x: One problem, or problems along a leading axis.
        y0: First guesses, shaped like the answers; by default as the energy draws them, uniform in
            (-1, 1). With several starts they have an axis of starts after that of problems.
        key: Where first guesses are drawn from, or one key for each problem. The guesses of problem
            `i` depend on `key` and `i` alone.
        step: How a step is taken, a number meaning `FixedStep`; by default `Backtracking()`.
        halt: When to stop; by default `EnergyUnchanged()`.
        max_steps: Number of steps, each one evaluation of the gradient, after which every descent
            stops.
        starts: From how many guesses each problem is walked; the answer of lowest energy wins, and
            `Solution.spread` says how far the answers lie apart.
        trajectory: Whether to keep every answer on the way.
        calibration: What `irem.calibrate` returned for this model; fills `expected_error`.
        batch_size: How many descents are under way at once; by default what suits the device.
            Answers depend on it by rounding alone.
        on_batch: Called with a number of problems whenever so many more are done, for a progress
            bar.

    Returns:
        A `Solution`; its fields have a leading axis of problems if `x` had one.

    Examples:
        >>> import irem, jax.numpy as jnp
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
        >>> x, y0 = jnp.array([[1.0, 2.0]]), jnp.zeros((1, 2))
        >>> irem.solve(energy, x, y0).y.round(2)
        Array([[1., 2.]], dtype=float32)
    """
    if not isinstance(energy, Walkable):
        raise InputError(
            f"`solve` walks an energy or a trained model, got a {type(energy).__name__}; of a run "
            "pass `run.model`."
        )
    for name, value in (("max_steps", max_steps), ("starts", starts)):
        count(name, value)
    if batch_size is not None:
        count("batch_size", batch_size)
    if step is None:
        step = STEPS[DEFAULT_STEP]()
    elif not isinstance(step, AbstractStep):
        step = FixedStep(step)
    x, alone = energy.as_batch(x)
    points = _first_points(energy, x, y0, alone, key, starts)
    halt = EnergyUnchanged() if halt is None else halt
    route = Route(energy, step, halt, _trained_step(energy), jnp.asarray(max_steps, jnp.int32))
    x = _repeat(x, starts)
    report = _count_problems(on_batch, starts)
    with jax.default_matmul_precision("float32"):
        if trajectory:
            solution = _walk_recorded(route, x, points, max_steps, batch_size, report)
        else:
            solution = _walk(route, x, points, batch_size, report)
    solution = _read(energy, solution)
    if starts > 1:
        solution = _lowest(solution, starts)
    if calibration is not None:
        expected = jnp.asarray(calibration.expected_error(solution))
        solution = Solution(**{**vars(solution), "expected_error": expected})
    return jax.tree.map(operator.itemgetter(0), solution) if alone else solution


def solve_pages(
    energy: Walkable,
    x: np.ndarray,
    *,
    key: PRNGKeyArray,
    page_size: int | None = None,
    **options: Any,
) -> Iterator[Solution]:
    """Answer more problems than memory holds, such as a memory map of a file, page after page.

    The answers are those of `solve`: first guesses depend on `key` and the place of a problem among
    all of them.

    Arguments:
        energy: A trained model, or an energy.
        x: Problems along the first axis of one array.
        key: Where first guesses are drawn from.
        page_size: How many problems make a page; by default so many that a page of them takes some
            tens of megabytes.
        options: As for `solve`.

    Returns:
        The solutions of the pages, in order.

    Examples:
        `for solution in irem.solve_pages(model, np.load("x.npy", mmap_mode="r"), key=key): ...`
    """
    problems = x.shape[0] if x.ndim else 0
    if problems == 0:
        raise InputError(f"`x` has shape {x.shape}; expected problems along its first axis.")
    if page_size is None:
        page_size = max(1, _PAGE // math.prod(x.shape[1:]))
    count("page_size", page_size)
    page_size = _evenly(problems, page_size)
    pages = [slice(first, first + page_size) for first in range(0, problems, page_size)]
    for page in pages:  # what cannot be answered is found before anything is
        numeric("x", x[page], keep_integers=True)
    keys = jax.random.split(key, problems)

    def answers() -> Iterator[Solution]:
        for page in pages:
            yield solve(energy, np.ascontiguousarray(x[page]), key=keys[page], **options)

    return answers()


def _walk(
    route: Route,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    batch_size: int | None,
    report: Callable[[int], None],
) -> Solution:
    problems = y0.shape[0]
    slots = batch_size or _at_once(y0)
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((x, y0)))
    if problems > slots and not traced:
        return walk_in_turns(route, x, y0, slots, report)
    solution = walk(route, x, y0)
    if not traced:
        jax.block_until_ready(solution)
    report(problems)
    return solution


def _walk_recorded(
    route: Route,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    length: int,
    batch_size: int | None,
    report: Callable[[int], None],
) -> Solution:
    """Walk batch by batch; of every answer `length + 1` copies stay in memory."""
    problems = y0.shape[0]
    largest = batch_size or max(1, _at_once(y0) // math.ceil((length + 1) / 64))
    size = _evenly(problems, largest)
    parts = []
    for first in range(0, problems, size):
        some_x, some_y0 = jax.tree.map(operator.itemgetter(slice(first, first + size)), (x, y0))
        parts.append(walk_recorded(route, some_x, some_y0, length))
        report(parts[-1].steps.shape[0])
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *p: jnp.concatenate(p), *parts)


def _evenly(problems: int, largest: int) -> int:
    """The size of parts of at most `largest` that are as equal as can be: few shapes compile."""
    return math.ceil(problems / math.ceil(problems / largest))


def _trained_step(energy: Walkable) -> Float[Array, ""] | None:
    size = getattr(energy, "step_size", None)
    return None if size is None else jnp.asarray(size, float)


# How many entries of answers walk at once: enough to keep the device busy, and few enough for its
# memory (a graph energy keeps a few thousand bytes for each).
_ENTRIES = {"cpu": 2**16, "gpu": 2**20}
# A GPU is busy with this many problems; of more, one in eight walks at once, so that most of them
# can take the place of others.
_BUSY, _PLACES = 1024, 8


def _at_once(y0: Float[Array, "problems ..."]) -> int:
    backend = jax.default_backend()
    most = max(8, _ENTRIES.get(backend, _ENTRIES["cpu"]) // math.prod(y0.shape[1:]))
    return most if backend == "cpu" else min(most, max(_BUSY, y0.shape[0] // _PLACES))


def _count_problems(on_batch: Callable[[int], None] | None, starts: int) -> Callable[[int], None]:
    """Turn numbers of descents that are done into numbers of problems."""
    descents = 0

    def report(done: int) -> None:
        nonlocal descents
        before, descents = descents // starts, descents + done
        if on_batch is not None:
            on_batch(descents // starts - before)

    return report


def _read(energy: Walkable, solution: Solution) -> Solution:
    """The answers at the points where descents ended, and at those on the way."""
    y, path = jax.vmap(energy.read)(solution.y), solution.trajectory
    if path is not None:
        path = Trajectory(jax.vmap(jax.vmap(energy.read))(path.ys), path.energies)
    return Solution(**{**vars(solution), "y": y, "trajectory": path})


def _lowest(solution: Solution, starts: int) -> Solution:
    """Of the starts of every problem the one of lowest energy, and how far they lie apart."""
    by_problem = jax.tree.map(lambda leaf: leaf.reshape(-1, starts, *leaf.shape[1:]), solution)
    # An energy that is not a number is not low.
    energies = jnp.where(jnp.isnan(by_problem.energy), jnp.inf, by_problem.energy)
    best = jnp.argmin(energies, axis=1)
    lowest = jax.tree.map(lambda leaf: jax.vmap(operator.getitem)(leaf, best), by_problem)
    spread = jnp.sqrt(jnp.mean(jnp.var(by_problem.y, axis=1), axis=range(1, solution.y.ndim)))
    return Solution(**{**vars(lowest), "spread": spread})


def _first_points(
    energy: Walkable,
    x: PyTree,
    y0: Any,
    alone: bool,
    key: PRNGKeyArray | Key[Array, " problems"] | None,
    starts: int,
) -> Float[Array, "descents ..."]:
    """Where every descent begins; those of one problem stand together."""
    size = jax.tree.leaves(x)[0].shape[0]
    shape = energy.answer_shape(jax.tree.map(operator.itemgetter(0), x))
    keys = key
    if key is not None:
        keys = jax.random.split(key, size) if key.ndim == 0 else key
        if keys.shape != (size,):
            raise InputError(f"`key` has shape {keys.shape}, but there are {size} problems.")
        if starts > 1:
            keys = jax.vmap(lambda k: jax.random.split(k, starts))(keys).reshape(-1)
    if y0 is not None:
        guesses = _given_guesses(y0, alone, size, shape, starts)
        return jax.vmap(lambda y, k: energy.begin(y, key=k))(guesses, keys)
    if shape is None:
        raise InputError(
            "This energy does not know the shape of its answers: give a first guess `y0`, or build "
            "it with `from_function(f, answer_shape=...)`."
        )
    if keys is None:
        raise InputError(
            "`solve` draws its first guesses: pass `key=jax.random.key(seed)` or `y0`."
        )
    first = lambda x, key: first_point(energy, x, shape, key=key)  # noqa: E731
    return jax.vmap(first)(_repeat(x, starts), keys)


def _given_guesses(
    y0: Any, alone: bool, size: int, shape: tuple[int, ...] | None, starts: int
) -> Float[Array, "descents ..."]:
    """What a user gave as first guesses, checked."""
    several = (starts,) if starts > 1 else ()
    y0 = numeric("y0", y0)[None] if alone else numeric("y0", y0)
    answer = y0.shape[1 + len(several) :] if shape is None else shape
    expected = (size, *several, *answer)
    if y0.shape != expected:
        raise InputError(
            f"`y0` has shape {y0.shape[alone:]}, but the answers have shape {expected[alone:]}"
            + (f", {starts} starts for each problem." if several else ".")
        )
    return y0.reshape(-1, *answer)


def _repeat(x: PyTree, starts: int) -> PyTree:
    """Every problem as often as it is walked."""
    return x if starts == 1 else jax.tree.map(lambda leaf: jnp.repeat(leaf, starts, axis=0), x)
