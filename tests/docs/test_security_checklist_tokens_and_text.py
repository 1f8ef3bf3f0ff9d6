"""The page `security-checklist-tokens-and-text.md` names files that are there, and is in the navigation."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.cases import for_each

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "explanation" / "security-checklist-tokens-and-text.md"
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| Promise")
]


def files_in(cell: str) -> list[str]:
    return re.findall(r"`([\w/]+\.py)`", cell)


def test_the_page_has_a_table_for_each_list() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for title in ("Guest tokens", "OAuth 2.0 for databases", "Secrets in text", "Spreadsheet formulas", "Stored bytes"):
        assert f"\n## {title}\n" in text
    assert len(ROWS) > 40
    assert "explanation/security-checklist-tokens-and-text.md" in (PROJECT / "mkdocs.yml").read_text(encoding="utf-8")


@for_each("row", ROWS, ids=lambda row: row[0][:40])
def test_every_module_and_test_that_a_row_names_is_there(row: list[str]) -> None:
    assert len(row) == 3
    promise, modules, evidence = row
    assert promise
    assert files_in(modules) or modules == "every module"
    assert [name for name in files_in(modules) if not (PROJECT / "src" / "analytics_core" / name).is_file()] == []
    tests = files_in(evidence)
    assert tests
    assert [name for name in tests if not (PROJECT / "tests" / name).is_file()] == []
    assert any(
        "def test_" in (PROJECT / "tests" / name).read_text(encoding="utf-8") or "suite" in name for name in tests
    )
