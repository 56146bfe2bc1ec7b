"""What every request passes before it is looked at: token, origin, and what is counted."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from irem.serve.limits import Refusal
from irem.serve.metrics import Metrics

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Addresses that only programs of the same machine reach."""

_OPEN = ("/", "/healthz", "/favicon.ico")
_OPEN_UNDER = "/page/"
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Refuse requests without the token, and those that pages of other sites make.

    Arguments:
        app: What answers the others.
        token: The token that requests have to bear; `None` where none is asked for.
        hosts: By which names the server may be called; empty for any, where there is a token.
        metrics: What requests are counted by.
        route_of: The pattern of a path, for the counters.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: Sequence[str],
        metrics: Metrics,
        route_of: Callable[[Scope], str],
    ) -> None:
        self._app, self._token, self._hosts = app, token, tuple(hosts)
        self._metrics, self._route_of = metrics, route_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, receive, counted)
            else:
                await refused(refusal)(scope, receive, counted)
        finally:
            route = self._route_of(scope)
            self._metrics.count("irem_requests_total", route=route, status=str(status))
            self._metrics.time(time.perf_counter() - began, route=route)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        host = _without_port(headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            return Refusal(
                403, "wrong_host", "This server is not called by that name; use 127.0.0.1."
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
            return Refusal(403, "wrong_origin", "Pages of other sites may not use this server.")
        path = scope["path"]
        if self._token is None or path in _OPEN or path.startswith(_OPEN_UNDER):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token.encode())
        if scheme.lower() == "bearer" and right:
            return None
        return Refusal(
            401, "token", "Send the token of this server as `Authorization: Bearer TOKEN`."
        )


def refused(refusal: Refusal) -> JSONResponse:
    """Return the answer to a request that is refused; the connection is closed after a body."""
    headers: dict[str, Any] = {}
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refusal.status == 503:
        headers["retry-after"] = "1"
    if refusal.status in (408, 413):
        headers["connection"] = "close"
    return JSONResponse(refusal.as_dict(), refusal.status, headers)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host
