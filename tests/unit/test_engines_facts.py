"""What each engine can and cannot, and which options a connection may ask for, stated a second time."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from sqlglot import exp
from tests.support.cases import for_each

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import dialect_of
from analytics_core._engine.engines.types import Collation, ValueKind

REGISTRY = installed_engines(())
ENGINES = {name: REGISTRY.get(name) for name in REGISTRY.names()}
ON_FILES = {"sqlite", "duckdb"}


@for_each(
    ("attribute", "engines"),
    [
        ("closes_group_keys", {"bigquery"}),
        ("compares_moments_as_text", {"sqlite"}),
        ("folds_names", {"duckdb", "mysql"}),
        ("guards.by_case", {"postgresql"}),
        ("guards.table_names.after_in", {"clickhouse", "sqlite"}),
        ("guards.table_names.calls", ON_FILES),
        ("guards.table_names.loose", {"duckdb"}),
        ("guards.table_names.parted", {"bigquery"}),
        ("joins_as_written", {"sqlite"}),
        ("searches_by_own_collation", {"mysql"}),
        ("splits_nulls", {"mysql", "postgresql"}),
        ("syntax.extremes_of_values", {"sqlite"}),
        ("syntax.groups_comparisons", {"mysql", "sqlite"}),
        ("costs", {"bigquery", "duckdb", "mysql", "postgresql", "snowflake", "trino"}),
    ],
)
def test_what_few_engines_do(attribute: str, engines: set[str]) -> None:
    assert {name for name, spec in ENGINES.items() if attrgetter(attribute)(spec)} == engines


@for_each(
    ("attribute", "engines"),
    [
        ("allows_cte_in_subquery", {"mssql"}),
        ("allows_joins", {"druid"}),
        ("allows_subqueries", set()),
        ("guards.casts_columns", {"mysql", "postgresql", "sqlite"}),
        ("parameters.has_address", {*ON_FILES, "bigquery", "snowflake"}),
    ],
)
def test_what_few_engines_do_not(attribute: str, engines: set[str]) -> None:
    assert {name for name, spec in ENGINES.items() if not attrgetter(attribute)(spec)} == engines


LABELS = {
    "bigquery": "BigQuery",
    "clickhouse": "ClickHouse",
    "databricks": "Databricks",
    "druid": "Apache Druid",
    "duckdb": "DuckDB",
    "mssql": "Microsoft SQL Server",
    "mysql": "MariaDB or MySQL",
    "oracle": "Oracle",
    "postgresql": "PostgreSQL",
    "presto": "Presto",
    "redshift": "Amazon Redshift",
    "snowflake": "Snowflake",
    "spark": "Spark",
    "sqlite": "SQLite",
    "trino": "Trino",
}


def test_people_call_the_engines_so() -> None:
    assert {name: spec.label for name, spec in ENGINES.items()} == LABELS


@for_each(
    ("name", "collation", "compares"),
    [
        ("postgresql", None, Collation.UNKNOWN),
        ("postgresql", "C", Collation.CODE_POINT),
        ("postgresql", "POSIX", Collation.CODE_POINT),
        ("postgresql", "de_DE", Collation.EXACT),
        ("postgresql", "de_DE (not deterministic)", Collation.FOLDED),
        ("mysql", None, Collation.UNKNOWN),
        ("mysql", "utf8mb4_nopad_bin", Collation.CODE_POINT),
        ("mysql", "utf8mb4_general_ci", Collation.UTF8),
        ("mysql", "latin1_swedish_ci", Collation.UNKNOWN),
        ("sqlite", "BINARY", Collation.CODE_POINT),
        ("sqlite", None, Collation.UNKNOWN),
        ("oracle", "BINARY", Collation.UNKNOWN),
    ],
)
def test_how_texts_compare_is_told_by_the_name_of_their_collation(
    name: str, collation: str | None, compares: Collation
) -> None:
    assert ENGINES[name].collation(collation) is compares


def test_names_are_as_long_as_the_manual_of_each_engine_says() -> None:
    """MySQL counts 64 characters of up to four bytes."""
    longest = {name: spec.max_identifier_bytes for name, spec in ENGINES.items() if spec.max_identifier_bytes}
    of_warehouses = {"bigquery": 300, "databricks": 255, "spark": 255, "snowflake": 255, "redshift": 127}
    assert longest == {"postgresql": 63, "mysql": 64 * 4, "mssql": 128, "oracle": 128, **of_warehouses}


OF_LIBPQ = "connect_timeout keepalives keepalives_count keepalives_idle keepalives_interval tcp_user_timeout"
OPTIONS = {
    "bigquery": ("location", "maximum_bytes_billed", "priority"),
    "clickhouse": ("compression", "connect_timeout send_receive_timeout", "protocol secure verify"),
    "databricks": ("access_token catalog http_path schema", "", ""),
    "druid": ("", "timeout", "header"),
    "duckdb": ("max_memory memory_limit", "", "threads"),
    "mssql": ("charset", "login_timeout timeout", "Encrypt TrustServerCertificate encrypt"),
    "mysql": (
        "charset program_name",
        "connect_timeout read_timeout write_timeout",
        "ssl_disabled ssl_verify_cert ssl_verify_identity",
    ),
    "oracle": ("encoding service_name", "", ""),
    **dict.fromkeys(
        ("postgresql", "redshift"),
        ("application_name client_encoding", OF_LIBPQ, "channel_binding gssencmode sslmode target_session_attrs"),
    ),
    "presto": ("source", "", "protocol"),
    "snowflake": ("application role warehouse", "login_timeout network_timeout", ""),
    "spark": ("auth", "", ""),
    "sqlite": ("", "timeout", "cache immutable mode uri"),
    "trino": ("catalog schema source", "", "http_scheme verify"),
}
"""Options of a URI by engine: those of any text, of a number, and of a choice."""


def test_a_uri_has_these_options_and_no_others() -> None:
    assert OPTIONS.keys() == ENGINES.keys()
    for name, (texts, numbers, choices) in OPTIONS.items():
        options = ENGINES[name].guards.uri_options
        assert {option for option, takes in options.items() if takes is None} == set(texts.split()), name
        assert {option for option, takes in options.items() if takes == frozenset()} == set(numbers.split()), name
        assert {option for option, takes in options.items() if takes} == set(choices.split()), name


@for_each("name", ["postgresql", "duckdb"])
@for_each(("count", "is_array"), [(1, False), (1000, False), (1001, True)])
def test_more_than_a_thousand_members_are_bound_as_one_list(name: str, count: int, is_array: bool) -> None:
    bound: list[Any] = []

    def bind(value: Any) -> exp.Expr:
        bound.append(value)
        return exp.Placeholder()

    members: Sequence[int] = range(count)
    node = ENGINES[name].in_list(exp.column("a"), members, ValueKind.INTEGER, bind)
    assert (bound == [list(members)], isinstance(node, exp.In)) == (is_array, not is_array)
    assert len(bound) == (1 if is_array else count)


@for_each("engine", sorted(ENGINES))
def test_literals_are_quoted_as_the_dialect_does(engine: str) -> None:
    spec = ENGINES[engine]
    generator = dialect_of(spec.dialect).generator()
    for text in (f"a{chr(code)}b" for code in range(1, 256)):
        assert generator.generate(nodes.text(text)) in spec.literal(text)
