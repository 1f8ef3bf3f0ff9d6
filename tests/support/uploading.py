"""A core on one database that takes uploads, on each engine, and files to upload."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import sqlalchemy as sa
import xlsxwriter

import analytics_core
from analytics_core import AnalyticsCore


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTarget:
    """A core whose database 1 takes uploads, and the URL of that database for the test's own look at it."""

    core: AnalyticsCore
    url: str

    def upload(self, file: Any, table: str = "uploaded", **named: Any) -> Any:
        """Upload into database 1."""
        return self.core.databases.upload(1, file, table, **named)

    def tables(self) -> list[str]:
        """Return the tables of the default schema, asked anew."""
        return [table.value or "" for table in self.core.databases.tables(1, force=True)]

    def rows(self, table: str = "uploaded") -> list[dict[str, Any]]:
        """Return all rows as the library answers them."""
        dataset = self.core.datasets.create({"database": 1, "table_name": table})
        try:
            names = [column.column_name for column in self.core.datasets.get(dataset.id).columns]
            answer = self.core.charts.data(
                {
                    "datasource": {"id": dataset.id, "type": "table"},
                    "queries": [{"columns": names, "metrics": None, "row_limit": 0}],
                }
            )
            answer.raise_for_error()
            return [dict(zip(names, row, strict=True)) for row in answer.results[0].rows()]
        finally:
            self.core.datasets.delete(dataset.id)

    def own(self, *statements: str) -> list[Any]:
        """Run statements as the owner of the database, outside of the core; the last one's rows."""
        self.core._runtime.parts.connector.dispose(1)  # a DuckDB file is for one at a time
        engine = sa.create_engine(driver_url(self.url), poolclass=sa.NullPool)
        with engine.begin() as connection:
            for statement in statements:
                found = connection.exec_driver_sql(statement)
            return [tuple(row) for row in found] if found.returns_rows else []


def driver_url(url: str) -> str:
    """Return the URL with the drivers that the tests have."""
    scheme, _, rest = url.partition("://")
    drivers = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
    return f"{drivers.get(scheme, scheme)}://{rest}"


def empty_file(engine: str, folder: Path) -> str:
    """Make an empty SQLite or DuckDB file and return its URL."""
    file = folder / f"shop.{engine}"
    if engine == "sqlite":
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("VACUUM")
    else:
        duckdb.connect(str(file)).close()
    return f"{engine}:///{file}"


@contextmanager
def upload_target(url: str, **settings: Any) -> Iterator[UploadTarget]:
    """Give a core on the database of a URL, which takes uploads from now on."""
    with analytics_core.connect(url, lazy=True, **settings) as core:
        core.databases.update(1, {"allow_file_upload": True})
        yield UploadTarget(core=core, url=url)


def workbook(rows: Sequence[Sequence[Any]], **sheets: Sequence[Sequence[Any]]) -> bytes:
    """Return an XLSX file; a text that begins with = is a formula whose kept value is 7."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"default_date_format": "yyyy-mm-dd hh:mm:ss"})
    for name, content in {"first": rows, **sheets}.items():
        sheet = book.add_worksheet(name)
        for row, cells in enumerate(content):
            for column, cell in enumerate(cells):
                if isinstance(cell, str) and cell.startswith("="):
                    sheet.write_formula(row, column, cell, None, 7)
                elif isinstance(cell, str):
                    sheet.write_string(row, column, cell)
                elif cell is not None:
                    sheet.write(row, column, cell)
    book.close()
    return file.getvalue()
