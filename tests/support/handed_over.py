"""Ways to connect: one table of three rows in each form that people have it in, and questions about it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import sqlalchemy as sa
import xlsxwriter

from analytics_core import AnalyticsCore

ROWS: list[dict[str, Any]] = [
    {"country": "France", "amount": 10.5, "day": "2024-01-01"},
    {"country": "Italy", "amount": 2.0, "day": "2024-01-02"},
    {"country": "France", "amount": None, "day": "2024-02-01"},
]


def frame() -> pd.DataFrame:
    """Return the rows as pandas has them."""
    made = pd.DataFrame(ROWS)
    return made.assign(day=pd.to_datetime(made["day"]))


def table() -> pa.Table:
    """Return the rows as Arrow has them."""
    return pa.Table.from_pandas(frame(), preserve_index=False)


def write_files(folder: Path) -> None:
    """Write the rows in every format that is read."""
    rows = frame()
    rows.to_csv(folder / "sales.csv", index=False)
    rows.to_csv(folder / "sales.tsv", index=False, sep="\t")
    rows.to_csv(folder / "sales.csv.gz", index=False)
    rows.to_json(folder / "sales.json", orient="records", date_format="iso")
    rows.to_json(folder / "sales.ndjson", orient="records", lines=True, date_format="iso")
    pq.write_table(table(), folder / "sales.parquet")
    feather.write_feather(table(), folder / "sales.feather")
    with pa.OSFile(str(folder / "sales.arrows"), "wb") as file, pa.ipc.new_stream(file, table().schema) as stream:
        stream.write_table(table())
    write_workbook(folder / "sales.xlsx", {"Sheet1": ROWS})
    parts = folder / "parts"
    parts.mkdir()
    for place, row in enumerate(rows.index):
        pq.write_table(pa.Table.from_pandas(rows.loc[[row]], preserve_index=False), parts / f"part-{place}.parquet")
    with duckdb.connect(str(folder / "sales.duckdb")) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE sales AS SELECT * FROM rows")
    for name in ("sales.sqlite", "sales.db"):
        with closing(sqlite3.connect(folder / name)) as file:
            rows.to_sql("sales", file, index=False)


def write_workbook(path: Path, sheets: dict[str, list[dict[str, Any]]]) -> None:
    """Write a workbook of these sheets, the names of the columns in the first row of each."""
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for place, row in enumerate(rows, start=1):
                sheet.write_row(0, 0, row.keys())
                sheet.write_row(place, 0, row.values())


def duckdb_connection() -> Any:
    """Return an open connection to a DuckDB in memory with the rows."""
    connection = duckdb.connect()
    connection.register("given", frame())
    connection.execute("CREATE TABLE sales AS SELECT * FROM given")
    return connection


def ways(folder: Path) -> dict[str, Any]:
    """Return every way to connect the rows of `write_files(folder)`, by what the page calls it."""
    path = str(folder / "sales")
    return {
        "URL": f"sqlite:///{path}.db",
        "URL object": sa.make_url(f"sqlite:///{path}.db"),
        "SQLite path": f"{path}.sqlite",
        "`.db` path": f"{path}.db",
        "DuckDB path": f"{path}.duckdb",
        "`Path`": Path(f"{path}.parquet"),
        "Parquet path": f"{path}.parquet",
        "CSV path": f"{path}.csv",
        "compressed CSV path": f"{path}.csv.gz",
        "TSV path": f"{path}.tsv",
        "JSON path": f"{path}.json",
        "NDJSON path": f"{path}.ndjson",
        "XLSX path": f"{path}.xlsx",
        "Feather path": f"{path}.feather",
        "Arrow stream path": f"{path}.arrows",
        "glob": f"{folder}/parts/*.parquet",
        "pandas": frame(),
        "Polars": pl.from_arrow(table()),
        "Polars, lazy": pl.from_arrow(table()).lazy(),  # type: ignore[union-attr]
        "Arrow table": table(),
        "Arrow batch": table().combine_chunks().to_batches()[0],
        "Arrow reader": table().to_reader(),
        "Arrow dataset": ds.dataset(f"{path}.parquet"),
        "list of dicts": ROWS,
        "dict": {"sales": frame()},
        "list of paths": [f"{path}.parquet"],
        "folder": str(folder / "one"),
        "DuckDB connection": duckdb_connection(),
        "DuckDB relation": duckdb_connection().sql("SELECT * FROM sales"),
        "SQLite engine": sa.create_engine(f"sqlite:///{path}.db"),
        "DuckDB engine": sa.create_engine(f"duckdb:///{path}.duckdb"),
    }


def queried(core: AnalyticsCore, dataset: str | int, *metrics: Any, columns: tuple[str, ...] = (), **rest: Any) -> Any:
    """Return the rows of one query of a dataset, by its name or id."""
    dataset_id = core.datasets.get(dataset).id if isinstance(dataset, str) else dataset
    ordered = {"orderby": [[name, True] for name in columns]} if columns else {}
    query = {"columns": [*columns], "metrics": [*metrics], **ordered, **rest}
    payload = {"datasource": {"id": dataset_id, "type": "table"}, "queries": [query]}
    return core.charts.data(payload).raise_for_error().results[0].rows()


def total(column: str) -> dict[str, Any]:
    """Return the metric of a column's sum."""
    return {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": column}, "label": "total"}
