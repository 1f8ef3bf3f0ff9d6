"""The kinds of tables of the metadata store: of records, of items of datasets, of owners, and of pairs."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, Select, Table
from sqlalchemy.schema import SchemaItem

from analytics_core._content.storage.column_types import UtcMoment

METADATA = MetaData()

VERSION_TABLE: Final = "ac_alembic_version"
TABLE_REVISION: Final[Select[Any]] = sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE))
"""The revision of the tables, which is the one row of a table of Alembic's."""


def record_table(name: str, *items: SchemaItem) -> Table:
    """Return a table with an id that is never given twice (grants name ids) and the audit columns."""
    return Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True, autoincrement=True),
        *(item for item in items if not isinstance(item, Index)),
        Column("created_on", UtcMoment, nullable=False),
        Column("changed_on", UtcMoment, nullable=False),
        Column("created_by", Integer),
        Column("changed_by", Integer),
        Column("version", Integer, nullable=False),
        *(item for item in items if isinstance(item, Index)),  # they may be of audit columns too
        sqlite_autoincrement=True,
    )


def item_table(name: str, *items: SchemaItem) -> Table:
    """Return a table of the columns or metrics of datasets; `position` keeps their order."""
    return Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column(
            "dataset_id", ForeignKey("ac_datasets.id", ondelete="CASCADE", name=f"fk_{name}_dataset"), nullable=False
        ),
        Column("position", Integer, nullable=False),
        *items,
        Column("created_on", UtcMoment, nullable=False),
        Column("changed_on", UtcMoment, nullable=False),
        Index(f"ix_{name}_dataset", "dataset_id"),
        sqlite_autoincrement=True,
    )


def owner_table(of: str) -> Table:
    """Return the table of who owns datasets, charts and so on: `of` is `dataset`."""
    name = f"ac_{of}_owners"
    key = ForeignKey(f"ac_{of}s.id", ondelete="CASCADE", name=f"fk_{name}_{of}_id")
    return Table(
        name,
        METADATA,
        Column(f"{of}_id", key, primary_key=True, autoincrement=False),
        Column("user_id", Integer, primary_key=True, autoincrement=False),
        Index(f"ix_{name}_user", "user_id"),
    )


def link_table(parent: str, child: str, *, keeps: bool = False) -> Table:
    """Return a table of pairs; they go with either side, unless the link `keeps` the child from being deleted."""
    name = f"ac_{parent}_{child}s"
    return Table(
        name,
        METADATA,
        _link_column(name, parent, ondelete="CASCADE"),
        _link_column(name, child, ondelete=None if keeps else "CASCADE"),
        Index(f"ix_{name}_{child}", f"{child}_id"),
    )


def _link_column(table: str, of: str, *, ondelete: str | None) -> Column[Any]:
    key = ForeignKey(f"ac_{of}s.id", ondelete=ondelete, name=f"fk_{table}_{of}")
    return Column(f"{of}_id", key, primary_key=True, autoincrement=False)
