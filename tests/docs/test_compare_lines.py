"""The table that sets questions in one line beside other libraries is counted, and its lines run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
SCRIPT = PROJECT / "examples" / "compare_lines.py"
PAGE = PROJECT / "docs" / "how-to" / "ask-in-one-line.md"


def run(*libraries: str) -> str:
    command = [sys.executable, "-W", "error", str(SCRIPT), *libraries]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_lines_of_other_libraries_give_the_same_figures_and_the_page_shows_what_was_counted() -> None:
    printed = run("duckdb", "pandas", "polars")
    assert printed.count("the same from duckdb, pandas, polars") == 3
    counted = printed[printed.index("| |") :].strip()
    assert counted in PAGE.read_text(encoding="utf-8")
    assert "most revenue | 3 / 129 |" in counted


def test_our_lines_give_the_same_figures() -> None:
    assert run("analytics_core", "pandas").count("the same from analytics_core, pandas") == 3
