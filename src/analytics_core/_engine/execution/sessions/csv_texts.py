"""What the texts of CSV files are by the rules of uploads, when they are connected and after they changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb

from analytics_core._engine.execution.handed_over import FileState, HandedFiles, HandedTable
from analytics_core._engine.execution.sessions.duckdb_tables import (
    ALTERED,
    column_of,
    moment_of,
    relation_of,
    require_columns,
)
from analytics_core._engine.files.dates import ISO
from analytics_core._engine.files.kinds import SeenTexts, TextReader

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
        read(file, lambda rows: look(rows.select(*map(column_of, sorted(others)))))
    return seen


def _unlike(rows: duckdb.DuckDBPyRelation, seen: Mapping[str, SeenTexts], reader: TextReader) -> list[str]:
    """Return the columns some text of which may change what is known of it."""
    are_alike = [_is_alike(name, known, reader) for name, known in seen.items()]
    found = rows.aggregate([duckdb.FunctionExpression("bool_and", one) for one in are_alike]).fetchone() or ()
    return [name for name, is_alike in zip(seen, found, strict=True) if is_alike is False]  # None: all are null


def _is_alike(name: str, known: SeenTexts, reader: TextReader) -> duckdb.Expression:
    text, pattern = column_of(name), reader.alike(known)
    if known.is_text:
        return text.isnull() | text.isnotnull()
    if pattern is None:
        return text.isnull()
    matches = duckdb.FunctionExpression("regexp_full_match", text, duckdb.ConstantExpression(pattern))
    form = known.type(has_format=reader.date_format is not None).form
    return matches if form in (None, ISO) else text.isnull() | (matches & moment_of(text, form).isnotnull())


class CsvWatch:
    """Tells of CSV files that have other columns or values than their types were found for.

    DuckDB would go on to read columns by place, to round numbers and to cut moments.
    """

    def __init__(self, tables: Mapping[str, HandedTable]) -> None:
        files = {name: table for name, table in tables.items() if isinstance(table, HandedFiles)}
        self._tables = {_word(name): table for name, table in files.items() if table.texts is not None}
        self._seen = {
            path: state for table in self._tables.values() if table.texts for path, state in table.texts.states.items()
        }

    def check(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
        """Raise duckdb.Error when a file that a statement may read was written anew, with such columns or values."""
        for table in (table for word, table in self._tables.items() if word.search(sql)):
            for path in table.paths:
                state = state_of(path)
                if state != self._seen[path]:
                    _require_types(cursor, replace(table, paths=(path,)))
                    self._seen[path] = state


def _require_types(cursor: duckdb.DuckDBPyConnection, file: HandedFiles) -> None:
    require_columns(relation_of(cursor, file), file)
    if file.texts is None:
        return
    texts = replace(file, types=dict.fromkeys(file.texts.types, "VARCHAR"), date_formats={})
    seen = seen_texts(
        [texts], list(file.texts.types), file.texts.reader, lambda one, look: look(relation_of(cursor, one))
    )
    for name, wanted in file.texts.types.items():
        is_read_by_duckdb = wanted.form == ISO and name not in file.date_formats
        if not seen[name].fit(wanted) or (is_read_by_duckdb and not seen[name].is_bare):
            raise duckdb.BinderException(ALTERED)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


def state_of(path: Path) -> FileState:
    """Return what changes when a file is written; None where it is not there."""
    try:
        found = path.stat()
    except OSError:  # DuckDB tells when it reads the file
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
