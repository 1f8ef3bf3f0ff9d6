"""People who may not write SQL use the functions of a list; what charts need is on it, what reveals or waits is not."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, NAMES, engine
from tests.support.honest_fragments import EACH, EVERYWHERE

from analytics_core import Settings
from analytics_core._engine.compile.fragments.parser import FragmentParser, FragmentSlot
from analytics_core._engine.engines.registry import installed_engines
from analytics_core.errors import AnalyticsError, FragmentError, SettingsError

HONEST = [
    *((name, text) for name in ENGINES for text in EVERYWHERE),
    *((name, text) for name, texts in EACH.items() for text in texts),
]
CATALOG_TYPE_FORMS = (
    "CAST(Name AS {kind}[])",
    "CAST(Name AS {kind} ARRAY)",
    "Name::_{kind}",
    "Name::pg_catalog._{kind} IS NULL",
    'Name::pg_catalog."{kind}"',
    'Name::"pg_catalog"."{kind}"[]',
    'CAST(Name AS "_{kind}")',
    "{kind}(Name)",
    "_{kind}(Name)",
    '"{kind}"(Name)',
    'pg_catalog."_{kind}"(Name)',
    "ARRAY[Name]::{kind}[]",
    "JSON_VALUE(doc, '$' RETURNING {kind})",
)
HOSTILE = [
    *(
        ("postgresql", text)
        for text in (
            "has_schema_privilege(Name, 'usage')",
            "HAS_TABLE_PRIVILEGE(Name, 'select')",
            '"has_column_privilege"(Name, Name, Name)',
            "pg_catalog.has_database_privilege(Name, 'connect')",
            "CAST(Name AS regclass)",
            "Name::regtype",
            "Name::_regrole",
            "regclass 'orders'",
            "regclass(Name)",
            "CAST(Name AS pg_catalog.regnamespace)",
            'Name::"regproc"',
            "current_setting(Name)",
            "pg_get_viewdef(a)",
            "pg_get_functiondef(a)",
            "pg_get_indexdef(a)",
            "pg_get_expr(Name, a)",
            "pg_relation_size(Name)",
            "pg_relation_filepath(a)",
            "pg_total_relation_size(a)",
            "pg_control_system()",
            "current_query()",
            "pg_stat_reset_single_table_counters(a)",
            "pg_stat_get_live_tuples(a)",
            "pg_get_serial_sequence(Name, Name)",
            "to_regclass(Name)",
            "pg_has_role(Name, 'usage')",
            "pg_sequence_last_value(a)",
            "obj_description(a)",
            "row_security_active(Name)",
            "txid_current()",
            "lo_get(a)",
            *(
                form.format(kind=kind)
                for kind in ("regclass", "regrole", "aclitem", "pg_type", "pg_aggregate")
                for form in CATALOG_TYPE_FORMS
            ),
            "regclassin(textout(Name))",
            "regclassout(a)",
            "array_in(textout(Name), 2205, -1)",
            "pg_catalog.record_in(textout(Name), 1247, -1)",
            "aclitemin(textout(Name))",
            "format_type(a, -1)",
            "ts_parse(Name, Name)",
            "database_to_xml(true, false, '')",
            "pg_new_in_version_99(a)",
        )
    ),
    *(
        ("duckdb", text)
        for text in (
            "current_setting('x')",
            "getvariable('x')",
            "pg_get_viewdef(a)",
            "has_table_privilege(Name, 'x')",
            "stats(a)",
            "current_query()",
            "read_anything(Name)",
            "duckdb_new()",
            "obj_description(a, 'x')",
        )
    ),
    *(
        ("mysql", text)
        for text in (
            "REPLACE(LOAD_FILE(Name), 'a', 'b')",
            "replace(sys.version(), 'a', 'b')",
            "wsrep_new(a)",
            "SLEEP(1)",
            "GET_LOCK(Name, 1)",
            "sys.version_major()",
            "LOAD_FILE(Name)",
        )
    ),
    *(
        ("sqlite", text)
        for text in (
            "replace(load_extension(Name), 'a', 'b')",
            "sqlite_compileoption_get(1)",
            "load_extension(Name)",
            "rtreecheck(Name)",
            "fts3_tokenizer(Name)",
        )
    ),
    ("clickhouse", "dictGetNew(Name, 'a', 1)"),
    ("clickhouse", "currentUser()"),
    ("clickhouse", "fileNew(Name)"),
    ("snowflake", "SYSTEM$NEW()"),
    ("snowflake", "query_history()"),
    ("mssql", "OBJECT_DEFINITION(a)"),
    ("oracle", "dbms_new.f(a)"),
    ("redshift", "has_table_privilege(Name, 'x')"),
    ("trino", "query(Name)"),
    ("presto", "query(Name)"),
    ("spark", "reflect(Name, 'a')"),
    ("databricks", "java_method(Name, 'a')"),
]
"""Refused to everybody."""

UNLISTED = [
    *(
        ("postgresql", text)
        for text in (
            "my_function(a)",
            "public.lower(Name)",
            "dblink_new(Name)",
            "current_user = Name",
            "session_user",
            "current_catalog",
            "current_schema",
            "version()",
            "setseed(a)",
            "repeat(Name, 1000000)",
            "CAST(Name AS my_enum)",
            '"lower2"(Name)',
            "pg_backend_pid()",
            "query_new(Name)",
        )
    ),
    *(
        ("duckdb", text)
        for text in (
            "my_macro(a)",
            "error(Name)",
            "current_user",
            "version()",
            "repeat(Name, 9999)",
            "main.lower(Name)",
        )
    ),
    *(
        ("mysql", text)
        for text in (
            "my_function(a)",
            "user()",
            "database()",
            "connection_id()",
            "CURRENT_USER()",
            "shop.lower(Name)",
            "REPEAT(Name, 9)",
            "REPLACE(shop.lower(Name), 'a', 'b')",
        )
    ),
    *(
        ("sqlite", text)
        for text in (
            "my_function(a)",
            "REPLACE(my_function(a), 'a', 'b')",
            "last_insert_rowid()",
            "changes()",
            "sqlite3_version()",
        )
    ),
    ("bigquery", "SESSION_USER()"),
    ("bigquery", "my_dataset.my_function(a)"),
    ("snowflake", "CURRENT_ROLE()"),
    ("mssql", "dbo.my_function(a)"),
    ("mssql", "SUSER_NAME()"),
    ("trino", "current_user"),
    ("oracle", "my_package.f(a)"),
]
"""Refused to people who may not write SQL; others may know their functions."""


def parse(on: str, text: str, *, only_listed: bool, parser: FragmentParser | None = None) -> str:
    found = (parser or FragmentParser()).parse(
        text, spec=engine(on), slot=FragmentSlot.METRIC, place="m", names=NAMES, only_listed=only_listed
    )
    return found.sql


def test_there_are_enough_of_them() -> None:
    assert len(set(HONEST)) >= 280
    assert {name for name, _ in HONEST} | {"presto", "spark"} == set(installed_engines(()).names())


@pytest.mark.slow
@for_each(("on", "text"), HONEST)
def test_what_charts_need_passes_for_everybody(on: str, text: str) -> None:
    assert parse(on, text, only_listed=True) == parse(on, text, only_listed=False)


@for_each("only_listed", [True, False])
@for_each(("on", "text"), HOSTILE)
def test_what_reveals_or_acts_is_refused_to_everybody(on: str, text: str, only_listed: bool) -> None:
    with pytest.raises(AnalyticsError):
        parse(on, text, only_listed=only_listed)


@for_each(("on", "text"), UNLISTED)
def test_what_is_not_on_the_list_needs_the_right_to_write_sql(on: str, text: str) -> None:
    with pytest.raises(AnalyticsError):
        parse(on, text, only_listed=True)
    if "current" not in text and "user" not in text:
        assert parse(on, text, only_listed=False)


def test_a_name_inside_text_or_of_a_column_is_no_function() -> None:
    assert parse("postgresql", "Name = 'has_schema_privilege(x), current_user'", only_listed=True)
    assert parse("postgresql", '"order" + "date"', only_listed=True)


def test_the_refusal_names_the_function_and_what_would_work() -> None:
    with pytest.raises(FragmentError, match=r"my_function is not on the list .* Settings\.allowed_functions"):
        parse("postgresql", "my_function(a)", only_listed=True)


def test_what_was_parsed_for_somebody_with_the_right_is_not_handed_to_others() -> None:
    parser = FragmentParser()
    assert parse("postgresql", "my_function(a)", only_listed=False, parser=parser)
    with pytest.raises(FragmentError):
        parse("postgresql", "my_function(a)", only_listed=True, parser=parser)
    assert parse("postgresql", "my_function(a)", only_listed=False, parser=parser)


def test_a_host_adds_functions_and_types_and_denied_ones_stay_denied() -> None:
    parser = FragmentParser(allowed={"postgresql": {"My_Function", "my_enum", "pg_read_file"}})
    assert parse("postgresql", "MY_FUNCTION(a)", only_listed=True, parser=parser)
    assert parse("postgresql", "CAST(a AS my_enum)", only_listed=True, parser=parser)
    assert parse("postgresql", "CAST(a AS shop.my_enum)", only_listed=True, parser=parser)
    with pytest.raises(FragmentError):
        parse("postgresql", "pg_read_file(Name)", only_listed=True, parser=parser)
    with pytest.raises(FragmentError):
        parse("mysql", "my_function(a)", only_listed=True, parser=parser)


@for_each("names", ["lower", {"a b"}, {""}, {1}, {"*"}])
def test_settings_refuse_what_is_no_set_of_names(names: object) -> None:
    with pytest.raises(SettingsError, match="allowed_functions"):
        Settings(secret_key="a-key-for-tests-0123456789", allowed_functions={"postgresql": names})  # type: ignore[dict-item]


WORDS = ("family", "network", '"host"', "list", "map", "variant", "image", "public.path", '"Fine"', "_text", "family[]")
TYPES = (
    "text", "VARCHAR(3)", "character varying", "double precision", "numeric(3, 2)", "int[]", "interval", "uuid",
    "timestamp with time zone", "pg_catalog.int4", "pg_catalog.path", "inet", "jsonb", "tsvector", "bytea", "date",
)  # fmt: skip


@for_each("name", WORDS)
def test_where_tables_are_types_no_name_of_a_function_stands_for_one(name: str) -> None:
    """`NULL::network` tells whether there is a table of this name."""
    with pytest.raises(FragmentError, match=r"is not on the list"):
        parse("postgresql", f"CAST(NULL AS {name}) IS NULL", only_listed=True)


@for_each("name", TYPES)
def test_the_engines_own_types_are_listed(name: str) -> None:
    assert parse("postgresql", f"CAST(NULL AS {name}) IS NULL", only_listed=True)
