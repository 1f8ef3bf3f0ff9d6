"""Private servers end with the test run that started them, however that ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.servers import _is_alive, _watch, name_server_folder

PROJECT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc to tell the state of a process")


@pytest.fixture
def ended() -> Iterator[int]:
    """The id of a process that has ended and that nobody has collected."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def test_an_owner_that_ended_without_being_collected_is_not_alive(ended: int) -> None:
    os.kill(ended, 0)  # the id is still taken
    assert not _is_alive(ended)
    assert _is_alive(os.getpid())


def test_the_watch_removes_the_folder_of_an_owner_that_ended_without_being_collected(
    ended: int, tmp_path: Path
) -> None:
    folder = tmp_path / f"acsrv-{ended}-0"
    folder.mkdir()
    _watch(folder)
    assert not folder.exists()


def test_a_run_that_starts_no_server_makes_no_folder() -> None:
    first, second = name_server_folder(), name_server_folder()
    assert first != second
    assert not first.exists()


@pytest.mark.slow
def test_the_watch_outlives_the_whole_process_group_of_the_owner() -> None:
    script = (
        "import time; from tests.support.servers import name_server_folder, start_watch\n"
        "folder = name_server_folder(); start_watch(folder); print(folder, flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script], cwd=PROJECT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert owner.stdout is not None
    with owner.stdout:
        folder = Path(owner.stdout.readline().strip())
    try:
        assert (folder / "watch").exists()
        os.killpg(owner.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not folder.exists()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        owner.wait()
