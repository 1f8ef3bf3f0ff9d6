"""Stores of an older or a newer revision than the code's, made of the history or of what the code's tables lack."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Column

from analytics_core._content.storage import record_kinds
from analytics_core._content.storage.migrate import HEAD, MIGRATIONS, VERSION_TABLE, migrate
from analytics_core._content.storage.record_kinds import RecordKind
from analytics_core._content.storage.tables import METADATA

OLDER = f"{HEAD[:2]}00"
LATER = sorted(number for path in (MIGRATIONS / "versions").glob("r????_*.py") if (number := path.name[1:5]) > OLDER)
"""The first revision of the line."""


GIVEN = ("uuid", "type")
"""What the records of the tests always hold."""


def history_until(revision: str, folder: Path) -> Path:
    """Return a copy of the history that ends with a revision."""
    later = [f"{path.name[:5]}*" for path in (MIGRATIONS / "versions").glob("r????_*.py") if path.name[1:5] > revision]
    return shutil.copytree(MIGRATIONS, folder / "older", ignore=shutil.ignore_patterns("__pycache__", *later))


def stay_at(engine: sa.Engine, revision: str, folder: Path) -> None:
    """Make a new store of an older revision."""
    migrate(engine, history=history_until(revision, folder), head=revision)


def set_revision(engine: sa.Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '{revision}'"))


def later_columns() -> Iterator[Column[object]]:
    """Yield the columns that a revision of the line could have added: they may be NULL, and are in no key or index."""
    for table in METADATA.sorted_tables:
        named = {column for index in table.indexes for column in index.columns}
        keys = [one for one in table.constraints if not isinstance(one, sa.CheckConstraint)]
        named |= {column for key in keys for column in key.columns}
        always = {"created_by", "changed_by", *GIVEN} | encoded(table)
        yield from (one for one in table.columns if one.nullable and one not in named and one.name not in always)


def encoded(table: sa.Table) -> set[str]:
    """Return the columns of which the code does not take NULL for nothing."""
    kinds = [kind for kind in vars(record_kinds).values() if isinstance(kind, RecordKind) and kind.table is table]
    return {name for kind in kinds for name in (*kind.derived, *kind.named_in, *kind.pairs)}


def take_back(engine: sa.Engine) -> dict[str, set[str]]:
    """Take the columns that could be later ones out of a store and set it to the older revision."""
    taken: dict[str, set[str]] = {}
    with engine.begin() as connection:
        for column in later_columns():
            connection.execute(sa.schema.DDL(f"ALTER TABLE {column.table.name} DROP COLUMN {quoted(engine, column)}"))
            taken.setdefault(column.table.name, set()).add(column.name)
    set_revision(engine, OLDER)
    return taken


def give_back(engine: sa.Engine) -> None:
    """Do what the revision would have done that added the columns."""
    with engine.begin() as connection:
        for column in later_columns():
            kind = column.type.compile(engine.dialect)
            connection.execute(
                sa.schema.DDL(f"ALTER TABLE {column.table.name} ADD COLUMN {quoted(engine, column)} {kind}")
            )
    set_revision(engine, HEAD)


def quoted(engine: sa.Engine, column: Column[object]) -> str:
    return engine.dialect.identifier_preparer.format_column(column)
