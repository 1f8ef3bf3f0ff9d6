"""The table of measured figures in the limits page, by which the bench fails when a figure gets worse."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.report import Ratio
from benchmarks.table import LIMITS, Row, Table


def row(*values: float, unit: str = "x", at_least: bool = False) -> Row:
    return Row.of(
        "queries", [Ratio(name="any", value=value, goal=1.5, unit=unit, at_least=at_least) for value in values]
    )


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    page = tmp_path / "limits.md"
    page.write_text(LIMITS.read_text(encoding="utf-8"), encoding="utf-8")
    table = Table({"100 rows: sqlite": row(1.25, 1.2, 1.75), "rows streamed": row(30, unit="MB", at_least=True)})

    table.write(page)

    assert Table.read(page) == table
    assert "| queries | 100 rows: sqlite | 1.25x | 1.2 to 1.75 | at most 1.5x |" in page.read_text(encoding="utf-8")


def test_the_page_has_a_table_that_is_read_and_written_back(tmp_path: Path) -> None:
    page = tmp_path / "limits.md"
    page.write_text(LIMITS.read_text(encoding="utf-8"), encoding="utf-8")

    Table.read(page).write(page)

    assert page.read_text(encoding="utf-8") == LIMITS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("stored", "measured", "worse"),
    [
        (row(1.0), row(1.16), True),
        (row(1.0), row(1.14), False),
        (row(1.0, 1.0, 1.3), row(1.2), False),
        (row(1.0, 1.0, 1.3), row(1.31), True),
        (row(10, at_least=True), row(8.6, at_least=True), True),
        (row(10, at_least=True), row(8.8, at_least=True), False),
        (row(10, at_least=True), row(30, at_least=True), False),
        (row(1.0, unit="ms"), row(9.0, unit="ms"), False),
        (row(0, unit=""), row(1, unit=""), True),
    ],
)
def test_a_figure_is_worse_beyond_the_bound_and_beyond_all_runs(stored: Row, measured: Row, worse: bool) -> None:
    assert bool(Table({"any": stored}).worse({"any": measured})) is worse


def test_new_rows_take_the_place_of_their_part_alone() -> None:
    table = Table({"old": row(1), "other": Row.of("first", [Ratio(name="other", value=2, goal=3)])})

    table.renew(["queries"], {"new": row(1.1)})

    assert list(table.rows) == ["other", "new"]
