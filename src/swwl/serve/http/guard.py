"""What stands before all answers: who may ask, how much, for how long; and what every answer carries."""

from __future__ import annotations

import asyncio
import hmac
import json
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swwl.errors import InputError, MissingFileError
from swwl.formatting import size
from swwl.serve.http.limits import Limits

Result = TypeVar("Result")

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
_SECURITY = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
# What anybody may load: the page, which knows nothing by itself, and whether the server is there.
_OPEN = ("/health", "/ping", "/favicon.ico")


class RefusedError(InputError):
    """A request that is answered with a status of its own."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


def status_of(error: Exception) -> tuple[int, str]:
    """Return the status of an error and its line; what is not the client's mistake is told to nobody but the log."""
    if isinstance(error, RefusedError):
        return error.status, str(error)
    if isinstance(error, InputError):
        return 404 if isinstance(error, MissingFileError) else 400, " ".join(str(error).split())
    status, detail = getattr(error, "status_code", None), getattr(error, "detail", "")
    if isinstance(status, int):  # what starlette raises
        return status, " ".join(str(detail).split()) or "refused"
    if isinstance(error, ClientDisconnect):  # nobody hears it
        return 400, "The client hung up."
    if isinstance(error, (MemoryError, OSError)):
        return 503, "The server has no room for this at the moment."
    traceback.print_exception(error, file=sys.stderr)
    return 500, "Something went wrong in the server; its log says what."


class Guard:
    """Refuses requests before they cost anything, and turns errors into lines of JSON.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    token : str or None
        That requests must bring, as ``Authorization: Bearer TOKEN`` or ``?token=TOKEN``.
    hosts : iterable of str or None
        Names by which the server may be addressed; a web page elsewhere could otherwise reach it under a name of its
        own that leads here. None takes all.
    close : callable, optional
        Lets go of all that the application holds.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        token: str | None = None,
        hosts: Iterable[str] | None = None,
        close: Callable[[], None] = lambda: None,
    ):
        self._app, self._limits, self._token, self.close = app, limits, token, close
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        started = finished = False

        async def answer(message: Message) -> None:
            nonlocal started, finished
            finished = message["type"] == "http.response.body" and not message.get("more_body", False)
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message.get("headers", ()), *_SECURITY]}
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, self._limited(receive), answer)
        except Exception as error:
            if finished or isinstance(error, ClientDisconnect):
                return  # starlette has answered, and hands the error on all the same; or nobody is there to be answered
            if started:  # the status is out: all that is left is to break off
                raise
            status, text = status_of(error)
            await _reply(answer, status, text)

    def _check(self, scope: Scope) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        name = (urlsplit(f"//{host}").hostname or "") if _is_plain(host) else ""
        if self._hosts is not None and name.lower() not in self._hosts:
            raise RefusedError(421, "This server is not known by that name.")
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in ("GET", "HEAD"):
            if not _is_plain(origin) or urlsplit(origin).netloc != host:
                raise RefusedError(403, "Pages of other sites may not use this server.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(400, "The content length is not a number.")
        if len(length) > 18 or int(length) > self._limits.body:
            raise RefusedError(413, f"The request is too large; at most {size(self._limits.body)} are accepted.")
        if headers.get("content-encoding", "identity") != "identity":
            raise RefusedError(415, "Compressed requests are not accepted.")
        path = scope["path"]
        if self._token is not None and path != "/" and path not in _OPEN and not path.startswith("/page/"):
            self._check_token(headers.get("authorization", ""), scope.get("query_string", b"").decode("latin-1"))

    def _check_token(self, authorization: str, query: str) -> None:
        assert self._token is not None
        kind, _, given = authorization.partition(" ")
        if kind.lower() != "bearer":
            given = parse_qs(query[:1000]).get("token", [""])[0]
        if not hmac.compare_digest(given.strip().encode(), self._token.encode()):
            raise RefusedError(401, "The token of the link is missing or wrong: open the link that swwl serve printed.")

    def _limited(self, receive: Receive) -> Receive:
        """Return what hands over the body of a request, as long as it is neither too large nor too slow."""
        loop, limits = asyncio.get_running_loop(), self._limits
        start, total, done = loop.time(), 0, False

        async def limited() -> Message:
            nonlocal total, done
            if done:
                return await receive()  # whether the client is still there
            allowed = min(limits.read_seconds, limits.head_seconds + total / limits.slowest)
            try:
                message = await asyncio.wait_for(receive(), max(0.0, start + allowed - loop.time()))
            except TimeoutError:
                raise RefusedError(408, "The request took too long to arrive.") from None
            total += len(message.get("body", b""))
            done = not message.get("more_body", False)
            if total > limits.body:
                raise RefusedError(413, f"The request is too large; at most {size(limits.body)} are accepted.")
            return message

        return limited


def _is_plain(text: str) -> bool:
    """Whether a header can be taken apart: brackets that do not close make urlsplit stumble."""
    return len(text) < 500 and text.count("[") == text.count("]") <= 1


def extra_headers(status: int) -> dict[str, str]:
    """Return what clients should do after a refusal: not go on sending, or come back later."""
    if status in (408, 413):
        return {"connection": "close"}
    return {"retry-after": "2"} if status == 503 else {}


async def _reply(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))} | extra_headers(status)
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class Workshop:
    """Threads that compute; more work than may wait is sent away.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        self._limits, self._busy = limits, 0
        self._pool = ThreadPoolExecutor(limits.at_work, thread_name_prefix="swwl-serve")

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Return what a function returns, computed in another thread; give up after the time that is allowed.

        The thread goes on then, and keeps its place until it has finished.
        """
        if self._busy >= self._limits.at_work + self._limits.waiting:
            raise RefusedError(503, f"The server is busy with {self._busy} requests; try again in a moment.")
        self._busy += 1
        work = asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        work.add_done_callback(self._finished)
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._limits.seconds)
        except TimeoutError:
            raise RefusedError(503, f"This took longer than {self._limits.seconds:g} s, so it was given up.") from None

    def _finished(self, work: asyncio.Future[Result]) -> None:
        self._busy -= 1
        if not work.cancelled():  # codespell:ignore cancelled
            work.exception()  # looked at, so that nobody complains that nobody did

    def close(self) -> None:
        """Take no more work, and do not wait for what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)
