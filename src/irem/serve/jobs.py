"""One problem that is answered: its first guesses, its check, and further tries."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from irem.descent import Reason, Solution
from irem.descent.open_queue import Entry
from irem.serve.engine import Engine
from irem.serve.models import ServedModel, cropped
from irem.verdicts import Verdict


@dataclasses.dataclass(frozen=True)
class Options:
    """How problems of a request are answered.

    Arguments:
        starts: First guesses of the first try.
        restarts: Further tries of an answer that fails its check; `None` for those of the model.
        max_steps: The step budget; `None` for that of the model.
        seed: With 0 first guesses depend on the problem alone.
        trajectory: Whether the answer after every step is wanted.
    """

    starts: int = 1
    restarts: int | None = None
    max_steps: int | None = None
    seed: int = 0
    trajectory: bool = False


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer, and what is known of it.

    Arguments:
        y: The answer.
        solution: How it was found; `y` is not part of it.
        verdict: What the check says.
        residual: By how much the answer misses what it should satisfy; NaN where it is not known.
        steps: The steps of all tries.
    """

    y: np.ndarray
    solution: Solution
    verdict: Verdict | None
    residual: float
    steps: int

    @property
    def verified(self) -> bool | None:
        """Whether the answer was checked and holds; `None` where nothing checks it."""
        if self.verdict is None or self.verdict == Verdict.UNCHECKED:
            return None
        return self.verdict == Verdict.VERIFIED

    @property
    def energy(self) -> float:
        """Its energy."""
        return float(np.asarray(self.solution.energy))

    @property
    def answered(self) -> bool:
        """Whether there is an answer at all, as `Solution.answered` says."""
        flat = self.solution.reason == Reason.FLAT and not self.verified
        return bool(np.isfinite(self.energy)) and not flat


def judge(model: ServedModel, batch: PyTree, solution: Solution) -> Answer:
    """Check the end of a descent on a problem, a batch of one."""
    y = cropped(np.asarray(solution.y), model.answer_shape(batch))
    steps = int(solution.steps)
    if model.task is None:
        return Answer(y, solution, None, np.nan, steps)
    check = model.task.check(batch, y[None])
    finite = np.isfinite(np.asarray(solution.energy))
    verdict = Verdict(int(check.verdict[0])) if finite else Verdict.FAILED
    return Answer(y, solution, verdict, float(check.residual[0]), steps)


def better(old: Answer, new: Answer) -> Answer:
    """Return the answer with the smaller residual, with the steps of both."""
    improved = new.residual < old.residual and new.answered
    return dataclasses.replace(new if improved else old, steps=old.steps + new.steps)


def lowest(solutions: Sequence[Solution]) -> Solution:
    """Return the solution of lowest energy; an energy that is NaN is not low."""
    energies = np.array([s.energy for s in solutions], float)
    return solutions[int(np.argmin(np.where(np.isnan(energies), np.inf, energies)))]


def with_expected_error(model: ServedModel, answer: Answer) -> float | None:
    """Return the error to expect of an answer; `None` where the model is not calibrated."""
    if model.calibration is None:
        return None
    changes = {
        "y": answer.y,
        "verdict": np.asarray(answer.verdict, np.int32),
        "residual": np.asarray(answer.residual, np.float32),
        "steps": np.asarray(answer.steps, np.int32),
    }
    known = object.__new__(Solution)
    for name, value in {**vars(answer.solution), **changes}.items():
        batch = None if value is None else jnp.asarray(value)[None]
        object.__setattr__(known, name, batch)
    return float(model.calibration.expected_error(known)[0])


class Job:
    """A problem on its way to an answer that passes its check, try after try.

    It does what `irem.training.solve_checked` does, but for one problem of many that share slots.

    Arguments:
        engine: What advances the descents.
        model: The model that answers.
        batch: The problem, a batch of one.
        options: How it is answered.
        client: Who asked.
    """

    def __init__(
        self,
        engine: Engine,
        model: ServedModel,
        batch: PyTree,
        options: Options,
        client: Any,
    ) -> None:
        self.answer: Future[Answer] = Future()
        self._engine, self._model, self._batch = engine, model, batch
        self._options, self._client = options, client
        self._attempt = 0
        self._best: Answer | None = None
        self._entries: list[Entry] = []
        self._solutions: dict[int, Solution] = {}
        own = options.max_steps is not None
        retries = 0 if own else model.retries
        self._retries = retries if options.restarts is None else options.restarts

    def begin(self) -> None:
        """Let the descents of the first try wait for their slots."""
        self._try()

    def cancel(self) -> None:
        """Free the slots: nobody waits for the answer any more."""
        self.answer.cancel()
        for entry in self._entries:
            entry.cancelled = True
        self._engine.wake()

    def _try(self) -> None:
        model, options, attempt = self._model, self._options, self._attempt
        step, budget = model.rules(self._batch, attempt)
        if options.max_steps is not None and not attempt:
            budget = options.max_steps
        points = model.first_points(self._batch, options.starts, attempt, options.seed)
        self._entries, self._solutions = [], {}
        placed = [model.padded(self._batch, point) for point in points]
        self._expected = len(placed)
        for number, (x, y0) in enumerate(placed):
            programs = model.programs(step, x, y0)
            entry = Entry(x, y0, budget, self._client, self._on_end(number))
            self._entries.append(entry)
            self._engine.add(programs, entry, again=attempt > 0)
        if self.answer.cancelled():
            self.cancel()

    def _on_end(self, number: int) -> Callable[[Solution | Exception], None]:
        """Return what takes the end of one of the descents of a try."""

        def ended(outcome: Solution | Exception) -> None:
            if self.answer.done():
                return
            if isinstance(outcome, Exception):
                self.answer.set_exception(outcome)
                return
            self._solutions[number] = outcome
            if len(self._solutions) == self._expected:
                self._judge()

        return ended

    def _judge(self) -> None:
        """Check the best end of a try, and try again or be done."""
        try:
            solution = lowest([self._solutions[i] for i in range(self._expected)])
            found = judge(self._model, self._batch, solution)
            self._best = found if self._best is None else better(self._best, found)
            if self._fails(self._best) and self._attempt < self._retries:
                self._attempt += 1
                self._try()
                return
        except Exception as error:  # told to who waits, as all else goes on
            self.answer.set_exception(error)
            return
        if not self.answer.cancelled():
            self.answer.set_result(self._best)

    def _fails(self, answer: Answer) -> bool:
        return answer.verdict == Verdict.FAILED and answer.steps > 0
