"""A program that loads a table, stops half-way, says so and waits: its arguments are URL, `if_exists` and folder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from tests.support.execution import admission, target

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.sessions.loading import LoadRequest
from analytics_core._engine.execution.table_loader import TableLoader
from analytics_core._engine.files.kinds import TEXT, ColumnType
from analytics_core._engine.files.table import FileColumn
from analytics_core._records.datasource import Access
from analytics_core.models.enums import TableExists

COLUMNS = (
    FileColumn(header="id", name="id", type=ColumnType(kind=ValueKind.INTEGER)),
    FileColumn(header="text", name="text", type=TEXT),
)


def batches(count: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of 10,000 rows, say when half of them were asked for, and wait."""
    for number in range(count):
        if number == count // 2:
            print("half", flush=True)
            time.sleep(60)
        ids = pa.array(range(number * 10_000, (number + 1) * 10_000), pa.int64())
        yield pa.RecordBatch.from_arrays([ids, pa.array(["x" * 60] * 10_000)], names=["id", "text"])


def main(url: str, if_exists: str, folder: str) -> None:
    """Load until killed."""
    with target(url, Path(folder)) as made:
        record = made.record.__class__(
            id=1, uuid="u", database_name="shop", uri=made.record.uri, engine=made.record.engine, allow_file_upload=True
        )
        request = LoadRequest(
            table="uploaded",
            schema=None,
            if_exists=TableExists(if_exists),
            columns=COLUMNS,
            batches=batches(14),
            row_number=lambda place: place,
        )
        TableLoader(made.connector).load(admission(record, access=Access.WRITE), request, timeout_s=120.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
