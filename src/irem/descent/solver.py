"""`solve`: the answers of any model to any number of problems."""

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree, ScalarLike

from irem.checks import count
from irem.descent.baselines import answer_all, as_baseline, refuse_options_of_descents
from irem.descent.batches import even_size, minimise_all, minimise_all_recorded
from irem.descent.halting import AbstractHalt
from irem.descent.judging import judged, refuse
from irem.descent.problems import as_problems
from irem.descent.protocols import MAX_STEPS, MOST_STEPS, Baseline, Energy, default_max_steps
from irem.descent.rules import make_descent, until_answer_holds
from irem.descent.searches import AbstractSearch
from irem.descent.solution import Solution, Trajectory
from irem.descent.starts import (
    count_problems,
    distinct_starts,
    first_points,
    list_answers,
    lowest_of_starts,
    repeat,
    split_key,
)
from irem.descent.steps import Step
from irem.errors import InputError

_STARTS_PER_ANSWER = 8

PAGE_NUMBERS = 2**23
"""How many numbers the problems of a page have where no page size is given: some 32 megabytes."""


def solve(
    model: Energy | Baseline,
    x: Any,
    y0: Any = None,
    *,
    key: PRNGKeyArray | Key[Array, " problems"] | None = None,
    step: Step | AbstractSearch | ScalarLike | str | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int | None = None,
    starts: int = 1,
    trajectory: bool = False,
    on_batch: Callable[[int], None] | None = None,
) -> Solution:
    """Answer problems by descending their energy until it stops changing (Algorithm 2).

    Every problem has its own landscape, first guess and step lengths, and stops by itself; where
    there are many, one that has stopped is replaced by the next. Products are computed in full
    float32, whatever the device prefers. A baseline, which has no energy, answers in its own way.

    A trained model knows its task: problems outside its domain are refused, and every answer is
    checked (`Solution.verdict`, `Solution.residual`). What is returned is what the descent found.
    `Run.solve` also spends more steps and restarts on answers that fail their check.

    Arguments:
        model: A trained model, an energy, or a baseline.
        x: One problem, or problems along a leading axis; `None` for functions of the answer alone.
        y0: First guesses, shaped like the answers; by default as the energy draws them, uniform in
            (-1, 1). With several starts they have an axis of starts after that of problems.
        key: Where first guesses are drawn from, or one key for each problem. The guesses of problem
            `i` depend on `key` and `i` alone.
        step: How a step is taken: a step rule, a search along the gradient such as
            `Backtracking()`, the size of a fixed step, or a name of `irem.descent.STEPS`. By
            default that of the energy.
        halt: When to stop; by default `EnergyUnchanged()`, and `Stationary()` for energies that are
            descended by L-BFGS where no other step is given, as all hand-written ones. One descent
            on a puzzle also stops where its answer passes the check (`AnswerHolds()`), unless its
            trajectory is asked for.
        max_steps: Number of steps, each one evaluation of the gradient, after which every descent
            stops; by default that of the energy. For the trajectory of a baseline, the number of
            its steps.
        starts: From how many guesses each problem is descended; the answer of lowest energy wins,
            and `Solution.spread` says how much the answers differ.
        trajectory: Whether to keep the answer after every step.
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
    count("starts", starts)
    if max_steps is not None:
        count("max_steps", max_steps, most=MOST_STEPS)
    if not isinstance(model, Energy):
        given = {"y0": y0, "step": step, "halt": halt}
        options = {name: value is not None for name, value in given.items()}
        options["max_steps"] = max_steps is not None and not trajectory
        options["starts"] = starts > 1
        num_steps = (max_steps or MAX_STEPS) if trajectory else None
        return _solve_baseline(model, x, key, num_steps, options, on_batch)
    x, alone = as_problems(model.format, x, y0, starts)
    refused = refuse(model, x, alone=alone)
    points = first_points(model, x, y0, alone=alone, key=key, starts=starts)
    budget = default_max_steps(model, x) if max_steps is None else max_steps
    descent, on_done = make_descent(model, step, halt, budget), count_problems(on_batch, starts)
    if halt is None and starts == 1 and not trajectory:  # else energies of minima are compared
        descent = until_answer_holds(descent)
    walked = repeat(x, starts)
    with jax.default_matmul_precision("float32"):
        if trajectory:
            solution = minimise_all_recorded(descent, walked, points, budget, on_done=on_done)
        else:
            solution = minimise_all(descent, walked, points, on_done=on_done)
    solution = read_answers(model, walked, solution)
    if starts > 1:
        solution = lowest_of_starts(solution, starts)
    solution = judged(model, x, solution, refused)
    return _first(solution) if alone else solution


def solve_several(
    model: Energy,
    x: Any,
    *,
    answers: int,
    starts: int | None = None,
    key: PRNGKeyArray | Key[Array, " problems"],
    on_batch: Callable[[int], None] | None = None,
) -> Solution:
    """Answer problems that have several answers, and list those that differ.

    Every problem is descended from several first guesses. `Solution.answers` has the ends that
    differ, by energy; all else in the solution is about the one of lowest energy.

    Arguments:
        model: A trained model, or an energy.
        x: One problem, or problems along a leading axis.
        answers: How many answers to list for each problem.
        starts: From how many guesses each is descended; by default eight for every answer.
        key: As in `solve`.
        on_batch: As in `solve`.
    """
    count("answers", answers)
    starts = max(starts or 0, _STARTS_PER_ANSWER * answers)
    x, alone = as_problems(model.format, x)
    refused = refuse(model, x, alone=alone)
    points = first_points(model, x, None, alone=alone, key=key, starts=starts)
    walked, on_done = repeat(x, starts), count_problems(on_batch, starts)
    with jax.default_matmul_precision("float32"):
        descent = make_descent(model, max_steps=default_max_steps(model, x))
        found = minimise_all(descent, walked, points, on_done=on_done)
    order = distinct_starts(found, starts, answers)
    solution = list_answers(read_answers(model, walked, found), starts, order)
    solution = judged(model, x, solution, refused)
    return _first(solution) if alone else solution


def solve_pages(
    model: Energy | Baseline,
    x: np.ndarray,
    *,
    key: PRNGKeyArray | Key[Array, " problems"],
    page_size: int | None = None,
    by: Callable[..., Solution] | None = None,
    **options: Any,
) -> Iterator[Solution]:
    """Answer more problems than memory holds, such as a memory map of a file, page after page.

    The answers are those of `solve`: first guesses depend on `key` and the place of a problem among
    all of them.

    Arguments:
        model: A trained model, an energy, or a baseline.
        x: Problems along the first axis of one array.
        key: Where first guesses are drawn from, or one key for each problem.
        page_size: How many problems make a page; by default so many that the problems of a page
            take some tens of megabytes.
        by: What answers a page: `solve` itself, or a function like it.
        options: As for `solve`.

    Returns:
        The solutions of the pages, in order.

    Examples:
        `for solution in irem.solve_pages(model, np.load("x.npy", mmap_mode="r"), key=key): ...`
    """
    pages = split_pages(x.shape, page_size)

    def problems(page: slice) -> np.ndarray:
        some = np.ascontiguousarray(x[page])
        return model.format.as_stack(some, len(some))[0]

    for page in pages:  # refuse bad problems before the first answer
        model.format.as_batch(problems(page))
    keys, answer = split_key(key, x.shape[0]), solve if by is None else by

    def answers() -> Iterator[Solution]:
        for page in pages:
            yield answer(model, problems(page), key=keys[page], **options)

    return answers()


def split_pages(
    shape: tuple[int, ...], page_size: int | None = None, page_numbers: int = PAGE_NUMBERS
) -> list[slice]:
    """Return the pages of an array of problems, all as large as the first but perhaps the last.

    Arguments:
        shape: Shape of the array.
        page_size: Most problems of a page; by default as many as have `page_numbers` numbers.
        page_numbers: Most numbers of a page.
    """
    problems = shape[0] if shape else 0
    if problems == 0:
        raise InputError(f"`x` has shape {shape}; expected problems along its first axis.")
    if page_size is None:
        page_size = max(1, page_numbers // math.prod(shape[1:]))
    count("page_size", page_size)
    size = even_size(problems, page_size)
    return [slice(first, first + size) for first in range(0, problems, size)]


def read_answers(energy: Energy, x: PyTree, solution: Solution) -> Solution:
    """Return the answers in place of the points of the landscapes of the problems `x`."""
    y, path = _read(energy, x, solution.y), solution.trajectory
    if path is not None:
        path = Trajectory(_read_paths(energy, x, path.ys), path.energies)
    return Solution(**{**vars(solution), "y": y, "trajectory": path})


@eqx.filter_jit
def _read(energy: Energy, x: PyTree, points: Array) -> Array:
    return jax.vmap(energy.read)(x, points)


@eqx.filter_jit
def _read_paths(energy: Energy, x: PyTree, points: Array) -> Array:
    return jax.vmap(jax.vmap(energy.read, in_axes=(None, 0)))(x, points)


def _solve_baseline(
    model: Energy | Baseline,
    x: Any,
    key: PRNGKeyArray | Key[Array, " problems"] | None,
    num_steps: int | None,
    options: dict[str, bool],
    on_batch: Callable[[int], None] | None,
) -> Solution:
    baseline = as_baseline(model)
    refuse_options_of_descents(options)
    x, alone = baseline.format.as_batch(x)
    solution = answer_all(baseline, x, key=key, num_steps=num_steps)
    if on_batch is not None:
        on_batch(solution.steps.shape[0])
    return _first(solution) if alone else solution


def _first(tree: PyTree) -> PyTree:
    return jax.tree.map(operator.itemgetter(0), tree)
