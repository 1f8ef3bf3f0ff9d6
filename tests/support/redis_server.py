"""Private Redis servers on this machine's loopback, which a test may stop, kill and start again.

with redis_server(folder) as server:
    cache = RedisCache(server.url)
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.support.servers import ServerMissingError
from tests.support.ssh_server import free_port


class RedisServer:
    """A running `redis-server` that keeps nothing on disk."""

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise ServerMissingError("Redis is missing: install redis-server")
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._folder = folder
        place = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder))
        self._command = [program, *place, "--save", "", "--appendonly", "no", *options]
        self.start()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Run the server, at the same port as before, and wait for it."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(redis.RedisError):
                self.ask("PING")
                return
            time.sleep(0.01)
        raise RuntimeError(f"Redis did not start; its log ends with:\n{(self._folder / 'log').read_text()[-2000:]}")

    def ask(self, *command: Any) -> Any:
        """Return what the server answers to a command of an administrator."""
        client = redis.Redis(port=self.port, socket_timeout=10, retry=Retry(NoBackoff(), 0))
        try:
            return client.execute_command(*command)
        finally:
            client.close()

    def hang(self) -> None:
        """Have the server take connections and say nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Have a server that hung answer again, also what it was asked meanwhile."""
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the server with all that it kept."""
        self._process.kill()
        self._process.wait(10)


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisServer]:
    """Run a Redis server in a folder that it makes."""
    server = RedisServer(folder, *options)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def sentinel_of(server: RedisServer, folder: Path) -> Iterator[Any]:
    """Watch a server with one replica, and have it followed by the replica a moment after it is away."""
    from redis.sentinel import Sentinel

    port, settings = free_port(), folder / "sentinel.conf"
    facts = (
        f"monitor cache 127.0.0.1 {server.port} 1",
        "down-after-milliseconds cache 300",
        "failover-timeout cache 2000",
    )
    own = (f"port {port}", "bind 127.0.0.1", f"dir {folder}", *(f"sentinel {fact}" for fact in facts))
    settings.write_text("\n".join(own) + "\n")
    process = subprocess.Popen(["redis-server", str(settings), "--sentinel"], stdout=subprocess.DEVNULL)
    found = Sentinel([("127.0.0.1", port)], socket_timeout=10)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(redis.RedisError):
                if found.discover_slaves("cache"):
                    break
            time.sleep(0.05)
        yield found
    finally:
        process.kill()
        process.wait(10)
        for sentinel in found.sentinels:
            sentinel.close()
