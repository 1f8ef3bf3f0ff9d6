"""What to do with what cannot be connected: the error for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from analytics_core.errors import SourceError
from analytics_core.errors.base import short_repr

TAKEN: Final = (
    "a path, glob or folder of files, a frame of pandas, Polars or Arrow, a list of dicts, a dict of these by name, an "
    "open DuckDB connection, an engine of SQLAlchemy or a URL"
)

_BYTES: Final = "write the bytes to a file and give its path, or read them: pandas.read_parquet(io.BytesIO(data))"
_OF_LISTS: Final = (
    "its items must all be dicts (rows), or all be paths (a dataset each); a dict names datasets; rows without names "
    "are a frame: pandas.DataFrame(rows, columns=[...])"
)
_BY_TYPE: Final[tuple[tuple[tuple[type, ...], str], ...]] = (
    ((bytes, bytearray, memoryview), _BYTES),
    ((sa.Connection,), "give its engine (`connection.engine`)"),
    ((set, frozenset), "a set has no columns; give a list of dicts, such as [{'name': value}]"),
    ((bool, int, float, complex), "a number is no data"),
    ((Mapping,), "its keys must be names of datasets, and its values frames, paths or lists of dicts"),
    ((list, tuple), _OF_LISTS),
    ((Iterator,), "make it a list of dicts first, or name the columns: pandas.DataFrame(rows, columns=[...])"),
)
_BY_NAME: Final = {
    "sqlite3.Connection": "give the path of its file; what is in its memory comes by pandas.read_sql",
    "sqlalchemy.AsyncEngine": "give an engine with a driver that is not asynchronous, or a URL",
    "sqlalchemy.AsyncConnection": "give an engine with a driver that is not asynchronous, or a URL",
    "sqlalchemy.Session": "give its engine (`session.get_bind()`)",
    "sqlalchemy.Result": "give its rows as dicts: result.mappings().all()",
    "sqlalchemy.ClauseElement": "connect the engine, and give the SQL to a dataset: core.datasets.create",
    "sqlalchemy.MetaData": "give the engine that has these tables",
    "numpy.ndarray": "name its columns: pandas.DataFrame(array, columns=[...])",
    "pandas.BaseGroupBy": "give the frame itself, or what it is summed to: groups.sum()",
    "pandas.Series": "make it a frame of one column: series.to_frame('name')",
    "polars.Series": "make it a frame of one column: series.to_frame('name')",
    "pyarrow.Array": "name it: pyarrow.table({'name': array})",
    "pyarrow.ChunkedArray": "name it: pyarrow.table({'name': array})",
    "pyspark.DataFrame": "collect it: frame.toArrow()",
    "dask.DataFrame": "compute it: frame.compute()",
    "ibis.Table": "give what it stands for: table.to_pyarrow()",
}


def not_taken(thing: Any, name: str = "") -> SourceError:
    """Return the error for something that is not connected, with what would be; `name` is its key in a dict."""
    place = f"{short_repr(name)}: " if name else ""
    what = type(thing).__name__ if thing is not None else "None"
    return SourceError(f"{place}{what} cannot be connected: {_advice(thing)}; what can: {TAKEN}")


def _advice(thing: Any) -> str:
    named = (name for kind in type(thing).__mro__ for name in _names(kind))
    by_name = next((_BY_NAME[name] for name in named if name in _BY_NAME), None)
    by_type = next((advice for types, advice in _BY_TYPE if isinstance(thing, types)), None)
    if by_name is None and hasattr(thing, "read"):
        path = getattr(thing, "name", None)
        if not isinstance(path, str):
            return "write what is in it to a file and give its path, or read it, for example by pandas.read_csv"
        return f"give the path of the file {os.path.basename(path)!r:.80} in place of the open file"
    if by_name is None and hasattr(thing, "cursor") and hasattr(thing, "commit"):
        return "give the URL of its database, or an engine of SQLAlchemy, in place of a driver's connection"
    return by_name or by_type or "it is none of these"


def _names(kind: type) -> tuple[str, str]:
    """Return how a class is written in full, and shortly by its package."""
    package = kind.__module__.partition(".")[0]
    return f"{kind.__module__}.{kind.__name__}", f"{package}.{kind.__name__}"


def is_column(value: Any) -> bool:
    """Tell whether a value of a dict is a column, such as a list of numbers, and not a table."""
    if isinstance(value, list | tuple):
        return bool(value) and not isinstance(value[0], Mapping | str | os.PathLike)
    return type(value).__name__ == "Series" or (type(value).__name__ == "ndarray" and value.ndim == 1)


def no_columns(name: str) -> SourceError:
    """Return the error for a dict of columns, which looks like one of datasets."""
    message = (
        f"{short_repr(name)}: a column of values is no dataset; when the keys are columns, make a frame of the "
        "dict: connect(pandas.DataFrame(data))"
    )
    return SourceError(message)


_FILES_ELSEWHERE: Final = frozenset(["http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "ftp", "sftp"])
_ENGINES: Final = frozenset({"sqlite", "duckdb", "postgresql", "postgres", "mysql", "mariadb"})
_STATEMENT: Final = re.compile(r"\s*(?:select|with|from)\s.*\b(?:from|select)\s", re.IGNORECASE | re.DOTALL)


def check_is_path_or_url(text: str) -> None:
    """Raise SourceError for a text that names something which no path is, or which is data or SQL itself."""
    if os.path.exists(text):
        return
    scheme, colon, rest = text.partition(":")
    scheme, is_url = scheme.casefold().partition("+")[0], rest.startswith("//")
    problems = (
        (not text.strip(), f"the text is empty; what can be connected: {TAKEN}"),
        (
            _STATEMENT.match(text) is not None,
            "the text looks like SQL; connect its database, and give the SQL to a dataset: "
            'core.datasets.create({"database": 1, "table_name": "name", "sql": "SELECT ..."})',
        ),
        (
            "\n" in text or "\x00" in text,
            "the text looks like data, not like a path or a URL; read it first, for example by "
            "pandas.read_csv(io.StringIO(text))",
        ),
        (
            rest.startswith("/") and scheme in _FILES_ELSEWHERE,
            f"files are not read from {scheme}://, nothing is downloaded; save the file here and give its path",
        ),
        (is_url and scheme == "file", "give the path itself, without file://"),
        (
            text.strip() == ":memory:",
            "a database in memory is empty; connect frames or files, or give the URL 'duckdb://' to have one",
        ),
        (bool(colon) and not is_url and scheme in _ENGINES, f"a URL begins with {scheme}://"),
    )
    wrong = next((message for is_wrong, message in problems if is_wrong), None)
    if wrong is not None:
        raise SourceError(wrong)
