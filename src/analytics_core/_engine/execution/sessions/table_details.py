"""What a database tells of one table beyond its columns' types: keys, indexes, defaults and comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Columns whose values are those of columns of another table; `schema` None: the default one."""

    name: str | None
    columns: tuple[str, ...]
    schema: str | None
    table: str
    referred_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIndex:
    """An index; of an expression in it `columns` has None."""

    name: str | None
    columns: tuple[str | None, ...]
    is_unique: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDetails:
    """What a database tells of a table; a view has no keys and no indexes.

    `defaults` are SQL texts by column, `comments` those of columns.
    """

    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    indexes: tuple[TableIndex, ...] = ()
    comment: str | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)


def inspected_details(connection: sa.Connection, table: str, schema: str | None) -> TableDetails:
    """Return the details as SQLAlchemy inspects them; what a dialect cannot tell is left out."""
    inspector = sa.inspect(connection)
    columns = inspector.get_columns(table, schema)
    key = inspector.get_pk_constraint(table, schema).get("constrained_columns") or ()
    return TableDetails(
        primary_key=tuple(key),
        foreign_keys=tuple(map(_foreign_key, inspector.get_foreign_keys(table, schema))),
        indexes=_indexes(inspector.get_indexes(table, schema)),
        comment=_comment(inspector, table, schema),
        defaults={column["name"]: str(column["default"]) for column in columns if column.get("default") is not None},
        comments={column["name"]: str(column["comment"]) for column in columns if column.get("comment")},
    )


def _comment(inspector: sa.Inspector, table: str, schema: str | None) -> str | None:
    try:
        return inspector.get_table_comment(table, schema).get("text") or None
    except NotImplementedError:  # the engine keeps none
        return None


def _foreign_key(found: Mapping[str, Any]) -> ForeignKey:
    return ForeignKey(
        name=found.get("name"),
        columns=tuple(found["constrained_columns"]),
        schema=found.get("referred_schema"),
        table=found["referred_table"],
        referred_columns=tuple(found["referred_columns"]),
    )


def _indexes(found: Iterable[Mapping[str, Any]]) -> tuple[TableIndex, ...]:
    made = (
        TableIndex(name=one.get("name"), columns=tuple(one["column_names"]), is_unique=bool(one.get("unique")))
        for one in found
    )
    return tuple(sorted(made, key=lambda index: index.name or ""))


_COLUMNS = """
SELECT column_name, column_default, comment FROM duckdb_columns()
WHERE database_name = coalesce($catalog, current_database()) AND schema_name = $schema
  AND lower(table_name) = lower($table) ORDER BY column_index
"""
_CONSTRAINTS = """
SELECT constraint_type, constraint_name, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints()
WHERE database_name = coalesce($catalog, current_database()) AND schema_name = $schema
  AND lower(table_name) = lower($table) AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY', 'UNIQUE')
"""
_INDEXES = """
SELECT index_name, is_unique, expressions FROM duckdb_indexes()
WHERE database_name = coalesce($catalog, current_database()) AND schema_name = $schema
  AND lower(table_name) = lower($table) ORDER BY index_name
"""
_COMMENTS = """
SELECT comment FROM duckdb_tables() WHERE database_name = coalesce($catalog, current_database())
  AND schema_name = $schema AND lower(table_name) = lower($table)
UNION ALL SELECT comment FROM duckdb_views() WHERE database_name = coalesce($catalog, current_database())
  AND schema_name = $schema AND lower(view_name) = lower($table)
"""


def duckdb_details(connection: sa.Connection, table: str, *, schema: str, catalog: str | None) -> TableDetails:
    """Return the details as DuckDB's own functions tell them: its dialect does not know indexes and comments."""
    names = {"catalog": catalog, "schema": schema, "table": table}
    columns = connection.exec_driver_sql(_COLUMNS, names).all()
    constraints = connection.exec_driver_sql(_CONSTRAINTS, names).all()
    indexes = [
        TableIndex(name=name, columns=tuple(columns), is_unique=True)
        for kind, name, columns, *_ in constraints
        if kind == "UNIQUE"
    ]
    indexes += [
        TableIndex(name=name, columns=_index_columns(text), is_unique=is_unique)
        for name, is_unique, text in connection.exec_driver_sql(_INDEXES, names)
    ]
    return TableDetails(
        primary_key=next((tuple(key) for kind, _, key, *_ in constraints if kind == "PRIMARY KEY"), ()),
        foreign_keys=tuple(
            ForeignKey(name=name, columns=tuple(own), schema=schema, table=to, referred_columns=tuple(referred))
            for kind, name, own, to, referred in constraints
            if kind == "FOREIGN KEY"
        ),
        indexes=tuple(sorted(indexes, key=lambda index: index.name or "")),
        comment=next((str(text) for (text,) in connection.exec_driver_sql(_COMMENTS, names) if text), None),
        defaults={name: default for name, default, _ in columns if default is not None},
        comments={name: comment for name, _, comment in columns if comment},
    )


def _index_columns(text: str) -> tuple[str | None, ...]:
    """Return the columns of DuckDB's text of an index, such as `[day, '"Two Words"']`; None for expressions."""
    items = [item.strip().strip("'").strip('"') for item in text.strip("[]").split(",")]
    return tuple(item if item and "(" not in item and ")" not in item else None for item in items)
