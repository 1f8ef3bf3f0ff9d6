"""How drawing ends: by handlers of signals, by Ctrl-C, by a parent that is killed, by a full disk, by a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and limits of Unix")]

HEAD = """
import os, resource, signal, sys, tempfile, threading, time
from pathlib import Path
from analytics_core.errors import AnalyticsError
from analytics_core.renderers import PictureFormat, VegaRenderer

page = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
never_ends = {"data": {"values": [{"x": 1}]}, "mark": "bar",
              "transform": [{"calculate": "length(sequence(0, 1e8))", "as": "z"}] * 50}

def draw(renderer):
    return renderer.render_pages([page], format=PictureFormat.SVG)

def send(number, after_s):
    threading.Timer(after_s, os.kill, (os.getpid(), number)).start()

def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split() if sys.platform == "linux" else []

def ended(renderer):
    def handler(number, frame):
        renderer.close()
        sys.exit(7)
    return handler
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    around = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-X", "faulthandler", "-c", HEAD + script]
    return subprocess.run(
        command, env=around, capture_output=True, text=True, timeout=30, check=False, start_new_session=True
    )


def test_a_handler_that_closes_and_exits_ends_a_process_that_draws(tmp_path: Path) -> None:
    done = run(
        """
renderer = VegaRenderer()
signal.signal(signal.SIGTERM, ended(renderer))
draw(renderer)
send(signal.SIGTERM, 0.2)
renderer.render(never_ends, format=PictureFormat.SVG)
""",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert list(tmp_path.iterdir()) == []


def test_a_handler_that_closes_while_a_process_starts_does_not_wait_for_itself(tmp_path: Path) -> None:
    done = run(
        """
for after_s in (0, 0.0002, 0.0005, 0.001, 0.002, 0.004, 0.008):
    renderer = VegaRenderer()
    signal.signal(signal.SIGTERM, ended(renderer))
    try:
        send(signal.SIGTERM, after_s)
        draw(renderer)
        print("drawn")
    except SystemExit as error:
        print(error.code, children(), os.listdir(os.environ["TMPDIR"]))
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("7 [] []\n" * 7, "")


def test_a_handler_that_closes_while_its_thread_closes_does_not_wait_for_itself(tmp_path: Path) -> None:
    done = run(
        """
for after_s in (0, 0.0002, 0.001, 0.002):
    renderer = VegaRenderer()
    signal.signal(signal.SIGTERM, ended(renderer))
    draw(renderer)
    try:
        send(signal.SIGTERM, after_s)
        renderer.close()
        time.sleep(1)
    except SystemExit as error:
        print(error.code, children(), os.listdir(os.environ["TMPDIR"]))
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("7 [] []\n" * 4, "")


def test_ctrl_c_while_a_process_starts_leaves_neither_a_process_nor_a_folder(tmp_path: Path) -> None:
    done = run(
        """
signal.signal(signal.SIGINT, signal.default_int_handler)
renderer = VegaRenderer()
for place in range(30):
    try:
        send(signal.SIGINT, place * 0.0003)
        draw(renderer)
        print("drawn")
    except KeyboardInterrupt:
        pass
print(children(), os.listdir(os.environ["TMPDIR"]))
assert draw(renderer).startswith(b"<svg")
""",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("[] []\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_process_whose_parent_is_killed_removes_its_folder(tmp_path: Path) -> None:
    script = """
renderer = VegaRenderer()
draw(renderer)
(process,) = renderer._idle
os.kill(process._process.pid, signal.SIGSTOP)
os.waitpid(process._process.pid, os.WUNTRACED)  # a process that stops later is not told
print(process._process.pid, len(os.listdir(os.environ["TMPDIR"])), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(script, tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split()[1:] == ["1"]
    deadline = time.monotonic() + 10
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_file_is_named(tmp_path: Path) -> None:
    done = run(
        """
print(tempfile.gettempdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    draw(VegaRenderer())
except AnalyticsError as error:
    print(error.code, error.message)
""",
        tmp_path,
    )
    assert done.stdout == (
        f"{tmp_path}\nPICTURE_ERROR drawing needs a folder for temporary files, and nothing can be written into "
        f"{tmp_path}: File too large; TMPDIR names another one\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_limit_of_addresses_is_told_as_what_ends_the_process(tmp_path: Path) -> None:
    done = run(
        """
resource.setrlimit(resource.RLIMIT_AS, (2500 * 2**20, 2500 * 2**20))
try:
    VegaRenderer().render({"data": {"values": [{"x": 1}]}, "mark": "bar"}, format=PictureFormat.PNG)
except AnalyticsError as error:
    print(error.code, error.message)
""",
        tmp_path,
    )
    assert done.stdout.startswith(
        "PICTURE_ERROR the process that draws pictures ended by itself; addresses are limited"
    )
    assert "limited to 2,500 MB (ulimit -v, LimitAS)" in done.stdout
