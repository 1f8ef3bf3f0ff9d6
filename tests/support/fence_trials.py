"""Trials of the fence: statements whose fragments fail on hidden rows only, so that an error is a leak.

A world is one table `orders` in which tenant 1 sees rows that no fragment fails on, and every other row is a trap. The
same trials run on 100 rows in the tests and on two million in `tests/attacks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from tests.support.planning import PARSER, plan, spec_of

from analytics_core import AnalyticsCore
from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.compile.plan import Origin, OriginKind, QueryPlan, RelationRule, SqlSource, TableSource
from analytics_core._engine.compile.planning_context import DatasetView, make_view
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.row_filters import filter_clauses, kinds_of, names_of, read_filter
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.relations import relations_of
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import RowFilter
from analytics_core.errors import AnalyticsError

HIDDEN_ID = 77
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "id": "BIGINT",
        "tenant_id": "INTEGER",
        "tenant": "VARCHAR(20)",
        "status": "VARCHAR(20)",
        "zero": "INTEGER",
        "low": "BIGINT",
        "huge": "INTEGER",
        "doc": "VARCHAR(20)",
        "pat": "VARCHAR(20)",
        "created_at": "TIMESTAMP",
    }
)
_OWN = {"status": "'17'", "zero": "1", "low": "1", "huge": "1", "doc": "'{\"a\": 1}'", "pat": "'a'"}
_TRAP = {
    "status": "'CANARY'",
    "zero": "0",
    "low": "-9223372036854775807 - 1",
    "huge": "100000",
    "doc": "'{{{'",
    "pat": "'[['",
}

RULES: Mapping[str, str] = MappingProxyType(
    {
        "equal": "tenant_id = 1",
        "in": "tenant_id IN (1, -1)",
        "or": "tenant_id = 1 OR tenant_id = -1",
        "like": "tenant LIKE 'acme%'",
        "lower": "LOWER(tenant) = 'acme'",
        "null": "tenant_id IS NULL OR tenant_id = 1",
        "not": "NOT tenant_id <> 1",
        "costly": "LENGTH(REPLACE(REPLACE(tenant, 'b', 'bb'), 'c', 'cc')) = 5 AND tenant_id = 1",
    }
)

FRAGMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "postgresql": {
            "cast": "CAST(status AS INTEGER) > 0",
            "division": "1 / zero > 0",
            "overflow": "low * 2 > 0",
            "by letter": "CASE WHEN status LIKE 'C%' THEN 1 / (id - id) ELSE 1 END = 1",
            "exp": "EXP(huge) > 0",
            "json": "CAST(doc AS JSONB) IS NOT NULL",
            "pattern": "NOT status ~ pat",
            "escape": r"NOT status ILIKE 'c\'",
        },
        "mysql": {
            "exp": "EXP(huge) > 0",
            "overflow": "low * 2 > 0",
            "cot": "COT(zero) > 0",
            "by letter": "CASE WHEN status LIKE 'C%' THEN EXP(huge) ELSE 1 END = 1",
            "power": "POW(10, huge) > 0",
        },
        "duckdb": {
            "cast": "CAST(status AS INTEGER) > 0",
            "overflow": "low * 2 > 0",
            "by letter": "CASE WHEN status LIKE 'C%' THEN CAST(status AS INTEGER) ELSE 1 END = 1",
            "date": "STRPTIME(status, '%d') > TIMESTAMP '1800-01-01'",
            "json": "CAST(doc AS JSON) IS NOT NULL",
            "pattern": "NOT regexp_full_match(status, pat)",
            "another pattern": "regexp_replace(status, pat, 'x') <> ''",
        },
        "sqlite": {
            "json": "json_extract(doc, '$.a') = 1",
            "arrow": "doc ->> '$.a' = 1",
            "abs": "ABS(low) > 0",
            "by letter": "CASE WHEN status LIKE 'C%' THEN json(doc) ELSE '1' END = '1'",
        },
        "clickhouse": {
            "cast": "toInt32(status) > 0",
            "division": "intDiv(1, zero) > 0",
            "remainder": "5 % zero > -1",
            "by letter": "CASE WHEN status LIKE 'C%' THEN intDiv(1, zero - zero) ELSE 1 END = 1",
            "date": "parseDateTime(status, '%d') > '1800-01-01'",
            "pattern": "NOT match(status, pat)",
            "thrown": "throwIf(status = 'CANARY') = 0",
        },
        "spark": {
            "cast": "CAST(status AS INT) > 0",
            "division": "1 / zero > 0",
            "overflow": "low * 2 > 0",
            "raised": "CASE WHEN status LIKE 'C%' THEN CAST(status AS INT) ELSE 1 END = 1",
        },
    }
)

_COUNT = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
_SAFE = {"col": "created_at", "op": "TEMPORAL_RANGE", "val": "2000-01-01 : 2100-01-01"}
_HIDDEN_KEY = {"col": "id", "op": "==", "val": HIDDEN_ID}
_OWN_TENANT = {"col": "tenant_id", "op": "==", "val": 1}


def _column(fragment: str) -> dict[str, Any]:
    return {"label": "f", "sqlExpression": f"CASE WHEN {fragment} THEN 1 ELSE 0 END"}


def _sum(fragment: str) -> dict[str, Any]:
    return {"expressionType": "SQL", "label": "s", "sqlExpression": f"SUM(CASE WHEN {fragment} THEN 1 ELSE 0 END)"}


def _named(fragment: str) -> list[str]:
    return [name for name in TYPES if re.search(rf"\b{name}\b", fragment)]


def _names_text(fragment: str) -> bool:
    return any(TYPES[name].startswith("VARCHAR") for name in _named(fragment))


def payloads(fragment: str) -> dict[str, dict[str, Any]]:
    """Return the places in which a query may hold a fragment."""
    where = {"extras": {"where": fragment}}
    grouped = {"columns": ["status"], "metrics": [_COUNT]}
    return {
        "where": {"metrics": [_COUNT], **where},
        "where and a safe filter": {"metrics": [_COUNT], **where, "filters": [_SAFE]},
        "where and a hidden key": {"metrics": [_COUNT], **where, "filters": [_HIDDEN_KEY]},
        "where and the rule's own column": {"metrics": [_COUNT], **where, "filters": [_OWN_TENANT, _HIDDEN_KEY]},
        "where of raw rows in order": {"columns": ["id"], **where, "orderby": [["created_at", False]], "row_limit": 5},
        "filter on a column": {"metrics": [_COUNT], "filters": [{"col": _column(fragment), "op": "==", "val": 1}]},
        "filter on the other value": {"columns": ["id"], "filters": [{"col": _column(fragment), "op": "<", "val": 1}]},
        "selected": {"columns": ["id", _column(fragment)], "filters": [_HIDDEN_KEY]},
        "grouped": {"columns": [_column(fragment)], "metrics": [_COUNT]},
        "ordered": {"columns": ["id"], "orderby": [[_column(fragment), True]], "row_limit": 5},
        "metric": {**grouped, "metrics": [_sum(fragment)]},
        "having": {**grouped, "extras": {"having": f"SUM(CASE WHEN {fragment} THEN 1 ELSE 0 END) >= 0"}},
        "having on keys": {
            "columns": _named(fragment),
            "metrics": [_COUNT],
            "filters": [_HIDDEN_KEY],
            "extras": {"having": fragment},
        },
        "series": {
            "columns": [_column(fragment)],
            "metrics": [_COUNT],
            "series_columns": ["f"],
            "series_limit": 2,
        },
        "others": {
            "columns": ["status"],
            "metrics": [_COUNT],
            **where,
            "series_columns": ["status"],
            "series_limit": 1,
            "group_others_when_limit_reached": True,
        },
        "count of rows": {"columns": ["id"], **where, "is_rowcount": True},
    }


def virtual_sqls(fragment: str) -> dict[str, str]:
    """Return the places in which the SQL of a virtual dataset over `orders` may hold a fragment."""
    flag = f"CASE WHEN {fragment} THEN 1 ELSE 0 END"
    columns = ", ".join(name for name in TYPES if name != "id")
    return {
        "inner where": f"SELECT id FROM orders WHERE {fragment}",
        "inner where and a hidden key": f"SELECT id FROM orders WHERE id = {HIDDEN_ID} AND {fragment}",
        "inner where and the rule's column": f"SELECT id FROM orders WHERE tenant_id = 1 AND id = 2 AND {fragment}",
        "inner select": f"SELECT id, {flag} AS f FROM orders",
        "inner group": f"SELECT {flag} AS f, COUNT(*) AS id FROM orders GROUP BY {flag}",
        "inner having": f"SELECT id FROM orders GROUP BY id, {columns} HAVING {fragment}",
        "inner order": f"SELECT id FROM orders ORDER BY {flag} LIMIT 5",
        "on": f"SELECT o.id FROM keys AS k JOIN orders AS o ON k.k = o.id AND {fragment}",
        "left join": f"SELECT k.k AS id FROM keys AS k LEFT JOIN orders AS o ON k.k = o.id AND {fragment}",
        "exists": f"SELECT k.k AS id FROM keys k WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = k.k AND {fragment})",
        "member": f"SELECT k.k AS id FROM keys AS k WHERE k.k IN (SELECT o.id FROM orders AS o WHERE {fragment})",
        "scalar": f"SELECT k.k AS id, (SELECT MAX({flag}) FROM orders AS o WHERE o.id = k.k) AS f FROM keys AS k",
        "window": f"SELECT id, SUM({flag}) OVER (PARTITION BY zero) AS f FROM orders",
        "nested": f"SELECT id FROM (SELECT * FROM orders WHERE id > 0) AS q WHERE {fragment}",
        "union": f"SELECT id FROM (SELECT * FROM orders UNION ALL SELECT * FROM orders) AS q WHERE {fragment}",
        "cte": f"WITH q AS (SELECT * FROM orders) SELECT id FROM q WHERE {fragment}",
    }


@dataclass(frozen=True, slots=True)
class Trial:
    """One statement of the matrix; it names its place, rule and fragment."""

    name: str
    statement: Statement


def every_pair(engine: str) -> list[tuple[str, str]]:
    """Return each rule with each fragment."""
    return [(rule, fragment) for rule in RULES for fragment in FRAGMENTS[engine]]


def share_of_pairs(engine: str, number: int, share: int) -> list[tuple[str, str]]:
    """Return the pairs that a quick run tries for its nth arrangement, about one of `share`; 1 gives all of them.

    The step is no multiple of how many fragments an engine has: a share would be the pairs of a single one.
    """
    return every_pair(engine)[number :: share + 1] if share > 1 else every_pair(engine)


def one_rule_each(engine: str) -> list[tuple[str, str]]:
    """Return each fragment with one rule, which is another one for each."""
    return list(zip(cycle(RULES), FRAGMENTS[engine], strict=False))


class Trials:
    """Makes the statements of the matrix for one engine."""

    def __init__(self, engine: str) -> None:
        self.spec = spec_of(engine)
        self._dataset = Dataset(
            id=7,
            uuid="u-7",
            database_id=1,
            table_name="orders",
            columns=tuple(
                DatasetColumn(column_name=name, type=kind, stored_type=kind, is_dttm=name == "created_at")
                for name, kind in TYPES.items()
            ),
            metrics=(DatasetMetric(metric_name="n", expression="COUNT(*)"),),
        )
        self._table = self._view(TableSource(table="orders"))

    def make(self, pairs: Iterable[tuple[str, str]], *, old: bool = False) -> Iterator[Trial]:
        """Yield the statements of pairs of a rule and a fragment; `old` puts no fence around the rules."""
        for rule, fragment in pairs:
            text, clause = FRAGMENTS[self.spec.name][fragment], RULES[rule]
            outer = {"columns": ["id"], "extras": {"where": text}, "row_limit": 10}
            pair = f"{rule} / {fragment}"
            for place, payload in payloads(text).items():
                if place == "having on keys" and self.spec.name in ("mysql", "postgresql") and _names_text(text):
                    continue  # these know a key by what it is grouped as, and texts have a collation there
                yield Trial(f"{place} / {pair}", self.on_table(payload, clause, old=old))
            for place, sql in virtual_sqls(text).items():
                statement = self.in_sql(sql, {"columns": ["id"], "row_limit": 10}, clause, old=old)
                yield Trial(f"{place} / {pair}", statement)
            for place, sql in (("around a star", "SELECT * FROM orders"), ("around a filter", _FILTERED)):
                yield Trial(f"{place} / {pair}", self.in_sql(sql, outer, clause, old=old))
                yield Trial(f"{place}, own rule / {pair}", self.on_virtual(sql, outer, clause, old=old))

    def on_table(self, payload: Mapping[str, Any], rule: str, *, old: bool = False) -> Statement:
        """Return a query on the table itself, which a rule binds."""
        return self._compiled(payload, self._table, (rule,), old=old)

    def on_virtual(self, sql: str, payload: Mapping[str, Any], rule: str, *, old: bool = False) -> Statement:
        """Return a query on a virtual dataset that has the rule itself."""
        return self._compiled(payload, self._view(self._checked(sql)), (rule,), old=old)

    def in_sql(self, sql: str, payload: Mapping[str, Any], rule: str, *, old: bool = False) -> Statement:
        """Return a query on a virtual dataset in whose SQL the rule binds a relation."""
        source = self._checked(sql)
        names = names_of(tuple(TYPES.items()), RELATION_ALIAS, tables=("orders",))
        kinds = kinds_of(tuple(TYPES.items()), self.spec)

        def read(item: RowFilter) -> Any:
            return read_filter(item, parser=PARSER, spec=self.spec, names=names, kinds=kinds)

        clauses = filter_clauses([RowFilter(name="own", clause=rule)], read)
        assert source.tree is not None
        rules = tuple(
            RelationRule(position=relation.position, relation="orders", clauses=clauses)
            for relation in relations_of(source.tree, self.spec)
            if relation.table.table == "orders"
        )
        return self._compiled(payload, self._view(replace(source, rules=rules)), (), old=old)

    def _checked(self, sql: str) -> SqlSource:
        return check_select(sql, spec=self.spec, place="dataset 'orders'")

    def _view(self, source: SqlSource | TableSource) -> DatasetView:
        return make_view(self._dataset, self.spec, source)

    def _compiled(self, payload: Mapping[str, Any], view: DatasetView, rules: Sequence[str], *, old: bool) -> Statement:
        filters = [RowFilter(name=f"rule {n}", clause=rule) for n, rule in enumerate(rules)]
        made = plan(payload, view=view, row_filters=filters)
        if not old:
            return compile_plan(made, self.spec)
        return compile_plan(_forgotten(made), self._without_fence())

    def _without_fence(self) -> EngineSpec:
        return replace(self.spec, guards=replace(self.spec.guards, fence=lambda permitted: permitted))


@cache
def one_rule_trials(engine: str) -> tuple[Trial, ...]:
    """Return the statements of `one_rule_each`, which every arrangement of a table runs: they are compiled once."""
    return tuple(Trials(engine).make(one_rule_each(engine)))


_FILTERED = "SELECT * FROM orders WHERE id > 0 AND id < 1000000000"


def _forgotten(made: QueryPlan) -> QueryPlan:
    """Return a plan whose rules look like a user's conditions: no fence is put around them."""
    origin = Origin(OriginKind.PAYLOAD, "rule")
    limit = made.series_limit
    return replace(
        made,
        where=tuple(replace(clause, origin=origin) for clause in made.where),
        series_limit=limit and replace(limit, where=tuple(replace(clause, origin=origin) for clause in limit.where)),
    )


def run(connection: sa.Connection, trial: Trial) -> str | None:
    """Run a statement by the driver itself; return the first line of its error, None when there was none."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(trial.statement.sql, trial.statement.parameters)
        cursor.fetchall()
    except connection.dialect.loaded_dbapi.Error as error:
        return str(error).splitlines()[0]
    finally:
        cursor.close()
    return None


def leaks(connection: sa.Connection, trials: Iterable[Trial]) -> tuple[int, dict[str, str]]:
    """Run trials; return how many there were and the errors by the names of those that failed."""
    count, failed = 0, {}
    for trial in trials:
        count += 1
        if (error := run(connection, trial)) is not None:
            failed[trial.name] = error
    return count, failed


def editor_leaks(
    core: AnalyticsCore, rules: dict[str, str], engine: str, pairs: Iterable[tuple[str, str]]
) -> tuple[int, dict[str, str]]:
    """Ask statements of the SQL editor whose fragments fail on hidden rows only; `rules` bind the actor of the core.

    Return how many there were, and the errors of those that failed.
    """
    count, failed = 0, {}
    for rule, fragment in pairs:
        rules["orders"] = RULES[rule]
        for place, sql in virtual_sqls(FRAGMENTS[engine][fragment]).items():
            count += 1
            try:
                core.sql(sql)
            except AnalyticsError as error:
                failed[f"{place} / {rule} / {fragment}"] = error.message
    return count, failed


# --------------------------------------------------------------------------------------------------------- the table
def fill(
    connection: sa.Connection,
    engine: str,
    rows: int,
    *,
    partitioned: bool = False,
    each: int = 2,
    stored: str = "",
) -> None:
    """Make `orders` with `rows` rows, one of each `each` of tenant 1, and `keys` with all ids up to 100.

    `stored` ends the definition of `orders`, and of `keys` where an engine asks how each table is stored.
    """
    partition = _PARTITIONS[engine] if partitioned else stored
    columns = ", ".join(f"{name} {_KINDS.get((engine, kind), kind)}" for name, kind in TYPES.items())
    own = f"(CASE WHEN n % {each} = 0 AND n <> {HIDDEN_ID} THEN {{}} ELSE {{}} END)"
    picked = [own.format(_OWN[name], _TRAP[name]) for name in ("status", "zero", "low", "huge", "doc", "pat")]
    values = ", ".join(["n", own.format("1", "2"), own.format("'acme'", "'bolt'"), *picked, _MOMENT[engine]])
    with connection.begin():
        connection.exec_driver_sql(f"CREATE TABLE orders ({columns}){partition}")
        for part in _PARTS.get(engine, ()) if partitioned else ():
            connection.exec_driver_sql(part)
        connection.exec_driver_sql(
            f"CREATE TABLE keys (k BIGINT){_PLAIN.get(engine, '')}"
            if engine != "mysql"
            else "CREATE TABLE `keys` (k BIGINT)"
        )
        series = _SERIES[engine].format(rows=rows)
        connection.execute(sa.text(f"INSERT INTO orders SELECT {values} FROM {series} AS s"))
        connection.exec_driver_sql(
            f"INSERT INTO {'`keys`' if engine == 'mysql' else 'keys'} SELECT id FROM orders WHERE id <= 100"
        )


_KINDS = {("mysql", "TIMESTAMP"): "DATETIME", ("clickhouse", "TIMESTAMP"): "DateTime64(6)"}
_PLAIN = {"clickhouse": " ENGINE = MergeTree ORDER BY k"}
_SERIES = {
    "postgresql": "(SELECT n FROM generate_series(1, {rows}) AS g(n))",
    "duckdb": "(SELECT range AS n FROM range(1, {rows} + 1))",
    "mysql": "(SELECT seq AS n FROM seq_1_to_{rows})",
    "sqlite": "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {rows}) SELECT n FROM c)",
    "clickhouse": "(SELECT number + 1 AS n FROM numbers({rows}))",
    "spark": "(SELECT id + 1 AS n FROM range({rows}))",
}
_MOMENT = {
    "postgresql": "TIMESTAMP '2020-01-01' + n * INTERVAL '1 minute'",
    "duckdb": "TIMESTAMP '2020-01-01' + n * INTERVAL 1 MINUTE",
    "mysql": "TIMESTAMP('2020-01-01') + INTERVAL n MINUTE",
    "sqlite": "DATETIME('2020-01-01', '+' || n || ' minutes')",
    "clickhouse": "addMinutes(toDateTime64('2020-01-01', 6, 'UTC'), n)",
    "spark": "TIMESTAMP '2020-01-01' + n * INTERVAL '1' MINUTE",
}
_PARTITIONS = {"postgresql": " PARTITION BY LIST (tenant_id)", "mysql": " PARTITION BY HASH (tenant_id) PARTITIONS 4"}
_PARTS = {
    "postgresql": (
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1)",
        "CREATE TABLE orders_2 PARTITION OF orders FOR VALUES IN (2)",
    )
}

INDEXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bare": (),
        "index on the rule": (
            "CREATE INDEX by_tenant ON orders (tenant_id)",
            "CREATE INDEX by_name ON orders (tenant)",
        ),
        "index without the rule": ("CREATE INDEX by_id ON orders (id, status, zero, low, huge, doc, pat)",),
        "index by time": ("CREATE INDEX by_time ON orders (created_at)",),
        "covering": ("CREATE INDEX covering ON orders (status, zero, low, tenant_id, tenant, id)",),
    }
)


def arrange(connection: sa.Connection, engine: str, situation: str) -> None:
    """Make the indexes of a situation and let the engine gather its statistics."""
    with connection.begin():
        for statement in INDEXES[situation]:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("ANALYZE TABLE orders" if engine == "mysql" else "ANALYZE")
