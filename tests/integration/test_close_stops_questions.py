"""`core.close()` stops what is asked: at once, from any thread and from the handler of a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.support.execution import DUCKDB_ENDLESS, SQLITE_ENDLESS
from tests.support.shop import shop_url

import analytics_core
from analytics_core.errors import AnalyticsError, StatementStoppedError, StoreUnavailableError

ENDLESS = {"sqlite": SQLITE_ENDLESS, "duckdb": DUCKDB_ENDLESS}
SHORTLY_S = 5.0
"""Both statements run for hours; a machine may be slow."""


def endless(engine: str) -> str:
    return ENDLESS[engine].replace("count(*)", "count(*) AS n")


def wait_until_it_runs(core: analytics_core.AnalyticsCore) -> None:
    deadline = time.monotonic() + 30
    while not core._runtime.engine.statements._connections._closing.is_in_use:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("engine", list(ENDLESS))
def test_a_question_that_runs_is_stopped_and_told(tmp_path: Path, engine: str) -> None:
    core = analytics_core.connect(shop_url(tmp_path, engine))
    core.datasets.create({"database": 1, "table_name": "endless", "sql": endless(engine)})
    failures: list[Exception] = []

    def ask() -> None:
        try:
            core.dataset("endless").query("n").pandas()
        except AnalyticsError as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until_it_runs(core)
    began = time.monotonic()
    core.close()
    asking.join()
    assert time.monotonic() - began < SHORTLY_S
    assert [type(error) for error in failures] == [StatementStoppedError]
    assert "the core was closed" in str(failures[0])
    with pytest.raises(StoreUnavailableError):
        core.dataset("endless").query("n").pandas()


HANDLER = """
import signal, sys
import analytics_core

url, sql = sys.argv[1:]
core = analytics_core.connect(url)
core.datasets.create({"database": 1, "table_name": "endless", "sql": sql})

def end(number, frame):
    core.close()
    sys.exit(7)

signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["n"]}]})
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a signal of Unix")
@pytest.mark.parametrize("engine", ["duckdb", pytest.param("sqlite", marks=pytest.mark.long)])
def test_a_handler_that_closes_and_exits_ends_a_process_that_asks(tmp_path: Path, engine: str) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", HANDLER, shop_url(tmp_path, engine), endless(engine)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        outputs = process.communicate(timeout=60)
        assert (process.returncode, *outputs) == (7, "", "")
        assert time.monotonic() - began < SHORTLY_S


@pytest.mark.slow
def test_a_picture_of_a_closed_core_is_not_drawn_anew(tmp_path: Path) -> None:
    core = analytics_core.connect([{"g": "a", "v": 1}, {"g": "b", "v": 2}])
    made = core.dataset("data").query("v").by("g").chart("bar").picture(format="svg")
    core.close()
    assert made.save(tmp_path / "kept.svg").read_bytes() == made.data
    with pytest.raises(StoreUnavailableError, match="closed"):
        made.save(tmp_path / "anew.png")
    assert not (tmp_path / "anew.png").exists()
