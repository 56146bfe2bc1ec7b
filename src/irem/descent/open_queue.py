"""A queue to which problems may be added at any time, and which is advanced a little at a time."""

from __future__ import annotations

import collections
import dataclasses
import math
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.descent.programs import Advanced, Programs, Slots
from irem.descent.solution import RUNNING, Solution

_STOPPED_SHARE = 0.25
"""A turn ends early once this share of its descents has stopped: others take their slots."""
_QUANTUM = 0.1
"""For how many seconds a descent keeps its slot while others wait for one."""
_LONG_STEP = 0.02
"""Of descents whose steps take so many seconds, several at the same time gain little."""
_FIRST_STEPS = 2
_FORGET = 0.3


@dataclasses.dataclass(eq=False)
class Entry:
    """A descent that waits for a slot, or has one.

    Arguments:
        x: The problem.
        y0: The point where the descent begins.
        max_steps: Its step budget.
        client: Who asked; clients take turns.
        done: For the solution when the descent has stopped; who takes it out of the queue calls it.
        cancelled: Whether nobody waits for it any more.
    """

    x: PyTree
    y0: np.ndarray
    max_steps: int
    client: Hashable
    done: Callable[[Solution | Exception], None]
    cancelled: bool = False
    state: Any = dataclasses.field(default=None, init=False, repr=False)
    held: float = dataclasses.field(default=0.0, init=False)
    seconds: float = dataclasses.field(default=0.0, init=False)


class OpenQueue:
    """Descents of several clients on problems of one shape, advanced a little at a time.

    Clients take turns: a free slot goes to the client that has the fewest. Where more descents wait
    than there are slots, those that had one for a while give it up, and go on later from where they
    were. The solution of a problem does not depend on the others, but for rounding.

    Arguments:
        programs: The compiled programs.
        compiler: What compiles them in the background; `None` to wait for them.
        on_compiled: Called when a program has been compiled.
    """

    def __init__(
        self,
        programs: Programs,
        compiler: Executor | None = None,
        on_compiled: Callable[[], None] = lambda: None,
    ) -> None:
        self.programs = programs
        self._compiler, self._on_compiled = compiler, on_compiled
        self._waiting: dict[Hashable, collections.deque[Entry]] = {}
        self._members: list[Entry | None] = []
        self._slots: Slots | None = None
        self._steps = np.zeros(0, np.int32)
        self._seconds_per_step: dict[int, float] = {}

    def __len__(self) -> int:
        """The number of descents that have not stopped."""
        return len(self._running) + sum(map(len, self._waiting.values()))

    @property
    def _running(self) -> list[Entry]:
        return [entry for entry in self._members if entry is not None]

    def add(self, entry: Entry) -> None:
        """Let a descent wait for a slot."""
        self._waiting.setdefault(entry.client, collections.deque()).append(entry)

    def take_older(self, seconds: float) -> list[Entry]:
        """Take out the descents that have been advanced for longer than so many seconds."""
        self._release([entry for entry in self._running if entry.seconds > seconds])
        waiting = [entry for entries in self._waiting.values() for entry in entries]
        self._waiting = {}
        for entry in waiting:
            if entry.seconds <= seconds:
                self.add(entry)
        return [entry for entry in waiting if entry.seconds > seconds]

    def take_all(self) -> list[Entry]:
        """Take out all descents; they do not go on."""
        waiting = [entry for entries in self._waiting.values() for entry in entries]
        taken = [*self._running, *waiting]
        self._waiting, self._members, self._slots = {}, [], None
        return taken

    def is_ready(self) -> bool:
        """Return whether there is a program that can advance them; if not, one will be compiled."""
        if not len(self):
            return False
        self.programs.prepare(self._wanted(), self._compiler, self._on_compiled)
        return self.programs.ready(len(self)) is not None or self.programs.failure is not None

    def _wanted(self) -> int:
        """Return for how many slots a program is worth being compiled.

        Where a step on one problem takes long by itself, several at the same time gain little, and
        others wait for them.
        """
        wanted, count = 1, len(self)
        for size in self.programs.sizes:
            wanted = size
            step = self._seconds_per_step.get(size)
            if size >= count or step is None or step > _LONG_STEP:
                break
        return wanted

    def _size(self) -> int:
        """Return the number of slots that advances the descents fastest, as far as is known."""
        count = len(self)
        most = self.programs.ready(count)
        assert most is not None
        sizes = [size for size in self.programs.compiled if size <= most]
        known = self._seconds_per_step
        quick = [size for size in sizes if known.get(size, 0.0) <= _LONG_STEP] or sizes[:1]
        # What is not known is tried.
        return min(quick, key=lambda size: (known.get(size, 0.0) / min(count, size), -size))

    def turn(self, seconds: float) -> list[tuple[Entry, Solution]]:
        """Advance some descents for about so long; return those that have stopped."""
        self._forget_cancelled()
        if not self.is_ready():
            return []
        if self.programs.failure is not None:
            raise self.programs.failure
        self._fill()
        slots, running = self._slots, self._running
        if slots is None or not running:
            return []
        step = self._seconds_per_step.get(len(slots.new))
        most = _FIRST_STEPS if step is None else max(1, int(seconds / step))
        stop = max(1, math.ceil(_STOPPED_SHARE * len(running)))
        began = time.perf_counter()
        advanced = self.programs.run(slots, len(running) - stop, most)
        self._measure(advanced, time.perf_counter() - began)
        return self._harvest(slots, advanced)

    def _forget_cancelled(self) -> None:
        for place, entry in enumerate(self._members):
            if entry is not None and entry.cancelled:
                self._free(place)
        for client, entries in list(self._waiting.items()):
            kept = collections.deque(entry for entry in entries if not entry.cancelled)
            self._waiting[client] = kept
            if not kept:
                del self._waiting[client]

    def _fill(self) -> None:
        """Give free slots to waiting descents, and take slots that were held for long."""
        size = self._size()
        if size != len(self._members):
            self._resize(size)
        if self._waiting and None not in self._members:
            self._release([entry for entry in self._running if entry.held > _QUANTUM])
        for place, entry in enumerate(self._members):
            if entry is None and self._waiting:
                self._put(place, self._next())

    def _next(self) -> Entry:
        """Take the next descent of the client that has the fewest slots."""
        held = collections.Counter(entry.client for entry in self._running)
        client = min(self._waiting, key=lambda client: held[client])
        entries = self._waiting.pop(client)
        entry = entries.popleft()
        if entries:  # behind clients that have as few
            self._waiting[client] = entries
        return entry

    def _put(self, place: int, entry: Entry) -> None:
        """Give a slot to a descent."""
        assert self._slots is not None
        slots = self._slots
        self.programs.put(slots, place, entry.x, entry.y0, entry.max_steps)
        self._steps[place] = 0
        if entry.state is not None:
            states = jax.tree.map(np.array, slots.states)
            jax.tree.map(lambda array, row: array.__setitem__(place, row), states, entry.state)
            slots = slots._replace(states=states)
            slots.new[place], self._steps[place] = False, entry.state.steps
        entry.state, entry.held = None, 0.0
        self._slots = slots
        self._members[place] = entry

    def _release(self, entries: list[Entry]) -> None:
        """Take the slots of some descents; they wait to go on from where they are."""
        for entry in entries:
            self._park(self._members.index(entry))
            self.add(entry)

    def _park(self, place: int) -> None:
        """Keep the state of a descent, and free its slot."""
        entry, slots = self._members[place], self._slots
        assert entry is not None
        assert slots is not None
        if not slots.new[place]:
            entry.state = jax.tree.map(lambda leaf: np.array(leaf[place]), _on_host(slots.states))
        self._free(place)

    def _free(self, place: int) -> None:
        """Free the slot of a descent that has not stopped: it is out of steps."""
        assert self._slots is not None
        self._slots.new[place], self._slots.budgets[place] = False, 0
        self._members[place] = None

    def _resize(self, size: int) -> None:
        """Give the descents that are running as many of so many slots as there are."""
        running = self._running
        for place, entry in enumerate(self._members):
            if entry is not None:
                self._park(place)
        self._slots, self._members = self.programs.empty(size), [None] * size
        self._steps = np.zeros(size, np.int32)
        for place, entry in enumerate(running[:size]):
            held = entry.held
            self._put(place, entry)
            entry.held = held
        for entry in running[size:]:
            self._waiting.setdefault(entry.client, collections.deque()).appendleft(entry)

    def _measure(self, advanced: Advanced, took: float) -> None:
        """Learn how long a step takes, and how long descents have had a slot."""
        assert self._slots is not None
        steps = np.array(advanced.states.steps)
        started = bool(self._slots.new.any())
        done = int((steps - self._steps).max(initial=0)) + started
        if done:
            size = len(self._slots.new)
            before = self._seconds_per_step.get(size, took / done)
            self._seconds_per_step[size] = before + _FORGET * (took / done - before)
        self._steps = steps
        for entry in self._running:
            entry.held += took
            entry.seconds += took

    def _harvest(self, slots: Slots, advanced: Advanced) -> list[tuple[Entry, Solution]]:
        """Return what has stopped, and free its slots."""
        slots.new[:] = False
        self._slots = slots._replace(states=advanced.states)
        reasons = np.asarray(advanced.states.reason)
        stopped = [i for i, e in enumerate(self._members) if e and reasons[i] != RUNNING]
        if not stopped:
            return []
        solutions = self.programs.solutions(slots, advanced)
        ended = []
        for place in stopped:
            entry = self._members[place]
            assert entry is not None
            ended.append((entry, _row(solutions, place)))
            self._members[place] = None
        return ended


def _row(tree: Any, place: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[place], tree)


def _on_host(tree: PyTree) -> PyTree[np.ndarray]:
    return jax.tree.map(np.asarray, tree)
