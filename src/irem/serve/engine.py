"""One thread that advances all descents, a few milliseconds at a time."""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

from irem.descent.open_queue import Entry, OpenQueue
from irem.descent.programs import Programs

TURN = 0.02
"""For how many seconds about a queue is advanced before another one has its turn."""

_FRESH = 0.1
"""Descents that took longer than so many seconds are no longer easy."""
_FRESH_WEIGHT, _LONG_WEIGHT = 4.0, 1.0

_log = logging.getLogger(__name__)


@runtime_checkable
class Work(Protocol):
    """Something that the thread advances turn by turn."""

    weight: float
    """How much of the time it gets, relative to others."""

    def is_ready(self) -> bool:
        """Return whether there is something to do that has its program."""
        ...

    def turn(self, seconds: float) -> None:
        """Do some of it, for about so long."""
        ...


class Lane:
    """Descents on problems of one shape, as one of the works that take turns.

    Arguments:
        queue: The descents.
        weight: How much of the time they get.
        older: Where descents go that take long; `None` if they stay.
    """

    def __init__(self, queue: OpenQueue, weight: float, older: Lane | None = None) -> None:
        self.queue, self.weight, self._older = queue, weight, older

    def is_ready(self) -> bool:
        """Return whether there are descents, and their program is compiled."""
        return self.queue.is_ready()

    def turn(self, seconds: float) -> None:
        """Advance the descents, and tell who waits for those that stopped."""
        try:
            ended = self.queue.turn(seconds)
        except Exception as error:
            _log.exception("A queue of problems failed.")
            for entry in self.queue.take_all():
                entry.done(error)
            return
        for entry, solution in ended:
            entry.done(solution)
        if self._older is not None:
            for entry in self.queue.take_older(_FRESH):
                self._older.queue.add(entry)


class Engine:
    """The thread that owns all descents, and what they wait for.

    Every queue has its turn: the one that had the least time goes first, and a queue that was empty
    does not make up for it. Descents that have just begun are in queues of their own, which get
    more of the time: so who asks an easy problem does not wait for the hard ones of others. All
    methods may be called from any thread.
    """

    def __init__(self) -> None:
        self.compiler = ThreadPoolExecutor(1, "irem-compiler")
        self._lanes: dict[Programs, tuple[Lane, Lane]] = {}
        self._work: dict[Work, float] = {}
        self._calls: collections.deque[Callable[[], None]] = collections.deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._clock = 0.0
        self._idle: set[Work] = set()
        self._thread = threading.Thread(target=self._run, name="irem-engine", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is not done remains so."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        self.compiler.shutdown(wait=False, cancel_futures=True)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def wake(self) -> None:
        """Look again for what can be done."""
        with self._changed:
            self._changed.notify()

    def add(self, programs: Programs, entry: Entry, *, again: bool = False) -> None:
        """Let a descent wait for a slot; those that are tried again have less of the time."""
        self._call(lambda: self._lanes_of(programs)[again].queue.add(entry))

    def add_work(self, work: Work) -> None:
        """Let something have turns until it is removed."""
        self._call(lambda: self._work.__setitem__(work, self._clock))

    def remove_work(self, work: Work) -> None:
        """Let something have no more turns."""
        self._call(lambda: self._work.pop(work, None))

    def _call(self, function: Callable[[], Any]) -> None:
        with self._changed:
            self._calls.append(function)
            self._changed.notify()

    def _lanes_of(self, programs: Programs) -> tuple[Lane, Lane]:
        if programs not in self._lanes:
            queues = [OpenQueue(programs, self.compiler, self.wake) for _ in range(2)]
            long = Lane(queues[1], _LONG_WEIGHT)
            self._lanes[programs] = Lane(queues[0], _FRESH_WEIGHT, long), long
            for lane in self._lanes[programs]:
                self._work[lane] = self._clock
                self._idle.add(lane)
        return self._lanes[programs]

    def _run(self) -> None:
        while True:
            with self._changed:
                work = self._next()
                while work is None and not self._stopping:
                    self._changed.wait()
                    work = self._next()
                if work is None or self._stopping:
                    return
            self._turn(work)

    def _next(self) -> Work | None:
        """Return what has its turn: of what is ready that which had the least time."""
        while self._calls:
            self._calls.popleft()()
        ready = [work for work in self._work if work.is_ready()]
        for work in ready:
            if work in self._idle:  # it does not make up for the time that it did not want
                self._work[work] = max(self._work[work], self._clock)
        self._idle = set(self._work) - set(ready)
        return min(ready, key=self._work.__getitem__, default=None)

    def _turn(self, work: Work) -> None:
        self._clock = max(self._clock, self._work[work])
        began = time.perf_counter()
        try:
            work.turn(TURN)
        except Exception:
            _log.exception("A turn failed.")
            self._work.pop(work, None)
            return
        if work in self._work:
            self._work[work] += (time.perf_counter() - began) / work.weight
