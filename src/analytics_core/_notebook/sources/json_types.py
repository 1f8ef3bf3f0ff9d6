"""What the values of JSON files are where DuckDB reads them otherwise: long whole numbers, and days and moments."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from analytics_core._engine.execution.handed_over import HandedFiles
from analytics_core.errors.base import short_repr

_KINDS: Final = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR")
_FIRST_ROWS: Final = 10_000
"""So many rows are looked at before all are."""

_BEGINS_WITH_YEAR: Final = r"\s*\d{4,}[\-/].*"
_WITHOUT_OFFSET: Final = r"[^:]*(:[^+\-]*)?"
_WITH_ZONE: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)")
_ZONED: Final = tuple(
    f"%Y-%m-%d{before}%H:%M:%S{fraction}{zone}" for before in "T " for fraction in ("", ".%f") for zone in ("%z", "Z")
)
_EXACT: Final = 2**53
"""Up to here a DOUBLE holds each whole number."""

_LARGEST: Final = sys.float_info.max
_INTEGER: Final = r"^[+-]?0*(\d+)$"
_LONG: Final = "HUGEINT"
_MOST_DIGITS: Final = 38


def with_days(root: Any, files: HandedFiles) -> HandedFiles:
    """Return files with the types of their days and moments: DuckDB leaves out offsets, any number is a year to it."""
    types = dict(files.types or {})
    names = [name for name, kind in types.items() if kind in _KINDS]
    texts = _relation(root, replace(files, types={**types, **dict.fromkeys(names, "VARCHAR")}))
    for name, sample in _samples(texts, names).items():
        if types[name] != "VARCHAR" and not _all_match(texts, name, _BEGINS_WITH_YEAR):
            types[name] = "VARCHAR"
        elif _has_offsets(texts, name, types[name], sample):
            types[name] = "TIMESTAMP WITH TIME ZONE"
    return replace(files, types=types)


def _relation(root: Any, files: HandedFiles) -> Any:
    from analytics_core._engine.execution.sessions.duckdb_tables import relation_of

    return relation_of(root, files)


def _column(name: str) -> Any:
    from analytics_core._engine.execution.sessions.duckdb_tables import column_of

    return column_of(name)


def _samples(texts: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the first text of each column that has one."""
    import duckdb

    if not names:
        return {}
    first = [duckdb.FunctionExpression("any_value", _column(name)) for name in names]
    found = texts.limit(_FIRST_ROWS).aggregate(first).fetchone()
    if None in found:
        found = texts.aggregate(first).fetchone()
    return {name: text for name, text in zip(names, found, strict=True) if text is not None}


def _all_match(texts: Any, name: str, pattern: str) -> bool:
    import duckdb

    column = _column(name)
    matches = duckdb.FunctionExpression("regexp_full_match", column, duckdb.ConstantExpression(pattern))
    return bool(texts.aggregate([duckdb.FunctionExpression("bool_and", matches)]).fetchone()[0])


def _has_offsets(texts: Any, name: str, kind: str, sample: str) -> bool:
    """Tell whether a column holds moments with offsets from UTC."""
    import duckdb

    if kind == "TIMESTAMP":
        return not _all_match(texts, name, _WITHOUT_OFFSET)
    if kind != "VARCHAR" or _WITH_ZONE.fullmatch(sample) is None:
        return False
    column, forms = _column(name), duckdb.ConstantExpression(list(_ZONED))
    moments = duckdb.FunctionExpression("try_strptime", column, forms)
    values, read = texts.aggregate([duckdb.FunctionExpression("count", one) for one in (column, moments)]).fetchone()
    return bool(values == read)


def with_integers(root: Any, files: HandedFiles) -> HandedFiles:
    """Return files whose whole numbers stay apart where DuckDB would round them to 16 digits.

    They are whole numbers of up to 38 digits, and text beyond. Rounded, with a note, are those of a column that has
    fractions or exponents too.
    """
    types, notes = dict(files.types or {}), list(files.notes)
    for name in _beyond_exact(root, files):
        digits, are_integers = _integer_digits(root, files, name)
        if are_integers:
            types[name] = _LONG if digits <= _MOST_DIGITS else "VARCHAR"
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
    sizes = (duckdb.FunctionExpression("abs", _column(name)) for name in names)
    are_beyond = (
        size.between(duckdb.ConstantExpression(_EXACT), duckdb.ConstantExpression(_LARGEST)) for size in sizes
    )
    found = _relation(root, files).aggregate([duckdb.FunctionExpression("bool_or", one) for one in are_beyond])
    return [name for name, is_beyond in zip(names, found.fetchone() or (), strict=True) if is_beyond]


def _integer_digits(root: Any, files: HandedFiles, name: str) -> tuple[int, bool]:
    """Return how many digits the longest whole number of a column has, and whether all are written as whole ones."""
    import duckdb

    texts = _relation(root, replace(files, types={**(files.types or {}), name: "VARCHAR"}))
    text = duckdb.FunctionExpression("trim", _column(name))
    is_integer = duckdb.FunctionExpression("regexp_full_match", text, duckdb.ConstantExpression(_INTEGER))
    digits = duckdb.FunctionExpression(
        "regexp_extract", text, duckdb.ConstantExpression(_INTEGER), duckdb.ConstantExpression(1)
    )
    length = duckdb.FunctionExpression("max", duckdb.FunctionExpression("length", digits))
    found = texts.aggregate([length, duckdb.FunctionExpression("bool_and", is_integer)]).fetchone()
    longest, are_integers = found or (0, False)
    return longest, are_integers
