"""Trino's client and servers that would lead it elsewhere: stand-ins, since there is no server to start here."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import small_core

from analytics_core import errors

Answer = Callable[[str, str], tuple[int, dict[str, str], bytes]]
"""From method and path to status, headers and body."""
SECRET = b"what-an-inner-service-says"


class Server(ThreadingHTTPServer):
    """Answers by a function, and counts what it is asked."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.queried = answer, Counter[str]()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def __exit__(self, *failure: object) -> None:
        self.shutdown()
        super().__exit__(*failure)


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def _respond(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.queried[self.command] += 1
        status, headers, body = self.server.answer(self.command, self.path)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = do_HEAD = _respond

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def inner() -> Iterator[Server]:
    with Server(lambda _method, _path: (200, {}, SECRET)) as made:
        yield made


def status(**reported: Any) -> bytes:
    payload = {
        "id": "q",
        "infoUri": "http://x/",
        "stats": {"state": "FINISHED"},
        "columns": None,
        "data": None,
        **reported,
    }
    return json.dumps(payload).encode()


ONE = {"columns": [{"name": "x", "type": "bigint", "typeSignature": {"rawType": "bigint", "arguments": []}}]}


def honest(server: Callable[[], Server]) -> Answer:
    def answer(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        if method == "POST":
            return 200, {}, status(nextUri=f"{server().url}/v1/statement/q/1", **ONE)
        return 200, {}, status(**ONE, data=[[1]])

    return answer


def hostile(how: str, inner: str) -> Answer:
    def answer(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        segment = {"type": "spooled", "uri": f"{inner}/s", "ackUri": f"{inner}/a", "headers": {}, "metadata": {}}
        answers: dict[str, tuple[int, dict[str, str], bytes]] = {
            "next": (200, {}, status(nextUri=f"{inner}/v1/statement")),
            "next with our host in it": (200, {}, status(nextUri=f"http://127.0.0.1:1@{inner[7:]}/v1")),
            "next over another scheme": (200, {}, status(nextUri="file:///etc/passwd")),
            "redirect": (307, {"Location": f"{inner}/v1/statement"}, b""),
            "segments": (200, {}, status(**ONE, data={"encoding": "json", "segments": [segment]})),
            "error": (500, {}, SECRET),
            "no json": (200, {}, SECRET),
            "json of another kind": (200, {}, b"[1]"),
        }
        return answers[how]

    return answer


def displayed(page: Any, server: Callable[[], Server]) -> Answer:
    def answer(method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        if method == "POST":
            return 200, {}, status(nextUri=f"{server().url}/v1/statement/q/1", infoUri=page, **ONE)
        return 200, {}, status(**ONE, data=[[1]], infoUri=page)

    return answer


def ask(folder: Path, server: Server) -> None:
    with small_core(folder, allowed_networks=(f"127.0.0.1:{server.server_port}",)) as small:
        small.core.databases.test_connection({"orm_uri": f"trino://ada@127.0.0.1:{server.server_port}/shop"})


@pytest.mark.slow
def test_the_stand_in_is_a_server_to_the_client(tmp_path: Path) -> None:
    servers: list[Server] = []
    with Server(honest(lambda: servers[0])) as server:
        servers.append(server)
        ask(tmp_path, server)
        assert server.queried["GET"] >= 1


@pytest.mark.slow
@for_each(
    "how",
    [
        *("next", "next with our host in it", "next over another scheme", "redirect", "segments"),
        *("error", "no json", "json of another kind"),
    ],
)
def test_a_server_leads_the_client_nowhere_else(tmp_path: Path, inner: Server, how: str) -> None:
    with Server(hostile(how, inner.url)) as server:
        with pytest.raises(errors.DatabaseError) as rejection:
            ask(tmp_path, server)
        assert server.queried
    assert not inner.queried
    text = json.dumps(rejection.value.to_payload(), default=str)
    assert SECRET.decode() not in text
    assert inner.url not in text
    assert rejection.value.__cause__ is rejection.value.__context__ is None


@pytest.mark.slow
@for_each(
    ("page", "url"),
    [
        ("http://coordinator:8080/ui/query.html?q", "http://coordinator:8080/ui/query.html?q"),
        ("javascript:alert(1)", None),
        ("https://x/" + "y" * 3_000, None),
        ("http://x/\u2028y", None),
        (7, None),
    ],
)
def test_a_record_names_the_page_that_shows_it_to_whoever_manages_the_database(
    tmp_path: Path, page: Any, url: str | None
) -> None:
    servers: list[Server] = []
    with Server(displayed(page, lambda: servers[0])) as server:
        servers.append(server)
        address = f"127.0.0.1:{server.server_port}"
        with small_core(tmp_path, allowed_networks=(address,)) as small:
            made = small.core.databases.create({"database_name": "far", "orm_uri": f"trino://ada@{address}/shop"})
            payload = {"database_id": made.id, "sql": "SELECT 1 AS x"}
            run = small.core.sql.execute(payload)
            assert run.query.tracking_url == small.core.queries.get(run.query_id).tracking_url == url
            assert small.core.queries.list().result[0].tracking_url == url
            reader = small.reader(("database", made.id))
            assert reader.sql.execute(payload).query.tracking_url is None
