"""ClickHouse's interface of HTTP before an embedded one (chdb), so that its driver reaches it as it does a server.

    python clickhouse_front.py DATA_FOLDER PORT

Everything that a statement does is the engine's: this front reads the request as a server does (settings, database and
parameters of the URL, the statement in the body) and hands it on. Two things are its own. The engine names its queries
itself, so the `query_id` of a request becomes the comment of the query, and a KILL QUERY looks there.
And there is one user, `default`, who may do what an embedded engine lets anybody do.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

OF_THE_INTERFACE = re.compile(
    "buffer_size|client_protocol_version|compress|database|decompress|default_format|password|query|query_id|quota_key|"
    "role|session_check|session_id|session_timeout|stacktrace|user|wait_end_of_query|param_.*"
)
"""What a URL says to the interface itself; `param_x` is the parameter `x`, all else is a setting."""

_CODE = re.compile(r"Code: (\d+)")
_INSERT = re.compile(rb"(INSERT INTO [^\n]*?) FORMAT (\w+)\s*\n")
_STATUS = {"60": 404, "81": 404, "159": 408, "164": 500, "241": 500, "516": 403}


class Front(BaseHTTPRequestHandler):
    """Answers one request after the other on a connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    data_folder: str

    def do_GET(self) -> None:
        """Answer `/ping`, and statements that stand in the URL, which may only read."""
        if urlsplit(self.path).path == "/ping":
            self._send(200, b"Ok.\n")
        else:
            self._answer(b"", {"readonly": "1"})

    def do_POST(self) -> None:
        """Answer a statement in the body; one in the URL too has its rows in the body."""
        self._answer(self._body(), {})

    def _body(self) -> bytes:
        """Return the body, which comes in chunks where its length is not known before."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, body: bytes, settings: Mapping[str, str]) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        try:
            self._send(200, self._run(given, body, settings))
        except Exception as error:  # the engine's errors have no class that says more than their text
            text = str(error)
            code = found.group(1) if (found := _CODE.search(text)) else "1002"
            self._send(_STATUS.get(code, 400), f"{text} (version 26.9.2.1)\n".encode(), code=code)

    def _run(self, given: Mapping[str, str], body: bytes, settings: Mapping[str, str]) -> bytes:
        import chdb.state.sqlitelike as engine

        wanted = {**settings, **{name: value for name, value in given.items() if _is_setting(name)}}
        parameters = {name[6:]: value for name, value in given.items() if name.startswith("param_")}
        with closing(engine.Connection(self.data_folder)) as connection:
            if given.get("database"):
                connection.query(f"USE `{given['database']}`")
            if given.get("query_id"):
                wanted["log_comment"] = given["query_id"]
            only = wanted.pop("readonly", "0")
            for name, value in wanted.items():
                connection.query(f"SET {name} = {_literal(value)}")
            if only != "0":
                connection.query(f"SET readonly = {int(only)}")
            if encoding := self.headers.get("Content-Encoding"):
                body = _unpacked(body, encoding)
            if found := _INSERT.match(body):  # its rows follow
                return _insert(connection, found.group(1).decode(), found.group(2).decode(), body[found.end() :])
            text = given.get("query") or body.decode()
            if re.match(r"\s*KILL\b", text, re.IGNORECASE):
                text = _by_our_names(text)
            result = connection.query(text, "TabSeparated", params=parameters)
            return bytes(result.bytes()) if hasattr(result, "bytes") else str(result).encode()

    def _send(self, status: int, body: bytes, *, code: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-ClickHouse-Timezone", "UTC")
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


def _insert(connection: Any, text: str, form: str, rows: bytes) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".rows") as file:
        file.write(rows)
        file.flush()
        connection.query(f"{text} FROM INFILE {_literal(file.name)} FORMAT {form}")
    return b""


def _is_setting(name: str) -> bool:
    return name.isidentifier() and OF_THE_INTERFACE.fullmatch(name) is None


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unpacked(body: bytes, encoding: str) -> bytes:
    from clickhouse_connect.driver._backend.chdb_backend import _decompress

    return bytes(_decompress(body, encoding))


def _by_our_names(text: str) -> str:
    """Return a KILL QUERY by the names that the driver gave, which are the comments of the queries here."""
    return re.sub(r"\bquery_id\b", "Settings['log_comment']", text)


def main(data_folder: str, port: str) -> None:
    """Serve until the process is stopped."""
    import chdb.state.sqlitelike as engine

    os.environ["TZ"] = "UTC"
    Front.data_folder = data_folder
    with closing(engine.Connection(data_folder)), ThreadingHTTPServer(("127.0.0.1", int(port)), Front) as server:
        server.daemon_threads = True
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
