"""What the numbers of a text file leave open: whole ones that are too long, and separators of thousands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from analytics_core._core.sources.dates import FIRST_ROWS, relation
from analytics_core._error_types import short_repr
from analytics_core._execution.handed_over import HandedFiles

_EXACT: Final = 2**53
"""Up to here a DOUBLE holds each whole number."""

_LARGEST: Final = sys.float_info.max
_WHOLE: Final = r"^[+-]?0*(\d+)$"
_LONG: Final = "HUGEINT"
_MOST_DIGITS: Final = 38


def with_whole_numbers(root: Any, files: HandedFiles) -> HandedFiles:
    """Return files whose whole numbers stay apart where DuckDB would round them to 16 digits.

    They are whole numbers of up to 38 digits, and text beyond. Rounded, with a note, are those of a column that has
    fractions or exponents too.
    """
    types, notes = dict(files.types or {}), list(files.notes)
    for name in _beyond_exact(root, files):
        digits, are_whole = _digits_of_whole(root, files, name)
        if are_whole:
            types[name] = _LONG if digits <= _MOST_DIGITS else "VARCHAR"
            if "thousands" in files.csv_arguments and types[name] == _LONG:
                types[name] = f"DECIMAL({_MOST_DIGITS},0)"  # the one whose separators DuckDB leaves out
        elif digits >= len(str(_EXACT)):
            notes.append(
                f"column {short_repr(name)}: it has whole numbers beyond {_EXACT}, which are rounded to 16 digits, "
                "because other numbers have a fraction or an exponent"
            )
    return replace(files, types=types, notes=tuple(notes))


def _beyond_exact(root: Any, files: HandedFiles) -> list[str]:
    """Return the columns of numbers some of which a DOUBLE may round to another whole number."""
    import duckdb

    names = [name for name, kind in (files.types or {}).items() if kind == "DOUBLE"]
    if not names:
        return []
    sizes = (duckdb.FunctionExpression("abs", duckdb.ColumnExpression(name)) for name in names)
    are_beyond = (
        size.between(duckdb.ConstantExpression(_EXACT), duckdb.ConstantExpression(_LARGEST)) for size in sizes
    )
    found = relation(root, files).aggregate([duckdb.FunctionExpression("bool_or", one) for one in are_beyond])
    return [name for name, is_beyond in zip(names, found.fetchone() or (), strict=True) if is_beyond]


def _digits_of_whole(root: Any, files: HandedFiles, name: str) -> tuple[int, bool]:
    """Return how many digits the longest whole number of a column has, and whether all are written as whole ones."""
    import duckdb

    texts = relation(root, replace(files, types={**(files.types or {}), name: "VARCHAR"}))
    empty = duckdb.ConstantExpression("")
    text = duckdb.FunctionExpression("trim", duckdb.ColumnExpression(name))
    if (separator := files.csv_arguments.get("thousands")) is not None:
        text = duckdb.FunctionExpression("replace", text, duckdb.ConstantExpression(separator), empty)
    whole = duckdb.FunctionExpression("regexp_full_match", text, duckdb.ConstantExpression(_WHOLE))
    digits = duckdb.FunctionExpression(
        "regexp_extract", text, duckdb.ConstantExpression(_WHOLE), duckdb.ConstantExpression(1)
    )
    length = duckdb.FunctionExpression("max", duckdb.FunctionExpression("length", digits))
    found = texts.aggregate([length, duckdb.FunctionExpression("bool_and", whole)]).fetchone()
    longest, are_whole = found or (0, False)
    return longest, are_whole


def notes_of_numbers(root: Any, files: HandedFiles) -> tuple[str, ...]:
    """Return a sentence for each column of CSV whose separators may all stand between thousands.

    These are columns where each number has at most three digits before the one separator and three behind it, or at
    most three in all. What was told of the reading is not doubted. The whole of the files is read only for columns
    whose first rows leave it open.
    """
    told = files.csv_arguments
    if "thousands" in told:
        return ()
    decimal = told.get("decimal", ".")
    open_columns = [name for name, kind in (files.types or {}).items() if kind == "DOUBLE"]
    texts = relation(root, replace(files, types={**(files.types or {}), **dict.fromkeys(open_columns, "VARCHAR")}))
    for rows in (texts.limit(FIRST_ROWS), texts):
        open_columns = _may_be_thousands(rows, open_columns, decimal)
    return tuple(_number_note(name, decimal) for name in open_columns)


def _may_be_thousands(rows: Any, names: Sequence[str], decimal: str) -> list[str]:
    """Return the columns each value of which may be a whole number with separators, and one of which has one."""
    import duckdb

    if not names:
        return []
    thousands = rf"[+-]?[1-9]\d{{0,2}}[{decimal}]\d{{3}}"
    short = r"[+-]?(0|[1-9]\d{0,2})"
    found = rows.aggregate(
        [
            duckdb.FunctionExpression(
                function,
                duckdb.FunctionExpression(
                    "regexp_full_match", duckdb.ColumnExpression(name), duckdb.ConstantExpression(pattern)
                ),
            )
            for name in names
            for function, pattern in (("bool_and", f"{thousands}|{short}"), ("bool_or", thousands))
        ]
    ).fetchone()
    return [name for name, *both in zip(names, found[::2], found[1::2], strict=True) if all(both)]


def _number_note(name: str, decimal: str) -> str:
    other = "." if decimal == "," else ","
    return (
        f"column {short_repr(name)}: where its numbers have {decimal!r}, three digits are behind it, which is read as "
        f"the decimal character; if it stands between thousands, give decimal_character={other!r}, "
        f"thousands_character={decimal!r}"
    )
