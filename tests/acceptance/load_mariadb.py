"""Loads the example parquet files into MariaDB, as `load_examples.py` does elsewhere, with whole microseconds.

    python load_mariadb.py DATASETS_JSON PARQUET_ROOT ENGINE_URI

The plain loader would make DATETIME columns, which hold whole seconds and round the rest away.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

ROWS_PER_INSERT = 5_000


def main(descriptions: str, root: str, uri: str) -> None:
    """Replace the table of every data set."""
    engine = sa.create_engine(uri)
    for description in json.loads(Path(descriptions).read_text(encoding="utf-8")).values():
        frame = pd.read_parquet(Path(root) / description["parquet"])
        moments = {name: mysql.DATETIME(fsp=6) for name in frame.select_dtypes("datetime")}
        with engine.begin() as connection:
            frame.to_sql(
                description["table"],
                connection,
                if_exists="replace",
                index=False,
                chunksize=ROWS_PER_INSERT,
                dtype=moments,
            )
    engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
