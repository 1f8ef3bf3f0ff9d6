"""A core that is closed while threads ask it: typed errors alone, no thread goes on, and the process lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.filtered_dashboard import fill_visits

pytestmark = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=[pytest.mark.server, pytest.mark.long]),
        pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
    ],
)
@pytest.mark.parametrize(
    "store", [pytest.param("sqlite://", marks=pytest.mark.long), "sqlite:///{folder}/store-{{}}.db"]
)
def test_closing_a_core_harms_nobody_who_asks_it(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, store: str
) -> None:
    if engine in ("sqlite", "duckdb"):
        url = f"{engine}:///{tmp_path}/shop.{engine}"
    else:
        url = request.getfixturevalue(f"make_{engine}_database")()
    fill_visits(url)
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.support.closed_while_asked"]
    ended = subprocess.run(
        [*command, url, store.format(folder=tmp_path), "5"], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr[-3_000:]
