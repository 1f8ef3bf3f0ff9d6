"""The security checklist names modules and tests that exist, and every row names both."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cases import for_each

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "security-checklist.md"
ROW = re.compile(r"^\| (?P<behaviour>.+) \| (?P<modules>[^|]+) \| (?P<tests>[^|]+) \|$")
NAMED = re.compile(r"`([^`]+)`")
HEADINGS = ("Row rules and grants in user-written SQL", "Cache isolation", "Reading only")


def rows() -> list[tuple[str, list[str], list[str]]]:
    """Return behaviour, modules and tests of each row of the page's tables."""
    found = [ROW.match(line) for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    matches = [row for row in found if row is not None and row["behaviour"] != "Behaviour"]
    return [(row["behaviour"], NAMED.findall(row["modules"]), NAMED.findall(row["tests"])) for row in matches]


def test_every_line_of_the_tables_is_a_row_of_three_cells() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    assert len(rows()) == len(lines) - 2 * len(HEADINGS)
    assert [line[3:] for line in PAGE.read_text().splitlines() if line.startswith("## ")] == list(HEADINGS)


@for_each(("behaviour", "modules", "tests"), rows())
def test_a_row_names_modules_and_tests_that_exist(behaviour: str, modules: list[str], tests: list[str]) -> None:
    assert modules
    assert tests
    for module in modules:
        assert (ROOT / "src" / "analytics_core" / module).is_file(), module
    for test in tests:
        path = ROOT / "tests" / test
        assert path.is_file(), test
        assert "def test_" in path.read_text()


def test_the_page_is_in_the_navigation() -> None:
    assert f"explanation/{PAGE.name}" in (ROOT / "mkdocs.yml").read_text()
