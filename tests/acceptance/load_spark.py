"""Loads the example parquet files into Spark, which reads them itself: moments in microseconds, nulls alone as texts.

python load_spark.py DATASETS_JSON PARQUET_ROOT ENGINE_URI
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa


def main(descriptions: str, root: str, uri: str) -> None:
    """Make the table of every data set."""
    engine = sa.create_engine(uri)
    with engine.connect() as connection, tempfile.TemporaryDirectory() as folder:
        connection.exec_driver_sql("SET TIME ZONE 'UTC'")
        for number, description in enumerate(json.loads(Path(descriptions).read_text(encoding="utf-8")).values()):
            rows = pq.read_table(Path(root) / description["parquet"])
            kinds = pa.schema([pa.field(field.name, _kind(field.type)) for field in rows.schema])
            path = Path(folder) / f"{number}.parquet"
            pq.write_table(rows.cast(kinds), path)
            name = spark_name(description["table"])
            made = f"CREATE TABLE `{name}` USING parquet AS SELECT * FROM parquet.`{path}`"
            connection.exec_driver_sql(made.replace("%", "%%"), {})
    engine.dispose()


def spark_name(table: str) -> str:
    """Return the name that a table has there: Spark takes letters of ASCII, digits and underscores alone."""
    return re.sub(r"\W", "_", table, flags=re.ASCII)


def _kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_null(kind):
        return pa.string()
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind


if __name__ == "__main__":
    main(*sys.argv[1:])
