"""Private servers of engines that users run as clusters; the session `engines` starts them, nothing else does."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.servers import PrivateServer, ServerMissingError, _free_port, _fresh_name

_UNTIL_WE_END = '"$@" </dev/null & server=$!; cat >/dev/null; kill "$server"; wait "$server"'
"""Runs a server until the pipe to its shell is closed, which also happens when the process that holds it is killed."""


class ClusterServer(PrivateServer):
    """A server that runs as whoever runs the tests, and ends with the process that started it."""

    stop_signal = signal.SIGTERM
    _shell: subprocess.Popen[bytes]

    @classmethod
    def start(cls, folder: Path) -> ClusterServer:
        """Start the server in `folder`, which is made; ServerMissingError when a part of it is not installed."""
        binaries = cls.find_binaries()
        folder.mkdir(parents=True)
        cls.initialise(folder, binaries)
        port = _free_port()
        command = ["/bin/sh", "-c", _UNTIL_WE_END, "sh", *cls.command(folder, binaries, port)]
        with open(folder / "log", "wb") as log:
            shell = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )
        server = cls(folder, pid=shell.pid, port=port)
        server._shell = shell
        server.wait_until_ready()
        return server

    def stop(self) -> None:
        """Close the pipe, wait for the server's end, and remove its folder."""
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class ClickhouseServer(ClusterServer):
    """An embedded ClickHouse (the pip package `chdb`) behind the interface of HTTP that its driver speaks."""

    name = "ClickHouse"

    @classmethod
    def find_binaries(cls) -> Mapping[str, str]:
        """Return this Python, which runs the front of the engine."""
        if importlib.util.find_spec("chdb") is None or importlib.util.find_spec("clickhouse_connect") is None:
            raise ServerMissingError("ClickHouse: no pip packages chdb and clickhouse-connect")
        return {"python": sys.executable}

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make nothing: the engine makes its folder."""

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command."""
        front = Path(__file__).with_name("clickhouse_front.py")
        return [binaries["python"], str(front), str(folder / "data"), str(port)]

    def connect(self) -> Any:
        """Return a DBAPI connection of the one user."""
        import clickhouse_connect.dbapi

        socket.create_connection(("127.0.0.1", self.port)).close()  # the driver logs a warning where nothing listens
        return clickhouse_connect.dbapi.connect(host="127.0.0.1", port=self.port, autogenerate_session_id=False)

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Return the driver's root error."""
        import clickhouse_connect.dbapi

        return (clickhouse_connect.dbapi.Error,)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"clickhousedb://default@127.0.0.1:{self.port}/{database}"

    def make_database(self) -> str:
        """Make an empty database and return its URL."""
        database = _fresh_name()
        self.execute(f"CREATE DATABASE {database}")
        return self.url(database)


CLUSTERS: Mapping[str, type[ClusterServer]] = {"clickhouse": ClickhouseServer}
"""The servers by the names of their engines."""


@contextmanager
def cluster_server(kind: type[ClusterServer]) -> Iterator[ClusterServer]:
    """Give a server for one `with` block."""
    with tempfile.TemporaryDirectory(prefix="acsrv-") as folder:
        server = kind.start(Path(folder) / kind.name)
        try:
            yield server
        finally:
            server.stop()
