"""Questions on the table of `plan_world`, what an expert writes for the same rows, and what their plans must show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

_ALL = "id, ts, country, product, quantity, price"
_COLUMNS = ["id", "ts", "country", "product", "quantity", "price"]
_TOTAL = {"expressionType": "SIMPLE", "column": {"column_name": "price"}, "aggregate": "SUM", "label": "total"}
_MONTHS = {
    "sqlite": "strftime('%Y-%m-01 00:00:00', ts)",
    "duckdb": "date_trunc('month', ts)",
    "postgresql": "date_trunc('month', ts)",
    "mysql": "TIMESTAMP(DATE(ts) - INTERVAL DAYOFMONTH(ts) - 1 DAY)",
}

_DAYS = {
    "sqlite": "strftime('%Y-%m-%d 00:00:00', ts)",
    "duckdb": "date_trunc('day', ts)",
    "postgresql": "date_trunc('day', ts)",
    "mysql": "TIMESTAMP(DATE(ts))",
}

_BY_TS = {
    "postgresql": (r"Index Scan.* using ix_ts", r"Seq Scan"),
    "mysql": (r"\bix_ts\b", r"events,ALL"),
    "sqlite": (r"USING INDEX ix_ts", r"TEMP B-TREE FOR ORDER BY$"),
}
_BY_PRODUCT = {
    "postgresql": (r"ix_product", r"Seq Scan"),
    "mysql": (r"\bix_product\b", r"events,ALL"),
    "sqlite": (r"USING INDEX ix_product", r"SCAN events"),
}
_BY_TS_LATER = {  # MariaDB goes by the costs; PostgreSQL counts the rows that a page skips in any order, if ever
    "postgresql": (_BY_TS["postgresql"][0], r"Sort Key.*\n.*Seq Scan"),
    "sqlite": _BY_TS["sqlite"],
}
_HASHED = {
    "postgresql": (r"Hash Join|Hash Left Join|Index Scan on ix_product", r"Nested Loop[\s\S]*Seq Scan on events  "),
    "duckdb": (r"HASH_JOIN", r"NESTED_LOOP|BLOCKWISE"),
    "mysql": (r"<derived\d+>,ref", r"BNL"),
    "sqlite": (r"series_limit", r"SCAN series_limit\nSCAN events$"),
}
_HASHED_BY_PRODUCT = {**_HASHED, "mysql": (r"events,ref,ix_product", r"BNL")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A query, the expert's statement for an engine, and for engines a pattern that the plan shows and one it must not.

    `rule` is a row rule that binds everybody while it is asked. Where a query takes several statements, `;` parts those
    of the expert.
    """

    name: str
    query: Mapping[str, Any]
    expert: Callable[[str], str]
    shows: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rule: str | None = None


def _page(order: str, *, limit: int = 101, where: str = "ts IS NOT NULL", offset: int = 0) -> Callable[[str], str]:
    skipped = f" OFFSET {offset}" if offset else ""
    return lambda _: f"SELECT {_ALL} FROM events WHERE {where} ORDER BY {order} LIMIT {limit}{skipped}"


def _months(limit: int, key: str = "product", *, others: bool = False) -> Callable[[str], str]:
    def expert(engine: str) -> str:
        month = _MONTHS[engine]
        label = f"CASE WHEN s.hit IS NOT NULL THEN {key} END" if others else key
        # SQLite would read all events for each of the best series where no index finds them.
        join = "LEFT JOIN" if others else "CROSS JOIN" if engine == "sqlite" and key == "price" else "JOIN"
        safe = (
            {"sqlite": "IS", "mysql": "<=>", "duckdb": "IS NOT DISTINCT FROM"}.get(engine) if key != "product" else "="
        )
        on = f"events.{key} {safe or '='} s.k"
        if engine == "postgresql" and key == "country":  # the others are never among the best where they are null
            on = "COALESCE(events.country, '') = COALESCE(s.k, '')"
        best = (
            f"SELECT {key} AS k, 1 AS hit FROM {_read_entire(engine)} GROUP BY {key} "
            f"ORDER BY SUM(price) DESC, {key} LIMIT {limit}"
        )
        more = ", CASE WHEN s.hit IS NULL THEN 1 ELSE 0 END" if others else ""
        keys = f"{month}, {label}{more}"
        return (
            f"SELECT {keys}, SUM(price) FROM events {join} ({best}) s ON {on} GROUP BY {keys} "
            f"ORDER BY {_last(month, engine)}, {_last(label, engine)}{more} LIMIT 10001"
        )

    return expert


def _read_entire(engine: str) -> str:
    """Return the table; MariaDB would group by an index and look up every row, which takes 40 times as long."""
    return "events IGNORE INDEX (ix_country, ix_product, ix_ts)" if engine == "mysql" else "events"


def _last(key: str, engine: str) -> str:
    return f"({key}) IS NULL, {key}" if engine == "mysql" else f"{key} NULLS LAST"


def _series(limit: int, key: str = "product", *, others: bool = False) -> dict[str, Any]:
    axis = {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": "ts",
        "label": "ts",
        "timeGrain": "P1M",
    }
    return {
        "columns": [axis, key],
        "metrics": [_TOTAL],
        "series_columns": [key],
        "series_limit": limit,
        "group_others_when_limit_reached": others,
        "row_limit": 10_000,
    }


def _raw(*keys: tuple[str, bool], **more: Any) -> dict[str, Any]:
    orderby = [list(key) for key in keys]
    return {"columns": _COLUMNS, "metrics": None, "orderby": orderby, "row_limit": 100, "row_offset": 0, **more}


def _by_country(where: str, *, is_wide: bool = False) -> Callable[[str], str]:
    return lambda engine: (
        f"SELECT country, COUNT(*), SUM(price) FROM {_read_entire(engine) if is_wide else 'events'} "
        f"WHERE {where} GROUP BY country "
        f"ORDER BY COUNT(*) DESC, {_last('country', engine)} LIMIT 1001"
    )


def _countries(**more: Any) -> dict[str, Any]:
    return {
        "columns": ["country"],
        "metrics": ["count", _TOTAL],
        "orderby": [["count", False]],
        "row_limit": 1000,
        **more,
    }


_TWO = "country IN ('Country 01', 'Country 02')"


def _products_of_two(_engine: str) -> str:
    return (
        f"SELECT country, product, COUNT(*), SUM(price) FROM events WHERE {_TWO} "
        "GROUP BY country, product ORDER BY COUNT(*) DESC, country, product LIMIT 1001"
    )


_DAY_AXIS = {
    "columnType": "BASE_AXIS",
    "expressionType": "SQL",
    "sqlExpression": "ts",
    "label": "ts",
    "timeGrain": "P1D",
}
_MEAN = {"expressionType": "SIMPLE", "column": {"column_name": "score"}, "aggregate": "AVG", "label": "mean"}
_UNIT_VALUE = "SUM(price * quantity) / NULLIF(SUM(quantity), 0)"
_TWELVE = [f"Country {number:02d}" for number in range(12)]
_DAILY = {
    "columns": [_DAY_AXIS, "country"],
    "metrics": [_TOTAL, _MEAN, {"expressionType": "SQL", "sqlExpression": _UNIT_VALUE, "label": "unit_value"}],
    "granularity": "ts",
    "time_range": "2022-03-01 : 2023-03-01",
    "filters": [
        {"col": "country", "op": "IN", "val": _TWELVE},
        {"col": "quantity", "op": ">=", "val": 5},
        {"col": "product", "op": "LIKE", "val": "Product-1%"},
        {"col": "score", "op": "IS NOT NULL"},
    ],
    "series_columns": ["country"],
    "series_limit": 10,
    "series_limit_metric": _TOTAL,
    "orderby": [[_TOTAL, False]],
    "row_limit": 10_000,
}
"""The daily series of the shared workloads: three metrics, four filters, a range, the best ten series."""


def _daily(engine: str) -> str:
    countries = ", ".join(f"'{name}'" for name in _TWELVE)
    beginning = "product GLOB 'Product-1*'" if engine == "sqlite" else "product LIKE 'Product-1%'"
    where = (
        f"ts >= '2022-03-01' AND ts < '2023-03-01' AND country IN ({countries}) AND quantity >= 5 "
        f"AND {beginning} AND score IS NOT NULL"
    )
    best = f"SELECT country AS k FROM events WHERE {where} GROUP BY country ORDER BY SUM(price) DESC, country LIMIT 10"
    return (
        f"SELECT {_DAYS[engine]}, country, SUM(price), AVG(score), {_UNIT_VALUE} FROM events JOIN ({best}) s "
        f"ON country = s.k WHERE {where} GROUP BY {_DAYS[engine]}, country "
        f"ORDER BY SUM(price) DESC, {_DAYS[engine]}, country LIMIT 10001"
    )


_COMPARED = {
    "columns": [_DAY_AXIS, "country"],
    "metrics": [_TOTAL],
    "filters": [{"col": "ts", "op": "TEMPORAL_RANGE", "val": "2023-03-01 : 2023-04-01"}],
    "time_offsets": ["1 year ago"],
    "row_limit": 10_000,
}


def _compared(engine: str) -> str:
    day, last = _DAYS[engine], _last("country", engine)
    return ";".join(
        f"SELECT {day}, country, SUM(price) FROM events WHERE ts >= '{year}-03-01' AND ts < '{year}-04-01' "
        f"GROUP BY {day}, country ORDER BY {day}, {last} LIMIT 10001"
        for year in (2023, 2022)
    )


_MARCH = {"col": "ts", "op": "TEMPORAL_RANGE", "val": "2023-03-01 : 2023-03-08"}
_IN_MARCH = "ts >= '2023-03-01' AND ts < '2023-03-08'"

CASES = (
    Case(name="newest rows, NULLs last", query=_raw(("ts", False)), expert=_page("ts DESC, id DESC"), shows=_BY_TS),
    Case(name="oldest rows, NULLs last", query=_raw(("ts", True)), expert=_page("ts, id"), shows=_BY_TS),
    Case(
        name="newest rows, page 21",
        query=_raw(("ts", False), row_offset=2000),
        expert=_page("ts DESC, id DESC", offset=2000),
        shows=_BY_TS_LATER,
    ),
    Case(
        name="newest rows of a week",
        query=_raw(("ts", False), filters=[_MARCH]),
        expert=_page("ts DESC, id DESC", where=_IN_MARCH),
        shows=_BY_TS,
    ),
    Case(
        name="rows of a product",
        query=_raw(("id", True), filters=[{"col": "product", "op": "==", "val": "Product-0007 é"}]),
        expert=_page("id", where="product = 'Product-0007 é'"),
        shows=_BY_PRODUCT,
    ),
    Case(
        name="rows of two products",
        query=_raw(("id", True), filters=[{"col": "product", "op": "IN", "val": ["Product-0007 é", "Product-0011 é"]}]),
        expert=_page("id", where="product IN ('Product-0007 é', 'Product-0011 é')"),
        shows={"mysql": _BY_PRODUCT["mysql"], "sqlite": _BY_PRODUCT["sqlite"]},  # PostgreSQL may walk the key
    ),
    Case(name="first rows by key", query=_raw(), expert=_page("id", where="1 = 1")),
    Case(name="countries", query=_countries(), expert=_by_country("1 = 1", is_wide=True)),
    Case(name="countries of a week", query=_countries(filters=[_MARCH]), expert=_by_country(_IN_MARCH)),
    Case(
        name="countries of products by their beginning",
        query=_countries(filters=[{"col": "product", "op": "LIKE", "val": "Product-1%"}]),
        expert=lambda engine: _by_country(
            "product GLOB 'Product-1*'" if engine == "sqlite" else "product LIKE 'Product-1%'", is_wide=True
        )(engine),
    ),
    *(
        Case(
            name=f"best {limit} products by month",
            query=_series(limit),
            expert=_months(limit),
            shows=_HASHED_BY_PRODUCT,
        )
        for limit in (5, 50, 500)
    ),
    Case(
        name="best 500 prices by month",
        query=_series(500, "price"),
        expert=_months(500, "price"),
        shows=_HASHED,
    ),
    Case(
        name="best 10 countries by month, and the others",
        query=_series(10, "country", others=True),
        expert=_months(10, "country", others=True),
        shows=_HASHED,
    ),
    Case(
        name="products of two countries",
        query={
            "columns": ["country", "product"],
            "metrics": ["count", _TOTAL],
            "filters": [{"col": "country", "op": "IN", "val": ["Country 01", "Country 02"]}],
            "orderby": [["count", False]],
            "row_limit": 1000,
        },
        expert=_products_of_two,
    ),
    Case(name="daily series of the best ten countries", query=_DAILY, expert=_daily),
    Case(
        name="10,000 rows in no order",
        query={"columns": _COLUMNS, "metrics": None, "row_limit": 10_000},
        expert=lambda _: f"SELECT {_ALL} FROM events LIMIT 10001",
    ),
    Case(name="days of a month compared with a year ago", query=_COMPARED, expert=_compared),
    Case(name="countries under a row rule", query=_countries(), expert=_by_country("tenant = 7"), rule="tenant = 7"),
    Case(
        name="newest rows under a row rule",
        query=_raw(("ts", False)),
        expert=_page("ts DESC, id DESC", where="tenant = 7 AND ts IS NOT NULL"),
        rule="tenant = 7",
    ),
)


def statements(core: Any, case: Case) -> tuple[str, ...]:
    """Return our statements of a case on dataset 1, values written in: the query's own, then those compared with it."""
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [dict(case.query)]}
    if case.rule is None:
        return _explained(core, payload)
    rule = core.row_level_security.create(
        {"name": case.name, "filter_type": "Base", "clause": case.rule, "tables": [1], "roles": []}
    )
    try:
        return _explained(core, payload)
    finally:
        core.row_level_security.delete(rule.id)


def _explained(core: Any, payload: dict[str, Any]) -> tuple[str, ...]:
    found = core.charts.explain(payload).queries[0]
    if found.failure is not None:
        raise found.failure
    return (found.sql, *(compared.sql for compared in found.offsets.values()))


def plan_of(connection: sa.Connection, engine: str, sql: str) -> str:
    """Return the plan of a statement as text, a line for each step."""
    written = sql.replace("%", "%%") if engine in ("postgresql", "mysql") else sql
    word = "EXPLAIN QUERY PLAN" if engine == "sqlite" else "EXPLAIN"
    rows = connection.exec_driver_sql(f"{word} {written}").all()
    # MariaDB: table, type, key and what is done with it.
    pick = {"mysql": (2, 3, 5, 9), "sqlite": (3,), "duckdb": (1,), "postgresql": (0,)}[engine]
    return "\n".join(",".join(str(row[i]) for i in pick) for row in rows)


def flaw(case: Case, engine: str, plan: str) -> str | None:
    """Return what a plan lacks or must not show; None when it is as it should be."""
    if engine not in case.shows:
        return None
    wanted, unwanted = case.shows[engine]
    if not re.search(wanted, plan, re.MULTILINE):
        return f"shows no {wanted!r}"
    found = re.search(unwanted, plan, re.MULTILINE)
    return f"shows {found.group()!r}" if found and found.group() else None
