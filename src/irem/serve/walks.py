"""Descents that are watched: every step, a slice of the landscape, and the answer."""

from __future__ import annotations

import dataclasses
import math
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from irem.descent.programs import RECORDED, Advanced, Programs, Slots
from irem.descent.solution import RUNNING
from irem.serve.answers import Answer, judge, with_expected_errors
from irem.serve.base_kind import Question
from irem.serve.engine import Engine
from irem.serve.jobs import Options
from irem.serve.landscapes import Slice
from irem.serve.models import ServedModel, cropped

Event = dict[str, Any]
"""Something that happened in a walk."""

_FIRST_STEPS = 2
_MOST_PENDING = 32
# After so many steps, and of answers of so many numbers, fewer than all steps are kept.
_ALL_STEPS, _ALL_NUMBERS = 64, 2048
_FINE = (12, 6)
_TICKS = 11 / 6
"""How many times as many ticks as parts of 1 an axis of a slice has."""
_LANDSCAPE_SECONDS = 4.0
_OTHER_GUESS = 10_007


@dataclasses.dataclass
class Start:
    """One of the descents that are watched, with one part for each plane of a picture.

    Arguments:
        number: Its number among all starts.
        points: Points of the first part, for the landscape.
        answers: The answers to all parts, once it has stopped.
    """

    number: int
    points: list[np.ndarray] = dataclasses.field(default_factory=list)
    answers: list[Answer] = dataclasses.field(default_factory=list)

    @property
    def verified(self) -> bool | None:
        """Whether all parts are verified; `None` where one of them is not checked."""
        found = [answer.verified for answer in self.answers]
        return None if None in found else all(found)

    @property
    def rank(self) -> tuple[bool, float, float]:
        """What starts are compared by: verified first, then the residual, then the energy."""
        residual = max(answer.residual for answer in self.answers)
        energy = sum(answer.energy for answer in self.answers)
        known = [np.inf if math.isnan(value) else value for value in (residual, energy)]
        return not self.verified, known[0] if not self.verified else 0.0, known[1]


class Walk:
    """A few descents on one problem, one of the works that take turns in the engine.

    Arguments:
        engine: What advances it.
        model: The model that answers.
        question: The problem.
        options: How it is answered; further tries are made only where `restarts` says so.
        emit: Called in the thread of the engine with everything that happens.
        landscape: Whether a slice of the landscape is computed.
    """

    weight = 4.0

    def __init__(
        self,
        engine: Engine,
        model: ServedModel,
        question: Question,
        options: Options,
        emit: Callable[[Event], None],
        *,
        landscape: bool = False,
    ) -> None:
        self._engine, self._model, self._question = engine, model, question
        self._options, self._emit, self._landscape = options, emit, landscape
        self._needs: Callable[[], bool] = lambda: True
        self._seconds, self._step_seconds = 0.0, math.inf
        self._starts: list[Start] = []
        self._turns = self._run()
        self._pending, self._double = 0, False

    def begin(self) -> None:
        """Let it have turns."""
        self._engine.add_work(self)

    def cancel(self) -> None:
        """Let it have no more turns: nobody watches any more."""
        self._engine.remove_work(self)

    def consumed(self) -> None:
        """Say that an event was taken; with many that were not, the walk waits."""
        self._pending -= 1
        self._engine.wake()

    def is_ready(self) -> bool:
        """Return whether its program is compiled, and who watches keeps up."""
        return self._pending < _MOST_PENDING and self._needs()

    def turn(self, seconds: float) -> None:
        """Go on for about so long."""
        self._seconds = seconds
        try:
            next(self._turns)
        except StopIteration:
            self._engine.remove_work(self)
        except Exception as error:
            self._engine.remove_work(self)
            self._say(type="failed", error=error)
            raise

    def _say(self, **event: Any) -> None:
        self._pending += 1
        self._emit(event)

    def _run(self) -> Iterator[None]:
        options, parts = self._options, self._question.parts
        _, budget = self._model.rules(parts[0], 0)
        budget = budget if options.max_steps is None else options.max_steps
        self._say(type="begin", starts=options.starts, budget=budget, floor=None)
        yield from self._try(0, options.starts, budget)
        for attempt in range(1, (options.restarts or 0) + 1):
            if self._best.verified is not False:
                break
            yield from self._try(attempt, 1, self._model.rules(parts[0], attempt)[1])
        if self._landscape:
            yield from self._draw()
        steps = sum(answer.steps for start in self._starts for answer in start.answers)
        self._say(type="result", start=self._best, steps=steps)

    @property
    def _best(self) -> Start:
        return min(self._starts, key=lambda start: start.rank)

    def _try(self, attempt: int, starts: int, budget: int) -> Iterator[None]:
        """Descend from some first guesses, as many side by side as have slots."""
        model, parts = self._model, self._question.parts
        step, _ = model.rules(parts[0], attempt)
        new = [Start(len(self._starts) + i) for i in range(starts)]
        of_parts = model.place(parts, starts, attempt, self._options.seed)
        placed = [[(x, points[i]) for x, points in of_parts] for i in range(starts)]
        programs = model.programs(step, *placed[0][0], recorded=True)
        self._double = programs.double
        at_once = max(1, programs.sizes[-1] // len(parts))
        for first in range(0, starts, at_once):
            some = slice(first, first + at_once)
            yield from self._descend(programs, new[some], placed[some], budget)
        self._starts += new

    def _descend(
        self, programs: Programs, starts: Sequence[Start], placed: Sequence[Any], budget: int
    ) -> Iterator[None]:
        """Descend on as many problems as have slots, and tell every step."""
        flat = [problem for parts in placed for problem in parts]
        size = programs.size_for(len(flat))
        programs.prepare(size, self._engine.compiler, self._engine.wake)
        self._needs = lambda: (programs.ready(size) or 0) >= size or programs.failure is not None
        while not self._needs():
            yield
        if programs.failure is not None:
            raise programs.failure
        slots = programs.empty(size)
        for place, (x, y0) in enumerate(flat):
            programs.put(slots, place, x, y0, budget)
        told = _Recorder(programs, slots, starts, self._model, self._question)
        most = _FIRST_STEPS
        while told.running:
            began = time.perf_counter()
            for event in told.advance(most):
                self._say(**event)
            step = (time.perf_counter() - began) / most
            self._step_seconds = min(step, self._step_seconds)
            most = min(RECORDED, max(1, int(self._seconds / step)))
            yield

    def _draw(self) -> Iterator[None]:
        """Compute a slice of the landscape through the best start and another one."""
        model, part, best = self._model, self._question.parts[0], self._best
        others = [start for start in self._starts if start is not best]
        ((x, guesses),) = model.place([part], attempt=_OTHER_GUESS, seed=self._options.seed)
        other = others[0].points if others else [guesses[0]]
        quick = (f for f in _FINE if (_TICKS * f) ** 2 * self._step_seconds < _LANDSCAPE_SECONDS)
        fine = next(quick, None)
        if fine is None or best.points[0].shape != other[0].shape:
            return
        plane = Slice.through(best.points, other, fine)
        found = []
        for points in plane.parts():
            heights = model.heights(
                x, points, self._engine.compiler, self._engine.wake, double=self._double
            )
            self._needs = heights.done
            while not heights.done():
                yield
            found.append(heights.result()(x, points))
            yield
        drawn = (best, *others)
        self._say(
            type="landscape",
            energies=plane.energies(found),
            axes=[plane.ticks, plane.ticks],
            paths=[plane.project(start.points) for start in drawn],
            starts=[start.number for start in drawn],
        )


class _Recorder:
    """Descents in slots, whose steps are told as events.

    Arguments:
        programs: The programs that keep every point.
        slots: The descents; those of the parts of a start follow each other.
        starts: What is told about.
        model: The model.
        question: The problem.
    """

    def __init__(
        self,
        programs: Programs,
        slots: Slots,
        starts: Sequence[Start],
        model: ServedModel,
        question: Question,
    ) -> None:
        self._programs, self._slots, self._starts = programs, slots, starts
        self._model, self._question = model, question
        self._parts, self._shape = len(question.parts), model.answer_shape(question.parts[0])
        used = len(starts) * self._parts
        self._steps = np.zeros(used, int)
        # The last points and energies, which stay where they are once a descent has stopped.
        self._points = [np.array(slots.y0[i]) for i in range(used)]
        self._energies = np.zeros(0)
        self.running = True

    def advance(self, most: int) -> Iterator[Event]:
        """Take some steps, and yield what happened."""
        advanced = self._programs.run(self._slots, 0, most)
        self._slots.new[:] = False
        self._slots = self._slots._replace(states=advanced.states)
        yield from self._told(advanced)
        used = len(self._steps)
        self._steps = np.asarray(advanced.states.steps)[:used].astype(int)
        reasons = np.asarray(advanced.states.reason)[:used]
        stopped = (reasons != RUNNING).reshape(len(self._starts), self._parts).all(axis=1)
        self.running = not stopped.all()
        if any(done and not s.answers for done, s in zip(stopped, self._starts, strict=True)):
            yield from self._ended(advanced, stopped)

    def _told(self, advanced: Advanced) -> list[Event]:
        """Return the steps of all starts; the parts of one go on until the last of them stops."""
        assert advanced.ys is not None
        assert advanced.energies is not None
        used = len(self._steps)
        counts = np.asarray(advanced.states.steps)[:used] - self._steps
        events = [
            {"type": "steps", "start": s.number, "first": 0, "energies": [], "ys": [], "steps": []}
            for s in self._starts
        ]
        if not self._energies.size:
            self._energies = np.array(advanced.states.first_energy, np.float64)[:used]
            self._keep(events, np.zeros(used, int), np.ones(used, bool))
        ys, energies = np.asarray(advanced.ys), np.asarray(advanced.energies)
        for s in range(int(counts.max())):
            moved = counts > s
            for place in np.flatnonzero(moved):
                self._points[place] = ys[place, s]
                self._energies[place] = energies[place, s]
            self._keep(events, self._steps + s + 1, moved)
        return [event for event in events if event["energies"]]

    def _keep(self, events: Sequence[Event], steps: np.ndarray, moved: np.ndarray) -> None:
        """Keep the energies of a step and, of few steps, the answers."""
        answers: np.ndarray | None = None
        for number, (start, event) in enumerate(zip(self._starts, events, strict=True)):
            places = slice(number * self._parts, (number + 1) * self._parts)
            if not moved[places].any():
                continue
            step = int(steps[places].max())
            if not event["energies"]:
                event["first"] = step
            event["energies"].append(float(self._energies[places].sum()))
            if step % self._stride(step):
                continue
            if answers is None:
                answers = self._answers()
            event["steps"].append(step)
            event["ys"].append([cropped(y, self._shape) for y in answers[places]])
            start.points.append(self._points[places][0])

    def _answers(self) -> np.ndarray:
        """Return the answers at the last points of all slots."""
        points = np.zeros_like(self._slots.y0)
        points[: len(self._points)] = self._points
        return self._programs.read(self._slots, points)

    def _stride(self, step: int) -> int:
        """Return of how many steps one is kept: fewer of large answers, and of later steps."""
        large = -(-self._points[0].size // _ALL_NUMBERS)
        late = 2 ** int(math.log2(max(1, step / _ALL_STEPS)))
        return large * late

    def _ended(self, advanced: Advanced, stopped: np.ndarray) -> Iterator[Event]:
        """Check the answers of the starts that have stopped."""
        solutions = self._programs.solutions(self._slots, advanced)
        for number, (start, done) in enumerate(zip(self._starts, stopped.tolist(), strict=True)):
            if not done or start.answers:
                continue
            places = range(number * self._parts, (number + 1) * self._parts)
            if start.points[-1] is not self._points[places[0]]:
                start.points.append(self._points[places[0]])
            ends = [jax.tree.map(operator.itemgetter(place), solutions) for place in places]
            answers = judge(self._model, self._question.parts, ends)
            start.answers += with_expected_errors(self._model, answers)
            yield {"type": "end", "start": start}
