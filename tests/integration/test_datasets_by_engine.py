"""A dataset made by reflection has the same columns on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

import analytics_core
from analytics_core.errors import DatabaseError, ErrorType

TABLE = """
CREATE TABLE orders (
    id INTEGER NOT NULL, day DATE NOT NULL, moment TIMESTAMP NULL,
    country VARCHAR(20), amount DECIMAL(10, 2), ratio DOUBLE PRECISION
)
"""
ROW = "INSERT INTO orders VALUES (1, '2024-01-01', '2024-01-01 10:00:00', 'France', 10, 0.5)"
NAMES = ["id", "day", "moment", "country", "amount", "ratio"]


def fill(url: str) -> None:
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(TABLE)
            connection.exec_driver_sql(ROW)
    finally:
        engine.dispose()


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgresql", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    made: str
    match request.param:
        case "postgresql":
            made = request.getfixturevalue("make_postgres_database")()
        case "mariadb":
            made = request.getfixturevalue("make_mariadb_database")()
        case _:
            made = f"{request.param}:///{tmp_path_factory.mktemp(request.param) / 'shop.db'}"
    fill(made)
    return made


@pytest.fixture
def core(url: str) -> Iterator[Any]:
    with analytics_core.connect(url) as made:
        yield made


@pytest.mark.server
def test_a_table_has_the_same_columns_everywhere(core: Any) -> None:
    made = core.datasets.create({"database": 1, "table_name": "orders"})
    assert [column.column_name for column in made.columns] == NAMES
    assert [column.type_generic for column in made.columns] == [0, 2, 2, 1, 0, 0]
    assert [column.column_name for column in made.columns if column.is_dttm] == ["day", "moment"]
    assert made.main_dttm_col == "day"


@pytest.mark.server
def test_a_select_has_the_same_columns_everywhere(core: Any) -> None:
    sql = "SELECT day, amount * 2 AS twice, upper(country) AS land FROM orders WHERE country LIKE '%an%'"
    made = core.datasets.create({"database": 1, "table_name": "v", "sql": sql})
    assert [(column.column_name, column.type_generic) for column in made.columns] == [
        ("day", 2),
        ("twice", 0),
        ("land", 1),
    ]


@pytest.mark.server
def test_a_table_that_does_not_exist_is_told_alike_everywhere(core: Any) -> None:
    with pytest.raises(DatabaseError, match="did you mean 'orders'") as caught:
        core.datasets.create({"database": 1, "table_name": "order"})
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR


@pytest.mark.server
def test_the_statement_that_shows_a_table_runs_everywhere(core: Any) -> None:
    made = core.datasets.create({"database": 1, "table_name": "orders"})
    dataset = core.datasets.create({"database": 1, "table_name": "shown", "sql": made.select_star})
    assert [column.column_name for column in dataset.columns] == NAMES


@pytest.mark.server
def test_a_connection_is_tried_everywhere(core: Any) -> None:
    assert core.databases.test_connection({"database_name": "main"}) is None
