"""What surrounds requests: an id of each in the log, bounds, and the end of the process."""

import asyncio
import logging
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import uuid4

import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .bodies import plain_error

LOG = logging.getLogger("fastapi_host")
MOST_BODY_BYTES = 1_000_000
_REQUEST_ID = re.compile(rb"[\w.-]{8,64}")
_request_id: ContextVar[str] = ContextVar("request_id", default="-")
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class RequestIds:
    """Gives each request an id, bounds its body and logs how it ended; a plain ASGI middleware.

    An id that a proxy sends as `X-Request-ID` is taken. The log shows the path alone, since queries hold codes of
    OAuth. What is unexpected is logged, and the answer shows nothing of it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        request_id = given.decode() if _REQUEST_ID.fullmatch(given) else uuid4().hex
        _request_id.set(request_id)
        began, status = time.perf_counter(), 0

        async def stamped(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, _bounded(receive), stamped)
        except Exception:
            LOG.exception("unexpected")
            if status:  # the answer is on its way: the server breaks it off
                raise
            answer = plain_error("the service failed; its log says more under the id of the request", 500)
            await answer(scope, receive, stamped)
        finally:
            took_ms = (time.perf_counter() - began) * 1_000
            LOG.info("%s %r %s in %.0f ms", scope["method"], scope["path"], status or "without an answer", took_ms)


def _bounded(receive: Receive) -> Receive:
    """Return what gives a request's body, and refuses one of too many bytes before it is in memory."""
    size = 0

    async def receive_some() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BODY_BYTES:
            raise HTTPException(413, f"a body has {MOST_BODY_BYTES} bytes at the most")
        return message

    return receive_some


def configure_logs() -> None:
    """Log to standard error, each line with the id of its request; the library's lines have it, too."""

    def with_id(record: logging.LogRecord) -> bool:
        record.request_id = _request_id.get()
        return True

    handler = logging.StreamHandler()
    handler.addFilter(with_id)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class Ending:
    """Ends the server in order on SIGTERM, and says whether that has begun.

    Requests are taken for `drain_s` more seconds, so that whoever spreads them sees that the process is not ready any
    more; a second SIGTERM cuts that short. Those that run may take `grace_s` seconds then, before `close` stops them:
    whoever waits gets a typed error.
    """

    def __init__(self, close: Callable[[], None], *, drain_s: float, grace_s: float) -> None:
        self.has_begun = False
        self._close, self._drain_s, self._grace_s = close, drain_s, grace_s

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """Take the place of the server's own handler, inside its event loop."""
        if threading.current_thread() is not threading.main_thread():  # of a test: signals go elsewhere
            yield
            return
        loop, of_server = asyncio.get_running_loop(), signal.getsignal(signal.SIGTERM)

        def end(number: int) -> None:
            late = threading.Timer(self._grace_s, self._close)
            late.daemon = True
            late.start()
            server = getattr(of_server, "__self__", None)
            if isinstance(server, uvicorn.Server):
                server.should_exit = True  # its own handler would have the exit code tell of the signal, not 0
            elif callable(of_server):
                of_server(number, None)

        def begin(number: int, _frame: object) -> None:
            self.has_begun = True
            signal.signal(number, lambda number, _frame: end(number))
            loop.call_soon_threadsafe(loop.call_later, self._drain_s, end, number)

        signal.signal(signal.SIGTERM, begin)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, of_server)
