"""Answers, and what happens in walks, as values of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from irem.descent import Reason
from irem.serve.answers import Answer
from irem.serve.base_kind import Question
from irem.serve.kinds import number, numbers
from irem.serve.models import ServedModel
from irem.serve.walks import Event, Start
from irem.serve.words import sentence


def refused_answer(fault: str) -> dict[str, Any]:
    """Return what stands in place of the answer to a problem that is refused."""
    names = ("y", "residual", "energy", "converged", "expected_error", "trajectory")
    nothing = dict.fromkeys(names)
    reason = Reason.REFUSED.label
    return {**nothing, "verified": False, "steps": 0, "reason": reason, "refused": fault}


def presented_all(
    model: ServedModel,
    questions: Sequence[Question],
    found: Sequence[Sequence[Answer] | None],
    faults: Sequence[str | None],
) -> list[dict[str, Any]]:
    """Return the answers of a request, and why problems were refused, as values of JSON."""
    return [
        refused_answer(fault or "") if answers is None else presented(model, question, answers)
        for question, answers, fault in zip(questions, found, faults, strict=True)
    ]


def presented(model: ServedModel, question: Question, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the answer to a problem as a value of JSON; of several parts, all together."""
    start = Start(0, [], list(answers))
    reasons = [Reason(int(a.solution.reason)) for a in answers]  # pyright: ignore[reportArgumentType]
    expected = [answer.expected_error for answer in answers]
    there = all(answer.answered for answer in answers)
    return {
        "y": model.kind.write(question, [a.y for a in answers]) if there else None,
        "verified": start.verified,
        "residual": number(max(a.residual for a in answers)),
        "energy": number(sum(a.energy for a in answers)),
        "steps": sum(a.steps for a in answers),
        "converged": all(reason.is_minimum for reason in reasons),
        "reason": reasons[0].label,
        "expected_error": None if None in expected else number(np.mean(expected)),  # pyright: ignore[reportArgumentType, reportCallIssue]
        "refused": None,
        "trajectory": None,
    }


def presented_event(model: ServedModel, question: Question, event: Event) -> dict[str, Any]:
    """Return something that happened in a walk as a value of JSON."""
    kind = event["type"]
    if kind == "steps":
        ys = [model.kind.write_step(question, y) for y in event["ys"]]
        energies = [number(energy) for energy in event["energies"]]
        told = {name: event[name] for name in ("type", "start", "first", "steps")}
        return {**told, "energies": energies, "ys": ys}
    if kind == "landscape":
        arrays = {name: numbers(event[name]) for name in ("energies",)}
        lists = {name: [numbers(a) for a in event[name]] for name in ("axes", "paths")}
        return {"type": kind, **arrays, **lists, "starts": event["starts"]}
    if kind == "end":
        told = presented(model, question, event["start"].answers)
        names = ("verified", "residual", "energy", "steps", "converged", "reason")
        return {"type": kind, "start": event["start"].number} | {n: told[n] for n in names}
    if kind == "result":
        return _presented_result(model, question, event)
    return event


def _presented_result(model: ServedModel, question: Question, event: Event) -> dict[str, Any]:
    start: Start = event["start"]
    told = presented(model, question, start.answers)
    ys = [answer.y for answer in start.answers]
    told |= {"y": model.kind.write(question, ys), "steps": event["steps"]}
    # Of several parts, the one that is farthest off.
    worst = max(start.answers, key=lambda answer: (not answer.verified, answer.residual))
    told.pop("trajectory")
    return {
        "type": "result",
        "start": start.number,
        **told,
        "check": sentence(model, worst),
        "truth": _truth(model, question),
        "product": _product(model, question, ys[0]),
    }


def _truth(model: ServedModel, question: Question) -> Any:
    """Return the exact answer, where the task knows it."""
    task = model.task
    if task is None or not task.oracle_mse or any(task.oracle_mse.values()):
        return None
    parts = [jax.tree.map(jnp.asarray, part) for part in question.parts]
    ys = [np.asarray(task.oracle(part))[0] for part in parts]
    return model.kind.write(question, ys)


def _product(model: ServedModel, question: Question, y: np.ndarray) -> Any:
    """Return the product of a matrix and its inverse."""
    if model.run.task.name != "matrix-inverse":
        return None
    edges = np.asarray(question.parts[0].edges[0], np.float64)
    return numbers(edges @ np.asarray(y, np.float64))


def with_trajectory(
    model: ServedModel, question: Question, events: Sequence[Event]
) -> dict[str, Any]:
    """Return the answer of a walk with the steps of its best start."""
    best: Start = events[-1]["start"]
    answer = presented(model, question, best.answers)
    mine = [e for e in events if e["type"] == "steps" and e["start"] == best.number]
    told = [presented_event(model, question, event) for event in mine]
    names = ("energies", "ys", "steps")
    path = {name: [entry for event in told for entry in event[name]] for name in names}
    return {**answer, "trajectory": path}
