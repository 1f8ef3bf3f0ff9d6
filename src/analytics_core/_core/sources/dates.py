"""How days and moments are written in text files: found for each column, from the values of all its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from analytics_core._error_types import short_repr
from analytics_core._execution.handed_over import FileFormat, HandedFiles

_KINDS: Final = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR")
_FORMATS: Final = {"DATE": "date_format", "TIMESTAMP": "timestamp_format"}
FIRST_ROWS: Final = 10_000
"""So many rows are looked at before all are."""

_BEGINS_WITH_YEAR: Final = r"\s*\d{4,}[\-/].*"
_WITHOUT_OFFSET: Final = r"[^:]*(:[^+\-]*)?"
_WITH_ZONE: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)")
_ZONED: Final = tuple(
    f"%Y-%m-%d{before}%H:%M:%S{fraction}{zone}" for before in "T " for fraction in ("", ".%f") for zone in ("%z", "Z")
)
_WRITTEN: Final = re.compile(
    r"(?P<first>\d{4}|\d{1,2})(?P<between>[/.\- ])\d{1,2}(?P=between)(?P<last>\d{4}|\d{1,2})"
    r"(?P<time>(?P<before>[ T])\d{1,2}:\d{2}(?P<seconds>:\d{2})?(?P<fraction>\.\d{1,6})?(?P<half> [AaPp][Mm])?)?"
)
_ORDERS: Final = {(False, True): ("dmY", "mdY"), (True, False): ("Ymd",), (False, False): ("dmy", "mdy", "ymd")}
"""By whether the first and the last number have four digits: the order of day, month and year, the likeliest first."""

_DIGITS: Final = {"d": r"\d{1,2}", "m": r"\d{1,2}", "y": r"\d{2}", "Y": r"\d{4}"}
_FIRST_PARTS: Final = {"d": "day", "m": "month", "y": "year"}


def with_dates(root: Any, files: HandedFiles) -> HandedFiles:
    """Return files with the types and forms of their days and moments, and a note where another form fits too.

    Where several fit each value, the day comes first, then the month, then the year. DuckDB takes the first number for
    the year, of however few digits, wherever it can; without a form such columns are text.
    """
    types = dict(files.types or {})
    names = [name for name, kind in types.items() if kind in _KINDS]
    texts = relation(root, replace(files, types={**types, **dict.fromkeys(names, "VARCHAR")}))
    samples = _samples(texts, names)
    if files.format is FileFormat.JSON:
        return replace(files, types={**types, **_types_in_json(texts, types, samples)})
    forms, notes = {}, list(files.notes)
    for name, sample in samples.items():
        written = _WRITTEN.fullmatch(sample.strip())
        kind = "TIMESTAMP" if written and written["time"] else "DATE"
        is_told = _FORMATS[kind] in files.csv_arguments
        if _is_read(texts, name, written, files) or (is_told and types[name] == "VARCHAR"):
            continue
        if written and not is_told and (fitting := _fitting(texts, name, written)):
            forms[name], types[name] = fitting[0], kind
            notes += _notes(texts, name, fitting)
        elif not _all_match(texts, name, _BEGINS_WITH_YEAR):
            types[name] = "VARCHAR"
    return replace(files, types=types, date_formats=forms, notes=tuple(notes))


def relation(root: Any, files: HandedFiles) -> Any:
    """Return the rows of files as DuckDB reads them."""
    from analytics_core._execution.sessions.duckdb_tables import relation_of

    return relation_of(root, files)


def _samples(texts: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the first text of each column that has one."""
    import duckdb

    if not names:
        return {}
    first = [duckdb.FunctionExpression("any_value", duckdb.ColumnExpression(name)) for name in names]
    found = texts.limit(FIRST_ROWS).aggregate(first).fetchone()
    if None in found:
        found = texts.aggregate(first).fetchone()
    return {name: text for name, text in zip(names, found, strict=True) if text is not None}


def _is_read(texts: Any, name: str, written: re.Match[str] | None, files: HandedFiles) -> bool:
    """Tell whether DuckDB reads a column as it must: as it was told, no dates as text, or by years of four digits."""
    kind = (files.types or {})[name]
    if kind == "VARCHAR" or _FORMATS.get(kind) in files.csv_arguments:
        return kind != "VARCHAR" or written is None
    if written is None or len(written["first"]) < 4:
        return False
    is_of_kind = kind == ("DATE" if written["time"] is None else "TIMESTAMP")
    return is_of_kind and _all_match(texts, name, _BEGINS_WITH_YEAR)


def _fitting(texts: Any, name: str, written: re.Match[str]) -> list[str]:
    """Return the forms of `strptime` that all values of a column have, the likeliest first."""
    forms = list(_forms(written))
    for rows in (texts.limit(FIRST_ROWS), texts):
        forms = _fitting_rows(rows, name, forms) if forms else []
    return forms


def _forms(written: re.Match[str]) -> Iterator[str]:
    long_years = (len(written["first"]) == 4, len(written["last"]) == 4)
    hour = "%I" if written["half"] else "%H"
    time = f"{written['before']}{hour}:%M" if written["time"] else ""
    ends = ((written["seconds"], ":%S"), (written["fraction"], ".%f"), (written["half"], " %p"))
    time += "".join(text for is_there, text in ends if is_there)
    for order in _ORDERS.get(long_years, ()):
        yield written["between"].join(f"%{part}" for part in order) + time


def _fitting_rows(rows: Any, name: str, forms: Sequence[str]) -> list[str]:
    import duckdb

    column = duckdb.ColumnExpression(name)
    shapes = [_call("regexp_full_match", column, _shape(form)) for form in forms]
    counts = rows.aggregate(
        [
            duckdb.FunctionExpression("count", column),
            *(duckdb.FunctionExpression("count", _moment(name, form)) for form in forms),
            *(duckdb.FunctionExpression("count_if", shape) for shape in shapes),
        ]
    ).fetchone()
    values, read, shaped = counts[0], counts[1 : len(forms) + 1], counts[len(forms) + 1 :]
    return [form for form, *both in zip(forms, read, shaped, strict=True) if both == [values, values]]


def _shape(form: str) -> str:
    """Return what texts of a form begin with: `strptime` takes years of fewer digits too."""
    digits = (_DIGITS[form[place]] for place in (1, 4, 7))
    return rf"\s*{re.escape(form[2]).join(digits)}(\D.*)?"


def _moment(name: str, form: str) -> Any:
    import duckdb

    from analytics_core._execution.sessions.duckdb_tables import moment_of

    return moment_of(duckdb.ColumnExpression(name), form)


def _call(function: str, column: Any, text: str) -> Any:
    import duckdb

    return duckdb.FunctionExpression(function, column, duckdb.ConstantExpression(text))


def _all_match(texts: Any, name: str, pattern: str) -> bool:
    import duckdb

    matches = _call("regexp_full_match", duckdb.ColumnExpression(name), pattern)
    return bool(texts.aggregate([duckdb.FunctionExpression("bool_and", matches)]).fetchone()[0])


def _notes(texts: Any, name: str, forms: Sequence[str]) -> list[str]:
    """Return which number was read as the day, where another form that fits reads something else."""
    import duckdb

    if len(forms) == 1:
        return []
    chosen = _moment(name, forms[0])
    differing = [duckdb.FunctionExpression("count_if", chosen != _moment(name, form)) for form in forms[1:]]
    counts = texts.aggregate(differing).fetchone()
    others = [form for form, count in zip(forms[1:], counts, strict=True) if count]
    if not others:
        return []
    first, *other_parts = (_FIRST_PARTS[form[1]] for form in (forms[0], *others))
    *before, last = (f"{part}s" for part in (first, *other_parts))
    alternatives = "; ".join(
        f"if it is the {part}, give date_format={form!r}" for part, form in zip(other_parts, others, strict=True)
    )
    return [
        f"column {short_repr(name)}: no date tells {', '.join(before)} and {last} apart; the first number "
        f"is read as the {first}; {alternatives}, as the dates are written"
    ]


def _types_in_json(texts: Any, types: Mapping[str, str], samples: Mapping[str, str]) -> dict[str, str]:
    """Return types that DuckDB finds otherwise in JSON: it leaves out offsets, and takes any number for a year."""
    found = {}
    for name, sample in samples.items():
        if types[name] != "VARCHAR" and not _all_match(texts, name, _BEGINS_WITH_YEAR):
            found[name] = "VARCHAR"
        elif _has_offsets(texts, name, types[name], sample):
            found[name] = "TIMESTAMP WITH TIME ZONE"
    return found


def _has_offsets(texts: Any, name: str, kind: str, sample: str) -> bool:
    """Tell whether a column of JSON holds moments with offsets from UTC."""
    import duckdb

    if kind == "TIMESTAMP":
        return not _all_match(texts, name, _WITHOUT_OFFSET)
    if kind != "VARCHAR" or _WITH_ZONE.fullmatch(sample) is None:
        return False
    column, forms = duckdb.ColumnExpression(name), duckdb.ConstantExpression(list(_ZONED))
    moments = duckdb.FunctionExpression("try_strptime", column, forms)
    values, read = texts.aggregate([duckdb.FunctionExpression("count", one) for one in (column, moments)]).fetchone()
    return bool(values == read)
