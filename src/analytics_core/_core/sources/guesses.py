"""What a CSV file leaves open, and how it was read: the words for numbers and dates that could mean something else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from analytics_core._error_types import short_repr
from analytics_core._execution.handed_over import HandedFiles

_DAY_OR_MONTH: Final = r"\s*(0?[1-9]|1[0-2])[/.\-](0?[1-9]|1[0-2])[/.\-]\d{2,4}\b.*"
_FIRST_ROWS: Final = 10_000


def notes_of_csv(root: Any, files: HandedFiles, types: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each column whose every value could be read in another way.

    These are days and months that are all at most 12, and numbers that all have three digits after one separator. What
    was told of the reading is not doubted. The whole of the files is read only for columns whose first rows leave it
    open.
    """
    patterns = {name: pattern for name, kind in types.items() if (pattern := _pattern(kind, files.csv_arguments))}
    texts = _relation(root, files, all_varchar=True)
    first_rows = texts.limit(_FIRST_ROWS)
    for rows in (first_rows, texts):
        open_columns = _matching(rows, patterns)
        patterns = {name: patterns[name] for name in open_columns}
    notes = (
        _number_note(name, files.csv_arguments) if types[name] == "DOUBLE" else _date_note(root, files, types, name)
        for name in patterns
    )
    return tuple(note for note in notes if note)


def _pattern(kind: str, told: Mapping[str, Any]) -> str | None:
    """Return what all values of a column look like when it could be read in another way; None: none could."""
    if kind == "DATE" and "date_format" not in told:
        return _DAY_OR_MONTH
    if kind == "TIMESTAMP" and not told.keys() & {"date_format", "timestamp_format"}:
        return _DAY_OR_MONTH
    if kind == "DOUBLE" and "thousands" not in told:
        return rf"[+-]?[1-9]\d{{0,2}}[{told.get('decimal', '.')}]\d{{3}}"
    return None


def _relation(root: Any, files: HandedFiles, *, all_varchar: bool = False) -> Any:
    from analytics_core._execution.sessions.duckdb_tables import relation_of

    if not all_varchar:
        return relation_of(root, files)
    return relation_of(root, replace(files, csv_arguments={**files.csv_arguments, "all_varchar": True}))


def _matching(rows: Any, patterns: Mapping[str, str]) -> list[str]:
    """Return the columns whose values all match; one without values does not."""
    import duckdb

    if not patterns:
        return []
    found = rows.aggregate(
        [
            duckdb.FunctionExpression(
                "bool_and",
                duckdb.FunctionExpression(
                    "regexp_full_match", duckdb.ColumnExpression(name), duckdb.ConstantExpression(pattern)
                ),
            )
            for name, pattern in patterns.items()
        ]
    ).fetchone()
    return [name for name, matches in zip(patterns, found or (), strict=False) if matches]


def _number_note(name: str, told: Mapping[str, Any]) -> str:
    decimal = told.get("decimal", ".")
    other = "." if decimal == "," else ","
    return (
        f"column {short_repr(name)}: all its numbers have three digits behind {decimal!r}, which is read as the "
        f"decimal character; if it stands between thousands, give decimal_character={other!r}, "
        f"thousands_character={decimal!r}"
    )


def _date_note(root: Any, files: HandedFiles, types: Mapping[str, str], name: str) -> str | None:
    """Return which of the two numbers was read as the day; None where all that is looked at are alike."""
    import duckdb

    column = duckdb.ColumnExpression(name)
    written, read = (
        rows.filter(column.isnotnull()).select(column).limit(_FIRST_ROWS).fetchall()
        for rows in (_relation(root, files, all_varchar=True), _relation(root, replace(files, types=dict(types))))
    )
    for (text,), (day,) in zip(written, read, strict=False):
        first, second = map(int, _NUMBER.findall(text)[:2])
        if first != second:
            order, other = ("day", "month") if day.day == first else ("month", "day")
            return (
                f"column {short_repr(name)}: no date tells days and months apart; the first number is read as the "
                f"{order}; if it is the {other}, give date_format={_FORMATS[other]!r}, as the dates are written"
            )
    return None


_NUMBER: Final = re.compile(r"\d+")
_FORMATS: Final = {"day": "%d/%m/%Y", "month": "%m/%d/%Y"}
