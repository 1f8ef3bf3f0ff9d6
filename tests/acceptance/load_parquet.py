"""Writes the example parquet files into folders, parted by values in their names (`DAY=1/AIRLINE=AA`), for DuckDB.

    python load_parquet.py DATASETS_JSON PARQUET_ROOT parquet:FOLDER

Columns of nulls alone are texts. Parted are numbers, days, texts with nulls, and texts of which some are numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

PREFIX = "parquet:"
PARTED: Mapping[str, Sequence[str]] = {
    "flights": ("DAY", "AIRLINE"),
    "birth_names": ("gender", "state"),
    "cleaned_sales_data": ("year", "territory"),
    "international_sales": ("country",),
    "unicode_test": ("dttm",),
    "video_game_sales": ("platform",),
}
"""Table -> the columns by which it is parted; of the others there is one file."""


def main(descriptions: str, root: str, uri: str) -> None:
    """Write the folder of every data set."""
    for description in json.loads(Path(descriptions).read_text(encoding="utf-8")).values():
        write_table(Path(root) / description["parquet"], folder_of(uri, description["table"]), description["table"])


def folder_of(uri: str, table: str) -> Path:
    """Return where the files of a table lie, or folders of them."""
    return Path(uri.removeprefix(PREFIX)) / table


def write_table(path: Path, folder: Path, table: str) -> None:
    """Write one file as a folder, parted as `PARTED` says."""
    schema = pq.read_schema(path)
    columns = ", ".join(map(_column, schema))
    names = ", ".join(map(_quoted, PARTED.get(table, ())))
    folder.mkdir(parents=True)
    target = f"'{folder}' (FORMAT parquet, PARTITION_BY ({names}))" if names else f"'{folder / 'all.parquet'}'"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {columns} FROM read_parquet('{path}')) TO {target}")


def _column(field: pa.Field) -> str:
    name = _quoted(field.name)
    return f"CAST({name} AS VARCHAR) AS {name}" if pa.types.is_null(field.type) else name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


if __name__ == "__main__":
    main(*sys.argv[1:])
