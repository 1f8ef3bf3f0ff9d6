"""Relations and functions of the engines' own that show what other tables hold, what others run, or passwords."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from analytics_core._compile.fragments.sql_nodes import reads_catalog
from analytics_core._engines.spec import EngineSpec
from analytics_core._records.dataset import Dataset
from analytics_core.errors import StatementRefusedError

_POSTGRES: Final = frozenset(
    {
        "pg_stats", "pg_stats_ext", "pg_stats_ext_exprs", "pg_statistic", "pg_statistic_ext_data",
        "pg_stat_activity", "pg_stat_statements", "pg_authid", "pg_shadow", "pg_user_mapping", "pg_user_mappings",
        "pg_subscription", "pg_prepared_statements", "pg_cursors",
    }
)  # fmt: skip
_NAMES: Final = {
    "sqlite": frozenset({"sqlite_stat3", "sqlite_stat4"}),
    "postgres": _POSTGRES,
    "redshift": _POSTGRES
    | {
        "stl_query", "stl_querytext", "stl_ddltext", "stl_utilitytext", "stv_inflight", "stv_recents", "svl_qlog",
        "svl_statementtext", "sys_query_history", "sys_query_text", "sys_query_detail",
    },
    "mysql": frozenset(
        {
            "column_stats", "column_statistics", "processlist", "events_statements_current",
            "events_statements_history", "events_statements_history_long", "general_log", "slow_log", "innodb_trx",
            "global_priv", "innodb_locks", "innodb_ft_index_table", "innodb_ft_index_cache", "optimizer_trace",
            "query_cache_info",
        }
    ),
}  # fmt: skip
"""Relations of an engine's own that hold values of other tables' rows, statements of others or passwords."""

_SCHEMAS: Final = {"mysql": frozenset({"mysql", "performance_schema", "sys"})}
"""Schemas in which every relation is of that kind; `information_schema` is none of them."""

_LONGEST_NAMES: Final = {"postgres": 63, "redshift": 127}
"""Where an engine cuts a longer name off without a word, and so reads a table of another name; bytes."""

_PATHS: Final = frozenset({"bigquery"})
"""Where dots inside one quoted name part it, so that it may lead into another schema."""


def refuse_revealing(name: str, spec: EngineSpec, *, schema: str | None) -> None:
    """Refuse a relation that shows rows of other tables, what others run, or passwords; StatementRefusedError."""
    in_schema = (schema or "").lower() in _SCHEMAS.get(spec.dialect, ())
    if in_schema or name.lower() in _NAMES.get(spec.dialect, ()):
        raise StatementRefusedError(
            f"the relation {name} is not allowed: it shows rows of other tables, what others run, or passwords"
        )


def refuse_revealing_table(dataset: Dataset, spec: EngineSpec) -> None:
    """Refuse a dataset over such a relation, or by a name that the engine would cut or part; StatementRefusedError."""
    refuse_revealing(dataset.table_name, spec, schema=dataset.schema)
    refuse_cut_names((dataset.table_name, dataset.schema, dataset.catalog), spec)
    if spec.dialect in _PATHS and "." in dataset.table_name:
        raise StatementRefusedError(
            f"the table name {dataset.table_name!r} has a dot, by which {spec.label} would read a table of another "
            "schema; name schema and table apart"
        )


def refuse_revealing_calls(tree: exp.Expr, spec: EngineSpec) -> None:
    """Refuse the functions that stand behind such relations; StatementRefusedError."""
    called = {call.name.lower() for call in tree.find_all(exp.Anonymous)}
    if spec.dialect == "duckdb" and "stats" in called:
        raise StatementRefusedError("the function stats is not allowed: it shows values of rows that may be hidden")
    if spec.dialect in ("postgres", "redshift") and (shown := sorted(filter(reads_catalog, called))):
        raise StatementRefusedError(f"the function {shown[0]} is not allowed: it shows rows of the catalog")


def refuse_cut_names(parts: Iterable[str | None], spec: EngineSpec) -> None:
    """Refuse a table by a name that the engine would cut: no rule stands on that name; StatementRefusedError."""
    longest = _LONGEST_NAMES.get(spec.dialect)
    for part in parts:
        if longest is not None and part and len(part.encode()) > longest:
            raise StatementRefusedError(
                f"the name {part[:20]}... has more than {longest} bytes, and the engine would read another table"
            )
