"""Columns and tables whose names hold quotes, dots, signs and words of SQL are asked like any other."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from tests.support.cases import for_each

import analytics_core
from analytics_core import DatasetHandle

TABLE = "o'dd \"t; --"
NAMES = (
    "order",
    "Group",
    "unit price",
    'say "hi"',
    "o'clock",
    "a.b",
    "gr\u00f6\u00dfe",
    "100%",
    "x{{ 1 }}",
    "-minus",
    "back`tick",
    "[br]",
    "a:b",
    "col;--",
)


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatasetHandle]:
    folder: Path = tmp_path_factory.mktemp("odd")
    rows = [(number // 2,) * len(NAMES) for number in range(4)]
    if request.param == "duckdb":
        named = {name: [row[0] for row in rows] for name in NAMES}
        with analytics_core.connect({"odd names": pd.DataFrame(named)}) as core:
            yield core.dataset()
        return
    with closing(sqlite3.connect(folder / "odd.db")) as connection:
        columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" INTEGER' for name in NAMES)
        connection.execute(f'CREATE TABLE "{TABLE.replace(chr(34), chr(34) * 2)}" ({columns})')
        connection.executemany(
            f'INSERT INTO "{TABLE.replace(chr(34), chr(34) * 2)}" VALUES ({", ".join("?" * len(NAMES))})', rows
        )
        connection.commit()
    with analytics_core.connect(f"sqlite:///{folder}/odd.db") as core:
        core.datasets.create({"database": 1, "table_name": TABLE})
        yield core.dataset()


@pytest.mark.slow
@for_each("name", NAMES)
def test_an_odd_name_is_asked_like_any_other(odd: DatasetHandle, name: str) -> None:
    column = odd.c[name]
    values = odd.query(odd.count(), odd.max[name]).by(name).where(column >= 0, column.isin([0, 1])).order(name)
    assert values.run().results[0].rows() == [(0, 2, 0), (1, 2, 1)]
    assert odd.query(name).where(column == 1).chart("table").run().results[0].rows() == [(2,)]
    other = next(known for known in NAMES if known != name)
    across = odd.query(odd.count()).by(name, other).pivot(name).run().results[0]
    assert across.colnames == (other, "0", "1")
