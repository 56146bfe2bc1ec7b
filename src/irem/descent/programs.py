"""Compiled programs that advance slots of descents, made in the background."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from irem.descent.algorithm2 import State, finish
from irem.descent.precision import narrowed, takes_double, widened
from irem.descent.rules import Descent
from irem.descent.slots import advance_slots, record_slots, refill_slots, start_slots
from irem.descent.solution import Solution

SIZES = (1, 8, 32)
"""Numbers of slots that programs are compiled for; the smallest that is enough is used."""

RECORDED = 16
"""How many steps a program that keeps every point takes at most before it returns them."""

_ENTRIES = 2**16


class Slots(NamedTuple):
    """What a program is given: arrays with an axis of slots.

    Arguments:
        states: The descents.
        x: Their problems.
        new: Which slots hold a problem whose descent has not begun.
        y0: The points where those begin.
        budgets: The step budget of every descent.
    """

    states: State
    x: PyTree
    new: np.ndarray
    y0: np.ndarray
    budgets: np.ndarray


class Advanced(NamedTuple):
    """What a program returns.

    Arguments:
        states: The descents.
        solutions: What is known of each, if it has stopped; `y` is a point of the landscape.
        ys: The points after every step, where they are recorded.
        energies: Their energies.
    """

    states: State
    solutions: Solution
    ys: Array | None = None
    energies: Array | None = None


class Programs:
    """The compiled programs of descents on problems of one shape, by their number of slots.

    Compiling takes seconds, so that an executor does it; until then, a program with another number
    of slots serves.

    Arguments:
        descent: The energy, and how it is descended.
        x: A problem of that shape, without an axis of problems.
        y0: A point of its landscape.
        sizes: Numbers of slots.
        recorded: Whether every point is kept.
    """

    def __init__(
        self,
        descent: Descent,
        x: PyTree,
        y0: np.ndarray,
        sizes: Sequence[int] = SIZES,
        *,
        recorded: bool = False,
    ) -> None:
        self.double = takes_double(descent, x, jnp.asarray(y0))
        largest = max(1, _ENTRIES // max(1, math.prod(y0.shape))) if not recorded else max(sizes)
        self.sizes = tuple(size for size in sizes if size <= largest) or (1,)
        self._recorded = recorded
        self._energy = eqx.partition(descent.energy, eqx.is_array)
        self._x, self._y0 = jax.tree.map(np.asarray, x), np.asarray(y0)
        with self._context():
            wide = widened(descent) if self.double else descent
            self._descent = eqx.partition(wide, eqx.is_array)
            like = jax.eval_shape(self._started, *self._cast((_rows(self._x, 1), y0[None])))
        self._state = jax.tree.map(lambda s: np.zeros(s.shape[1:], s.dtype), like)
        self._compiled: dict[int, tuple[Any, Any]] = {}
        self._asked: set[int] = set()
        self._lock = threading.Lock()
        self.failure: Exception | None = None

    @property
    def compiled(self) -> list[int]:
        """The numbers of slots of the programs that are there, smallest first."""
        return sorted(self._compiled)

    def size_for(self, count: int) -> int:
        """Return the smallest number of slots that is enough, or the largest there is."""
        return next((size for size in self.sizes if size >= count), self.sizes[-1])

    def ready(self, count: int) -> int | None:
        """Return the number of slots of the compiled program that suits so many descents best."""
        compiled = self.compiled
        enough = [size for size in compiled if size >= count]
        return enough[0] if enough else (compiled[-1] if compiled else None)

    def prepare(
        self, count: int, by: Executor | None = None, then: Callable[[], None] = lambda: None
    ) -> None:
        """Have the program for so many descents compiled, unless it is or will be.

        Arguments:
            count: How many descents.
            by: What compiles it; `None` to wait for it.
            then: Called when it is there.
        """
        size = self.size_for(count)
        with self._lock:
            if size in self._asked:
                return
            self._asked.add(size)

        def compile_() -> None:
            try:
                self._compiled[size] = self._compile(size)
            except Exception as error:
                self.failure = error  # told to who would run it
                if by is None:
                    raise
            then()

        if by is None:
            compile_()
        else:
            by.submit(compile_)

    def empty(self, size: int) -> Slots:
        """Return slots whose descents have stopped; arrays may be written to."""
        nothing = np.zeros(size, bool), _rows(self._y0, size), np.ones(size, np.int32)
        return Slots(_rows(self._state, size), _rows(self._x, size), *nothing)

    def put(self, slots: Slots, place: int, x: PyTree, y0: np.ndarray, budget: int) -> None:
        """Put a problem whose descent has not begun into a slot."""
        for arrays, rows in ((slots.x, x), (slots.y0, y0)):
            jax.tree.map(lambda array, row: array.__setitem__(place, row), arrays, rows)
        slots.new[place], slots.budgets[place] = True, budget

    def run(self, slots: Slots, still_running: int, most: int) -> Advanced:
        """Advance all slots until so few are running, by at most so many steps."""
        program, _ = self._compiled[len(slots.new)]
        with self._context():
            return jax.block_until_ready(program(*self._arguments(slots, still_running, most)))

    def solutions(self, slots: Slots, advanced: Advanced) -> Solution:
        """Return the answers of all slots with what is known of them, on the host."""
        solution = jax.device_get(advanced.solutions)
        if self.double:
            with np.errstate(over="ignore"):
                solution = jax.device_get(narrowed(jax.tree.map(jnp.asarray, solution)))
        y = self.read(slots, solution.y)
        return eqx.tree_at(lambda s: s.y, solution, y)  # arrays of NumPy stay what they are

    def read(self, slots: Slots, points: Any) -> np.ndarray:
        """Return the answers at points of the landscapes of all slots."""
        _, read = self._compiled[len(slots.new)]
        return np.asarray(read(self._energy[0], slots.x, np.asarray(points, self._y0.dtype)))

    def _arguments(self, slots: Slots, still_running: int, most: int) -> tuple[Any, ...]:
        limits = np.asarray(still_running, np.int32), np.asarray(most, np.int32)
        x, y0 = self._cast((slots.x, slots.y0))
        return self._descent[0], slots.states, x, slots.new, y0, slots.budgets, limits

    def _compile(self, size: int) -> tuple[Any, Any]:
        slots = self.empty(size)
        with self._context():
            program = jax.jit(self._turn).lower(*self._arguments(slots, 0, 1)).compile()
        with jax.default_matmul_precision("float32"):
            read = jax.jit(self._read).lower(self._energy[0], slots.x, slots.y0).compile()
        return program, read

    def _turn(
        self,
        arrays: PyTree,
        states: State,
        x: PyTree,
        new: Array,
        y0: Array,
        budgets: Array,
        limits: tuple[Int[Array, ""], Int[Array, ""]],
    ) -> Advanced:
        descent = eqx.combine(arrays, self._descent[1])
        places = jnp.arange(new.shape[0])
        states, _ = refill_slots(descent, (states, x), new, x, y0, places)
        if not self._recorded:
            states = advance_slots(descent, x, states, limits[0], budgets, limits[1])
            return Advanced(states, jax.vmap(finish)(states))
        states, ys, energies = record_slots(descent, x, states, budgets, limits[1], RECORDED)
        return Advanced(states, jax.vmap(finish)(states), ys, energies)

    def _started(self, x: PyTree, y0: Float[Array, "slots ..."]) -> State:
        return start_slots(eqx.combine(*self._descent), x, y0)

    def _read(self, arrays: PyTree, x: PyTree, points: Float[Array, "slots ..."]) -> Array:
        return jax.vmap(eqx.combine(arrays, self._energy[1]).read)(x, points)

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        """Compute as `solve` does: in 64 bits where the energy asks for it, without fast modes."""
        with jax.enable_x64(self.double), jax.default_matmul_precision("float32"):
            yield

    def _cast(self, tree: PyTree) -> PyTree:
        return jax.tree.map(_wide, tree) if self.double else tree


def _rows(tree: PyTree, size: int) -> PyTree:
    """Return a tree with so many copies of every array along a new axis."""
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], size, axis=0), tree)


def _wide(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype == np.float32 else array
