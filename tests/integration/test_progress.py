"""Long work tells how far it has come, only where somebody watches, and whoever interrupts it leaves nothing behind."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tests.support.templates import sample_shop

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core._core.adapters.progress_bars import SilentProgress, TqdmProgress, progress_display

TWO_QUERIES = {
    "datasource": {"id": 1, "type": "table"},
    "queries": [{"metrics": ["count"]}, {"columns": ["country"], "metrics": ["count"]}],
}


class RecordedProgress:
    """Remembers what is shown (port `Progress`); `stop_at` is the unit at which somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self.displayed: list[str] = []
        self.stop_at: int | None = None

    @contextmanager
    def bar(self, work: str, *, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        steps: list[int] = []

        def tell(done: int) -> None:
            steps.append(done)
            if len(steps) == self.stop_at:
                raise KeyboardInterrupt

        try:
            yield tell
        finally:
            self.displayed.append(f"{work}: {sum(steps)} of {total} {unit}")


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture
def core(tmp_path: Path, progress: RecordedProgress) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(sample_shop(tmp_path / "shop.db"), progress=progress) as made:
        made.datasets.create({"database": 1, "table_name": "orders"})
        yield made


def add_charts(core: AnalyticsCore, **more: Any) -> None:
    form = '{"viz_type": "table", "groupby": ["country"], "metrics": ["count"]}'
    source = {"datasource_id": 1, "datasource_type": "table", "params": form}
    for name in ("one", "two"):
        core.charts.create({"slice_name": name, **source, **more})


def test_queries_of_one_context_are_counted(core: AnalyticsCore, progress: RecordedProgress) -> None:
    core.charts.data(TWO_QUERIES)
    assert progress.displayed == ["queries: 2 of 2 query"]


def test_a_warm_up_counts_its_charts(core: AnalyticsCore, progress: RecordedProgress) -> None:
    add_charts(core)
    list(core.cache.warm_up_many())
    assert progress.displayed[-1] == "warm-up: 2 of 2 chart"


def test_an_upload_counts_its_rows(core: AnalyticsCore, progress: RecordedProgress) -> None:
    core.databases.update(1, {"allow_file_upload": True})
    core.databases.upload(1, b"a,b\n1,2\n3,4\n5,6\n", "numbers")
    assert progress.displayed == ["upload of numbers: 3 of None row"]


def test_a_dashboard_counts_its_charts(core: AnalyticsCore, progress: RecordedProgress) -> None:
    add_charts(core, dashboards=[core.dashboards.create({"dashboard_title": "Shop"}).id])
    core.dashboards.data(1)
    assert "charts: 2 of 2 chart" in progress.displayed


def test_who_interrupts_queries_can_go_on(core: AnalyticsCore, progress: RecordedProgress) -> None:
    progress.stop_at = 1
    with pytest.raises(KeyboardInterrupt):
        core.charts.data(TWO_QUERIES)
    progress.stop_at = None
    assert [len(result) for result in core.charts.data(TWO_QUERIES).raise_for_error()] == [1, 6]


def test_who_interrupts_an_upload_leaves_no_table(core: AnalyticsCore, progress: RecordedProgress) -> None:
    core.databases.update(1, {"allow_file_upload": True})
    progress.stop_at = 1
    with pytest.raises(KeyboardInterrupt):
        core.databases.upload(1, b"a,b\n1,2\n", "numbers")
    assert "numbers" not in [table.value for table in core.databases.tables(1, force=True)]


# ------------------------------------------------------------------------------------------------------------ adapter
DISPLAYED = """
from analytics_core._core.adapters.progress_bars import TqdmProgress
import threading
progress = TqdmProgress(delay_s=0)
with progress.bar("charts", total=2, unit="chart") as tell:
    tell(1)
    tell(1)
def work():
    with progress.bar("hidden", total=1, unit="job") as tell:
        tell(1)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print([thread.name for thread in threading.enumerate()])
"""


def run_in_terminal(code: str) -> tuple[str, str]:
    """Return what a program writes to standard output, and to the terminal that its standard error is."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        said = process.communicate(timeout=60)[0]
    output = b""
    try:
        while part := os.read(ours, 10_000):
            output += part
    except OSError:  # the other end of a terminal is closed
        pass
    os.close(ours)
    return said.decode(), output.decode()


def test_a_terminal_shows_a_bar_on_standard_error_and_no_thread_is_left() -> None:
    said, output = run_in_terminal(DISPLAYED)
    assert said == "['MainThread']\n"
    assert "charts:   0%" in output
    assert "hidden" not in output
    assert output.rstrip(" ").endswith("\r")


def test_nothing_is_shown_where_standard_error_is_no_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", DISPLAYED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""


def test_bars_can_be_forced_and_forbidden(capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(progress_display(False), SilentProgress)
    seen = [progress_display(chosen) for chosen in (True, None)]
    assert [isinstance(one, TqdmProgress) and one._is_forced for one in seen] == [True, False]
    with TqdmProgress(delay_s=0).bar("charts", total=1, unit="chart") as tell:
        tell(1)
    assert capfd.readouterr().err == ""
    with TqdmProgress(is_forced=True, delay_s=0).bar("charts", total=1, unit="chart") as tell:
        tell(1)
    assert "charts:   0%" in capfd.readouterr().err


def test_work_inside_of_other_work_has_no_bar_and_the_next_work_has_one(capfd: pytest.CaptureFixture[str]) -> None:
    progress = TqdmProgress(is_forced=True, delay_s=0)
    with progress.bar("outer", total=1, unit="chart") as tell:
        with progress.bar("inner", total=1, unit="query") as tell_inner:
            tell_inner(1)
        tell(1)
    with progress.bar("next", total=1, unit="chart"):
        pass
    output = capfd.readouterr().err
    assert ["outer:" in output, "inner:" in output, "next:" in output] == [True, False, True]


class ClosingTerminal(io.StringIO):
    """A standard error that is gone after what was written first."""

    is_gone = False

    def write(self, text: str) -> int:
        if self.is_gone:
            raise OSError
        return super().write(text)


def test_a_terminal_that_closes_does_not_stop_the_work() -> None:
    with (
        redirect_stderr(ClosingTerminal()) as terminal,
        TqdmProgress(is_forced=True, delay_s=0).bar("charts", total=9, unit="chart") as tell,
    ):
        assert "charts:" in terminal.getvalue()
        terminal.is_gone = True
        time.sleep(0.15)  # until the bar may be drawn again
        tell(1)


def test_work_that_is_over_soon_shows_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    with TqdmProgress(is_forced=True).bar("charts", total=1, unit="chart") as tell:
        tell(1)
    assert capfd.readouterr().err == ""


def test_a_core_without_connect_shows_nothing() -> None:
    with AnalyticsCore(analytics_core.Settings(secret_key="a" * 8 + "b1C2d3E4f5G6h7")) as core:
        assert isinstance(core._runtime.parts.progress, SilentProgress)


@pytest.mark.slow
def test_a_stored_notebook_keeps_nothing_of_a_bar() -> None:
    work = "import time\nfrom analytics_core._core.adapters.progress_bars import TqdmProgress\n"
    work += "with TqdmProgress(delay_s=0).bar('load', total=2, unit='rows') as tell:\n"
    work += "    for _ in range(2):\n        time.sleep(0.2)\n        tell(1)"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(work)])
    NotebookClient(book, timeout=60).execute()
    assert [(one["output_type"], one["data"]) for one in book.cells[0].outputs] == [
        ("display_data", {"text/plain": ""})  # it was shown, and is empty now; nothing stands on standard error
    ]
