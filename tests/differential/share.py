"""The cores of a run on four engines, and a process's share of its queries."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.differential import world
from tests.differential.check import Difference, differences
from tests.support.servers import PrivateServers


def open_cores(folder: Path, urls: dict[str, str], stack: ExitStack) -> dict[str, Any]:
    """Return a core for each engine, over the same rows; `urls` are those of the servers."""
    urls = {"sqlite": f"sqlite:///{folder}/rows.db", "duckdb": f"duckdb:///{folder}/rows.duckdb", **urls}
    data = world.rows()
    return {engine: stack.enter_context(world.connect(url, data, engine=engine)) for engine, url in urls.items()}


def run_share(task: tuple[Path, Sequence[str]]) -> list[Difference]:
    """Return what differs in the answers to the numbers; the servers are those of a folder."""
    folder, numbers = task
    servers = PrivateServers(folder)
    urls = {"postgresql": servers.postgres().make_database(), "mysql": servers.mariadb().make_database()}
    with ExitStack() as stack, tempfile.TemporaryDirectory() as files:
        return list(differences(open_cores(Path(files), urls, stack), world.rows(), numbers))
