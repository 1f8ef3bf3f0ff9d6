"""What a row holds reaches no error: neither as a name, nor by the type that a driver's words would be taken for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from tests.support.execution import Target, target

from analytics_core.errors import DatabaseError

CANARY = "CANARY_T2"
# Texts that make an engine's message look like another one, once it quotes them.
MASKS = (
    CANARY,
    "read-only transaction CANARY_T2",
    'relation "CANARY_T2" does not exist',
    'x" does not exist, canceling statement due to statement timeout CANARY_T2',
    "no such table: CANARY_T2",
    "CANARY_T2: syntax error",
    "division by zero CANARY_T2",
    'FATAL: role "CANARY_T2" does not exist',
    "(1146, \"Table 'a.CANARY_T2' doesn't exist\")",
)
SETUP = (
    "CREATE TABLE hidden (id INTEGER, status VARCHAR(200))",
    *("INSERT INTO hidden VALUES ({}, '{}')".format(i, text.replace("'", "''")) for i, text in enumerate(MASKS)),
)

POSTGRES = [
    "has_schema_privilege(status, 'usage')",
    "has_table_privilege(status, 'select')",
    "has_table_privilege('public.' || CAST(id AS text), 'select')",
    "has_column_privilege('hidden', status, 'select')",
    "has_database_privilege(status, 'connect')",
    "has_function_privilege(status || '()', 'execute')",
    "has_role_privilege(status)",
    "pg_has_role(status, 'usage')",
    "has_tablespace_privilege(status, 'create')",
    "has_type_privilege(status, 'usage')",
    "has_language_privilege(status, 'usage')",
    "has_foreign_data_wrapper_privilege(status, 'usage')",
    "has_server_privilege(status, 'usage')",
    "pg_get_serial_sequence(status, 'id')",
    "pg_get_serial_sequence('hidden', status)",
    *(
        f"CAST(status AS {kind})::text"
        for kind in (
            "regclass", "regtype", "regrole", "regnamespace", "regproc", "regprocedure", "regoper", "regoperator",
            "regconfig", "regdictionary", "regcollation", "int", "date", "json", "uuid", "bytea", "inet", "xid",
            "numeric", "point", "int4range", "boolean", "interval", "tsquery", "bit(3)", "pg_lsn", "jsonpath",
        )
    ),
    "nextval(status)",
    "currval(status)",
    "current_setting(status)",
    "pg_relation_size(status)",
    "to_tsvector(CAST(status AS regconfig), 'x')",
    "now() AT TIME ZONE status",
    "date_trunc(status, now())",
    "EXTRACT(epoch FROM CAST(status AS timestamp))",
    "to_timestamp(status, 'YYYY')",
    "to_number(status, status)",
    "encode('x', status)",
    "decode(status, 'hex')",
    "convert_to('x', status)",
    "regexp_replace('x', status || '(', '')",
    "'x' LIKE status || '\\'",
    "'x' SIMILAR TO status || '('",
    "jsonb_path_query_first('{}', CAST(status AS jsonpath))",
    "jsonb_extract_path(CAST(status AS jsonb), 'a')",
    "xpath(status, '<a/>')",
    "CAST(status AS xml)",
    "format('%' || status, 1)",
    "chr(CAST(status AS int))",
    "make_date(1, 99, id)",
    "repeat('x', 2147483647) || status",
    "set_config(status, 'x', true)",
    "lo_get(id)",
    "pg_read_file(status)",
    "pg_ls_dir(status)",
    "ts_stat(status)",
    "query_to_xml(status, true, false, '')",
    "normalize(status, NFC) || to_regclass(status) || (1/(id-id))",
    "array_fill(status, ARRAY[id, 1], ARRAY[1])",
    "(ARRAY[1])[CAST(status AS int)]",
    "pg_get_viewdef(CAST(status AS text))",
    "pg_size_bytes(status)",
    "width_bucket(1, 1, 1, id)",
    "date_bin(CAST(status AS interval), now(), now())",
    "ts_rank(ARRAY[2,2,2,2]::real[], to_tsvector(status), to_tsquery(status))",
]  # fmt: skip
MARIADB = [
    "EXTRACTVALUE(1, CONCAT(0x7e, status))",
    "UPDATEXML(1, CONCAT(0x7e, status), 1)",
    "ST_GeomFromText(status)",
    "ST_AsText(ST_GeomFromText(CONCAT('POINT(', status, ')')))",
    "JSON_EXTRACT(status, '$.a')",
    "JSON_EXTRACT('{}', status)",
    "JSON_VALUE('{}', status)",
    "CAST(status AS INT) + 18446744073709551615 * 2",
    "EXP(id + 10000)",
    "CAST(id AS UNSIGNED) - 100",
    "REGEXP_REPLACE('x', CONCAT(status, '('), '')",
    "CONVERT_TZ('2024-01-01', status, 'UTC')",
    "MAKETIME(id, status, status)",
    "FORMAT(1, 2, status)",
    "LOAD_FILE(status)",
    "UUID_TO_BIN(status)",
    "INET6_ATON(status)",
    "COLUMN_GET(status, 'a' AS CHAR)",
    "COLUMN_JSON(status)",
    "(SELECT status FROM hidden)",
    "NAME_CONST(status, 1)",
    "GTID_SUBSET(status, status)",
    "POLYGONFROMTEXT(status)",
    "BENCHMARK(status, 1)",
    "DECODE_HISTOGRAM(status, status)",
    "MASTER_GTID_WAIT(status, 0)",
    "FROM_BASE64(status) REGEXP CONCAT('[', status)",
]
DUCKDB = [
    *(f"CAST(status AS {kind})" for kind in (
        "INTEGER", "DATE", "TIMESTAMP", "JSON", "UUID", "BOOLEAN", "BLOB", "BIT", "INTERVAL", "DECIMAL(3,1)",
        "INTEGER[]", "STRUCT(a INT)", "TIME", "TIMESTAMPTZ", "ENUM('a')", "UNION(a INT)", "MAP(INT, INT)",
    )),
    "error(status)",
    "current_setting(status)",
    "getvariable(status)",
    "strptime(status, '%Y')",
    "strptime('x', status)",
    "strftime(DATE '2024-01-01', status || '%!')",
    "regexp_matches('x', status || '(')",
    "date_trunc(status, DATE '2024-01-01')",
    "date_part(status, DATE '2024-01-01')",
    "timezone(status, TIMESTAMP '2024-01-01')",
    "json_extract('{}', status)",
    "json_extract(status, '$.a')",
    "json_transform(status, status)",
    "make_date(1, 99, id)",
    "nextval(status)",
    "query(status)",
    "from_hex(status)",
    "unhex(status)",
    "from_base64(status)",
    "chr(id - 100)",
    "repeat(status, 1000000000000)",
    "format('{}{}' || status)",
    "printf('%d', status)",
    "in_search_path(status, status) OR CAST(status AS INT) = 1",
    "parse_duckdb_log_message(status, status)",
    "struct_extract({'a': 1}, status)",
    "map([status, status], [1, 2])",
    "'x' LIKE 'a' ESCAPE status",
    "list_aggregate([1], status)",
    "bitstring(status, 3)",
    "enum_code(CAST(status AS ENUM('a')))",
    "md5_number(status) // 0 + exp(10000)",
    "array_value(1)[CAST(status AS INT)]",
    "generate_series(1, 0, 0) = [CAST(status AS INT)]",
    "json_serialize_sql(status)",
    "json_execute_serialized_sql(status)",
]  # fmt: skip
SQLITE = [
    "json_extract(status, '$.a')",
    "json_extract('{}', status)",
    "json_extract('{}', '$' || status)",
    "status ->> '$.a'",
    "json_set('{}', status, 1)",
    "abs(-9223372036854775807 - 1 + id * 0)",
    "(SELECT count(*) FROM notes WHERE notes MATCH status)",
    "(SELECT count(*) FROM notes WHERE notes MATCH (status || ':x'))",
    "(SELECT count(*) FROM notes WHERE notes MATCH ('rank:' || status))",
    "(SELECT snippet(notes, status, '', '', '', 1) FROM notes)",
    "zeroblob(9999999999 + id)",
    "printf('%*d', 2147483647, status)",
    "load_extension(status)",
    "fts5(status)",
    "'x' LIKE 'y' ESCAPE status",
    "randomblob(99999999999)",
    "strftime(status, status)",
    "json_group_array(status) -> status",
    "json_object(status, x'00')",
    "json_patch(status, status)",
    "likelihood(status, 0.5) OR json(status)",
    "date('now', status) || json_each(status)",
]


@pytest.fixture(scope="module")
def hidden(
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Target]]:
    folder = tmp_path_factory.mktemp("hidden")
    urls = {"sqlite": f"sqlite:///{folder / 'h.db'}", "duckdb": f"duckdb:///{folder / 'h.duckdb'}"}
    made: dict[str, Target] = {}

    def give(engine: str) -> Target:
        if engine not in made:
            url = urls.get(engine) or {"postgresql": make_postgres_database, "mysql": make_mariadb_database}[engine]()
            _fill(engine, url)
            made[engine] = stack.enter_context(target(url, folder, engine=engine))
        return made[engine]

    with ExitStack() as stack:
        yield give


def _fill(engine: str, url: str) -> None:
    admin = sa.create_engine(url, poolclass=sa.NullPool)
    with admin.begin() as connection:
        for statement in SETUP:
            connection.execute(sa.text(statement.replace(":", "\\:")))
        if engine == "sqlite":
            connection.execute(sa.text("CREATE VIRTUAL TABLE notes USING fts5(body)"))
            connection.execute(sa.text("INSERT INTO notes VALUES ('x')"))
    admin.dispose()


FRAGMENTS = {"postgresql": POSTGRES, "mysql": MARIADB, "duckdb": DUCKDB, "sqlite": SQLITE}
ALIKE = [
    ("postgresql", "CAST(status AS int)"),
    ("postgresql", "CAST(status AS date)"),
    ("postgresql", "CAST(status AS json)"),
    ("postgresql", "date_trunc(status, now())"),
    ("postgresql", "has_schema_privilege(status, 'usage')"),
    ("mysql", "EXTRACTVALUE(1, CONCAT(0x7e, status))"),
    ("mysql", "UPDATEXML(1, CONCAT(0x7e, status), 1)"),
    ("duckdb", "CAST(status AS INTEGER)"),
    ("duckdb", "CAST(status AS DATE)"),
    ("duckdb", "CAST(status AS JSON)"),
    ("duckdb", "error(status)"),
    ("duckdb", "strptime(status, '%Y')"),
    ("sqlite", "json_extract(status, '$.a')"),
    ("sqlite", "json_extract('{}', status)"),
]
"""What fails for each of the texts in the same way."""


def told(found: Target, fragment: str, *, rows: int = len(MASKS)) -> list[DatabaseError]:
    """Return the errors of a fragment on each of the first rows alone."""
    errors = []
    for number in range(rows):
        try:
            found.run(f"SELECT {fragment} FROM hidden WHERE id = {number}")
        except DatabaseError as error:
            errors.append(error)
    return errors


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb", "sqlite"])
def test_no_value_of_a_row_stands_in_an_error(
    hidden: Callable[[str], Target], engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = hidden(engine)
    caplog.clear()
    shown = [
        (fragment, error.to_payload())
        for fragment in FRAGMENTS[engine]
        for error in told(found, fragment.replace("%", "%%") if engine != "sqlite" else fragment, rows=3)
        if "canary" in str(error.to_payload()).casefold()
    ]
    assert shown == []
    assert "canary" not in caplog.text.casefold()


@pytest.mark.server
@pytest.mark.parametrize(("engine", "fragment"), ALIKE)
def test_a_value_of_a_row_does_not_decide_what_its_error_is_taken_for(
    hidden: Callable[[str], Target], engine: str, fragment: str
) -> None:
    errors = told(hidden(engine), fragment)
    assert len(errors) == len(MASKS)
    assert len({(error.error_type, error.message) for error in errors}) == 1


@pytest.mark.server
@pytest.mark.parametrize("engine", ["postgresql", "mysql", "duckdb", "sqlite"])
def test_a_name_of_the_statement_is_still_told(hidden: Callable[[str], Target], engine: str) -> None:
    with pytest.raises(DatabaseError, match="no_such_table"):
        hidden(engine).run("SELECT id FROM no_such_table")
    with pytest.raises(DatabaseError, match="no_such_column"):
        hidden(engine).run("SELECT h.no_such_column FROM hidden h")
