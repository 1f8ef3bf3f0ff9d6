"""What people have in hand, before it is a dataset: which frames are taken, and what is said of a broken file."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tests.support.cases import for_each

from analytics_core import Settings
from analytics_core._notebook.sources import frames, paths, taking
from analytics_core._notebook.sources.reading import FileReading
from analytics_core.errors import SourceError

READING = FileReading(settings=Settings(secret_key="a" * 8 + "b1C2d3E4f5G6h7"))

ENDINGS = (
    *(".parquet", ".pq", ".csv", ".tsv", ".txt", ".json", ".ndjson", ".jsonl", ".xlsx", ".xlsm", ".arrow"),
    *(".feather", ".ipc", ".arrows", ".db", ".sqlite", ".sqlite3", ".duckdb"),
)


@for_each(("thing", "kind"), [(7, "int"), ("text", "str"), ([1], "list"), (pa.array([1]), "Int64Array")])
def test_what_is_no_frame_is_refused_by_its_type(thing: Any, kind: str) -> None:
    with pytest.raises(SourceError, match=f"sales: {kind} is no frame of pandas, Polars or Arrow") as caught:
        frames.required_frame(thing, "sales")
    assert caught.value.extra["name"] == "sales"


def test_a_column_that_the_database_cannot_read_is_named() -> None:
    """DuckDB reads wide decimals, but not where they are looked up by a number."""
    odd = pa.nulls(2, pa.dictionary(pa.int8(), pa.decimal256(60, 2)))
    with pytest.raises(SourceError, match=r"sales: column 'odd' is of type dictionary<.*convert it, or leave it out"):
        taking.table(pa.table({"fine": [1, 2], "odd": odd}), "sales", READING)
    assert taking.table(pa.table({"fine": [1, 2]}), "sales", READING)


def test_a_frame_is_not_to_blame_where_memory_ends() -> None:
    def ends(_data: object) -> object:
        raise MemoryError

    def fails(_data: object) -> object:
        raise TypeError("hunter2")

    with pytest.raises(MemoryError):
        taking._can_read(SimpleNamespace(from_arrow=ends), None)
    assert not taking._can_read(SimpleNamespace(from_arrow=fails), None)


@for_each(
    ("place", "said", "extra"),
    [
        ({}, "", {}),
        ({"row": 1}, ", row 1", {"row": 1}),
        ({"column": "Umsatz"}, ", column 'Umsatz'", {"column": "Umsatz"}),
        ({"row": 7, "column": "a"}, ", row 7, column 'a'", {"row": 7, "column": "a"}),
    ],
)
def test_an_error_of_a_file_says_its_place_to_people_and_to_programs(
    place: dict[str, Any], said: str, extra: dict[str, Any]
) -> None:
    error = paths.broken_file(Path("folder/sales.csv"), "it is odd", **place)
    assert re.fullmatch(rf"file 'sales\.csv'{said}: it is odd", error.message)
    assert {name: error.extra[name] for name in ("file", "row", "column") if name in error.extra} == {
        "file": "sales.csv",
        **extra,
    }


@for_each(
    ("name", "table"),
    [
        ("sales.csv", "sales"),
        ("sales.csv.gz", "sales"),
        ("sales.2024.json.zst", "sales_2024"),
        ("sales.gz", "sales"),
        ("sales.zst", "sales"),
        ("Sales of May.xlsx", "Sales_of_May"),
        ("sales.data", "sales_data"),
        *((f"sales{ending}", "sales") for ending in ENDINGS),
    ],
)
def test_a_table_is_called_as_its_file_without_endings(name: str, table: str) -> None:
    assert paths.name_of(Path("folder", name)) == table
