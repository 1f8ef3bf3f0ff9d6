"""What a connection may ask for: exact drivers, harmless options, files that the host allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.execution import REGISTRY, settings

from analytics_core._engine.execution.connection_uri import (
    CheckedUri,
    check_engine_params,
    check_metadata_params,
    check_uri,
)
from analytics_core.errors import ConnectionUriError, ErrorType


def check(uri: str, *roots: Path, allowed: tuple[Path, ...] = (), **fields: Any) -> CheckedUri:
    return check_uri(uri, settings=settings(*roots, **fields), specs=REGISTRY.get, allowed_files=allowed)


@for_each(
    ("uri", "drivername"),
    [
        ("postgresql://h/d", "postgresql+psycopg"),
        ("postgres://h/d", "postgresql+psycopg"),
        ("PostgreSQL+PsycoPG://h/d", "postgresql+psycopg"),
        ("mysql://h/d", "mysql+pymysql"),
        ("mariadb+pymysql://h/d", "mysql+pymysql"),
    ],
)
def test_drivers_are_recognised_after_normalisation(uri: str, drivername: str) -> None:
    assert check(uri).url.drivername == drivername


# as the entry points of trino, PyHive, clickhouse-connect and the other packages that the extras bring name them
@for_each(
    ("uri", "registered"),
    [
        ("trino://h/c", "trino"),
        ("presto://h/c", "presto"),
        ("clickhouse://h/d", "clickhousedb+connect"),
        ("spark://h/d", "hive"),
        ("spark+https://h/d", "hive+https"),
        ("databricks://h/d", "databricks"),
        ("snowflake://h/d", "snowflake"),
        ("bigquery://h/d", "bigquery"),
        ("redshift://h/d", "redshift+psycopg2"),
        ("druid://h/d", "druid+http"),
        ("oracle://h/d", "oracle+oracledb"),
        ("mssql://h/d", "mssql+pyodbc"),
        ("mysql://h/d", "mysql+pymysql"),
    ],
)
def test_dialects_are_asked_for_by_the_names_that_their_packages_register(uri: str, registered: str) -> None:
    assert check(uri).engine_url.drivername == registered


@for_each(
    "uri",
    [
        "postgresql+psycopg2://h/d",
        "postgresql+asyncpg://h/d",
        "mysql+mysqldb://h/d",
        "mysql+pymysql.evil://h/d",
        "sqlite+aiosqlite:///x.db",
        "sqlite+pysqlcipher:///x.db",
        "shillelagh://",
        "gsheets://",
        "multicorn://",
        "evil.module+thing://h/d",
        "mock://",
    ],
)
def test_other_drivers_are_refused(uri: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectionUriError) as caught:
        check(uri, tmp_path)
    assert caught.value.status == 422


@pytest.mark.parametrize("port", [0, 65_536, 99_999_999])
def test_a_port_that_no_server_has_is_refused(port: int) -> None:
    for engine in ("postgresql", "mysql"):
        with pytest.raises(ConnectionUriError, match="needs a port from 1 to 65535") as caught:
            check(f"{engine}://h:{port}/d")
        assert caught.value.error_type is ErrorType.CONNECTION_INVALID_PORT_ERROR
        assert check(f"{engine}://h:65535/d").url.port == 65_535


def test_a_host_may_allow_one_more_driver() -> None:
    assert check("mysql+mysqldb://h/d", allowed_drivers=frozenset({"mysqldb"})).url.drivername == "mysql+mysqldb"
    assert check("mysql+mysqldb://h/d", allowed_drivers=frozenset({"mysql+mysqldb"})).url.drivername == "mysql+mysqldb"


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://h/d?sslmode=require&application_name=bi&connect_timeout=5",
        "mysql://h/d?charset=utf8mb4&ssl_verify_cert=true",
        "duckdb://?threads=1&memory_limit=4GB",
        "duckdb://?threads=256",
    ],
)
def test_harmless_options_pass(uri: str) -> None:
    assert dict(check(uri).url.query)


@for_each(
    "uri",
    [
        "postgresql://h/d?host=/tmp/socket",
        "postgresql://h/d?hostaddr=10.0.0.1",
        "postgresql://h/d?options=-c%20default_transaction_read_only%3Doff",
        "postgresql://h/d?service=evil",
        "postgresql://h/d?passfile=/etc/passwd",
        "postgresql://h/d?sslkey=/etc/ssl/key",
        "postgresql://h/d?sslrootcert=/etc/ssl/cert",
        "mysql://h/d?local_infile=1",
        "mysql://h/d?init_command=SET%20GLOBAL%20x=1",
        "mysql://h/d?read_default_file=/etc/my.cnf",
        "mysql://h/d?unix_socket=/tmp/s",
        "mysql://h/d?ssl_ca=/etc/x",
        "mysql://h/d?plugin=evil",
        "postgresql://h/d?sslmode=a&sslmode=b",
        "postgresql://h/d?application_name=" + "x" * 600,
        'trino://h/d?verify="/etc/passwd"',
    ],
)
def test_options_that_open_files_sockets_or_sessions_are_refused(uri: str) -> None:
    with pytest.raises(ConnectionUriError):
        check(uri)


@for_each(
    ("uri", "option", "known"),
    [
        ("mysql://h/d?ssl_verify_cert=treu", "ssl_verify_cert", "false or no or off or on or true or yes"),
        ("mariadb://h/d?ssl_verify_identity=maybe", "ssl_verify_identity", "false"),
        ("mysql://h/d?read_timeout=soon", "read_timeout", "a whole number"),
        ("postgresql://h/d?sslmode=foo", "sslmode", "verify-full"),
        ("postgresql://h/d?sslmode=Require", "sslmode", "require"),
        ("postgresql://h/d?connect_timeout=-1", "connect_timeout", "a whole number"),
        ("clickhouse://h/d?secure=treu", "secure", "true"),
        ("mssql://h/d?Encrypt=maybe", "Encrypt", "mandatory"),
        ("trino://h/d?http_scheme=htps", "http_scheme", "https"),
        ("duckdb://?threads=257", "threads", "a whole number from 1 to 256"),
        ("duckdb://?threads=0", "threads", "a whole number from 1 to 256"),
        ("duckdb://?threads=" + "9" * 400, "threads", "a whole number from 1 to 256"),
        ("duckdb://?threads=many", "threads", "a whole number from 1 to 256"),
    ],
)
def test_an_option_with_a_word_that_its_driver_would_take_for_another_is_refused(
    uri: str, option: str, known: str
) -> None:
    with pytest.raises(ConnectionUriError) as refusal:
        check(uri)
    assert f"connection option '{option}' must be " in refusal.value.message
    assert known in refusal.value.message


@pytest.mark.parametrize("value", ["treu", 3, None, [True]])
def test_options_of_extra_are_held_to_the_same_words(value: object) -> None:
    with pytest.raises(ConnectionUriError, match="ssl_verify_cert"):
        params({"connect_args": {"ssl_verify_cert": value}}, engine="mysql")
    assert params({"connect_args": {"ssl_verify_cert": True}}, engine="mysql").connect_args == {"ssl_verify_cert": True}


# -------------------------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_files_inside_a_data_root_are_allowed(tmp_path: Path, engine: str) -> None:
    assert check(f"{engine}:///{tmp_path}/a/b.db", tmp_path).file == (tmp_path / "a/b.db").resolve()


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "{root}/../outside.db", "{root}x/beside.db", "relative.db", "{root}/link/x.db", "{root}/../../x"],
)
def test_files_elsewhere_are_refused_and_not_named(tmp_path: Path, engine: str, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    with pytest.raises(ConnectionUriError, match=r"data_roots") as caught:
        check(f"{engine}:///{path.format(root=root)}", root)
    assert "passwd" not in str(caught.value.to_payload())


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("path", ["%00", "shop%00.db", "file%3A%00", "circle", "one/x.db"])
def test_paths_that_lead_nowhere_are_refused(tmp_path: Path, engine: str, path: str) -> None:
    for link, target in {"circle": "circle", "one": "other", "other": "one"}.items():
        (tmp_path / link).symlink_to(target)
    with pytest.raises(ConnectionUriError):
        check(f"{engine}:///{tmp_path}/{path}", tmp_path)


def test_exactly_the_allowed_file_may_be_opened(tmp_path: Path) -> None:
    allowed = (tmp_path / "shop.db",)
    assert check(f"sqlite:///{tmp_path}/shop.db", allowed=allowed).file == allowed[0].resolve()
    with pytest.raises(ConnectionUriError):
        check(f"sqlite:///{tmp_path}/shop.db2", allowed=allowed)
    with pytest.raises(ConnectionUriError):
        check(f"sqlite:///{tmp_path}", allowed=allowed)


def test_a_link_inside_a_root_to_a_file_inside_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "shop.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "shop.db")
    assert check(f"sqlite:///{tmp_path}/link.db", tmp_path).file == (tmp_path / "shop.db").resolve()


@for_each(
    "uri",
    [
        "duckdb:///md:shop",
        "duckdb:///s3://bucket/x.duckdb",
        "duckdb:///https://host/x.duckdb",
        "duckdb://?custom_extension_repository=http://evil",
        "duckdb://?allow_unsigned_extensions=true",
        "duckdb://?enable_external_access=true",
        "duckdb://?motherduck_token=x",
        "duckdb://?access_mode=READ_WRITE",
        "sqlite:////etc/passwd?mode=memory&vfs=unix-none",
        "sqlite:///file:/etc/passwd?uri=true",
        "sqlite://host/x.db",
        "sqlite://user:pass@/x.db",
    ],
)
def test_other_places_and_settings_of_file_engines_are_refused(uri: str, tmp_path: Path) -> None:
    with pytest.raises(ConnectionUriError):
        check(uri, tmp_path)


@for_each(
    ("uri", "name"),
    [
        ("sqlite://", ""),
        ("sqlite:///:memory:", ""),
        ("duckdb://", ""),
        ("duckdb:///:memory:", ""),
        ("sqlite:///file:shop?mode=memory&cache=shared&uri=true", "shop"),
    ],
)
def test_databases_in_memory_need_no_root(uri: str, name: str) -> None:
    checked = check(uri)
    assert (checked.file, checked.memory_name) == (None, name)


# ---------------------------------------------------------------------------------------------------- metadata params
@for_each(
    "extra",
    [
        {},
        {"metadata_params": {}},
        {"metadata_params": {"schema": "sales", "quote_schema": True, "info": {"a": 1}}},
        {"metadata_params": {"naming_convention": {"ix": "ix_%(column_0_label)s"}}},
        {"version": "16"},
        {"version": None},
    ],
)
def test_plain_metadata_params_and_versions_pass(extra: Any) -> None:
    check_metadata_params(json.dumps(extra), REGISTRY.get("postgresql"))


@for_each(
    "extra",
    [
        {"metadata_params": {"bind": "postgresql://evil"}},
        {"metadata_params": {"naming": "x"}},
        {"metadata_params": {"__class__": {}}},
        {"metadata_params": {"schema": ["a"]}},
        {"metadata_params": {"schema": None}},
        {"metadata_params": {"quote_schema": "yes"}},
        {"metadata_params": {"naming_convention": "os.system"}},
        {"metadata_params": ["schema"]},
        {"metadata_params": "x"},
        {"version": 16},
        {"version": ["16"]},
        {"version": "1" * 101},
    ],
)
def test_other_metadata_params_and_versions_are_refused(extra: Any) -> None:
    with pytest.raises(ConnectionUriError, match=r"metadata|version"):
        check_metadata_params(json.dumps(extra), REGISTRY.get("postgresql"))


# ------------------------------------------------------------------------------------------------------ engine params
def params(value: Any, *, engine: str = "postgresql") -> Any:
    return check_engine_params(json.dumps({"engine_params": value}), REGISTRY.get(engine))


@for_each("extra", [None, "", "{}", '{"engine_params": {}}', '{"version": "15"}'])
def test_no_engine_params_are_none(extra: str | None) -> None:
    options = check_engine_params(extra, REGISTRY.get("postgresql"))
    assert (dict(options.pool), dict(options.connect_args)) == ({}, {})


def test_pool_sizes_and_driver_arguments_pass() -> None:
    options = params({"pool_size": 3, "pool_recycle": -1, "connect_args": {"sslmode": "require"}})
    assert (dict(options.pool), dict(options.connect_args)) == (
        {"pool_size": 3, "pool_recycle": -1},
        {"sslmode": "require"},
    )


@for_each(
    "value",
    [
        {"creator": "os:system"},
        {"poolclass": "evil"},
        {"plugins": ["evil"]},
        {"module": "evil"},
        {"echo": True},
        {"isolation_level": "AUTOCOMMIT"},
        {"execution_options": {}},
        {"pool_size": 10**9},
        {"pool_size": True},
        {"pool_size": "5"},
        {"connect_args": {"options": "-c default_transaction_read_only=off"}},
        {"connect_args": {"host": "evil"}},
        {"connect_args": {"sslmode": ["require"]}},
        {"connect_args": "x"},
        ["pool_size"],
        "x",
    ],
)
def test_other_engine_params_are_refused(value: Any) -> None:
    with pytest.raises(ConnectionUriError):
        params(value)


@for_each("extra", ["{", "[]", "5", '{"engine_params": null}', "[" * 100_000])
def test_extra_that_is_no_object_is_refused(extra: str) -> None:
    with pytest.raises(ConnectionUriError):
        check_engine_params(extra, REGISTRY.get("postgresql"))
