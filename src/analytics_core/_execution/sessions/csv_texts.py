"""What the texts of CSV files are by the rules of uploads; DuckDB compares the many that are like the first ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import duckdb

from analytics_core._execution.handed_over import HandedFiles
from analytics_core._execution.sessions.duckdb_tables import moment_of
from analytics_core._uploads.dates import ISO
from analytics_core._uploads.kinds import SeenTexts, TextReader

Result = TypeVar("Result")
Read = Callable[[HandedFiles, Callable[[duckdb.DuckDBPyRelation], Result]], Result]

_FIRST_ROWS: Final = 5_000
"""So many rows of each file tell what all others may be like."""

_ROWS_PER_BATCH: Final = 50_000


def seen_texts(
    files: Sequence[HandedFiles], names: Sequence[str], reader: TextReader, read: Read[Any]
) -> dict[str, SeenTexts]:
    """Return what the texts of the columns of files tell, all of which have these columns, read as text.

    `read` gives the rows of a file to what looks at them. Each text is looked at, those of long columns by DuckDB where
    they are so much like the first that the type of the column cannot change.
    """
    seen = dict.fromkeys(names, SeenTexts())

    def look(rows: duckdb.DuckDBPyRelation) -> int:
        count = 0
        for batch in rows.to_arrow_reader(_ROWS_PER_BATCH):
            count += batch.num_rows
            for name, column in zip(rows.columns, batch.columns, strict=True):
                seen[name] = reader.seen(seen[name], column)
        return count

    longer = [file for file in files if read(file, lambda rows: look(rows.limit(_FIRST_ROWS))) == _FIRST_ROWS]
    others = {name for file in longer for name in read(file, lambda rows: _unlike(rows, seen, reader))}
    for file in longer if others else ():
        read(file, lambda rows: look(rows.select(*map(duckdb.ColumnExpression, sorted(others)))))
    return seen


def _unlike(rows: duckdb.DuckDBPyRelation, seen: Mapping[str, SeenTexts], reader: TextReader) -> list[str]:
    """Return the columns some text of which may change what is known of it."""
    are_alike = [_is_alike(name, known, reader) for name, known in seen.items()]
    found = rows.aggregate([duckdb.FunctionExpression("bool_and", one) for one in are_alike]).fetchone() or ()
    return [name for name, is_alike in zip(seen, found, strict=True) if is_alike is False]  # None: all are null


def _is_alike(name: str, known: SeenTexts, reader: TextReader) -> duckdb.Expression:
    text, pattern = duckdb.ColumnExpression(name), reader.alike(known)
    if known.is_text:
        return text.isnull() | text.isnotnull()
    if pattern is None:
        return text.isnull()
    matches = duckdb.FunctionExpression("regexp_full_match", text, duckdb.ConstantExpression(pattern))
    form = known.type(is_form_told=reader.date_format is not None).form
    return matches if form in (None, ISO) else text.isnull() | (matches & moment_of(text, form).isnotnull())
