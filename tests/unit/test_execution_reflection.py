"""Reflection on the file engines: types as they were declared, views, missing tables, columns of queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import Target, fingerprint, make_sqlite_file, target

from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.metadata import EngineMetadata, ReflectedColumn, ReflectedTable
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType

COLUMNS = (
    "id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, price DECIMAL(10,2), paid BOOLEAN, ts TIMESTAMP, day DATE, "
    '"odd ""name""" DOUBLE PRECISION'
)


@pytest.fixture
def sqlite_shop(tmp_path: Path) -> Iterator[Target]:
    make_sqlite_file(
        tmp_path / "shop.db",
        f"CREATE TABLE orders ({COLUMNS}, made INTEGER AS (id + 1), t2 TEXT, custom GEO)",
        "INSERT INTO orders (id, name, ts) VALUES (1, 'x', '2024-01-31 10:00:00')",
        "CREATE VIEW latest AS SELECT id, ts FROM orders",
        "CREATE INDEX of_payments ON orders (paid, day)",
        "CREATE INDEX of_some_days ON orders (day) WHERE paid",
        'CREATE TABLE "it\'s ""odd""" (i)',
    )
    with target(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path) as found:
        yield found


@pytest.fixture
def duckdb_shop(tmp_path: Path) -> Iterator[Target]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE orders ({COLUMNS}, tags VARCHAR[])")
        connection.execute("CREATE VIEW latest AS SELECT id, ts FROM orders")
        connection.execute("CREATE SCHEMA archive")
        connection.execute("CREATE TABLE archive.old (i INTEGER)")
    with target(f"duckdb:///{tmp_path / 'shop.duckdb'}", tmp_path) as found:
        yield found


@pytest.fixture(params=["sqlite_shop", "duckdb_shop"])
def shop(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


def reflector(shop: Target) -> Reflector:
    return Reflector(shop.connector)


def test_the_functions_of_an_engine_are_told_by_name(shop: Target) -> None:
    names = reflector(shop).functions(shop.admission)
    assert {"count", "lower", "sum", "coalesce" if shop.record.engine == "sqlite" else "date_trunc"} <= set(names)
    assert list(names) == sorted(set(names))
    assert all(name.isidentifier() for name in names)


def test_tables_and_views_are_listed(shop: Target) -> None:
    found = reflector(shop).tables(shop.admission)
    assert ReflectedTable(name="orders") in found
    assert ReflectedTable(name="latest", is_view=True) in found
    assert [table.name for table in found] == sorted(table.name for table in found)


def test_schemas_are_listed(sqlite_shop: Target, tmp_path: Path) -> None:
    assert reflector(sqlite_shop).schemas(sqlite_shop.admission) == ("main",)


def test_schemas_of_duckdb_leave_out_the_systems_own(duckdb_shop: Target) -> None:
    found = reflector(duckdb_shop)
    assert found.schemas(duckdb_shop.admission) == ("archive", "main")
    assert found.tables(duckdb_shop.admission, "archive") == (ReflectedTable(name="old"),)
    for place in ({"schema": "archive"}, {"schema": "archive", "catalog": "shop"}):
        assert [column.name for column in found.columns(duckdb_shop.admission, table="old", **place)] == ["i"]


def test_columns_of_sqlite_keep_their_declared_types(sqlite_shop: Target) -> None:
    columns = reflector(sqlite_shop).columns(sqlite_shop.admission, table="orders")
    assert [(column.name, column.type_text, column.nullable) for column in columns] == [
        ("id", "INTEGER", False),
        ("name", "VARCHAR(20)", False),
        ("price", "DECIMAL(10,2)", True),
        ("paid", "BOOLEAN", True),
        ("ts", "TIMESTAMP", True),
        ("day", "DATE", True),
        ('odd "name"', "DOUBLE PRECISION", True),
        ("made", "INTEGER", True),
        ("t2", "TEXT", True),
        ("custom", "GEO", True),
    ]


def test_columns_with_which_a_key_or_an_index_of_all_rows_begins_are_told(sqlite_shop: Target) -> None:
    columns = reflector(sqlite_shop).columns(sqlite_shop.admission, table="orders")
    assert [column.name for column in columns if column.leads_index] == ["id", "paid"]


def test_columns_of_duckdb_have_its_own_type_texts(duckdb_shop: Target) -> None:
    columns = reflector(duckdb_shop).columns(duckdb_shop.admission, table="orders")
    assert [(column.type_text, column.nullable) for column in columns] == [
        ("INTEGER", False),
        ("VARCHAR", False),
        ("DECIMAL(10,2)", True),
        ("BOOLEAN", True),
        ("TIMESTAMP", True),
        ("DATE", True),
        ("DOUBLE", True),
        ("VARCHAR[]", True),
    ]


def test_whether_columns_of_a_view_may_be_null_is_not_known(shop: Target) -> None:
    columns = reflector(shop).columns(shop.admission, table="latest")
    assert [(column.name, column.nullable) for column in columns] == [("id", None), ("ts", None)]


def test_a_name_with_quotes_is_found(sqlite_shop: Target) -> None:
    columns = reflector(sqlite_shop).columns(sqlite_shop.admission, table='it\'s "odd"')
    assert columns == (
        ReflectedColumn(name="i", type_text="", nullable=True, leads_index=False, is_stored=True, collation="BINARY"),
    )


@for_each("table", ["order", "x'); DROP TABLE orders; --", 'orders"; DROP TABLE orders; --', ""])
def test_a_missing_table_is_a_typed_error(shop: Target, table: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        reflector(shop).columns(shop.admission, table=table)
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert shop.rows("SELECT count(*) FROM orders")


def test_the_nearest_names_are_offered(shop: Target) -> None:
    with pytest.raises(DatabaseError, match="did you mean 'orders'"):
        reflector(shop).columns(shop.admission, table="Order")


def test_a_missing_schema_is_a_missing_table(shop: Target) -> None:
    with pytest.raises(DatabaseError, match="schema 'nosuch'"):
        reflector(shop).columns(shop.admission, table="orders", schema="nosuch")
    with pytest.raises(DatabaseError, match="has no schema 'mian'; did you mean 'main'") as caught:
        reflector(shop).columns(shop.admission, table="orders", schema="mian")
    assert caught.value.error_type is ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR


SELECT = "SELECT o.*, id * 2 AS twice, 'x' AS label, '2024-01-31' AS day2 FROM orders AS o -- the end"


def test_columns_of_a_query_on_sqlite_are_declared_or_read_off_its_rows(sqlite_shop: Target, tmp_path: Path) -> None:
    before = fingerprint(tmp_path)
    columns = reflector(sqlite_shop).columns_of_select(sqlite_shop.admission, SELECT)
    found = {column.name: column.type_text for column in columns}
    assert found["price"] == "DECIMAL(10,2)"
    assert found["paid"] == "BOOLEAN"
    assert (found["twice"], found["label"], found["day2"]) == ("INTEGER", "TEXT", "DATE")
    assert fingerprint(tmp_path) == before


def test_a_column_that_another_program_adds_is_declared_at_once(sqlite_shop: Target, tmp_path: Path) -> None:
    def declared() -> dict[str, str]:
        columns = reflector(sqlite_shop).columns_of_select(sqlite_shop.admission, "SELECT * FROM orders")
        return {column.name: column.type_text for column in columns}

    before = declared()
    make_sqlite_file(tmp_path / "shop.db", "ALTER TABLE orders ADD COLUMN added DECIMAL(7, 3)")
    assert declared() == {**before, "added": "DECIMAL(7, 3)"}


def test_details_of_a_table_are_told_in_its_schema_and_in_an_attached_catalog(duckdb_shop: Target) -> None:
    for schema in (None, "main", "shop.main"):
        details = reflector(duckdb_shop).details(duckdb_shop.admission, table="orders", schema=schema)
        assert details.primary_key == ("id",), schema
    for schema in ("archive", "other.main"):
        details = reflector(duckdb_shop).details(duckdb_shop.admission, table="orders", schema=schema)
        assert details.primary_key == (), schema


def test_columns_of_a_query_on_duckdb(duckdb_shop: Target) -> None:
    columns = reflector(duckdb_shop).columns_of_select(duckdb_shop.admission, SELECT)
    found = {column.name: column.type_text for column in columns}
    assert (found["price"], found["twice"], found["label"]) == ("DECIMAL(10,2)", "INTEGER", "VARCHAR")


def test_columns_of_a_query_in_a_database_in_memory() -> None:
    with target("sqlite://") as found:
        with found.connector.memory_connection(found.record) as writer:
            writer.execute("CREATE TABLE t (paid BOOLEAN)")
        columns = reflector(found).columns_of_select(found.admission, "SELECT paid FROM t")
        assert columns == (ReflectedColumn(name="paid", type_text="BOOLEAN"),)
        with pytest.raises(AnalyticsError):
            found.run("DROP TABLE t")


@for_each(
    "sql",
    [
        "SELECT 1; DROP TABLE orders",
        "DELETE FROM orders",
        "SELECT * FROM pragma_query_only(0)",
        "SELECT 1) AS x; DROP TABLE orders; --",
        "SELECT nocol FROM orders",
        "ATTACH 'other.db' AS o",
    ],
)
def test_reflection_is_no_way_around_the_walls(shop: Target, tmp_path: Path, sql: str) -> None:
    before = fingerprint(tmp_path)
    with pytest.raises(DatabaseError):
        reflector(shop).columns_of_select(shop.admission, sql)
    with pytest.raises(AnalyticsError):
        shop.run("CREATE TEMP TABLE t (i INTEGER)")
    assert fingerprint(tmp_path) == before


def test_a_query_tells_no_paths_of_files(sqlite_shop: Target) -> None:
    with pytest.raises(DatabaseError):
        reflector(sqlite_shop).columns_of_select(sqlite_shop.admission, "SELECT file FROM pragma_database_list")


def test_a_query_over_a_table_function_has_columns(sqlite_shop: Target) -> None:
    sql = "SELECT o.id, count(*) AS n FROM orders AS o, json_each('[1,2,3]') GROUP BY o.id"
    columns = reflector(sqlite_shop).columns_of_select(sqlite_shop.admission, sql)
    assert [column.type_text for column in columns] == ["INTEGER", "INTEGER"]


class KeyedMetadata(EngineMetadata):
    holds_keys = True


@for_each(
    ("metadata", "key", "leads"),
    [(EngineMetadata(), [], [None] * 5), (KeyedMetadata(), ["id"], [True, True, False, False, False])],
)
def test_an_engine_without_questions_of_its_own_tells_its_columns(
    metadata: EngineMetadata, key: list[str], leads: list[bool | None]
) -> None:
    with sa.create_engine("sqlite://").connect() as connection:
        for statement in (
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, day DATE, name VARCHAR(20) NOT NULL, odd)",
            "ALTER TABLE orders ADD COLUMN twice INTEGER AS (id * 2)",
            "CREATE INDEX of_days ON orders (day, name)",
            "CREATE VIEW latest AS SELECT day FROM orders",
        ):
            connection.exec_driver_sql(statement)
        columns = metadata.columns(connection, "orders", None)
        assert [(column.type_text, column.nullable) for column in columns[1:]] == [
            ("DATE", True),
            ("VARCHAR(20)", False),
            ("OTHER", True),
            ("INTEGER", True),
        ]
        assert [column.name for column in columns if column.key_position == 1] == key
        assert [column.leads_index for column in columns] == leads
        view = ReflectedColumn(name="day", type_text="DATE", nullable=None)
        assert metadata.columns(connection, "latest", None) == (view,)
        assert metadata.columns(connection, "nowhere", None) == ()
        computed = [metadata.computed_columns(connection, name, None) for name in ("orders", "latest", "nowhere")]
        assert computed == [{"twice"}, None, None]
