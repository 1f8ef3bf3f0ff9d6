"""Loads the example parquet files into ClickHouse, which reads them itself; columns of nulls alone are texts.

python load_clickhouse.py DATASETS_JSON PARQUET_ROOT ENGINE_URI
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa


def main(descriptions: str, root: str, uri: str) -> None:
    """Make the table of every data set."""
    engine = sa.create_engine(uri, connect_args={"autogenerate_session_id": False})
    for description in json.loads(Path(descriptions).read_text(encoding="utf-8")).values():
        path = (Path(root) / description["parquet"]).resolve()
        columns = ", ".join(map(_column, pq.read_schema(path)))
        with engine.begin() as connection:
            made = f"CREATE TABLE `{description['table']}` ENGINE = MergeTree ORDER BY tuple()"
            connection.exec_driver_sql(f"{made} AS SELECT {columns} FROM file('{path}', 'Parquet')".replace("%", "%%"))
    engine.dispose()


def _column(field: pa.Field) -> str:
    name = "`" + field.name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    if pa.types.is_null(field.type):
        return f"CAST(NULL AS Nullable(String)) AS {name}"
    return f"toDateTime64({name}, 6) AS {name}" if pa.types.is_timestamp(field.type) else name


if __name__ == "__main__":
    main(*sys.argv[1:])
