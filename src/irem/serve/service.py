"""What a server does, apart from HTTP: problems in, answers and walks out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from irem.errors import InputError
from irem.serve.answers import Answer
from irem.serve.base_kind import Question
from irem.serve.batch_worker import BatchWorker
from irem.serve.engine import Engine
from irem.serve.examples import examples
from irem.serve.jobs import Job, Options, all_done
from irem.serve.limits import Limits, Refusal, busy, malformed, too_large
from irem.serve.metrics import Metrics
from irem.serve.models import ServedModel
from irem.serve.presenting import (
    presented_all,
    presented_event,
    refused_answer,
    with_trajectory,
)
from irem.serve.walks import Event, Walk

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_THREADS = 4
_RECORDED = 8
"""Problems of a request whose every step may be returned."""


class Service:
    """Models, and the engine that they share.

    Arguments:
        models: The models by name.
        limits: What requests are held to.
    """

    def __init__(self, models: dict[str, ServedModel], limits: Limits) -> None:
        self.models, self.limits = models, limits
        self.engine = Engine()
        self.batches = BatchWorker(self.engine)
        self.waiting, self.walking = 0, 0
        self.warm: set[str] = set()
        self.metrics = Metrics(
            {
                "irem_waiting_problems": ("Problems being answered.", lambda: self.waiting),
                "irem_walks": ("Walks that are watched.", lambda: self.walking),
                "irem_programs": ("Compiled programs.", self._programs),
                "irem_warm_models": ("Models with compiled programs.", lambda: len(self.warm)),
            }
        )
        self._threads = ThreadPoolExecutor(_THREADS, "irem-problems")
        self._stopping = threading.Event()

    def start(self, *, warm: bool) -> None:
        """Begin; by default programs are compiled before the first request."""
        self.engine.start()
        if warm:
            threading.Thread(target=self._warm_up, name="irem-warm", daemon=True).start()
        else:
            self.warm = set(self.models)

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self.engine.stop()
        self.batches.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def status(self) -> str:
        """How it is: warming while programs are compiled, then ok."""
        if not self.engine.is_alive:
            return "failed"
        return "ok" if len(self.warm) == len(self.models) else "warming"

    def model(self, name: str) -> ServedModel:
        """Return a model, or refuse its name."""
        if name not in self.models:
            known = ", ".join(self.models)
            raise Refusal(404, "no_model", f"There is no model '{name:.60}'; there are {known}.")
        return self.models[name]

    async def thread(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function beside the loop; what it refuses is told as a refusal."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, function, *arguments)
        except InputError as error:
            raise malformed(str(error)) from error
        except MemoryError as error:
            raise too_large("This needs more memory than there is.") from error

    async def solve(
        self,
        model: ServedModel,
        read: Callable[[], list[Question]],
        options: Options,
        client: Any,
    ) -> list[dict[str, Any]]:
        """Return the answers to some problems.

        Arguments:
            model: The model.
            read: Reads the problems; called beside the loop.
            options: How they are answered.
            client: Who asks; clients take turns.
        """

        def checked() -> tuple[list[Question], list[str | None]]:
            questions = read()
            if len(questions) > self.limits.problems:
                raise too_large(
                    f"A request may have {self.limits.problems} problems, got {len(questions)}; "
                    "send them in several requests."
                )
            return questions, _faults(model, questions)

        questions, faults = await self.thread(checked)
        if None not in faults:
            refused = [fault or "" for fault in faults]
            raise Refusal(422, "refused", refused[0], refused=refused)
        with self._room(len(questions)):
            if options.trajectory:
                return await self._recorded(model, questions, faults, options)
            found = await self._answers(model, questions, faults, options, client)
        for answers in found:
            for answer in answers or ():
                label = "refused" if answer.verdict is None else answer.verdict.label
                self.metrics.count("irem_answers_total", model=model.name, verdict=label)
                self.metrics.count("irem_steps_total", answer.steps, model=model.name)
        return await self.thread(presented_all, model, questions, found, faults)

    async def _answers(
        self,
        model: ServedModel,
        questions: Sequence[Question],
        faults: Sequence[str | None],
        options: Options,
        client: Any,
    ) -> list[list[Answer] | None]:
        jobs = [
            [
                Job(model, part, options, client)
                for part in (question.parts if fault is None else ())
            ]
            for question, fault in zip(questions, faults, strict=True)
        ]
        flat = [job for some in jobs for job in some]
        try:
            self.batches.begin(flat)
            await asyncio.wrap_future(all_done(flat))
            return [[job.answer.result() for job in some] or None for some in jobs]
        finally:
            for job in flat:
                job.cancel()
            self.engine.wake()

    async def _recorded(
        self,
        model: ServedModel,
        questions: Sequence[Question],
        faults: Sequence[str | None],
        options: Options,
    ) -> list[dict[str, Any]]:
        """Return answers with every step, one problem after another."""
        if len(questions) > _RECORDED:
            raise too_large(
                f"The steps of at most {_RECORDED} problems are returned, got {len(questions)}; "
                "send fewer at a time, or leave out `trajectory`."
            )
        answers: list[dict[str, Any]] = []
        for question, fault in zip(questions, faults, strict=True):
            if fault is not None:
                answers.append(refused_answer(fault))
                continue
            events = [e async for e in self.events(model, question, options, landscape=False)]
            answers.append(await self.thread(with_trajectory, model, question, events))
        return answers

    async def events(
        self, model: ServedModel, question: Question, options: Options, *, landscape: bool
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens in a walk while it does."""
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Event] = asyncio.Queue()

        def emit(event: Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody watches
                loop.call_soon_threadsafe(told.put_nowait, event)

        walk = Walk(self.engine, model, question, options, emit, landscape=landscape)
        walk.begin()
        self.walking += 1
        try:
            while True:
                event = await told.get()
                walk.consumed()
                if event["type"] == "failed":
                    raise event["error"]
                yield event
                if event["type"] == "result":
                    return
        finally:
            self.walking -= 1
            walk.cancel()

    async def walk(
        self, model: ServedModel, question: Question, options: Options, *, landscape: bool
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield what happens in a walk as values of JSON."""
        events = self.events(model, question, options, landscape=landscape)
        async with contextlib.aclosing(events):
            async for event in events:
                yield await self.thread(presented_event, model, question, event)

    @contextlib.contextmanager
    def _room(self, problems: int) -> Iterator[None]:
        """Count problems while they are answered, and refuse too many."""
        if self.waiting + problems > self.limits.waiting:
            raise busy(
                f"{self.waiting} problems are being answered, and {self.limits.waiting} is the "
                "most; try again later."
            )
        self.waiting += problems
        try:
            yield
        finally:
            self.waiting -= problems

    def check_walks(self) -> None:
        """Refuse one walk more than there may be."""
        if self.walking >= self.limits.walks:
            raise busy(f"{self.walking} walks are being watched; try again later.")

    def _programs(self) -> int:
        return sum(model.compiled for model in self.models.values())

    def _warm_up(self) -> None:
        """Answer a small problem with every model, so that its programs are compiled."""
        for name, model in self.models.items():
            if self._stopping.is_set():
                return
            try:
                self._warm(model)
            except Exception:
                if not self._stopping.is_set():
                    _log.exception("The model %s cannot be warmed up.", name)
            self.warm.add(name)

    def _warm(self, model: ServedModel) -> None:
        found = examples(model, seed=0)
        question = model.kind.read(found[0]["problem"])
        done = threading.Event()

        def emit(event: Event) -> None:
            walk.consumed()
            if event["type"] in ("result", "failed"):
                done.set()

        walk = Walk(self.engine, model, question, Options(), emit, landscape=True)
        walk.begin()
        job = Job(model, question.parts[0], Options(restarts=0), "warm")
        self.batches.begin([job])
        while not (done.wait(0.2) or self._stopping.is_set()):
            pass
        job.answer.result()


def _faults(model: ServedModel, questions: Sequence[Question]) -> list[str | None]:
    faults: list[str | None] = []
    for question in questions:
        found = (model.faults(part) for part in question.parts)
        faults.append(next((fault for fault in found if fault is not None), None))
    return faults
