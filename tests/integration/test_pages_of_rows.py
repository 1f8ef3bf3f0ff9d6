"""Raw rows that are read by pages: over all pages no row is lost and none comes twice, on every engine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each

import analytics_core

ROWS = 360
PAGE = 100
LONG = "x" * 1100
"""MariaDB sorts by the first 1,024 bytes of a text."""

ENGINES = (
    "sqlite",
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
)


def rows() -> list[dict[str, Any]]:
    """Return rows in an order of their own, with many ties in every column but the keys."""
    source = random.Random(7)
    numbers = [*range(ROWS)]
    source.shuffle(numbers)
    return [
        {
            "a": number % 20,
            "b": number // 20,
            "grp": source.choice(["x", "X", "", "é", None]),
            "num": source.choice([0.5, 2.0, None]),
            "doc": f'{{"n":{number % 180}}}',
            "long": LONG + str(number // 2),
        }
        for number in numbers
    ]


DATA = rows()


def _tables(meta: sa.MetaData) -> list[sa.Table]:
    def columns(*, is_key: bool) -> list[sa.Column[Any]]:
        keys = [sa.Column(name, sa.Integer, primary_key=is_key, nullable=False, autoincrement=False) for name in "ba"]
        return [
            *keys,
            sa.Column("grp", sa.String(10)),
            sa.Column("num", sa.Double),
            sa.Column("doc", sa.Text().with_variant(_Json(), "postgresql", "duckdb")),
            sa.Column("long", sa.Text),
        ]

    return [sa.Table("keyed", meta, *columns(is_key=True)), sa.Table("keyless", meta, *columns(is_key=False))]


class _Json(sa.types.UserDefinedType[str]):
    """A type without an order on PostgreSQL."""

    cache_ok = True

    def get_col_spec(self, **_kw: Any) -> str:
        return "JSON"

    def bind_expression(self, bindvalue: Any) -> Any:
        return sa.cast(sa.type_coerce(bindvalue, sa.Text()), self)


@pytest.fixture(scope="module", params=ENGINES)
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param in ("sqlite", "duckdb"):
        url = f"{request.param}:///{tmp_path_factory.mktemp('pages')}/a.{request.param}"
    else:
        url = request.getfixturevalue(f"make_{request.param}_database")()
    engine = sa.create_engine(url)
    meta = sa.MetaData()
    tables = _tables(meta)
    meta.create_all(engine)
    with engine.begin() as connection:
        for table in tables:
            connection.execute(sa.insert(table), DATA)
    engine.dispose()
    with analytics_core.connect(url) as core:
        for name in ("keyed", "keyless"):
            core.datasets.create({"database": 1, "table_name": name})
        core.datasets.create({"database": 1, "table_name": "virtual", "sql": "SELECT a, grp, num FROM keyless"})
        yield core


DATASETS = {"keyed": 1, "keyless": 2, "virtual": 3}


def ask(core: Any, dataset: str, query: dict[str, Any]) -> Any:
    payload = {"datasource": {"id": DATASETS[dataset], "type": "table"}, "queries": [query]}
    return core.charts.data(payload).raise_for_error().results[0]


def pages(core: Any, dataset: str, query: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of all pages; pages of two sizes, which engines sort in different ways."""
    found: list[tuple[Any, ...]] = []
    size = PAGE
    while page := ask(core, dataset, {"metrics": None, **query, "row_limit": size, "row_offset": len(found)}).data:
        found += [tuple(row.values()) for row in page]
        size = 7 if size == PAGE else PAGE
    return found


ORDERS: tuple[list[Any], ...] = ([], [["grp", True]], [["num", False]])


@pytest.mark.slow
@for_each("orderby", ORDERS, ids=str)
@for_each(
    ("dataset", "columns"),
    [
        ("keyed", ["grp", "num", "a", "b"]),
        ("keyed", ["grp"]),
        ("keyless", ["grp", "num", "a", "b"]),
        ("keyless", ["num", "grp", "a"]),
        ("keyless", ["doc", "grp"]),
        ("keyless", ["grp", "long"]),
        ("virtual", ["grp", "a", "num"]),
    ],
    ids=str,
)
def test_no_row_is_lost_or_repeated_over_all_pages(
    core: Any, dataset: str, columns: list[str], orderby: list[Any]
) -> None:
    found = pages(core, dataset, {"columns": columns, "orderby": orderby})
    assert Counter(found) == Counter(tuple(row[name] for name in columns) for row in DATA)


@for_each("result_type", ["samples", "drill_detail"])
@for_each("dataset", ["keyed", "keyless"])
def test_samples_and_details_come_by_pages_too(core: Any, dataset: str, result_type: str) -> None:
    found = pages(core, dataset, {"result_type": result_type})
    assert Counter(row[:2] for row in found) == Counter((row["b"], row["a"]) for row in DATA)


def test_the_key_is_that_of_the_table_in_its_order(core: Any) -> None:
    result = ask(core, "keyed", {"columns": ["grp"], "metrics": None, "row_limit": 3, "row_offset": 0})
    places = [result.query.index(name, result.query.index("ORDER BY")) for name in ("b", "a")]
    assert places == sorted(places)
    assert [row["grp"] for row in result.data] == [
        row["grp"] for row in sorted(DATA, key=lambda row: (row["b"], row["a"]))[:3]
    ]


def test_ties_come_in_the_direction_of_the_last_key(core: Any) -> None:
    query = {"columns": ["num", "b", "a"], "metrics": None, "orderby": [["num", False]], "row_limit": 5}
    found = [tuple(row.values()) for row in ask(core, "keyed", query).data]
    twos = [(row["num"], row["b"], row["a"]) for row in DATA if row["num"] == 2.0]
    assert found == sorted(twos, reverse=True)[:5]


@pytest.mark.slow
def test_a_payload_with_neither_an_order_nor_an_offset_is_not_sorted(core: Any) -> None:
    result = ask(core, "keyed", {"columns": ["grp"], "metrics": None, "row_limit": 3})
    assert "ORDER BY" not in result.query
    samples = ask(core, "keyed", {"result_type": "samples", "row_limit": 3})
    assert "ORDER BY" not in samples.query


def test_samples_of_a_payload_with_an_order_are_in_some_order(core: Any) -> None:
    assert "ORDER BY" in ask(core, "keyed", {"result_type": "samples", "orderby": [["grp", True]]}).query


def test_a_refresh_finds_a_key_that_came_later(make_table: Callable[[str], Any]) -> None:
    core = make_table("CREATE TABLE t (id INTEGER, x TEXT)")
    assert _displayed(core).endswith('ORDER BY "t"."x" ASC NULLS LAST LIMIT 3')
    make_table("DROP TABLE t; CREATE TABLE t (x TEXT, id INTEGER PRIMARY KEY)")
    core.datasets.refresh(1)
    assert _displayed(core).endswith('ORDER BY "t"."id" ASC LIMIT 3')


@pytest.mark.parametrize(
    ("definition", "order"),
    [
        ("id INTEGER PRIMARY KEY, x TEXT", '"t"."id" ASC'),
        ("id TEXT PRIMARY KEY, x TEXT", '"t"."x" ASC NULLS LAST'),  # holds any number of NULLs
        ("id TEXT PRIMARY KEY NOT NULL, x TEXT", '"t"."id" ASC'),
        ("id TEXT PRIMARY KEY, x TEXT) WITHOUT ROWID; --", '"t"."id" ASC'),
        ("id INTEGER, x TEXT, PRIMARY KEY (x, id)", '"t"."x" ASC NULLS LAST'),
        ("id INTEGER NOT NULL, x TEXT NOT NULL, PRIMARY KEY (x, id)", '"t"."x" ASC, "t"."id" ASC'),
    ],
)
def test_a_key_of_sqlite_that_may_hold_nulls_is_none(
    make_table: Callable[[str], Any], definition: str, order: str
) -> None:
    assert _displayed(make_table(f"CREATE TABLE t ({definition})")).endswith(f"ORDER BY {order} LIMIT 3")


@pytest.fixture
def make_table(tmp_path: Any) -> Callable[[str], Any]:
    """Run statements on a database of SQLite and return a core with its table `t`; the same core each time."""
    cores: list[Any] = []

    def make(script: str) -> Any:
        import sqlite3

        with sqlite3.connect(tmp_path / "t.db") as connection:
            connection.executescript(script)
        if not cores:
            cores.append(analytics_core.connect(f"sqlite:///{tmp_path}/t.db"))
            cores[0].datasets.create({"database": 1, "table_name": "t"})
        return cores[0]

    return make


def _displayed(core: Any) -> str:
    query = {"columns": ["x"], "metrics": None, "row_limit": 2, "row_offset": 0, "result_type": "query"}
    return str(ask_one(core, query).query)


def ask_one(core: Any, query: dict[str, Any]) -> Any:
    return core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query]}).results[0]
