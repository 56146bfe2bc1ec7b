"""Jobs of all clients, begun and judged together: what takes a while for one is done for many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from irem.descent import Solution
from irem.descent.open_queue import Entry
from irem.serve.answers import judge, with_expected_errors
from irem.serve.engine import Engine
from irem.serve.jobs import Job
from irem.serve.models import ServedModel
from irem.serve.stacks import alike

_AT_ONCE = 64

_Stage = Callable[[ServedModel, Sequence[Job]], None]


class BatchWorker:
    """A thread that begins descents and judges their ends, beside that which advances them.

    Whatever came while it was busy is its next piece of work, so that pieces are the larger the
    more there is to do.

    Arguments:
        engine: What advances the descents.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[tuple[_Stage, ServedModel], list[Job]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "irem-batches")

    def begin(self, jobs: Sequence[Job]) -> None:
        """Let the first tries of some jobs begin."""
        for job in jobs:
            self._add(self._begin, job)

    def stop(self) -> None:
        """Take no more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _add(self, stage: _Stage, job: Job) -> None:
        with self._lock:
            waiting = self._waiting.setdefault((stage, job.model), [])
            waiting.append(job)
            if len(waiting) == 1:
                self._thread.submit(self._work, stage, job.model)

    def _work(self, stage: _Stage, model: ServedModel) -> None:
        with self._lock:
            waiting = self._waiting.pop((stage, model))
            jobs, later = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            if later:
                self._waiting[stage, model] = later
                self._thread.submit(self._work, stage, model)
        jobs = [job for job in jobs if not job.answer.done()]
        try:
            stage(model, jobs)
        except Exception as error:  # told to who waits, as all else goes on
            for job in jobs:
                job.fail(error)

    def _begin(self, model: ServedModel, jobs: Sequence[Job]) -> None:
        """Begin a try of every job."""
        kinds = [(job.options.starts, job.attempt, job.options.seed) for job in jobs]
        for places in alike(kinds):
            some = [jobs[i] for i in places]
            starts, attempt, seed = kinds[places[0]]
            starts = 1 if attempt else starts
            placed = model.place([job.batch for job in some], starts, attempt, seed)
            for job, (x, points) in zip(some, placed, strict=True):
                step, budget = model.rules(job.batch, attempt)
                if job.options.max_steps is not None and not attempt:
                    budget = job.options.max_steps
                programs = model.programs(step, x, points[0])
                done = [self._on_end(job, number) for number in range(starts)]
                job.solutions = [None] * starts
                job.entries = [
                    Entry(x, y0, budget, job.client, then)
                    for y0, then in zip(points, done, strict=True)
                ]
                for entry in job.entries:
                    self._engine.add(programs, entry, again=attempt > 0)
                if job.answer.cancelled():
                    job.cancel()

    def _on_end(self, job: Job, number: int) -> Callable[[Solution | Exception], None]:
        """Return what takes the end of one of the descents of a try."""

        def ended(outcome: Solution | Exception) -> None:
            if isinstance(outcome, Exception):
                job.fail(outcome)
                return
            job.solutions[number] = outcome
            if None not in job.solutions:
                self._add(self._judge, job)

        return ended

    def _judge(self, model: ServedModel, jobs: Sequence[Job]) -> None:
        """Check the ends of tries, and try again or be done."""
        found = judge(model, [job.batch for job in jobs], [job.end() for job in jobs])
        best = [job.take(answer) for job, answer in zip(jobs, found, strict=True)]
        again = [job.tries_again() for job in jobs]
        done = [job for job, more in zip(jobs, again, strict=True) if not more]
        answers = [answer for answer, more in zip(best, again, strict=True) if not more]
        for job, answer in zip(done, with_expected_errors(model, answers), strict=True):
            job.finish(answer)
        self.begin([job for job, more in zip(jobs, again, strict=True) if more])
