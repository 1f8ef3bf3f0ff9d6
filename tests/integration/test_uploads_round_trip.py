"""What a file holds comes back from the table as it was, whatever it is, on every engine."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.uploading import UploadTarget, empty_file, upload_target

Rows = list[dict[str, Any]]

MOMENTS = st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 31))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "floating": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)),
    "exact": (pa.decimal128(15, 4), st.decimals(min_value=-(10**10), max_value=10**10, places=4)),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), MOMENTS.map(datetime.date)),
    "moment": (pa.timestamp("us"), MOMENTS),
    "text": (
        pa.string(),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40),
    ),
}
TABLES = st.lists(
    st.fixed_dictionaries({name: st.one_of(st.none(), values) for name, (_, values) in COLUMNS.items()}),
    min_size=1,
    max_size=30,
)
TYPES = {
    "whole": "INTEGER",
    "floating": "FLOAT",
    "exact": "DECIMAL(15,4)",
    "truth": "BOOLEAN",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "text": "TEXT",
}


@pytest.fixture(
    scope="module",
    params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mariadb"))],
)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UploadTarget]:
    engine: str = request.param
    if engine in ("sqlite", "duckdb"):
        url = empty_file(engine, Path(tmp_path_factory.mktemp("shop")))
    else:
        url = request.getfixturevalue(f"make_{engine}_database")()
    with upload_target(url) as made:
        yield made


def parquet(rows: Rows) -> bytes:
    schema = pa.schema([("id", pa.int64()), *((name, kind) for name, (kind, _) in COLUMNS.items())])
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(numbered(rows), schema=schema), file)
    return file.getvalue()


def text_file(rows: Rows) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["id", *COLUMNS])
    for row in numbered(rows):
        writer.writerow("" if value is None else written(value) for value in row.values())
    return file.getvalue().encode()


def written(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def numbered(rows: Rows) -> Rows:
    return [{"id": number, **{name: row[name] for name in COLUMNS}} for number, row in enumerate(rows)]


def plain(value: Any) -> Any:
    """Return a value as it compares whatever kind the engine has for it: SQLite keeps decimals as doubles."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def check(target: UploadTarget, rows: Rows, content: bytes, **options: Any) -> None:
    target.upload(content, if_exists="replace", **options)
    found = sorted(target.rows(), key=lambda row: row["id"])
    assert [{name: plain(value) for name, value in row.items()} for row in found] == [
        {name: plain(value) for name, value in row.items()} for row in numbered(rows)
    ]


def check_both(target: UploadTarget, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(rows=TABLES)
    def check_any(rows: Rows) -> None:
        check(target, rows, parquet(rows))
        check(target, rows, text_file(rows), options={"column_data_types": TYPES})

    check_any()


@pytest.mark.slow
def test_values_come_back_as_they_were(target: UploadTarget) -> None:
    check_both(target, 5)


@pytest.mark.long
def test_any_values_come_back_as_they_were(target: UploadTarget) -> None:
    check_both(target, 200)
