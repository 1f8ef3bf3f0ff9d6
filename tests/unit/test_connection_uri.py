"""Connection URIs: masks that hide, merges that do not hand a password to another server."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.execution.connection_uri import mask_options, masked, merge_masked, parse_uri
from analytics_core._records.secret import Secret
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, ErrorType

REGISTRY = installed_engines()
STORED = Secret("postgresql+psycopg://ann:s3cr3t@db.example.org:5432/shop")


@for_each(
    ("uri", "expected"),
    [
        ("postgresql://ann:s3cr3t@db:5432/shop", f"postgresql://ann:{MASK}@db:5432/shop"),
        ("postgresql://ann:s3%2Fcr%403t@db/shop", f"postgresql://ann:{MASK}@db/shop"),
        ("postgresql://ann:@db/shop", f"postgresql://ann:{MASK}@db/shop"),
        ("postgresql://ann@db/shop", "postgresql://ann@db/shop"),
        ("sqlite:////data/shop.db", "sqlite:////data/shop.db"),
        ("databricks://token:dapi123@host/x?http_path=/sql", f"databricks://token:{MASK}@host/x?http_path=%2Fsql"),
        ("trino://host/c?access_token=abc&source=bi", f"trino://host/c?access_token={MASK}&source=bi"),
        ("snowflake://u@a/d?private_key=abc&Password=x", f"snowflake://u@a/d?Password={MASK}&private_key={MASK}"),
    ],
)
def test_secrets_in_a_uri_are_masked(uri: str, expected: str) -> None:
    assert masked(uri) == expected
    assert masked(Secret(uri)) == expected


@for_each("uri", ["", "s3cr3t", "no uri: s3cr3t", "postgresql://u:s3c@r3t@host/d", "p://u:s3cr3t@h:port/d"])
def test_a_malformed_uri_is_all_mask(uri: str) -> None:
    assert masked(uri) == MASK


@for_each(
    "uri",
    [
        "",
        "s3cr3t",
        "://u:s3cr3t@h/d",
        "postgresql://u:s3cr3t@h:port/d",
        "postgresql://u:p@h:s3c3t/d",
        "postgresql://u:s3c@r3t@h/d",
        "postgresql://u:s3cr3t@h/d\n",
        "postgresql://u:s3cr3t@h/\x00d",
        "postgresql://u:s3cr3t@h/" + "d" * 5_000,
    ],
)
def test_a_malformed_uri_is_refused_without_being_repeated(uri: str) -> None:
    with pytest.raises(ConnectionUriError) as caught:
        parse_uri(uri)
    assert caught.value.status == 422
    assert "3t" not in str(caught.value.to_payload())
    assert "s3c" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"


@for_each("port", ["port", "", "1.5", "0x50"])
def test_a_port_that_is_no_number_is_an_invalid_port(port: str) -> None:
    with pytest.raises(ConnectionUriError, match="needs a port from 1 to 65535") as caught:
        parse_uri(f"postgresql://u:p@h:{port}/d")
    assert caught.value.error_type is ErrorType.CONNECTION_INVALID_PORT_ERROR


@given(password=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=6, max_size=30))
def test_no_password_survives_masking(password: str) -> None:
    uri = f"postgresql://ann:{quote(password, safe='')}@db:5432/shop?application_name=bi"
    assert masked(uri) == f"postgresql://ann:{MASK}@db:5432/shop?application_name=bi"


def test_a_new_password_replaces_the_stored_one() -> None:
    new = "postgresql+psycopg://ann:other@elsewhere/shop"
    assert merge_masked(new, STORED, specs=REGISTRY.get).reveal() == new


@pytest.mark.parametrize("database", ["shop", "archive"])
def test_the_mask_stands_for_the_stored_password_on_the_same_server(database: str) -> None:
    merged = merge_masked(f"postgresql+psycopg://ann:{MASK}@db.example.org:5432/{database}", STORED, specs=REGISTRY.get)
    assert merged.reveal() == f"postgresql+psycopg://ann:s3cr3t@db.example.org:5432/{database}"


def test_a_uri_as_it_was_read_can_be_written_back() -> None:
    stored = Secret("trino://ann:p%40ss%2Fword@host:443/c?access_token=abc&source=bi")
    assert parse_uri(merge_masked(masked(stored), stored, specs=REGISTRY.get)) == parse_uri(stored)


@for_each(
    ("stored", "new"),
    [
        ("postgresql+psycopg://ann:{}@h/d", "postgresql://ann:{}@h/d"),
        ("postgresql://ann:{}@h/d", "postgresql+psycopg://ann:{}@h/d"),
        ("postgresql://ann:{}@h/d", "POSTGRES://ann:{}@H/d"),
        ("mariadb://ann:{}@h/d", "mysql+pymysql://ann:{}@h/d"),
        ("nosuch+x://ann:{}@h/d", "nosuch+x://ann:{}@h/other"),
    ],
)
def test_a_driver_that_is_not_named_is_the_first_of_its_engine(stored: str, new: str) -> None:
    merged = merge_masked(new.format(MASK), Secret(stored.format("s3cr3t")), specs=REGISTRY.get)
    assert parse_uri(merged).password == "s3cr3t"


@pytest.mark.parametrize(
    ("stored", "new"),
    [
        ("druid+https://ann:{}@h/d", "druid://ann:{}@h/d"),  # which is in clear
        ("spark+https://ann:{}@h/d", "spark+http://ann:{}@h/d"),
        ("nosuch+x://ann:{}@h/d", "nosuch://ann:{}@h/d"),
    ],
)
def test_a_mask_does_not_take_its_password_to_another_driver(stored: str, new: str) -> None:
    with pytest.raises(ConnectionUriError, match="give the password again"):
        merge_masked(new.format(MASK), Secret(stored.format("s3cr3t")), specs=REGISTRY.get)


@for_each(
    "uri",
    [
        f"postgresql+psycopg://ann:{MASK}@evil.example.org:5432/shop",
        f"postgresql+psycopg://ann:{MASK}@db.example.org:6543/shop",
        f"postgresql+psycopg://ann:{MASK}@db.example.org/shop",
        f"postgresql+psycopg://bob:{MASK}@db.example.org:5432/shop",
        f"mysql+pymysql://ann:{MASK}@db.example.org:5432/shop",
        f"postgresql+psycopg://ann:{MASK}@db.example.org:5432/shop?host=evil.example.org",
        f"postgresql+psycopg://ann:{MASK}@db.example.org:5432/shop?sslmode=disable",
        f"postgresql+psycopg://ann:{MASK}@db.example.org:5432/shop?token={MASK}",
        f"postgresql+psycopg://ann:x@db.example.org:5432/shop?application_name={MASK}",
    ],
)
def test_a_mask_with_another_server_or_options_never_uses_the_stored_password(uri: str) -> None:
    with pytest.raises(ConnectionUriError, match="give the password again") as caught:
        merge_masked(uri, STORED, specs=REGISTRY.get)
    assert "s3cr3t" not in str(caught.value.to_payload())


def test_a_mask_alone_stands_for_the_whole_uri() -> None:
    assert merge_masked(MASK, STORED, specs=REGISTRY.get) == STORED


@for_each(
    ("uri", "stored"),
    [
        (MASK, None),
        (f"postgresql://ann:{MASK}@h/d", None),
        (f"postgresql://ann:%58{MASK[1:]}@h/d", None),
        (f"trino://ann@h/c?access_token={MASK}", None),
        (f"postgresql://ann:{MASK}@h/d", Secret("postgresql://ann@h/d")),
        (f"trino://ann@h/c?access_token={MASK}", Secret("trino://ann@h/c")),
    ],
)
def test_a_mask_with_nothing_stored_becomes_no_password(uri: str, stored: Secret | None) -> None:
    with pytest.raises(ConnectionUriError, match="give the password"):
        merge_masked(uri, stored, specs=REGISTRY.get)


def test_options_are_masked_at_any_depth() -> None:
    options = {"pool_size": 5, "connect_args": {"password": "x", "nested": [{"api_key": "y", "port": 1}]}}
    assert mask_options(options) == {
        "pool_size": 5,
        "connect_args": {"password": MASK, "nested": [{"api_key": MASK, "port": 1}]},
    }
