"""The script that makes the tables of a store in memory; `python -m tests.support.newest_tables` writes it anew."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from analytics_core._content.storage.migrate import NEWEST_TABLES
from analytics_core._content.storage.tables import METADATA


def newest_tables() -> str:
    """Return SQLite's statements for all tables of the code."""
    dialect = SQLiteDialect()
    statements: list[str] = []

    def keep(statement: Any, *_: object, **__: object) -> None:
        lines = str(statement.compile(dialect=dialect)).replace("\t", "    ").strip().splitlines()
        statements.append("\n".join(line.rstrip() for line in lines if line.strip()))

    METADATA.create_all(sa.create_mock_engine("sqlite://", keep), checkfirst=False)
    statements.sort(key=lambda made: "" if made.startswith("CREATE TABLE") else made)  # indexes come in any order
    return "".join(f"{statement};\n" for statement in statements)


if __name__ == "__main__":
    NEWEST_TABLES.write_text(newest_tables(), encoding="utf-8")
