"""The interface over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Scope

from irem.errors import InputError
from irem.json_text import dump
from irem.serve.base_kind import Question
from irem.serve.bodies import ARRAYS, JSON, content_type, parse_array, parse_json, read_body
from irem.serve.examples import examples
from irem.serve.guard import Guard, refused
from irem.serve.jobs import Options
from irem.serve.limits import Limits, Refusal, malformed
from irem.serve.models import ServedModel
from irem.serve.pages import add_page, listing
from irem.serve.schemas import (
    ErrorResponse,
    SolveOptions,
    SolveRequest,
    SolveResponse,
    WalkRequest,
    as_options,
    check_limits,
    validated,
)
from irem.serve.service import Service
from irem.version import __version__

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse, "description": what}
    for status, what in {
        400: "The request cannot be read.",
        401: "The token is missing or wrong.",
        404: "There is no such model.",
        408: "The body did not arrive in time.",
        413: "Too large, or more than one request may ask for.",
        415: "The content type is not known.",
        422: "All problems are outside the domain of the model.",
        503: "There is no room now, or the answer took too long.",
    }.items()
}
_CODES = {404: "not_found", 405: "method"}


def create_app(
    models: dict[str, ServedModel],
    limits: Limits | None = None,
    *,
    token: str | None = None,
    hosts: Sequence[str] = (),
    warm: bool = True,
) -> ASGIApp:
    """Return the application that serves some models.

    Arguments:
        models: The models by name, as `load_models` returns them.
        limits: What requests are held to.
        token: What requests have to bear; `None` for none.
        hosts: By which names the server may be called; empty for any.
        warm: Whether programs are compiled before the first request.
    """
    limits = Limits() if limits is None else limits
    service = Service(models, limits)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start(warm=warm)
        yield
        service.stop()

    app = FastAPI(
        title="irem",
        version=__version__,
        description="Answers by descending learned energies, each with what is known of it.",
        docs_url=None,  # FastAPI's own page loads its scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    _add_status(app, service)
    _add_answers(app, service)
    add_page(app)
    _add_errors(app)
    return Guard(app, token, hosts, service.metrics, lambda scope: _route_of(app, scope))


def _add_status(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", summary="Whether the server works, and is warm")
    async def healthz() -> JSONResponse:
        status = service.status
        body = {"status": status, "version": __version__, "warm": sorted(service.warm)}
        return JSONResponse(body, 503 if status == "failed" else 200)

    @app.get("/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return PlainTextResponse(service.metrics.text(), media_type=kind)

    @app.get("/docs", summary="This list", response_class=HTMLResponse)
    async def docs() -> HTMLResponse:
        return HTMLResponse(listing(app.openapi()))

    @app.get("/v1/models", summary="The models that are served")
    async def models() -> JSONResponse:
        described = [model.describe() for model in service.models.values()]
        return JSONResponse({"models": described})

    @app.get(
        "/v1/models/{name}/examples", summary="Fresh problems to begin with", responses=_ERRORS
    )
    async def fresh(name: str, hard: bool = False, size: int | None = None) -> JSONResponse:
        model = service.model(name)
        found = await service.thread(lambda: examples(model, hard=hard, size=size))
        return JSONResponse({"problems": found})


def _add_answers(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.post(
        "/v1/models/{name}/solve",
        summary="Answer problems, and check the answers",
        response_model=SolveResponse,
        responses=_ERRORS,
        openapi_extra=_body(SolveRequest, arrays=True),
    )
    async def solve(name: str, request: Request) -> JSONResponse:
        began = time.perf_counter()
        model = service.model(name)
        body = await read_body(request, limits)
        read, options = _solve_request(model, request, body, limits)
        work = service.solve(model, read, options, request.client)
        answers = await _while_connected(request, work, limits.seconds)
        seconds = round(time.perf_counter() - began, 6)
        return _Json({"model": name, "answers": answers, "seconds": seconds})

    @app.post(
        "/v1/models/{name}/walk",
        summary="Watch a descent step by step, as lines of JSON",
        responses=_ERRORS,
        openapi_extra=_body(WalkRequest),
    )
    async def walk(name: str, request: Request) -> StreamingResponse:
        model = service.model(name)
        asked = await _walk_request(request, limits)
        check_limits(limits, asked.starts, asked.restarts, asked.steps)
        service.check_walks()
        question = await service.thread(model.kind.read, asked.problem)
        for part in question.parts:
            fault = await service.thread(model.faults, part)
            if fault is not None:
                raise Refusal(422, "refused", fault, refused=[fault])
        options = Options(asked.starts, asked.restarts, asked.steps, asked.seed)
        lines = service.walk(model, question, options, landscape=asked.landscape)
        return StreamingResponse(_lines(lines, limits), media_type="application/x-ndjson")


class _Json(JSONResponse):
    """JSON in which numbers that are not finite are null."""

    def render(self, content: Any) -> bytes:
        return dump(content).encode()


def _body(kind: Any, *, arrays: bool = False) -> dict[str, Any]:
    """Describe a body, which is read by hand so that it can be refused unread."""
    content: dict[str, Any] = {JSON: {"schema": kind.model_json_schema()}}
    if arrays:
        content |= {name: {"schema": {"type": "string", "format": "binary"}} for name in ARRAYS}
    return {"requestBody": {"required": True, "content": content}}


def _solve_request(
    model: ServedModel, request: Request, body: bytes, limits: Limits
) -> tuple[Callable[[], list[Question]], Options]:
    kind = content_type(request)
    if kind in ARRAYS:
        asked = validated(SolveOptions, dict(request.query_params))
        return lambda: model.kind.of_arrays(parse_array(body)), as_options(asked, limits)
    if kind != JSON:
        raise _unknown_type(kind, (JSON, *ARRAYS))
    asked = validated(SolveRequest, parse_json(body))
    if len(asked.problems) > limits.problems:
        raise Refusal(
            413,
            "too_large",
            f"A request may have {limits.problems} problems, got {len(asked.problems)}; send them "
            "in several requests.",
        )
    return lambda: model.kind.read_all(asked.problems), as_options(asked, limits)


async def _walk_request(request: Request, limits: Limits) -> WalkRequest:
    if content_type(request) != JSON:
        raise _unknown_type(content_type(request), (JSON,))
    return validated(WalkRequest, parse_json(await read_body(request, limits)))


def _unknown_type(given: str, known: Sequence[str]) -> Refusal:
    return Refusal(
        415, "content_type", f"The content type is '{given:.60}'; expected {' or '.join(known)}."
    )


async def _while_connected(request: Request, work: Awaitable[_T], seconds: float) -> _T:
    """Return what some work returns; it is cancelled if the client goes away, or takes too long."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        done, _ = await asyncio.wait(
            (task, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if task in done:
            return task.result()
        if gone in done:
            raise malformed("The client went away.")
        raise Refusal(
            503, "timed_out", f"This takes longer than {seconds:g} seconds; send fewer problems."
        )
    finally:
        for one in (task, gone):
            one.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _lines(events: AsyncIterator[dict[str, Any]], limits: Limits) -> AsyncIterator[bytes]:
    """Yield lines of JSON; what goes wrong on the way is the last one."""
    try:
        async with asyncio.timeout(limits.seconds):
            async for event in events:
                yield dump(event).encode() + b"\n"
        return
    except TimeoutError:
        problem = Refusal(503, "timed_out", f"A walk may take {limits.seconds:g} seconds.")
    except Refusal as refusal:
        problem = refusal
    except InputError as error:
        problem = malformed(str(error))
    except Exception:
        _log.exception("A walk failed.")
        problem = Refusal(500, "failed", "The walk failed; the log of the server says why.")
    yield dump({"type": "error", **problem.as_dict()}).encode() + b"\n"


def _add_errors(app: FastAPI) -> None:
    """Give all errors the same form."""

    @app.exception_handler(Refusal)
    async def refusal(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refusal)
        return refused(error)

    @app.exception_handler(InputError)
    async def bad_input(_: Request, error: Exception) -> JSONResponse:
        return refused(malformed(str(error)))

    @app.exception_handler(RequestValidationError)
    async def bad_query(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        return refused(malformed(f"`{first['loc'][-1]}`: {first['msg']}."))

    @app.exception_handler(HTTPException)
    async def by_status(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        code = _CODES.get(error.status_code, "refused")
        told = (
            f"{request.method} {request.url.path:.200}: {error.detail}; /docs lists what there is."
        )
        return JSONResponse(
            Refusal(error.status_code, code, told).as_dict(), error.status_code, error.headers
        )

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        del error  # the server logs it with its traceback
        return refused(Refusal(500, "failed", "The server failed; its log says why."))


def _route_of(app: FastAPI, scope: Scope) -> str:
    """Return the pattern that a path matches: counters do not grow with what clients make up."""
    for route in app.routes:
        matched, _ = route.matches(scope)
        if matched != Match.NONE:
            return getattr(route, "path", "other")
    return "other"
