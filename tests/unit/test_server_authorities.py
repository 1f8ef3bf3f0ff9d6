"""Certificates of authorities as text: what is taken, what is refused, and what each driver is told for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.oauth_provider import make_authority
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core._core.adapters.connector import _handed_over, _without_passwords_of_process
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.execution.connection_uri import check_engine_params, check_uri
from analytics_core._engine.execution.server_authorities import LONGEST_BUNDLE, arguments, check_authorities
from analytics_core._records.settings import Settings
from analytics_core.errors import ConnectionUriError, PayloadSchemaError

REGISTRY = installed_engines()
POSTGRESQL = REGISTRY.get("postgresql")
WITHOUT = ("sqlite", "duckdb", "snowflake", "bigquery", "spark", "oracle", "mssql")
VERIFIES = ("ssl_verify_cert", "ssl_verify_identity")
REPORTED: dict[str, dict[str, Any]] = {
    "postgresql": {"sslrootcert": "/f", "sslmode": "verify-full", "gssencmode": "disable"},
    "redshift": {"sslrootcert": "/f", "sslmode": "verify-full", "gssencmode": "disable"},
    "mysql": {"ssl_ca": "/f", "ssl": None, "ssl_disabled": False, **dict.fromkeys(VERIFIES, True)},
    "trino": {"verify": "/f", "http_scheme": "https"},
    "presto": {"requests_kwargs": {"verify": "/f"}, "protocol": "https"},
    "clickhouse": {"ca_cert": "/f", "secure": True, "verify": True},
    "databricks": {"_tls_trusted_ca_file": "/f", "_tls_no_verify": False, "_tls_verify_hostname": True},
    "druid": {"ssl_verify_cert": "/f", "scheme": "https"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("authority")
    make_authority(made, "db.example")
    return made


@pytest.fixture(scope="module")
def bundle(folder: Path) -> str:
    return (folder / "authority.pem").read_text()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def checked(bundle: Any, *, engine: str = "postgresql", **queried: Any) -> str | None:
    return check_authorities(json.dumps({"server_cert": bundle}), REGISTRY.get(engine), requested=queried)


def test_every_engine_says_whether_it_takes_certificates() -> None:
    assert {*WITHOUT, *REPORTED} == set(REGISTRY.names())
    assert {name for name in REGISTRY.names() if REGISTRY.get(name).authorities is None} == set(WITHOUT)


@for_each("engine", REPORTED)
def test_each_driver_is_told_to_verify(engine: str, bundle: str) -> None:
    spec = REGISTRY.get(engine)
    assert checked(bundle, engine=engine, **spec.parameters.encryption) == bundle
    assert spec.authorities is not None
    assert arguments(spec, spec.authorities, "/f", requested={}) == REPORTED[engine]
    assert arguments(spec, spec.authorities, "/f", requested=spec.parameters.encryption) == REPORTED[engine]


@for_each("engine", WITHOUT)
def test_an_engine_that_takes_none_says_so(engine: str, bundle: str) -> None:
    with pytest.raises(ConnectionUriError, match=r"takes no certificates; leave extra\.server_cert out"):
        checked(bundle, engine=engine)


@for_each("extra", [None, "", "{}", '{"server_cert": null}', "[]", '{"engine_params": {}}'])
def test_none_are_none(extra: str | None) -> None:
    assert check_authorities(extra, REGISTRY.get("sqlite"), requested={}) is None


@for_each(
    "given",
    [
        "",
        "/etc/ssl/certs/ca.pem",
        "system",
        "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----",
        "ünknown",
        "\x00",
        5,
        True,
        ["x"],
        {"path": "/etc/passwd"},
    ],
)
def test_what_is_no_certificate_is_refused_and_not_repeated(given: Any) -> None:
    with pytest.raises(ConnectionUriError, match="must be certificates in PEM text") as caught:
        checked(given)
    assert "none" not in caught.value.message
    assert "/etc" not in caught.value.message


def test_a_private_key_is_refused(folder: Path, bundle: str) -> None:
    key = (folder / "server.pem").read_text()
    for given in (key, bundle + key):
        with pytest.raises(ConnectionUriError, match="holds a private key") as caught:
            checked(given)
        assert "BEGIN" not in caught.value.message


def test_a_bundle_has_an_end(bundle: str) -> None:
    assert checked(bundle * 3) == bundle * 3
    with pytest.raises(ConnectionUriError, match="at most 300,000 characters"):
        checked(bundle + "#" * LONGEST_BUNDLE)


@for_each(
    ("engine", "options"),
    [
        ("postgresql", {"sslmode": "disable"}),
        ("postgresql", {"sslmode": "allow"}),
        ("redshift", {"sslmode": "prefer"}),
        ("mysql", {"ssl_disabled": True}),
        ("mysql", {"ssl_verify_cert": "no"}),
        ("trino", {"http_scheme": "http"}),
        ("presto", {"protocol": "http"}),
        ("clickhouse", {"verify": "false"}),
        ("clickhouse", {"secure": False}),
        ("druid", {"scheme": "http"}),
    ],
)
def test_a_connection_that_asks_for_less_is_refused(engine: str, options: dict[str, Any], bundle: str) -> None:
    with pytest.raises(ConnectionUriError, match=r"must be .*or be left out"):
        checked(bundle, engine=engine, **options)


@pytest.mark.parametrize(("engine", "option"), [("postgresql", "sslrootcert"), ("mysql", "ssl_ca")])
def test_the_path_of_a_file_is_refused_and_the_text_offered(engine: str, option: str) -> None:
    extra = json.dumps({"engine_params": {"connect_args": {option: "/etc/ssl/ca.pem"}}})
    with pytest.raises(ConnectionUriError, match=r"give certificates as text, by extra\.server_cert"):
        check_engine_params(extra, REGISTRY.get(engine))
    with pytest.raises(ConnectionUriError, match=r"give certificates as text, by extra\.server_cert"):
        check_uri(f"{engine}://h/d?{option}=/etc/ca", settings=Settings(secret_key=KEY), specs=REGISTRY.get)


def test_options_that_the_dialect_of_trino_leaves_out_reach_its_driver() -> None:
    uri = "trino://h:8443/c?http_scheme=https&catalog=a&schema=b&source=c"
    checked = check_uri(uri, settings=Settings(secret_key=KEY), specs=REGISTRY.get)
    assert _handed_over(checked) == {"http_scheme": "https", "catalog": "a", "schema": "b"}


def test_certificates_are_stored_shown_and_checked_where_a_database_is_changed(shop: SmallCore, bundle: str) -> None:
    extra = json.dumps({"server_cert": bundle})
    uri = "postgresql://ann@db.example/sales"
    made = shop.core.databases.create({"database_name": "sales", "orm_uri": uri, "extra": extra})
    assert json.loads(str(shop.core.databases.connection(made.id).extra)) == {"server_cert": bundle}
    for change in (
        {"orm_uri": "sqlite://"},
        {"orm_uri": f"{uri}?sslmode=disable"},
        {"extra": json.dumps({"server_cert": "x"})},
    ):
        with pytest.raises(ConnectionUriError, match=r"server_cert"):
            shop.core.databases.update(made.id, change)
    with pytest.raises(ConnectionUriError, match=r"takes no certificates"):
        shop.core.databases.update(1, {"extra": extra})


def test_a_form_is_told_what_is_wrong_with_its_certificates(shop: SmallCore, bundle: str) -> None:
    form = {"configuration_method": "dynamic_form", "engine": "postgresql", "database_name": "sales"}
    parameters = {"host": "a,b", "database": "d", "username": "u", "query": {"sslmode": "disable"}}
    for given in ("x", bundle):
        with pytest.raises(PayloadSchemaError) as caught:
            shop.core.databases.validate_parameters(
                form | {"parameters": parameters, "extra": json.dumps({"server_cert": given})}
            )
        assert [problem.path for problem in caught.value.problems] == ["extra", "parameters.host"]


def test_libpq_is_kept_from_sending_a_password_of_the_process() -> None:
    """It would take one of PGPASSWORD or of `~/.pgpass`; one in the URI, or another driver, needs no such care."""

    def options_of(uri: str) -> dict[str, Any]:
        return _without_passwords_of_process(check_uri(uri, settings=Settings(secret_key=KEY), specs=REGISTRY.get))

    for uri in ("postgresql://ada@db.example/shop", "redshift://ada@db.example/shop"):
        assert options_of(uri) == {"password": "", "passfile": "/dev/null/none"}, uri
    for uri in ("postgresql://ada:pw@db.example/shop", "mysql://ada@db.example/shop", "duckdb://"):
        assert options_of(uri) == {}, uri
