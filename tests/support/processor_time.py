"""A plug-in of pytest: what a run costs in processor time, in all and by test; `--slowest FILE` writes who costs most.

Seconds of a process and of the processes that it waited for, which a busy machine lengthens less than those of a clock.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

MOST_LISTED: Final = 20
PROPERTY: Final = "processor_s"
"""What a test's last report carries to the process that collects them."""

SPENT: Final = pytest.StashKey[Counter[str]]()
BEGUN: Final = pytest.StashKey[float]()


def processor_s() -> float:
    """Return the seconds that this process and its ended children have computed."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the list."""
    parser.addoption("--slowest", type=Path, help=f"write the {MOST_LISTED} slowest files and tests to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to add up."""
    config.stash[SPENT] = Counter()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note when a test begins, so that its fixtures count."""
    item.stash[BEGUN] = processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Send what a test cost with the report of its end."""
    report = yield
    if call.when == "teardown":
        report.user_properties.append((PROPERTY, round(processor_s() - item.stash[BEGUN], 3)))
    return report


class Ledger:
    """Adds up in the process that hears of all tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one test to its function and to its file."""
        for name, seconds in report.user_properties:
            if name == PROPERTY and report.when == "teardown":
                spent = self._config.stash[SPENT]
                spent[report.nodeid.partition("[")[0]] += seconds
                spent[report.nodeid.partition("::")[0]] += seconds


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen where all reports arrive."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Ledger(session.config))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the processor time of the run, all its processes together, and write the list."""
    total = processor_s()
    if not config.stash[SPENT]:
        return
    terminalreporter.write_line(f"processor time: {total:.0f} s in all processes that have ended, and this one")
    target = config.getoption("slowest")
    if target is not None:
        target.write_text("\n".join(slowest(config.stash[SPENT], total)) + "\n", encoding="utf-8")


def slowest(spent: Counter[str], total: float) -> Iterable[str]:
    """Yield the lines of the list: the whole run, files, tests."""
    yield f"{total:8.1f} all"
    for is_test in (False, True):
        chosen = ((name, seconds) for name, seconds in spent.most_common() if ("::" in name) is is_test)
        yield from (f"{seconds:8.1f} {name}" for _, (name, seconds) in zip(range(MOST_LISTED), chosen, strict=False))
