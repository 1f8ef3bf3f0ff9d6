"""Private SSH servers on this machine's loopback: OpenSSH for keys, and a small one of paramiko's for passwords.

with openssh_server(folder) as server:
    tunnel = server.tunnel(private_key=server.key("ed25519"))
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import paramiko
from tests.support.servers import ServerMissingError

PASSPHRASE = "0pen-s3same-of-the-key"
PASSWORD = "s3same-of-the-tunnel"
_KEYS = {"ed25519": ["ed25519"], "rsa": ["rsa", "-b", "2048"], "ecdsa": ["ecdsa"], "encrypted": ["ed25519"]}


class OpensshServer:
    """A running `sshd` that takes the keys of its folder."""

    def __init__(self, folder: Path, *, keys: Path, options: Sequence[str] = ()) -> None:
        self.folder = folder
        shutil.copytree(keys, folder)
        self.port = free_port()
        self._command = [_program(), "-D", "-e", "-f", str(self._configuration(options))]
        self.start()

    def start(self) -> None:
        """Run the server, at the same port as before, and wait for it."""
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with suppress(OSError):
                with socket.create_connection(("127.0.0.1", self.port), 1) as trial:
                    trial.recv(1)  # so its session is there, and has ended before a test counts sessions
                while self.sessions() and time.monotonic() < deadline:
                    time.sleep(0.01)
                return
            time.sleep(0.05)
        raise RuntimeError(f"sshd did not start; its log ends with:\n{(self.folder / 'log').read_text()[-2000:]}")

    def key(self, name: str) -> str:
        """Return a private key that may log in: `ed25519`, `rsa`, `ecdsa`, `encrypted`; `stranger` may not."""
        return (self.folder / name).read_text()

    @property
    def host_key(self) -> str:
        """The public key that the server proves."""
        return (self.folder / "host_key.pub").read_text()

    def tunnel(self, **changes: Any) -> dict[str, Any]:
        """Return a payload of a tunnel that works."""
        return {
            "server_address": "127.0.0.1",
            "server_port": self.port,
            "username": getpass.getuser(),
            "private_key": self.key("ed25519"),
            "host_key": self.host_key,
            **changes,
        }

    def sessions(self) -> list[int]:
        """Return the processes of the connections that are open."""
        return _children(self._process.pid)

    def cut(self) -> int:
        """Kill the processes of all connections and tell how many there were."""
        found = self.sessions()
        for pid in found:
            for process in (*_children(pid), pid):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        return len(found)

    def hang(self) -> None:
        """Have the server take connections and say nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def stop(self) -> None:
        """End the server and its connections."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGCONT)
        self.cut()
        self._process.kill()
        self._process.wait(10)

    def _configuration(self, options: Sequence[str]) -> Path:
        lines = [
            *options,
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder / 'host_key'}",
            f"AuthorizedKeysFile {self.folder / 'allowed'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "MaxStartups 200",
            "MaxSessions 500",
        ]
        place = self.folder / "sshd_config"
        place.write_text("\n".join(lines) + "\n")
        return place


def make_keys(folder: Path) -> None:
    """Make the keys of servers in a folder; ServerMissingError when OpenSSH is not there."""
    _program()
    others = {"host_key": ["ed25519"], "other_key": ["ed25519"], "stranger": ["ed25519"]}
    for name, kind in {**_KEYS, **others}.items():
        secret = PASSPHRASE if name == "encrypted" else ""
        subprocess.run(["ssh-keygen", "-q", "-t", *kind, "-N", secret, "-f", str(folder / name)], check=True)
    (folder / "allowed").write_text("".join((folder / f"{name}.pub").read_text() for name in _KEYS))


def _program() -> str:
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    if not os.path.exists(program) or shutil.which("ssh-keygen") is None:
        raise ServerMissingError("OpenSSH's server is missing: install openssh-server")
    return program


@contextmanager
def openssh_server(folder: Path, *, keys: Path, options: Sequence[str] = ()) -> Iterator[OpensshServer]:
    """Run an OpenSSH server in a folder that it makes, with keys of `make_keys`."""
    server = OpensshServer(folder, keys=keys, options=options)
    try:
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """Return a port of the loopback at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class _Doorman(paramiko.ServerInterface):
    """Lets one password in and connects where it is asked to; notes what it was sent."""

    def __init__(self, seen: list[str], hang_up: Callable[[], None] | None = None) -> None:
        self.targets: dict[int, tuple[str, int]] = {}
        self._seen = seen
        self._hang_up = hang_up

    def check_auth_password(self, _username: str, password: str) -> int:
        self._seen.append(password)
        return paramiko.AUTH_SUCCESSFUL if password == PASSWORD else paramiko.AUTH_FAILED

    def get_allowed_auths(self, _username: str) -> str:
        return "password"

    def check_channel_direct_tcpip_request(
        self, chanid: int, _origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        self.targets[chanid] = destination
        if self._hang_up is not None:
            self._hang_up()
        return paramiko.OPEN_SUCCEEDED


class PasswordServer:
    """An SSH server that takes `PASSWORD` and forwards, or hangs up; `seen` are the passwords that it was sent."""

    def __init__(self) -> None:
        self.hangs_up = False
        self.seen: list[str] = []
        self._key = paramiko.ECDSAKey.generate()
        self.host_key = f"{self._key.get_name()} {self._key.get_base64()}"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._transports: list[paramiko.Transport] = []
        self._run(self._accept)

    def tunnel(self, **changes: Any) -> dict[str, Any]:
        """Return a payload of a tunnel that works."""
        return {
            "server_address": "127.0.0.1",
            "server_port": self.port,
            "username": "maria",
            "password": PASSWORD,
            "host_key": self.host_key,
            **changes,
        }

    def close(self) -> None:
        """End it with its connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for transport in self._transports:
            transport.close()

    def _run(self, target: Any, *args: Any) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        transport = paramiko.Transport(client)
        self._transports.append(transport)
        transport.add_server_key(self._key)
        doorman = _Doorman(self.seen, client.close if self.hangs_up else None)
        with suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(server=doorman)
            while transport.is_active():
                channel = transport.accept(1)
                if channel is not None:
                    there = socket.create_connection(doorman.targets[channel.get_id()])
                    self._run(_carry, channel.recv, there.sendall, there)
                    self._run(_carry, there.recv, channel.sendall, channel)


def _carry(read: Any, write: Any, end: Any) -> None:
    with suppress(OSError, EOFError):
        while data := read(32_768):
            write(data)
    with suppress(OSError, EOFError):  # the transport may be gone already
        end.close()
