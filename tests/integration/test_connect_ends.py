"""`connect` when Ctrl-C is pressed or memory is short: a KeyboardInterrupt, or a typed error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of Unix")

INTERRUPTED = """
import os, signal, threading, time
import analytics_core, pandas

signal.signal(signal.SIGINT, signal.default_int_handler)
frame = pandas.DataFrame({"g": ["a", "b"] * 100, "v": range(200)})
analytics_core.connect(frame).close()
began = time.perf_counter()
analytics_core.connect(frame).close()
whole_s = time.perf_counter() - began
rounds = 12
for place in range(rounds):
    try:
        threading.Timer(whole_s * place / rounds, os.kill, (os.getpid(), signal.SIGINT)).start()
        analytics_core.connect(frame).close()
        time.sleep(5)
    except KeyboardInterrupt:
        print(end=".")
print(threading.active_count() < 10)
"""


@pytest.mark.slow
def test_ctrl_c_goes_on_upwards_wherever_it_comes() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("." * 12 + "True\n", "")


SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
import analytics_core
from analytics_core.errors import SourceError

file = Path(sys.argv[1], "rows.csv")
file.write_text("g,v\\n" + "a,1\\n" * 1000)
analytics_core.connect([{"g": "a"}]).close()
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 30 * 2**20, resource.RLIM_INFINITY))
try:
    analytics_core.connect(file).close()
except SourceError as error:
    print(error.message)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
analytics_core.connect(file).close()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a limit of addresses that holds")
def test_a_lack_of_memory_is_a_typed_error_that_blames_no_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SHORT_OF_MEMORY, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "there is not enough memory to connect it; give this process more, or connect fewer rows\n"
