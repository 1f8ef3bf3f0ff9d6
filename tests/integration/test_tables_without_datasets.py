"""Databases are looked at without a dataset: their tables as they themselves describe them, rows as the rules let."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.servers import LOOPBACK
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, errors

ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]
ODD = 'Order "items" of 100% `all`, é'


def url_of(request: pytest.FixtureRequest, folder: Path) -> str:
    engine = request.param
    if engine == "postgresql":
        return str(request.getfixturevalue("make_postgres_database")())
    if engine == "mysql":
        return str(request.getfixturevalue("make_mariadb_database")())
    return f"{engine}:///{folder / 'data.db'}"


def as_owner(url: str) -> sa.Engine:
    parsed = sa.make_url(url)
    driver = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}.get(parsed.get_backend_name())
    return sa.create_engine(parsed.set(drivername=driver) if driver else parsed)


@pytest.fixture(params=ENGINES)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallCore]:
    """A core whose database 2 has tables of every kind."""
    url = url_of(request, tmp_path)
    metadata = sa.MetaData()
    people = sa.Table(
        "people",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(20), nullable=False),
        comment="Who buys",
    )
    sa.Table(
        "orders",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("person", sa.Integer, sa.ForeignKey("people.id", name="bought_by"), nullable=False),
        sa.Column("region", sa.String(20), server_default=sa.text("'north'"), comment="Where to"),
        sa.Column("amount", sa.Numeric(10, 2)),
        sa.Index("by_region", "region", "amount"),
    )
    sa.Table(
        ODD,
        metadata,
        sa.Column("a b", sa.Integer),
        sa.Column('c"d', sa.String(10), comment="``"),
        sa.Column("e`f", sa.String(10), primary_key=True),
        sa.Column("``", sa.Integer, nullable=False),
        sa.Index("by `", "``", "e`f"),
    )
    owner = as_owner(url)
    with owner.begin() as connection:
        metadata.create_all(connection)
        connection.execute(people.insert(), [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Ben"}])
        connection.exec_driver_sql(
            "INSERT INTO orders (id, person, region, amount) VALUES "
            "(1, 1, 'north', 10), (2, 1, 'south', 20.50), (3, 2, NULL, 30)"
        )
        connection.exec_driver_sql("CREATE VIEW rich AS SELECT * FROM orders WHERE amount > 15")
        if owner.dialect.name == "postgresql":
            connection.exec_driver_sql("CREATE MATERIALIZED VIEW kept AS SELECT * FROM orders")
    owner.dispose()
    with small_core(tmp_path, allowed_networks=LOOPBACK) as made:
        made.core.databases.create({"database_name": "looked at", "orm_uri": url})
        yield made


def engine_of(shop: SmallCore) -> str:
    return str(shop.core.databases.get(2).backend)


def test_a_table_is_described_as_its_database_knows_it(shop: SmallCore) -> None:
    table, url = shop.core.databases.table(2, "orders"), _url(shop)
    assert [column.column_name for column in table.columns] == ["id", "person", "region", "amount"]
    assert [column.nullable for column in table.columns] == [False, False, True, True]
    assert table.primary_key == ("id",)
    (key,) = table.foreign_keys
    assert (key.columns, key.table_name, key.referred_columns) == (("person",), "people", ("id",))
    indexes = {index.name: index for index in table.indexes}
    assert indexes["by_region"].columns == ("region", "amount")
    assert not indexes["by_region"].is_unique
    (default,) = [column.default for column in table.columns if column.default]
    assert "north" in default
    keeps_comments = not url.startswith("sqlite")
    assert [c.comment for c in table.columns if c.comment] == (["Where to"] if keeps_comments else [])
    assert shop.core.databases.table(2, "people").comment == ("Who buys" if keeps_comments else None)
    json = table.to_payload()
    assert json["select_star"] == table.select_star


def _url(shop: SmallCore) -> str:
    with shop.core._runtime.content.store.unit_of_work() as unit:
        return unit.databases.get(2).uri.reveal()


def test_views_are_told_from_tables(shop: SmallCore) -> None:
    databases = shop.core.databases
    kinds = {table.value: table.type for table in databases.tables(2)}
    materialized = ["kept"] if engine_of(shop) == "postgresql" else []
    assert {name for name, kind in kinds.items() if kind == "view"} == {"rich", *materialized}
    assert [view.value for view in databases.views(2)] == sorted(["rich", *materialized])
    assert [view.value for view in databases.materialized_views(2)] == materialized
    assert databases.table(2, "rich").primary_key == ()


def test_names_with_quotes_of_any_engine_are_those_of_the_database(shop: SmallCore) -> None:
    found = shop.core.databases.table(2, ODD)
    assert [column.column_name for column in found.columns] == ["a b", 'c"d', "e`f", "``"]
    assert found.primary_key == ("e`f",)
    assert ("by `", ("``", "e`f")) in [(index.name, index.columns) for index in found.indexes]
    assert {column.comment for column in found.columns} - {None} <= {"``"}
    dataset = shop.core.datasets.create({"database": 2, "table_name": ODD})
    query = {"columns": ["e`f"], "filters": [{"col": "``", "op": ">", "val": 1}], "orderby": [["e`f", True]]}
    context = {"datasource": {"id": dataset.id, "type": "table"}, "queries": [query]}
    assert shop.core.charts.data(context).raise_for_error().results[0].data == []


@pytest.mark.slow
@for_each("name", ["orders", "rich", ODD])
def test_the_select_of_the_first_rows_runs_on_its_engine(shop: SmallCore, name: str) -> None:
    sql = shop.core.databases.select_star(2, name, rows=2)
    shop.core._runtime.parts.connector.dispose(2)  # a file of DuckDB has one holder
    owner = as_owner(_url(shop))
    with owner.connect() as connection:
        rows = connection.execute(sa.text(sql.replace(":", "\\:"))).all()
    owner.dispose()
    assert len(rows) == (0 if name == ODD else 2)


def test_samples_are_the_rows_of_the_table(shop: SmallCore) -> None:
    sampled = shop.core.databases.samples(2, "orders")
    assert [column.column_name for column in sampled.columns] == ["id", "person", "region", "amount"]
    rows = sorted(sampled.data, key=lambda row: row["id"])
    assert [(row["id"], row["region"], float(row["amount"])) for row in rows] == [
        (1, "north", 10.0),
        (2, "south", 20.5),
        (3, None, 30.0),
    ]
    assert not sampled.has_more
    cut = shop.core.databases.samples(2, "orders", rows=2)
    assert (len(cut.data), cut.has_more) == (2, True)
    assert shop.core.databases.samples(2, ODD).data == ()


def reader(shop: SmallCore, *grants: Any) -> AnalyticsCore:
    return shop.reader(*grants)


def test_row_rules_of_datasets_over_a_table_bind_on_its_samples(shop: SmallCore) -> None:
    core = shop.core
    dataset = core.datasets.create({"database": 2, "table_name": "orders"})
    user = reader(shop, ("database", 2))
    assert len(user.databases.samples(2, "orders").data) == 3
    role = core.roles.list().result[-1]
    core.row_level_security.create(
        {
            "name": "north alone",
            "filter_type": "Regular",
            "tables": [dataset.id],
            "roles": [role.id],
            "clause": "region = 'north'",
        }
    )
    assert [row["id"] for row in user.databases.samples(2, "orders").data] == [1]
    assert len(core.databases.samples(2, "orders").data) == 3


def test_who_may_not_read_the_schema_learns_nothing(shop: SmallCore) -> None:
    dataset = shop.core.datasets.create({"database": 2, "table_name": "orders"})
    for user in (reader(shop), shop.reader(("dataset", dataset.id), username="of one dataset")):
        for ask in (
            lambda who: who.databases.table(2, "people"),
            lambda who: who.databases.samples(2, "people"),
            lambda who: who.databases.samples(2, "nosuch"),
            lambda who: who.databases.select_star(2, "people"),
            lambda who: who.databases.views(2),
            lambda who: who.databases.catalogs(2),
            lambda who: who.databases.engines(),
        ):
            with pytest.raises(errors.AccessError):
                ask(user)


def test_a_database_without_previews_shows_no_rows(shop: SmallCore) -> None:
    shop.core.databases.update(2, {"extra": '{"disable_data_preview": true}'})
    with pytest.raises(errors.DatabaseAccessError, match="disable_data_preview"):
        shop.core.databases.samples(2, "orders")
    assert shop.core.databases.table(2, "orders").columns


def test_what_is_not_there_is_told_with_what_is(shop: SmallCore) -> None:
    for ask in (shop.core.databases.table, shop.core.databases.samples, shop.core.databases.select_star):
        with pytest.raises(errors.DatabaseError, match="orders") as rejection:
            ask(2, "order")
        assert rejection.value.error_type is errors.ErrorType.TABLE_DOES_NOT_EXIST_ERROR


@for_each("rows", [0, -1, 1_001, 2.5, True, None, "7"])
def test_rows_are_a_number_that_can_be(tmp_path: Path, rows: Any) -> None:
    with small_core(tmp_path) as made:
        for ask in (made.core.databases.samples, made.core.databases.select_star):
            with pytest.raises(errors.PayloadError, match="rows"):
                ask(1, "orders", rows=rows)


def test_tables_that_nobody_may_read_are_refused(shop: SmallCore) -> None:
    if engine_of(shop) == "sqlite":
        pytest.skip("its catalog tells nothing but the tables")
    secret = {"duckdb": "duckdb_settings", "postgresql": "pg_authid", "mysql": "user"}
    schema = {"postgresql": "pg_catalog", "mysql": "mysql"}.get(engine_of(shop))
    with pytest.raises(errors.AnalyticsError) as rejection:
        shop.core.databases.samples(2, secret[engine_of(shop)], schema)
    assert rejection.value.status < 500


def test_catalogs_are_those_that_a_statement_may_name(shop: SmallCore) -> None:
    engine = engine_of(shop)
    catalogs = shop.core.databases.catalogs(2)
    assert len(catalogs) == {"sqlite": 0, "mysql": 0, "duckdb": 1, "postgresql": 1}[engine]


def test_engines_tell_what_is_installed_and_what_brings_the_others(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        engines = {engine.engine: engine for engine in shop.core.databases.engines()}
        assert {name for name, engine in engines.items() if engine.is_installed} >= {"sqlite", "duckdb", "postgresql"}
        assert all((engine.install is None) == engine.is_installed for engine in engines.values())
        missing = next(engine for engine in engines.values() if not engine.is_installed)
        assert missing.install is not None
        assert missing.install.startswith('pip install "analytics-core[')
        assert engines["postgresql"].engine_information == shop_information(shop, "postgresql://h/d")
        assert engines["sqlite"].engine_information == shop.core.databases.get(1).engine_information


def shop_information(shop: SmallCore, url: str) -> Any:
    return shop.core.databases.create({"database_name": url, "orm_uri": url}).engine_information
