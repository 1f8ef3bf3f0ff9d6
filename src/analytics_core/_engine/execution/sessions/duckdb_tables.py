"""Frames and files as tables of a DuckDB in memory that can read nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from analytics_core._engine.execution.handed_over import FileFormat, HandedFiles, HandedFrame, HandedTable
from analytics_core._engine.files.dates import ISO


def open_tables(tables: Mapping[str, HandedTable], config: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Return a connection whose views are these tables; of all files it can read theirs alone, and it is locked.

    `config` leaves access to files on; it is taken away here, when it is known which may be read. The views keep no
    text: neither paths nor addresses in memory can be read off the catalog. Frames are read where they lie, files each
    time anew.

    Raises:
        duckdb.Error: a file cannot be read, or has other columns now.
    """
    root = duckdb.connect(":memory:", config=dict(config))
    try:
        allow_only(root, [table for table in tables.values() if isinstance(table, HandedFiles)])
        for name, table in tables.items():
            _by_name(root, table).create_view(name, replace=False)
        root.execute("SET lock_configuration = true")
    except BaseException:  # whatever happens, an interruption too, nothing stays open
        root.close()
        raise
    return root


def allow_only(root: duckdb.DuckDBPyConnection, files: list[HandedFiles]) -> None:
    """Let a connection read these files, and reach nothing else outside of its memory."""
    # DuckDB takes the list only after it was started, and only while access is on.
    root.execute("SET GLOBAL allowed_paths = $1", [[str(path) for one in files for path in one.paths]])
    root.execute("SET GLOBAL enable_external_access = false")
    # Its cache takes a file of the same size and second for the same: old columns would be read from new bytes.
    root.execute("SET GLOBAL enable_external_file_cache = false")
    root.execute("SET GLOBAL TimeZone = 'UTC'")


def _by_name(root: duckdb.DuckDBPyConnection, table: HandedTable) -> duckdb.DuckDBPyRelation:
    """Return the rows such that columns of a file which change places later are still found by their names."""
    relation = relation_of(root, table)
    if isinstance(table, HandedFrame):
        return relation
    require_columns(relation, table)
    columns = [column_of(name) for name in relation.columns]
    # What has an alias is told by DuckDB as another fault when it is gone.
    return relation.select(
        *(
            column.alias(table.names[name]) if table.names.get(name, name) != name else column
            for name, column in zip(relation.columns, columns, strict=True)
        )
    )


ALTERED: Final = "Binder Error: Contents of view were altered"
"""What DuckDB says of other files than CSV."""


def require_columns(relation: duckdb.DuckDBPyRelation, table: HandedFiles) -> None:
    """Raise duckdb.Error for CSV files of other columns: DuckDB would go on to read by place."""
    if table.format is FileFormat.CSV and table.types is not None and relation.columns != list(table.types):
        raise duckdb.BinderException(ALTERED)


def column_of(name: str) -> duckdb.Expression:
    """Return a column of a relation by its name, in which `ColumnExpression` takes dots and quotes for signs."""
    return duckdb.SQLExpression('"' + name.replace('"', '""') + '"')


def relation_of(root: duckdb.DuckDBPyConnection, table: HandedTable) -> duckdb.DuckDBPyRelation:
    """Return the rows of a frame or of files; without known types those that DuckDB finds.

    It finds them in the whole of JSON, and in the first rows of CSV.
    """
    if isinstance(table, HandedFrame):
        return root.from_arrow(table.data)
    paths: Any = [str(path) for path in table.paths]
    types: Any = None if table.types is None else dict(table.types)
    if table.format is FileFormat.PARQUET:
        return root.read_parquet(paths, hive_partitioning=all(map(columns_of_folders, table.paths)))
    if table.format is FileFormat.CSV:
        # `skiprows`: else rows before the first one of as many values as the most have would be left out.
        # `quotechar`, `escapechar`: else a quote is a letter where the first rows have none.
        # `comment`: else rows that begin with `#` would be left out where one of them has another number of values.
        # `hive_partitioning`: else rows have more columns than the relation tells of.
        dtypes = {} if types is None else {"dtype": {name: _TEXTS.get(kind, kind) for name, kind in types.items()}}
        rows = _with_dates(root.read_csv(paths, **{**_WRITTEN, **table.csv_arguments, **dtypes}), table)
        # An empty line is no row, as in a file of several columns.
        return rows.filter(column_of(rows.columns[0]).isnotnull()) if len(rows.columns) == 1 else rows
    return root.read_json(paths, sample_size=-1) if types is None else root.read_json(paths, columns=types)


_WRITTEN: Final[Mapping[str, Any]] = {
    "skiprows": 0,
    "quotechar": '"',
    "escapechar": '"',
    "comment": "",
    "hive_partitioning": False,
}
_TEXTS: Final = {"DATE": "VARCHAR", "TIMESTAMP": "VARCHAR"}


def _with_dates(relation: duckdb.DuckDBPyRelation, table: HandedFiles) -> duckdb.DuckDBPyRelation:
    """Return the rows with the texts of columns of days or moments as such: in their form, or as DuckDB casts texts.

    Its reader takes all days of a file in one form, which it guesses from the first rows, texts too, each time anew.
    """
    if not table.types or not set(table.types.values()) & set(_TEXTS) or relation.columns != list(table.types):
        return relation
    columns: list[duckdb.Expression] = []
    for name, kind in table.types.items():
        column: duckdb.Expression = column_of(name)
        if kind in _TEXTS:
            form = table.date_formats.get(name)
            moment = _moment_or_error(column, form) if form else column
            column = moment.cast(duckdb.sqltype(kind)).alias(name)
        columns.append(column)
    return relation.select(*columns)


def moment_of(column: duckdb.Expression, form: str) -> duckdb.Expression:
    """Return texts as moments; null where they have another form.

    Most are read as they stand; what that does not read is brought into one form first, which takes ten times as long.
    """
    if form == ISO:
        zoned = duckdb.SQLExpression(f"TRY_CAST({column} AS TIMESTAMPTZ)")
        # A cast to TIMESTAMP would ask for the rules of the session's zone, which is UTC, row by row.
        moment = duckdb.FunctionExpression("make_timestamp", duckdb.FunctionExpression("epoch_us", zoned))
        has_seconds = duckdb.FunctionExpression("~~", column, duckdb.ConstantExpression("____-__-_____:__:__%"))
        quick = duckdb.CaseExpression(has_seconds, moment)
    else:
        quick = duckdb.FunctionExpression("try_strptime", column, duckdb.ConstantExpression(form))
    return duckdb.CaseExpression(quick.isnotnull(), quick).otherwise(_moment_in_one_form(column, form))


def _moment_in_one_form(column: duckdb.Expression, form: str) -> duckdb.Expression:
    text = duckdb.FunctionExpression("trim", column)
    if form != ISO:
        return duckdb.FunctionExpression("try_strptime", text, duckdb.ConstantExpression(form))
    text = duckdb.FunctionExpression("upper", text)
    for pattern, written in _TO_ONE_FORM:
        text = duckdb.FunctionExpression(
            "regexp_replace", text, duckdb.ConstantExpression(pattern), duckdb.ConstantExpression(written)
        )
    zoned = duckdb.FunctionExpression("try_strptime", text, duckdb.ConstantExpression(list(_WITH_ZONE)))
    return zoned.cast("TIMESTAMP")  # in UTC, as the session is


_TO_ONE_FORM: Final = (
    ("^(.{10}) ", r"\1T"),
    (" ", ""),
    (r"(\.[0-9]{6})[0-9]+", r"\1"),
    ("^(.{10})$", r"\1T00:00"),
    ("Z$", "+00"),
    ("(T[0-9:.]+)$", r"\1+00"),
)
_WITH_ZONE: Final = tuple(f"%Y-%m-%dT%H:%M{seconds}%z" for seconds in ("", ":%S", ":%S.%f"))


def _moment_or_error(column: duckdb.Expression, form: str) -> duckdb.Expression:
    """Return texts as moments; one of another form is the same error as in a column that DuckDB reads itself."""
    moment = moment_of(column, form)
    error = duckdb.FunctionExpression("error", duckdb.ConstantExpression("CSV Error: a date of another form"))
    return duckdb.CaseExpression(moment.isnull() & column.isnotnull(), error.cast("TIMESTAMP")).otherwise(moment)


def columns_of_folders(path: Path) -> frozenset[str]:
    """Return the columns, in lower case, whose values the folders of a path tell, such as `year=2024`.

    Their types are found by the values of all files: a number among texts is a text.
    """
    return frozenset(part.partition("=")[0].lower() for part in path.parts[:-1] if "=" in part)


_WRITTEN_MOMENTS = ("%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S")


def types_of(relation: duckdb.DuckDBPyRelation, written: FileFormat) -> dict[str, str]:
    """Return the types of the columns of files, in their order; moments as pandas writes them into JSON are found."""
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    texts = [name for name, kind in types.items() if kind == "VARCHAR"] if written is FileFormat.JSON else []
    if not texts:
        return types
    formats = duckdb.ConstantExpression(list(_WRITTEN_MOMENTS))
    columns = [column_of(name) for name in texts]
    moments = [duckdb.FunctionExpression("try_strptime", column, formats) for column in columns]
    counts = (
        relation.aggregate([duckdb.FunctionExpression("count", one) for one in (*columns, *moments)]).fetchone() or ()
    )
    for name, values, read in zip(texts, counts[: len(texts)], counts[len(texts) :], strict=True):
        if values and values == read:
            types[name] = "TIMESTAMP"
    return types
