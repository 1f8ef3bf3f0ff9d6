"""A process that is killed in the middle of an upload leaves no table, and the next upload cleans up after it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.uploading import UploadTarget, empty_file, upload_target

from analytics_core._uploads.names import RESERVED_PREFIX

UPLOADER = """
import sys, time
import analytics_core

class Slow:
    # gives a file of many rows, so that the kill comes while they are written
    def __init__(self):
        self.given = 0
    def read(self, size):
        self.given += 1
        if self.given == 1:
            return b"id,text\\n"
        if self.given > 40:
            return b""
        start = self.given * 10_000
        return b"".join(b"%d,%s\\n" % (number, b"x" * 40) for number in range(start, start + 10_000))

with analytics_core.connect(sys.argv[1]) as core:
    core.databases.update(1, {"allow_file_upload": True})
    print("begins", flush=True)
    core.databases.upload(1, Slow(), "uploaded", if_exists=sys.argv[2])
    print("ended", flush=True)
"""


@pytest.fixture(
    params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mariadb"))]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    engine: str = request.param
    if engine in ("sqlite", "duckdb"):
        return empty_file(engine, tmp_path)
    made: str = request.getfixturevalue(f"make_{engine}_database")()
    return made


def _killed_after(url: str, seconds: float, if_exists: str) -> bool:
    """Kill an upload so many seconds after it began; tell whether it was under way."""
    program = [sys.executable, "-c", UPLOADER, url, if_exists]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begins\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return b"ended" not in process.stdout.read()


def _times() -> Iterator[float]:
    yield from (0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0)


def test_a_killed_upload_leaves_no_table(url: str) -> None:
    under_way = [_killed_after(url, seconds, "replace") for seconds in _times()]
    assert any(under_way)
    with upload_target(url) as target:
        if all(under_way):
            assert "uploaded" not in target.tables()
        target.upload(b"id\n1\n", if_exists="replace")
        assert target.rows() == [{"id": 1}]
        assert target.tables() == ["uploaded"]


@pytest.mark.parametrize("if_exists", ["replace", "append"])
def test_a_killed_upload_leaves_the_table_that_was_there(url: str, if_exists: str) -> None:
    with upload_target(url) as target:
        target.upload(b"id,text\n1,first\n")
    ended = [seconds for seconds in (0.6, 1.4) if not _killed_after(url, seconds, if_exists)]
    with upload_target(url) as target:
        rows = target.rows()
        assert len(rows) == 1 if not ended else len(rows) % 10_000 <= 1
        target.upload(b"id,text\n2,second\n", if_exists="append")
        assert [name for name in target.tables() if name.startswith(RESERVED_PREFIX)] == []


def test_an_upload_that_goes_on_is_not_cleaned_up(url: str) -> None:
    with upload_target(url) as target:
        if not target.url.startswith(("mysql", "mariadb")):
            pytest.skip("no table of another name is made there")
        with subprocess.Popen([sys.executable, "-c", UPLOADER, url, "replace"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while process.poll() is None:
                target.upload(b"id\n1\n", table="another", if_exists="replace")
            assert b"ended" in process.stdout.read()
        assert len(target.tables()) == 2
