"""A plug-in of pytest: the run spends its time on tests, not on keeping what nobody reads.

Tests log at DEBUG level (`secret_watch`). A test that fails shows all of it; that of a test that passed is dropped.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send no output of a phase that passed to the controller, unless it was asked for.

    The item keeps it: the report of a later phase that fails holds the output of all phases.
    """
    report = yield
    if report.passed and not set("PA") & set(item.config.option.reportchars):
        report.sections = []
    return report


def pytest_configure() -> None:
    """Look for cycles of garbage after 20,000 new objects, not after 700: a twentieth of the time of the tests."""
    gc.set_threshold(20_000, 10, 10)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Format no log records for the null device, which is the log file when none is named."""
    plugin = session.config.pluginmanager.get_plugin("logging-plugin")
    if plugin is not None and plugin.log_file_handler.baseFilename == os.path.abspath(os.devnull):
        plugin.log_file_handler.setLevel(logging.CRITICAL + 1)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what stays until the end, twenty thousand tests, out of the garbage collector's rounds."""
    gc.collect()
    gc.freeze()
