"""The token of a user reaches each driver as its engine's spec says; secrets of `extra` go nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.planning import ENGINES
from tests.support.small_core import KEY

from analytics_core import AnalyticsCore
from analytics_core._content.databases.secret_options import masked_options, split_options, stored_options
from analytics_core._engine.execution.connection_uri import check_uri
from analytics_core._engine.execution.token_arguments import giving_token, secret_arguments
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret, UnopenedSecret
from analytics_core._records.settings import Settings
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, PayloadSchemaError, SettingsError, StoredDataError

SETTINGS = Settings(secret_key="a-test-key-that-is-long-enough-9f3a")
CLIENT = {
    "id": "our-client",
    "secret": "s3cret",
    "scope": "read",
    "authorization_request_uri": "https://id.example/authorize",
    "token_request_uri": "https://id.example/token",
}


def fake_packages(name: str) -> Any:
    """Stand for the packages of drivers that are not installed here: they keep what they are given."""
    return SimpleNamespace(
        JWTAuthentication=lambda token: (name, "jwt", token),
        Credentials=lambda token: (name, "credentials", token),
        Client=lambda **named: (name, named),
    )


@for_each(
    ("engine", "given", "taken"),
    [
        ("postgresql", {"user": "ada", "password": "old"}, {"user": "ada", "password": "t0k"}),
        ("mysql", {"user": "ada"}, {"user": "ada", "password": "t0k"}),
        ("trino", {"user": "ada"}, {"user": "ada", "auth": ("trino.auth", "jwt", "t0k")}),
        ("snowflake", {"user": "a", "password": "x"}, {"user": "a", "token": "t0k", "authenticator": "oauth"}),
        ("databricks", {"access_token": "old", "http_path": "/p"}, {"access_token": "t0k", "http_path": "/p"}),
        (
            "bigquery",
            {},
            {
                "client": (
                    "google.cloud.bigquery",
                    {"project": "host", "credentials": ("google.oauth2.credentials", "credentials", "t0k")},
                )
            },
        ),
    ],
)
def test_each_driver_gets_the_token_as_its_spec_says(engine: str, given: dict[str, Any], taken: Any) -> None:
    step = giving_token(ENGINES.get(engine), sa.make_url(f"{engine}://host/db"), Secret("t0k"), load=fake_packages)
    step(given)
    assert given == taken


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "clickhouse", "oracle"])
def test_engines_without_tokens_say_so(engine: str) -> None:
    with pytest.raises(ConnectionUriError, match="takes no OAuth"):
        giving_token(ENGINES.get(engine), sa.make_url(f"{engine}://host/db"), Secret("t0k"))


def checked(uri: str) -> Any:
    return check_uri(uri, settings=SETTINGS, specs=ENGINES.get)


def stored(uri: str, extra: Any, **changes: Any) -> Database:
    """Return a database as it is stored with this `extra`."""
    engine = checked(uri).spec.name
    public, secret = split_options(json.dumps(extra), checked(uri))
    return Database(
        uuid="u", database_name="d", uri=Secret(uri), engine=engine, extra=public, secret_extra=secret, **changes
    )


PG = "postgresql://ada:pw@db.example:5432/shop"
BQ = "bigquery://project/dataset"


def test_secrets_are_split_off_and_masked() -> None:
    database = stored(PG, {"oauth2_client_info": CLIENT, "version": "15"})
    assert database.extra == '{"version": "15"}'
    assert database.secret_extra is not None
    assert json.loads(database.secret_extra.reveal()) == {"oauth2_client_info": CLIENT}
    options = json.loads(masked_options(database) or "")
    assert options == {"version": "15", "oauth2_client_info": {**CLIENT, "secret": MASK}}


def test_the_mask_keeps_what_is_stored() -> None:
    before = stored(PG, {"oauth2_client_info": CLIENT})
    assert masked_options(before, of_clients=False) == json.dumps({"oauth2_client_info": MASK})
    for given in (masked_options(before), masked_options(before, of_clients=False)):
        assert split_options(given, checked(PG), stored=before) == (None, before.secret_extra)
    _, changed = split_options(
        json.dumps({"oauth2_client_info": {**CLIENT, "secret": MASK, "scope": "write"}}), checked(PG), stored=before
    )
    assert changed is not None
    assert json.loads(changed.reveal())["oauth2_client_info"] == {**CLIENT, "scope": "write"}


@pytest.mark.parametrize(
    "change",
    [{"id": "another"}, {"token_request_uri": "https://evil.example/token"}, {"scope": MASK}, {"id": MASK}],
)
def test_a_masked_secret_goes_to_no_other_client_and_no_other_provider(change: dict[str, Any]) -> None:
    before = stored(PG, {"oauth2_client_info": CLIENT})
    given = json.dumps({"oauth2_client_info": {**CLIENT, "secret": MASK, **change}})
    with pytest.raises(PayloadSchemaError, match="give it again"):
        split_options(given, checked(PG), stored=before)


def test_secrets_that_do_not_open_stay_where_what_is_shown_is_written_back() -> None:
    sealed = UnopenedSecret("sealed", context="databases.secret_extra:1", problem="no key opens it")
    before = replace(stored(PG, {"oauth2_client_info": CLIENT, "version": "15"}), secret_extra=sealed)
    assert split_options(masked_options(before), checked(PG), stored=before) == (before.extra, sealed)
    with pytest.raises(StoredDataError, match="no key opens it"):
        split_options(masked_options(before), checked(PG.replace("db.example", "evil.example")), stored=before)
    client = json.dumps({"oauth2_client_info": CLIENT})
    assert split_options(client, checked(PG), stored=before)[1] == Secret(client)


def test_a_mask_without_anything_stored_is_refused() -> None:
    with pytest.raises(PayloadSchemaError, match="give it again"):
        split_options(json.dumps({"oauth2_client_info": {**CLIENT, "secret": MASK}}), checked(PG))


@for_each("options", [{"api_key": MASK}, {"engine_params": {"connect_args": {"password": MASK}}}, {"version": MASK}])
def test_a_mask_of_no_secret_option_is_refused(options: dict[str, Any]) -> None:
    for before in (None, stored(PG, {"oauth2_client_info": CLIENT})):
        with pytest.raises(ConnectionUriError, match="looks like a secret"):
            split_options(json.dumps(options), checked(PG), stored=before)


def test_credentials_reach_the_dialect_and_no_other_project() -> None:
    before = stored(BQ, {"credentials_info": {"type": "service_account", "private_key": "k3y"}})
    assert secret_arguments(before, ENGINES.get("bigquery"))["credentials_info"]["private_key"] == "k3y"
    assert json.loads(masked_options(before) or "") == {"credentials_info": MASK}
    assert split_options(masked_options(before), checked(BQ), stored=before)[1] == before.secret_extra
    with pytest.raises(PayloadSchemaError, match="give it again"):
        split_options(masked_options(before), checked("bigquery://another/dataset"), stored=before)
    with pytest.raises(PayloadSchemaError, match="give it again"):
        stored_options(checked("bigquery://another/dataset"), before)
    assert stored_options(checked(BQ), before) == before.secret_extra


@pytest.mark.parametrize(
    ("uri", "extra"),
    [
        (PG, {"credentials_info": {"private_key": "k"}}),
        (PG, {"api_token": "t"}),
        (PG, {"engine_params": {"connect_args": {"password": "p"}}}),
        (PG, {"nested": [{"client_secret": "s"}]}),
    ],
)
def test_other_secrets_are_refused(uri: str, extra: Any) -> None:
    with pytest.raises(ConnectionUriError, match="looks like a secret"):
        split_options(json.dumps(extra), checked(uri))


@for_each("client", ["text", 7, [], {**CLIENT, "id": None}, {"id": "x"}, {**CLIENT, "more": 1}])
def test_a_client_that_breaks_its_shape_is_refused(client: Any) -> None:
    with pytest.raises(PayloadSchemaError, match="oauth2_client_info"):
        split_options(json.dumps({"oauth2_client_info": client}), checked(PG))


@for_each(
    "change",
    [
        {"id": ""},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "//app.example/callback"},
        {"authorization_request_uri": ""},
        {"authorization_request_uri": "https://ada:secret@provider.example/"},
        {"token_request_uri": "file:///etc/passwd"},
        {"token_request_uri": "https://provider.example/token#part"},
        {"token_request_uri": "https:///token"},
    ],
)
def test_a_client_that_nobody_could_use_is_refused_when_it_is_stored(change: dict[str, str]) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        split_options(json.dumps({"oauth2_client_info": {**CLIENT, **change}}), checked(PG))
    assert [problem.path for problem in rejection.value.problems] == [f"oauth2_client_info.{name}" for name in change]
    with pytest.raises(SettingsError, match=next(iter(change))):
        AnalyticsCore(Settings(secret_key=KEY, oauth2_clients={"postgresql": {**CLIENT, **change}}))


def test_an_engine_without_tokens_takes_no_client() -> None:
    with pytest.raises(PayloadSchemaError, match="takes no OAuth"):
        split_options(json.dumps({"oauth2_client_info": CLIENT}), checked("clickhouse://host/db"))


def test_secret_options_that_nobody_can_read_are_told() -> None:
    database = Database(uuid="u", database_name="d", uri=Secret(BQ), engine="bigquery", secret_extra=Secret("no json"))
    with pytest.raises(StoredDataError, match="cannot be read"):
        secret_arguments(database, ENGINES.get("bigquery"))
    assert masked_options(database) is None
