"""What requests look like: checked, and written into the description of the interface."""

from __future__ import annotations

from typing import Any

import pydantic

from irem.serve.jobs import Options
from irem.serve.limits import Limits, Refusal, malformed


class SolveOptions(pydantic.BaseModel):
    """How problems are answered; in the query string where the body is an array."""

    model_config = pydantic.ConfigDict(extra="forbid")

    starts: int = pydantic.Field(1, ge=1, description="First guesses of each problem.")
    restarts: int | None = pydantic.Field(
        None, ge=0, description="Further tries where a check fails; by default as the model says."
    )
    max_steps: int | None = pydantic.Field(
        None, ge=1, description="Step budget; by default that of the model. Excludes restarts."
    )
    seed: int = pydantic.Field(
        0, ge=0, lt=2**32, description="With 0 first guesses depend on the problem alone."
    )
    trajectory: bool = pydantic.Field(False, description="Whether every step is returned.")


class SolveRequest(SolveOptions):
    """Problems, and how they are answered."""

    problems: list[Any] = pydantic.Field(
        min_length=1, description="Problems, as GET /v1/models/{name}/examples writes them."
    )


class WalkRequest(pydantic.BaseModel):
    """One problem, and how it is descended."""

    model_config = pydantic.ConfigDict(extra="forbid")

    problem: Any = pydantic.Field(description="A problem.")
    starts: int = pydantic.Field(1, ge=1, le=4, description="Descents side by side.")
    steps: int | None = pydantic.Field(None, ge=1, description="Step budget of the first descents.")
    restarts: int | None = pydantic.Field(
        None, ge=0, description="Further tries where a check fails; by default none."
    )
    seed: int = pydantic.Field(0, ge=0, lt=2**32, description="Seed of first guesses.")
    landscape: bool = pydantic.Field(True, description="Whether a slice is computed.")


class Answered(pydantic.BaseModel):
    """An answer."""

    y: Any = pydantic.Field(description="The answer; null where the problem was refused.")
    verified: bool | None = pydantic.Field(description="Whether it was checked and holds.")
    residual: float | None
    energy: float | None
    steps: int
    converged: bool | None
    reason: str
    expected_error: float | None
    refused: str | None = pydantic.Field(description="Why there is no answer.")
    trajectory: dict[str, Any] | None


class SolveResponse(pydantic.BaseModel):
    """The answers of a request, in its order."""

    model: str
    answers: list[Answered]
    seconds: float


class ErrorBody(pydantic.BaseModel):
    """Why a request was refused."""

    code: str
    message: str


class ErrorResponse(pydantic.BaseModel):
    """What every refusal looks like."""

    error: ErrorBody


def validated(kind: type[pydantic.BaseModel], value: Any) -> Any:
    """Return a value of JSON as a request.

    Raises:
        Refusal: It is none.
    """
    if not isinstance(value, dict):
        raise malformed("The body must be a JSON object with the problems in it.")
    try:
        return kind.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        fields = ", ".join(kind.model_fields)
        raise malformed(f"`{where}`: {first['msg']}; the fields are {fields}.") from error


def as_options(asked: SolveOptions, limits: Limits) -> Options:
    """Return the options of a request, unless they are beyond the limits."""
    if asked.max_steps is not None and asked.restarts:
        raise malformed(
            "Restarts keep the step budget of the model; leave out `max_steps` or `restarts`."
        )
    check_limits(limits, asked.starts, asked.restarts, asked.max_steps)
    return Options(asked.starts, asked.restarts, asked.max_steps, asked.seed, asked.trajectory)


def check_limits(limits: Limits, starts: int, restarts: int | None, steps: int | None) -> None:
    """Refuse more work than one request may ask for."""
    given = {"starts": (starts, limits.starts), "restarts": (restarts, limits.restarts)}
    given["steps"] = (steps, limits.steps)
    for name, (value, most) in given.items():
        if value is not None and value > most:
            raise Refusal(413, "too_large", f"`{name}` must be at most {most:,}, got {value:,}.")
