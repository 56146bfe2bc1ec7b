"""The server itself: uvicorn, with patience for neither slow headers nor a second signal."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from irem.errors import InputError
from irem.serve.limits import Limits

_HEADER_SECONDS, _HEADER_BYTES = 10.0, 32 * 2**10
_KEEP_ALIVE_SECONDS, _BACKLOG = 30, 512
_MORE_SECONDS = 5


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; with port 0 at one that is free.

    Raises:
        InputError: Another program listens there, or there is no such address.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        # Connections inherit it; without, the body of an answer waits for the client to confirm
        # its headers, 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as error:
        raise InputError(
            f"Cannot listen at {host}, port {port} ({error}); choose another --port or --host."
        ) from error


def run_server(
    app: ASGIApp,
    listening: socket.socket,
    limits: Limits,
    *,
    stop: Callable[[], bool] = lambda: False,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve until `stop` says so; what is under way is then finished.

    Arguments:
        app: The application.
        listening: Where it listens.
        limits: How long a request may take.
        stop: Asked ten times a second whether to end.
        started: Called once requests are answered.
    """
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.seconds) + _MORE_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
    )
    asyncio.run(_Server(config, stop, started).serve(sockets=[listening]))


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller.

    Arguments:
        config: Its settings.
        stop: Whether to end.
        started: Called once requests are answered.
    """

    def __init__(
        self, config: uvicorn.Config, stop: Callable[[], bool], started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stop, self._tell = stop, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell()

    async def on_tick(self, counter: int) -> bool:
        self.should_exit = self.should_exit or self._stop()
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """HTTP/1.1 that closes connections whose headers do not arrive in time."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Wait for the rest of the headers, but not for long."""
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._patience is None:
            self._patience = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _forget(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
