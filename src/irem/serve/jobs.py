"""One problem that is answered: its tries, and the best of their ends."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

from jaxtyping import PyTree

from irem.descent import Solution
from irem.descent.open_queue import Entry
from irem.serve.answers import Answer, better, lowest
from irem.serve.models import ServedModel
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


class Job:
    """A problem on its way to an answer that passes its check, try after try.

    It does what `irem.training.solve_checked` does, but for one problem of many that share slots.
    What its tries begin at, and what their ends are worth, is found for many jobs at the same time:
    it belongs to a `BatchWorker`.

    Arguments:
        model: The model that answers.
        batch: The problem, a batch of one.
        options: How it is answered.
        client: Who asked.
    """

    def __init__(self, model: ServedModel, batch: PyTree, options: Options, client: Any) -> None:
        self.answer: Future[Answer] = Future()
        self.model, self.batch, self.options, self.client = model, batch, options, client
        self.attempt = 0
        self.best: Answer | None = None
        self.entries: list[Entry] = []
        self.solutions: list[Solution | None] = []
        own = options.max_steps is not None
        retries = 0 if own else model.retries
        self.retries = retries if options.restarts is None else options.restarts

    def cancel(self) -> None:
        """Give up: nobody waits for the answer any more."""
        self.answer.cancel()
        for entry in self.entries:
            entry.cancelled = True

    def fail(self, error: Exception) -> None:
        """Tell who waits that there will be no answer."""
        with contextlib.suppress(InvalidStateError):  # nobody does
            self.answer.set_exception(error)

    def finish(self, answer: Answer) -> None:
        """Tell who waits what the answer is."""
        with contextlib.suppress(InvalidStateError):
            self.answer.set_result(answer)

    def end(self) -> Solution:
        """Return the best end of the descents of a try."""
        return lowest([solution for solution in self.solutions if solution is not None])

    def take(self, answer: Answer) -> Answer:
        """Return the better one of an answer and those before."""
        self.best = answer if self.best is None else better(self.best, answer)
        return self.best

    def tries_again(self) -> bool:
        """Return whether the best answer fails its check, and there are tries left."""
        best = self.best
        if best is None or best.verdict != Verdict.FAILED or not best.steps:
            return False
        self.attempt += 1
        return self.attempt <= self.retries


def all_done(jobs: Sequence[Job]) -> Future[None]:
    """Return what is done once all jobs are, or as soon as one of them fails."""
    together: Future[None] = Future()
    left, lock = len(jobs), threading.Lock()

    def ended(answer: Future[Answer]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = not left
        error = None if answer.cancelled() else answer.exception()
        with contextlib.suppress(InvalidStateError):  # another one failed, or nobody waits
            if error is not None:
                together.set_exception(error)
            elif last:
                together.set_result(None)

    for job in jobs:
        job.answer.add_done_callback(ended)
    return together
