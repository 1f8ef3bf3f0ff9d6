"""Private servers of engines that users run as clusters; the session `engines` starts them, nothing else does."""

from __future__ import annotations

import importlib.util
import os
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
                command,
                cwd=folder,
                env={**os.environ, **cls.variables()},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        server = cls(folder, pid=shell.pid, port=port)
        server._shell = shell
        server.wait_until_ready()
        return server

    @classmethod
    def variables(cls) -> Mapping[str, str]:
        """Return what the environment of the server has beside ours."""
        return {}

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


class SparkServer(ClusterServer):
    """Spark's Thrift server (the pip package `pyspark`, and Java 17) with tables in a folder, forgotten at its end."""

    name = "Spark"

    @classmethod
    def find_binaries(cls) -> Mapping[str, str]:
        """Return what starts it."""
        found = importlib.util.find_spec("pyspark")
        if found is None or found.origin is None or importlib.util.find_spec("pyhive") is None:
            raise ServerMissingError("Spark: no pip packages pyspark and pyhive")
        if shutil.which("java") is None:
            raise ServerMissingError("Spark: no java on this machine (openjdk-17-jre-headless)")
        return {"submit": str(Path(found.origin).parent / "bin" / "spark-submit")}

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make nothing: the server makes its folder."""

    @classmethod
    def variables(cls) -> Mapping[str, str]:
        """Return where Spark lies, and that it is for this machine alone."""
        return {"SPARK_HOME": str(Path(cls.find_binaries()["submit"]).parents[1]), "SPARK_LOCAL_IP": "127.0.0.1"}

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command; the package has no script for it."""
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.hadoop.hive.server2.thrift.port": str(port),
            "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
            "spark.hadoop.hive.server2.authentication": "NOSASL",
            "spark.hadoop.hive.server2.enable.doAs": "false",
        }
        options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        kind = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
        heap = ["--master", "local[2]", "--driver-memory", "1g"]
        return [binaries["submit"], "--class", kind, *heap, *options, "spark-internal"]

    def connect(self) -> Any:
        """Return a DBAPI connection."""
        from pyhive import hive

        socket.create_connection(("127.0.0.1", self.port)).close()
        return hive.connect(host="127.0.0.1", port=self.port, auth="NOSASL")

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Return the driver's root error."""
        from pyhive import exc

        return (exc.Error,)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"hive://127.0.0.1:{self.port}/{database}?auth=NOSASL"

    def make_database(self) -> str:
        """Make an empty database and return its URL."""
        database = _fresh_name()
        self.execute(f"CREATE DATABASE {database}")
        return self.url(database)


CLUSTERS: Mapping[str, type[ClusterServer]] = {"clickhouse": ClickhouseServer, "spark": SparkServer}
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
