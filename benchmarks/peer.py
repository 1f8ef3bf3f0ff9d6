"""The peer, Apache Superset, in an environment and a process of its own; asked turn about with ours.

    python -m benchmarks.peer FOLDER       makes the environment (pip, about a minute) and its metadata database

Its dependencies (SQLAlchemy 1.4, pandas 2.1) cannot live beside ours, so the two never share a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

PACKAGES = ("apache-superset==6.1.0", "flask-caching<2.4", "psycopg2-binary", "orjson", "rich", "cachetools")
NO_PEER = "no peer; make it with `python -m benchmarks.peer FOLDER`, then `--peer FOLDER`"
CONFIGURATION = """\
import os
SECRET_KEY = "for-benchmarks-only-for-benchmarks-only"
SQLALCHEMY_DATABASE_URI = "sqlite:///" + os.environ["PEER_METADATA"]
WTF_CSRF_ENABLED = False
PREVENT_UNSAFE_DB_CONNECTIONS = False
SQL_MAX_ROW = 5_000_000
ROW_LIMIT = 5_000_000
DATA_CACHE_CONFIG = {"CACHE_TYPE": "SimpleCache", "CACHE_DEFAULT_TIMEOUT": 86400}
"""
ADMINISTRATOR = [
    "--username",
    "admin",
    "--firstname",
    "a",
    "--lastname",
    "b",
    "--email",
    "a@example.org",
    "--password",
    "admin",
]


class Peer:
    """A running process of the peer's interpreter; each call is one line to it and one line back.

    Args:
        folder: where `make_peer` made it.
        worker: the script to run, a file beside this one.
        arguments: what the script is given.
        environment: the variables of the process.
    """

    def __init__(self, folder: Path, worker: str, *arguments: str, environment: dict[str, str]) -> None:
        command = [str(folder / "venv" / "bin" / "python"), str(Path(__file__).with_name(worker)), *arguments]
        self._log = (folder / "peer.log").open("w")
        self._process = subprocess.Popen(
            command,
            env=_environment(folder, environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, **request: Any) -> dict[str, float]:
        """Return `wall_s` and `cpu_s` of one call; the request is what the script reads."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("@@"):
                answer: dict[str, float] = json.loads(line[2:])
                return answer
        raise RuntimeError(f"the peer's process ended; see {self._log.name}")

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


def is_ready(folder: Path) -> bool:
    """Whether `make_peer` has finished there."""
    return (folder / "ready").exists()


def make_peer(folder: Path) -> None:
    """Install the peer into `folder` and make its metadata database."""
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(folder / "venv", with_pip=True)
    subprocess.run([str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    (folder / "superset_config.py").write_text(CONFIGURATION)
    for arguments in (["db", "upgrade"], ["fab", "create-admin", *ADMINISTRATOR], ["init"]):
        command = [str(folder / "venv" / "bin" / "superset"), *arguments]
        subprocess.run(command, env=_environment(folder, dict(os.environ)), check=True, stdout=subprocess.DEVNULL)
    # One metadata file for each engine: the peer keeps table names unique over all databases.
    for engine in ("sqlite", "postgres"):
        (folder / f"metadata-{engine}.db").write_bytes((folder / "metadata.db").read_bytes())
    (folder / "ready").touch()


def _environment(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    return {
        "PEER_METADATA": str(folder / "metadata.db"),
        **environment,
        "SUPERSET_CONFIG_PATH": str(folder / "superset_config.py"),
        "FLASK_APP": "superset",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


if __name__ == "__main__":
    make_peer(Path(sys.argv[1]).resolve())
