"""The server itself: a socket, uvicorn behind it, and clients that are too slow cut off."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from swwl.errors import InputError
from swwl.serve.http.limits import Limits


class _Protocol(H11Protocol):
    """HTTP for clients that keep to the clock."""

    limits = Limits()
    _waiting: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._waiting)
        _cancel(self._reading)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(self.limits.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading)

    def _wait(self) -> None:
        _cancel(self._waiting)
        self._waiting = self.loop.call_later(self.limits.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # no request is being answered
            self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def make_protocol(limits: Limits) -> type[H11Protocol]:
    """Return uvicorn's protocol, with an end to waiting for the head of a request and for slow readers."""
    return type("LimitedProtocol", (_Protocol,), {"limits": limits})


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes any that is free."""
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError, UnicodeError) as error:
        if found is not None:
            found.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot listen on {host}, port {port}: {reason}; choose another with --port.") from None
    found.listen(256)
    return found


def run(app: ASGIApp, listening: socket.socket, limits: Limits) -> None:
    """Serve until an interrupt, and then end at once.

    Parameters
    ----------
    app : ASGI application
    listening : socket
    limits : Limits
    """
    config = uvicorn.Config(
        app,
        http=make_protocol(limits),
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=1000,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn hands it on when all is closed
        return
