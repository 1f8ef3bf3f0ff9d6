"""Expressions whose value must not change when they are written again, and how to compare the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.support.fragments import parse

from analytics_core._engine.compile.fragments.parser import FragmentNames

COLUMNS = ("i", "j", "f", "s", "d", "ts", "b")
NAMES = FragmentNames(alias="t", columns=COLUMNS)
ROWS: Sequence[tuple[Any, ...]] = (
    (7, 2, 1.5, "Ab c,d", "2024-02-29", "2024-02-29 13:45:10.123456", True),
    (-7, 2, -2.5, "it's 50%_", "1969-12-31", "1969-12-31 23:59:59", False),
    (0, None, None, None, None, None, None),
    (3, -4, 0.1, "éÉ漢\\x", "2100-01-01", "2100-01-01 00:00:00", True),
)
Run = Callable[[str], list[Any]]

COMMON = [
    "i / j", "i % j", "-i % 3", "i * 2 + j - 1", "i - j - 1", "i - (j - 1)", "i / 2 * 3", "2 * (i + j)",
    "(i + j) / 2", "i > 1 OR j > 1 AND f > 1", "NOT i = 7", "NOT (i = 7 OR j = 2)", "i <> j", "i != j",
    "i BETWEEN -7 AND 3", "i NOT BETWEEN -7 AND 3", "i IN (7, 3)", "i NOT IN (7, 3)", "s IS NULL", "s IS NOT NULL",
    "COALESCE(j, i, 0)", "NULLIF(i, 0)", "CASE WHEN i > 0 THEN 'p' WHEN i < 0 THEN 'n' ELSE 'z' END",
    "CASE i WHEN 7 THEN 1 END", "CAST(f AS INTEGER)", "CAST(i AS DECIMAL(10, 2))", "UPPER(s)", "LOWER(s)",
    "LENGTH(s)", "TRIM(s)", "REPLACE(s, 'b', 'x')", "s LIKE '%b%'", "s NOT LIKE 'A%'", "s = 'it''s 50%_'",
    "s LIKE '%50!%%' ESCAPE '!'", "ABS(i)", "ROUND(f, 0)", "i + f", "i = 7 AND s IS NOT NULL", "SUBSTR(s, 2, 3)",
    "i IS NULL OR j IS NULL", "COUNT(*)", "SUM(i) / COUNT(*)", "SUM(i) / NULLIF(COUNT(j), 0)", "COUNT(DISTINCT s)",
    "MAX(i) - MIN(i)", "SUM(CASE WHEN i > 0 THEN 1 ELSE 0 END)", "AVG(i)", "SUM(i) OVER (ORDER BY i)",
    "ROW_NUMBER() OVER (ORDER BY i DESC)", "LAG(i) OVER (ORDER BY i)",
    "SUM(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
]  # fmt: skip


def values_of(run: Run, expression: str) -> list[str]:
    """What the engine gives for each row, as text with types, in a fixed order."""
    return sorted(map(repr, run(f"SELECT {expression} FROM t")))


def assert_same_meaning(run: Run, expression: str, on: str) -> None:
    """The expression gives the same before and after it went through the parser."""
    before = values_of(run, expression)
    assert values_of(run, parse(expression, on, names=NAMES).sql) == before
