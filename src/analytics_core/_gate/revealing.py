"""Relations and functions of the engines' own that show what other tables hold, what others run, or passwords."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from analytics_core._engines.name_sets import NO_NAMES, name_set
from analytics_core._engines.spec import EngineSpec
from analytics_core._records.dataset import Dataset
from analytics_core.errors import StatementRefusedError

_POSTGRES: Final = """
    pg_stat* pg_authid pg_shadow pg_user_mapping pg_user_mappings pg_subscription pg_prepared_statements pg_cursors
    pg_largeobject pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_db_role_setting pg_shmem_allocations
    pg_backend_memory_contexts
"""
_NAMES: Final = MappingProxyType(
    {
        "sqlite": name_set("sqlite_stat3 sqlite_stat4 pragma_* dbstat sqlite_dbpage sqlite_stmt bytecode tables_used"),
        "duckdb": name_set("duckdb_logs duckdb_settings duckdb_secrets duckdb_variables pg_stats"),
        "postgres": name_set(_POSTGRES),
        "redshift": name_set(_POSTGRES, "stl_* stv_* svl_* svcs_* sys_* svv_query_* svv_transactions svv_diskusage"),
        "mysql": name_set(
            """
            column_stats column_statistics processlist events_* general_log slow_log innodb_* global_priv
            optimizer_trace profiling query_cache_info client_statistics index_statistics table_statistics
            user_statistics user_privileges
            """
        ),
        "bigquery": name_set(
            "jobs jobs_* sessions sessions_* streaming_timeline* partitions table_storage* __tables__"
        ),
        "snowflake": name_set("query_history access_history login_history sessions_history copy_history"),
        "tsql": name_set("sysprocesses syslogins syscacheobjects syscomments"),
        "oracle": name_set(
            "v$* gv$* v_$* gv_$* x$* dba_* *_tab_histograms *_part_histograms *_subpart_histograms *_col_statistics "
            "*_tab_columns *_tab_cols user$ link$ wri$* wrh$* *_sqlset_* *_audit_trail unified_audit_trail"
        ),
    }
)
"""Relations that hold values of other tables' rows or count them, statements of others or passwords."""

_SCHEMAS: Final = MappingProxyType(
    {
        "mysql": name_set("mysql performance_schema sys"),
        "postgres": name_set("pg_toast pg_toast_temp_*"),
        "redshift": name_set("pg_toast pg_toast_temp_*"),
        "trino": name_set("system.runtime"),
        "presto": name_set("system.runtime"),
        "clickhouse": name_set("system"),
        "snowflake": name_set(
            "account_usage organization_usage reader_account_usage data_sharing_usage snowflake.* "
            "!snowflake.information_schema"
        ),
        "databricks": name_set("system.* !system.information_schema"),
        "tsql": name_set("sys"),
        "druid": name_set("sys"),
    }
)
"""Schemas, or schemas of a catalog, in which every relation is of that kind, but for the harmless ones."""

_HARMLESS: Final = MappingProxyType(
    {
        "clickhouse": name_set("numbers numbers_mt one zeros zeros_mt tables columns databases functions"),
        "tsql": name_set("tables columns schemas objects views types databases indexes index_columns all_columns"),
    }
)

_LONGEST_NAMES: Final = {"postgres": 63, "redshift": 127}
"""Where an engine cuts a longer name off without a word, and so reads a table of another name; bytes."""

_PATHS: Final = frozenset({"bigquery"})
"""Where dots inside one quoted name part it, so that it may lead into another schema."""


def refuse_revealing(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None = None) -> None:
    """Refuse a relation that shows rows of other tables, what others run, or passwords; StatementRefusedError."""
    last = name.rpartition(".")[2] if spec.dialect in _PATHS else name
    if _is_inside(last, spec, schema=schema, catalog=catalog) or last.lower() in _NAMES.get(spec.dialect, NO_NAMES):
        raise StatementRefusedError(
            f"the relation {name} is not allowed: it shows rows of other tables, what others run, or passwords"
        )


def _is_inside(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None) -> bool:
    """Tell whether a relation lies in a schema of that kind."""
    places = _SCHEMAS.get(spec.dialect, NO_NAMES)
    inside = bool(schema) and (f"{schema}".lower() in places or f"{catalog}.{schema}".lower() in places)
    return inside and name.lower() not in _HARMLESS.get(spec.dialect, NO_NAMES)


def refuse_revealing_table(dataset: Dataset, spec: EngineSpec) -> None:
    """Refuse a dataset over such a relation, or by a name that the engine would cut or part; StatementRefusedError."""
    refuse_revealing(dataset.table_name, spec, schema=dataset.schema, catalog=dataset.catalog)
    refuse_cut_names((dataset.table_name, dataset.schema, dataset.catalog), spec)
    if spec.dialect in _PATHS and "." in dataset.table_name:
        raise StatementRefusedError(
            f"the table name {dataset.table_name!r} has a dot, by which {spec.label} would read a table of another "
            "schema; name schema and table apart"
        )


def refuse_revealing_calls(tree: exp.Expr, spec: EngineSpec) -> None:
    """Refuse the function that stands behind such relations; StatementRefusedError."""
    called = {call.name.lower() for call in tree.find_all(exp.Anonymous)}
    if spec.dialect == "duckdb" and "stats" in called:
        raise StatementRefusedError("the function stats is not allowed: it shows values of rows that may be hidden")


def refuse_cut_names(parts: Iterable[str | None], spec: EngineSpec) -> None:
    """Refuse a table by a name that the engine would cut: no rule stands on that name; StatementRefusedError."""
    longest = _LONGEST_NAMES.get(spec.dialect)
    for part in parts:
        if longest is not None and part and len(part.encode()) > longest:
            raise StatementRefusedError(
                f"the name {part[:20]}... has more than {longest} bytes, and the engine would read another table"
            )
