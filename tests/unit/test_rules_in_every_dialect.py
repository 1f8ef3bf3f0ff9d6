"""Each place of a virtual dataset's SQL that reads a ruled table reads a filtered sub-query, on every engine's dialect.

On the four engines at hand answers are compared (tests/integration/test_row_rules_on_engines.py);
here the statement is looked at, so that the other dialects are tried too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp
from tests.support.cases import for_each

from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.compile.render import render_source
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.relations import reject_revealing_table
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import RuleSet, TableName, make_rule_set
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.people import Role, RowRule, RowRuleType, User
from analytics_core.errors import AnalyticsError, StatementRefusedError

REGISTRY = installed_engines(())
EVERY_ENGINE = REGISTRY.names()
SALES = Dataset(
    id=1,
    uuid="u-1",
    table_name="sales",
    database_id=1,
    columns=(DatasetColumn(column_name="id", type="INTEGER"), DatasetColumn(column_name="tenant", type="VARCHAR(20)")),
)
VIRTUAL = Dataset(id=2, uuid="u-2", table_name="made", database_id=1, sql="SELECT 1")
RULE = RowRule(id=1, name="own", clause="tenant = 'acme'", filter_type=RowRuleType.BASE, dataset_ids=(1,), role_ids=())
ANNA = Actor(user=User(id=7, username="anna"), roles=(Role(id=1, name="staff"),))


class Books:
    """Knows one rule, on `sales`."""

    def book(
        self,
        database_id: int,
        dataset_id: int | None,
        tables: frozenset[TableName],
        *,
        role_ids: frozenset[int] | None,
    ) -> RuleSet:
        """Return the book of the rule."""
        return make_rule_set([RULE], [SALES])

    def tables(self, database_id: int, table: TableName) -> tuple[Dataset, ...]:
        """Return the one physical dataset."""
        return (SALES,)


SECURITY = RowSecurity(books=Books(), sources=(), renderer=TemplateRenderer(), parser=FragmentParser(max_length=1_000))


def ruled_sql(sql: str, on: str) -> str:
    """Return the SQL of a virtual dataset as it runs for somebody whom the rule binds."""
    spec = REGISTRY.get(on)
    source = SECURITY.in_source(SECURITY.ruled(ANNA, VIRTUAL, spec), check_select(sql, spec=spec, place="d"))
    return render_source(source, spec)[0]


def readings(sql: str, on: str) -> tuple[int, int]:
    """Return how many places read `sales` behind the rule, and how many read it past the rule."""
    tree = sqlglot.parse_one(sql.replace("%%", "%"), read=REGISTRY.get(on).dialect)
    behind = past = 0
    for table in tree.find_all(exp.Table):
        if table.name.casefold() != "sales":
            continue
        select = table.find_ancestor(exp.Select)
        where = select.args.get("where") if select else None
        if where is not None and isinstance(where.this, exp.Boolean) and not where.this.this:
            continue  # the empty arm of a fence reads nothing
        is_ruled = table.alias == RELATION_ALIAS and where is not None and "acme" in where.sql()
        behind, past = behind + is_ruled, past + (not is_ruled)
    return behind, past


ALL_DIALECTS: Mapping[str, tuple[str, int]] = {
    "plain": ("SELECT id FROM sales", 1),
    "alias": ("SELECT s.id FROM sales AS s", 1),
    "qualified": ("SELECT id FROM shop.sales", 1),
    "comma": ("SELECT a.id FROM sales a, sales b", 2),
    "inner join": ("SELECT a.id FROM sales a INNER JOIN sales b ON a.id = b.id", 2),
    "left join": ("SELECT a.id FROM other a LEFT JOIN sales b ON a.id = b.id", 1),
    "left join, other side": ("SELECT a.id FROM sales a LEFT JOIN other b ON a.id = b.id", 1),
    "right join": ("SELECT a.id FROM sales a RIGHT JOIN sales b ON a.id = b.id", 2),
    "full join": ("SELECT a.id FROM sales a FULL OUTER JOIN sales b ON a.id = b.id", 2),
    "cross join": ("SELECT a.id FROM sales a CROSS JOIN sales b", 2),
    "natural join": ("SELECT a.id FROM sales a NATURAL JOIN sales b", 2),
    "using": ("SELECT a.id FROM sales a LEFT JOIN sales b USING (id)", 2),
    "several joins": ("SELECT a.id FROM x a LEFT JOIN sales b ON 1 = 1 LEFT JOIN sales c ON 1 = 1", 2),
    "CTE": ("WITH q AS (SELECT id FROM sales) SELECT id FROM q", 1),
    "CTE that is named alike": ("WITH sales AS (SELECT 1 AS id) SELECT id FROM sales", 0),
    "qualified beside it": ("WITH sales AS (SELECT 1 AS id) SELECT s.id FROM shop.sales AS s CROSS JOIN sales", 1),
    "union": ("SELECT id FROM sales UNION ALL SELECT id FROM sales", 2),
    "sub-query": ("SELECT id FROM (SELECT id FROM sales) AS q", 1),
    "in": ("SELECT id FROM other WHERE id IN (SELECT id FROM sales)", 1),
    "exists": ("SELECT id FROM other WHERE EXISTS (SELECT 1 FROM sales)", 1),
    "scalar": ("SELECT (SELECT MAX(id) FROM sales) AS id FROM other", 1),
    "case": ("SELECT CASE WHEN (SELECT COUNT(*) FROM sales) > 1 THEN 1 END AS id FROM other", 1),
    "order": ("SELECT id FROM other ORDER BY (SELECT MAX(id) FROM sales)", 1),
    "having": ("SELECT id FROM other GROUP BY id HAVING COUNT(*) > (SELECT COUNT(*) FROM sales)", 1),
    "join condition": ("SELECT a.id FROM other a JOIN x b ON a.id = (SELECT MAX(id) FROM sales)", 1),
}
NO_SUCH_JOIN = {("mysql", "full join")}


@pytest.mark.slow
@for_each("on", EVERY_ENGINE)
@for_each("place", ALL_DIALECTS)
def test_every_place_that_reads_the_table_is_behind_the_rule(place: str, on: str) -> None:
    sql, places = ALL_DIALECTS[place]
    if (on, place) in NO_SUCH_JOIN:
        with pytest.raises(AnalyticsError):
            ruled_sql(sql, on)
        return
    readers_of_a_cte = int(place in ("CTE that is named alike", "qualified beside it"))
    if not REGISTRY.get(on).guards.table_names.nested_ctes and place == "qualified beside it":
        readers_of_a_cte = 0  # the clause is sent by a name of its own
    assert readings(ruled_sql(sql, on), on) == (places, readers_of_a_cte)


OF_ONE_DIALECT = [
    ("sqlite", "SELECT id FROM [SALES]"),
    ("sqlite", "SELECT id FROM sales INDEXED BY i"),
    ("duckdb", "FROM sales"),
    ("duckdb", "SELECT * FROM (PIVOT sales ON tenant USING COUNT(*))"),
    ("duckdb", "PIVOT sales ON tenant USING COUNT(*)"),
    ("duckdb", "WITH q AS (FROM sales) UNPIVOT q ON tenant"),
    ("duckdb", "SELECT o.id FROM other o SEMI JOIN sales USING (id)"),
    ("duckdb", "SELECT o.id FROM other o ANTI JOIN sales USING (id)"),
    ("duckdb", "SELECT o.id FROM other o POSITIONAL JOIN sales"),
    ("duckdb", "SELECT o.id FROM other o ASOF JOIN sales s ON o.id >= s.id"),
    ("postgresql", "TABLE sales"),
    ("postgresql", "SELECT id FROM ONLY sales"),
    ("postgresql", 'SELECT id FROM "sales"'),
    ("postgresql", "SELECT o.id FROM other o LEFT JOIN LATERAL (SELECT id FROM sales WHERE id = o.id) q ON TRUE"),
    ("redshift", 'SELECT id FROM "SALES"'),
    ("mysql", "SELECT id FROM `sales`"),
    ("mysql", "SELECT o.id FROM other o STRAIGHT_JOIN sales s ON o.id = s.id"),
    ("mssql", "SELECT id FROM [sales] WITH (NOLOCK)"),
    ("mssql", "SELECT id FROM shop.dbo.sales"),
    ("mssql", "SELECT o.id FROM other o CROSS APPLY (SELECT s.id FROM sales s WHERE s.id = o.id) q"),
    ("mssql", "SELECT o.id FROM other o OUTER APPLY (SELECT s.id FROM sales s WHERE s.id = o.id) q"),
    ("oracle", 'SELECT id FROM shop."SALES" s'),
    ("snowflake", 'SELECT id FROM db.shop."SALES"'),
    ("bigquery", "SELECT id FROM `project.shop.sales`"),
    ("bigquery", "SELECT id FROM `shop`.`sales`"),
    ("databricks", "SELECT id FROM catalog.shop.sales"),
    ("databricks", "SELECT o.id FROM other o LEFT SEMI JOIN sales s ON o.id = s.id"),
    ("databricks", "SELECT o.id FROM other o LEFT ANTI JOIN sales s ON o.id = s.id"),
    ("clickhouse", "SELECT id FROM sales FINAL"),
    ("clickhouse", "SELECT o.id FROM other o ANY LEFT JOIN sales s ON o.id = s.id"),
    ("clickhouse", "SELECT o.id FROM other o GLOBAL INNER JOIN sales s ON o.id = s.id"),
    ("clickhouse", "SELECT o.id FROM other o ASOF LEFT JOIN sales s ON o.id >= s.id"),
    ("trino", "TABLE sales"),
    ("trino", "SELECT id FROM hive.shop.sales TABLESAMPLE BERNOULLI (50)"),
    ("druid", 'SELECT id FROM "druid"."sales"'),
]


@for_each(("on", "sql"), OF_ONE_DIALECT)
def test_each_dialects_own_ways_are_behind_the_rule(on: str, sql: str) -> None:
    assert readings(ruled_sql(sql, on), on) == (1, 0)


EVERYWHERE = [
    (on, sql) for on in EVERY_ENGINE for place, (sql, _) in ALL_DIALECTS.items() if (on, place) not in NO_SUCH_JOIN
]
ODD = [
    ("sqlite", 'SELECT \'grün ☃ 😀\', "sales".id FROM "sales" JOIN sales AS "b☃" ON "b☃".id = "sales".id'),
    ("postgresql", "SELECT 'sales', id /* sales */ FROM sales -- sales"),
    ("postgresql", "SELECT a FROM shop.sales AS q(a, b)"),
    ("mysql", "SELECT 'it''s \\\\' AS sales, `sales`.id FROM `sales`, other AS sales2"),
    ("duckdb", "SELECT * FROM sales AS permitted_rows, (SELECT * FROM sales)"),
]


@for_each(("on", "sql"), [*EVERYWHERE, *OF_ONE_DIALECT, *ODD])
def test_rules_put_into_the_text_give_what_a_tree_written_again_gives(on: str, sql: str) -> None:
    spec = REGISTRY.get(on)
    source = SECURITY.in_source(SECURITY.ruled(ANNA, VIRTUAL, spec), check_select(sql, spec=spec, place="d"))
    by_tree = replace(source, rules=tuple(replace(rule, place=None) for rule in source.rules))
    assert render_source(source, spec) == render_source(by_tree, spec)


@for_each("on", EVERY_ENGINE)
def test_the_places_of_plain_names_are_known(on: str) -> None:
    sql = "SELECT s.id FROM shop.sales AS s JOIN other ON other.id IN (SELECT id FROM sales)"
    source = check_select(sql, spec=REGISTRY.get(on), place="d")
    assert source.relations is not None
    named = [source.sql[one.place.start : one.place.end] for one in source.relations if one.place]
    assert sorted(named) == ["other", "sales", "shop.sales"]


@for_each(
    ("on", "sql"),
    [
        ("postgresql", "SELECT id FROM sales TABLESAMPLE BERNOULLI ((SELECT COUNT(*) FROM sales))"),
        ("postgresql", "SELECT id FROM sales TABLESAMPLE SYSTEM (50)"),
        ("postgresql", "SELECT id FROM sales TABLESAMPLE BERNOULLI (50) REPEATABLE (1)"),
        ("duckdb", "SELECT id FROM sales TABLESAMPLE RESERVOIR (2 ROWS)"),
        ("duckdb", "SELECT id FROM sales TABLESAMPLE 5 PERCENT (BERNOULLI, 3)"),
        ("mysql", "SELECT id FROM sales FOR SYSTEM_TIME AS OF (SELECT MAX(id) FROM sales)"),
    ],
)
def test_no_part_of_a_ruled_table_reads_rows_behind_the_rule(on: str, sql: str) -> None:
    with pytest.raises(StatementRefusedError, match=r"under row rules|tell of them"):
        ruled_sql(sql, on)


def test_a_sample_of_the_permitted_rows_is_taken() -> None:
    sql = "SELECT id FROM (SELECT * FROM sales) AS q TABLESAMPLE RESERVOIR (2 ROWS)"
    assert readings(ruled_sql(sql, "duckdb"), "duckdb") == (1, 0)


def test_a_dot_in_a_table_name_leads_into_no_other_schema() -> None:
    dotted = replace(SALES, table_name="other.sales", schema="shop")
    with pytest.raises(StatementRefusedError, match="name schema and table apart"):
        reject_revealing_table(dotted, REGISTRY.get("bigquery"))
    for engine in EVERY_ENGINE:  # elsewhere a quoted name with a dot is one name
        reject_revealing_table(SALES, REGISTRY.get(engine))
        if engine != "bigquery":
            reject_revealing_table(dotted, REGISTRY.get(engine))


LONG = "l" * 63


@for_each(
    ("on", "name", "is_refused"),
    [
        ("postgresql", LONG, False),
        ("postgresql", LONG + "x", True),
        ("postgresql", "\u00e4" * 31, False),
        ("postgresql", "\u00e4" * 32, True),
        ("redshift", LONG * 2, False),
        ("redshift", LONG * 2 + "xy", True),
        ("mysql", LONG + "x", False),  # refused by the server itself
        ("duckdb", LONG * 3, False),
    ],
)
def test_a_name_that_the_engine_would_cut_is_refused(on: str, name: str, is_refused: bool) -> None:
    quote = "`" if on == "mysql" else '"'
    for written in (f"{quote}{name}{quote}", f"{quote}{name}{quote}.t", f"a.{quote}{name}{quote}"):
        sql = f"SELECT id FROM {written}"
        if is_refused:
            with pytest.raises(StatementRefusedError, match="bytes, and the engine would read another table"):
                ruled_sql(sql, on)
        else:
            assert name in ruled_sql(sql, on)


@for_each(
    ("on", "sql"),
    [
        ("postgresql", "SELECT * FROM pg_stats"),
        ("postgresql", "SELECT * FROM pg_catalog.PG_STAT_ACTIVITY"),
        ("postgresql", "SELECT rolpassword FROM pg_authid"),
        ("postgresql", 'SELECT passwd FROM pg_catalog."pg_shadow"'),
        ("postgresql", "SELECT pg_stat_get_live_tuples(CAST('sales' AS regclass))"),
        ("postgresql", "SELECT pg_catalog.pg_stat_get_backend_activity(1)"),
        ("postgresql", "SELECT x FROM sales WHERE pg_stat_get_live_tuples(1) > 5"),
        ("postgresql", "SELECT pg_show_all_settings()"),
        ("redshift", "SELECT * FROM pg_stats"),
        ("redshift", "SELECT querytxt FROM stl_query"),
        ("mysql", "SELECT * FROM mysql.user"),
        ("mysql", "SELECT * FROM `MySQL`.`innodb_table_stats`"),
        ("mysql", "SELECT * FROM performance_schema.threads"),
        ("mysql", "SELECT * FROM sys.session"),
        ("mysql", "SELECT * FROM information_schema.INNODB_TRX"),
        ("mysql", "SELECT lock_data FROM information_schema.INNODB_LOCKS"),
        ("mysql", "SELECT word FROM information_schema.INNODB_FT_INDEX_TABLE"),
        ("postgresql", "SELECT statement FROM pg_prepared_statements"),
        ("postgresql", "SELECT pg_prepared_statement()"),
        ("mysql", "SELECT FOUND_ROWS()"),
        ("sqlite", "SELECT * FROM sqlite_stat4"),
        ("duckdb", "SELECT stats(id) FROM sales"),
        ("postgresql", "SELECT chunk_data FROM pg_toast.pg_toast_16385"),
        ("postgresql", "SELECT * FROM pg_stat_user_tables"),
        ("postgresql", "SELECT * FROM pg_statio_all_tables"),
        ("postgresql", "SELECT data FROM pg_largeobject"),
        ("postgresql", "SELECT id FROM sales WHERE has_schema_privilege(name, 'usage')"),
        ("postgresql", "SELECT CAST(name AS regclass) FROM sales"),
        ("postgresql", "SELECT name::pg_catalog.regrole FROM sales"),
        ("postgresql", "SELECT id FROM sales WHERE name::_regtype IS NULL"),
        ("postgresql", "SELECT CAST('(' || name || ')' AS pg_aggregate) FROM sales"),
        ("postgresql", "SELECT x.a FROM json_to_recordset('[]') AS x(id int, a _regclass)"),
        ("postgresql", "SELECT json_populate_record(NULL::pg_type, '{}')"),
        ("postgresql", "SELECT _regclass(name) FROM sales"),
        ("postgresql", "SELECT current_setting(name) FROM sales"),
        ("postgresql", "SELECT pg_get_viewdef(1)"),
        ("postgresql", "SELECT pg_control_system()"),
        ("postgresql", "SELECT pg_catalog.pg_relation_size(1)"),
        ("redshift", "SELECT * FROM stv_recents"),
        ("redshift", "SELECT * FROM svl_query_report"),
        ("redshift", "SELECT * FROM sys_query_history"),
        ("clickhouse", "SELECT query FROM system.query_log"),
        ("clickhouse", "SELECT * FROM system.processes"),
        ("clickhouse", "SELECT * FROM system.parts_columns"),
        ("trino", "SELECT query FROM system.runtime.queries"),
        ("presto", "SELECT query FROM system.runtime.queries"),
        ("bigquery", "SELECT query FROM `region-us`.INFORMATION_SCHEMA.JOBS_BY_PROJECT"),
        ("bigquery", "SELECT query FROM `region-us.INFORMATION_SCHEMA.JOBS`"),
        ("bigquery", "SELECT * FROM shop.INFORMATION_SCHEMA.PARTITIONS"),
        ("bigquery", "SELECT * FROM shop.__TABLES__"),
        ("mssql", "SELECT * FROM sys.dm_exec_query_stats"),
        ("mssql", "SELECT query_sql_text FROM shop.sys.query_store_query_text"),
        ("mssql", "SELECT * FROM sys.sql_logins"),
        ("mssql", "SELECT * FROM sysprocesses"),
        ("oracle", "SELECT sql_text FROM v$sql"),
        ("oracle", "SELECT sql_text FROM sys.v_$sqltext"),
        ("oracle", "SELECT * FROM dba_hist_sqltext"),
        ("oracle", "SELECT endpoint_actual_value FROM all_tab_histograms"),
        ("oracle", "SELECT low_value FROM user_tab_columns"),
        ("spark", "SELECT * FROM sys.tab_col_stats"),
        ("databricks", "SELECT * FROM system.query.history"),
        ("databricks", "SELECT * FROM system.access.audit"),
        ("snowflake", "SELECT query_text FROM snowflake.account_usage.query_history"),
        ("snowflake", "SELECT * FROM account_usage.login_history"),
        ("druid", "SELECT * FROM sys.tasks"),
        ("sqlite", "SELECT * FROM sqlite_dbpage"),
        ("sqlite", "SELECT * FROM pragma_table_list"),
        ("sqlite", "SELECT * FROM dbstat"),
        ("duckdb", "SELECT * FROM duckdb_logs"),
        ("mysql", "SELECT * FROM information_schema.INNODB_SYS_TABLESTATS"),
        ("mysql", "SELECT * FROM information_schema.TABLE_STATISTICS"),
    ],
)
def test_statistics_views_and_tables_of_passwords_are_refused(on: str, sql: str) -> None:
    with pytest.raises(StatementRefusedError, match="is not allowed"):
        ruled_sql(sql, on)


@for_each(
    ("on", "sql"),
    [
        ("postgresql", "SELECT * FROM information_schema.tables"),
        ("postgresql", "SELECT id AS pg_stats, 'pg_authid' AS x FROM my_pg_stats"),
        ("mysql", "SELECT * FROM information_schema.columns"),
        ("mysql", "SELECT m.session FROM shop.mysql AS m"),
        ("mysql", "SELECT * FROM shop.threads AS performance_schema"),
        ("redshift", "SELECT stl_query FROM queries"),
        ("sqlite", "SELECT * FROM sqlite_master"),
        ("duckdb", "SELECT stats FROM games"),
        ("duckdb", "SELECT * FROM stats"),
        ("postgresql", "SELECT * FROM pg_class"),
        ("postgresql", "SELECT pg_typeof(id), pg_size_pretty(id) FROM sales"),
        ("postgresql", "SELECT regexp_replace(name, 'a', 'b'), 'x::regclass' FROM sales"),
        ("postgresql", "SELECT name::name, id::oid, '0/0'::pg_lsn FROM sales"),
        ("postgresql", "SELECT pg_toast.id FROM sales AS pg_toast"),
        ("clickhouse", "SELECT number FROM system.numbers LIMIT 5"),
        ("clickhouse", "SELECT * FROM shop.query_log"),
        ("trino", "SELECT * FROM hive.runtime.queries"),
        ("bigquery", "SELECT * FROM shop.INFORMATION_SCHEMA.COLUMNS"),
        ("bigquery", "SELECT job FROM shop.job_offers"),
        ("mssql", "SELECT * FROM sys.tables"),
        ("mssql", "SELECT id FROM dbo.dm_orders"),
        ("oracle", "SELECT * FROM vsql"),
        ("databricks", "SELECT * FROM system.information_schema.tables"),
        ("databricks", "SELECT * FROM shop.query.history"),
        ("snowflake", "SELECT * FROM shop.information_schema.tables"),
        ("snowflake", "SELECT query_history FROM visits"),
        ("sqlite", "SELECT * FROM page_content"),
        ("mysql", "SELECT * FROM mysql"),
    ],
)
def test_what_only_looks_like_them_is_read(on: str, sql: str) -> None:
    assert ruled_sql(sql, on).startswith("SELECT")
