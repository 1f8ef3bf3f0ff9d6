"""One POST by HTTP, bounded in time and size, to an address that was checked; on the standard library alone."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult

from analytics_core._core.adapters.pinned_connection import PinnedConnection
from analytics_core._tools.bounded_calls import BoundedCalls

DEFAULT_PORTS: Final = {"https": 443, "http": 80}

Resolve = Callable[[str, int], Sequence[str]]
"""Gives the addresses of a host that may be connected to; raises AnalyticsError when there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What a server answered; names of headers are in lower case. A body that is too long is cut a byte after that."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProblem:
    """Why there is no answer.

    Attributes:
        what: said of the server, in words of our own: those of the system hold addresses.
        may_have_arrived: whether all of the request was, or may have been, sent.
        is_lasting: whether trying again is of no use.
    """

    what: str
    may_have_arrived: bool
    is_lasting: bool = False


class HttpClient:
    """Posts to servers; any thread may use it.

    The certificate of a server must be the host's. No redirect is followed, no proxy and no cookie is used.

    Args:
        name: of its threads.
        tls: checks certificates; None: by the authorities of the system, which are read when the first one is checked.
        advice: what is said beside a certificate that nobody vouches for.
        most_bytes: of an answer.
    """

    def __init__(self, name: str, *, tls: ssl.SSLContext | None, advice: str, most_bytes: int) -> None:
        self._own_tls = tls
        self._advice = advice
        self._most_bytes = most_bytes
        self._calls = BoundedCalls(name)

    def post(
        self,
        place: SplitResult,
        body: bytes | Iterable[bytes],
        *,
        headers: Mapping[str, str],
        resolve: Resolve,
        timeout_s: float,
    ) -> HttpAnswer | HttpProblem:
        """Return the answer to one POST, within `timeout_s` in all, whatever hangs or drips.

        A body that comes in pieces needs its `Content-Length` among the headers. What `resolve` and the body raise is
        passed on.
        """
        exchange = _Exchange(place, self._tls if place.scheme == "https" else None, timeout_s)
        call = self._calls.start(lambda: exchange.post(body, headers, resolve, self._most_bytes))
        if not call.wait(timeout_s):
            exchange.connection.abort()
            call.abandon(lambda _answer: None)
            return HttpProblem(
                what=f"gave no whole answer within {timeout_s:g} seconds", may_have_arrived=exchange.may_have_arrived
            )
        try:
            return call.result()
        except (OSError, http.client.HTTPException, ValueError) as error:
            return self._problem(error, exchange)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context() if self._own_tls is None else self._own_tls

    def close(self) -> None:
        """Let the threads without work go; the object may be used again."""
        self._calls.close()

    def _problem(self, error: Exception, exchange: _Exchange) -> HttpProblem:
        is_certificate = isinstance(error, ssl.SSLCertVerificationError)
        if is_certificate:
            what = f"has no certificate of a trusted authority for its name{self._advice}"
        elif isinstance(error, ssl.SSLError):
            what = "cannot be reached by an encrypted connection"
        elif isinstance(error, TimeoutError):
            what = "does not answer in time"
        elif isinstance(error, http.client.HTTPException):
            what = "broke off its answer, or does not speak HTTP"
        else:
            what = "broke off the connection" if exchange.is_connected else "cannot be reached"
        return HttpProblem(what=what, may_have_arrived=exchange.may_have_arrived, is_lasting=is_certificate)


class _Exchange:
    """One request and its answer, which another thread may abort."""

    def __init__(self, place: SplitResult, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        self._place = place
        self._tls = tls
        self._timeout_s = timeout_s
        self.connection = PinnedConnection(
            place.hostname or "", place.port or DEFAULT_PORTS[place.scheme], timeout_s=timeout_s
        )
        self.is_connected = False
        self.may_have_arrived = False

    def post(
        self, body: bytes | Iterable[bytes], headers: Mapping[str, str], resolve: Resolve, most_bytes: int
    ) -> HttpAnswer:
        """Return what the server answered."""
        host, port = self.connection.host, self.connection.port
        connection = http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        try:
            connection.sock = self.connection.open(resolve(host, port), tls=self._tls)
            self.is_connected = True
            self._send(connection, body, headers)
            with connection.getresponse() as answer:
                answer_headers = {name.lower(): value for name, value in answer.getheaders()}
                return HttpAnswer(status=answer.status, headers=answer_headers, body=answer.read(most_bytes + 1))
        finally:
            connection.close()
            self.connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, body: bytes | Iterable[bytes], headers: Mapping[str, str]
    ) -> None:
        place = self._place
        target = f"{place.path or '/'}{'?' + place.query if place.query else ''}"
        pieces = self._small(body) if isinstance(body, bytes) else self._pieces(body)
        length = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {}
        try:
            connection.request("POST", target, body=pieces, headers={**headers, **length, "Connection": "close"})
        except (BrokenPipeError, ConnectionResetError):
            # Some servers answer before they have read all, and say why they do not want it.
            self.may_have_arrived = False
        except BaseException:  # an interruption too: what was not sent wholly cannot be done
            self.may_have_arrived = False
            raise

    def _small(self, body: bytes) -> Iterator[bytes]:
        self.may_have_arrived = True
        yield body

    def _pieces(self, body: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of a body; before the last one leaves, all may have arrived."""
        before = b""
        for piece in body:
            if before:
                yield before
            before = piece
        self.may_have_arrived = True
        if before:
            yield before
