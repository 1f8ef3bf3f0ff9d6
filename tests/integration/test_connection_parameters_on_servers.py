"""Connections entered field by field, tried on real servers: what works, and the type of what does not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.servers import LOOPBACK
from tests.support.small_core import small_core

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AccessError,
    ConnectionUriError,
    DatabaseError,
    ErrorType,
    PayloadSchemaError,
    UnknownEngineError,
)

E = ErrorType
PASSWORD = "p@ss:w/rd%s3same"
MASK = "XXXXXXXXXX"


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with small_core(tmp_path, allowed_networks=LOOPBACK) as made:
        yield made.core


@pytest.fixture(params=["postgresql", "mysql"])
def form(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A payload that connects, as a form would send it."""
    url = sa.make_url(request.getfixturevalue("postgres_url" if request.param == "postgresql" else "mariadb_url"))
    parameters = {"host": url.host, "port": url.port, "database": url.database, "username": url.username}
    parameters |= {"password": url.password} if url.password else {}
    return {"engine": request.param, "configuration_method": "dynamic_form", "parameters": parameters}


def changed(form: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return form | {"parameters": form["parameters"] | parameters}


def types_of(error: Any) -> list[str]:
    return [item["error_type"] for item in error.to_payload()["errors"]]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.slow
def test_a_form_is_valid_connects_and_reads(core: AnalyticsCore, form: dict[str, Any]) -> None:
    core.databases.validate_parameters(form | {"database_name": "by form"})
    core.databases.test_connection(form)
    made = core.databases.create(form | {"database_name": "by form"})
    assert (made.backend, made.configuration_method) == (form["engine"], "dynamic_form")
    assert core.databases.schemas(made.id)
    parameters = core.databases.connection(made.id).parameters
    assert parameters is not None
    assert {name: parameters[name] for name in ("host", "port", "database", "username")} == {
        name: form["parameters"][name] for name in ("host", "port", "database", "username")
    }


@pytest.mark.slow
@for_each(
    ("change", "error_type"),
    [
        ({"host": None}, E.CONNECTION_MISSING_PARAMETERS_ERROR),
        ({"host": "nosuch.invalid"}, E.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"port": 99_999}, E.CONNECTION_INVALID_PORT_ERROR),
        ({"port": ...}, E.CONNECTION_PORT_CLOSED_ERROR),
    ],
)
def test_a_form_that_is_not_valid_tells_the_type_of_each_field(
    core: AnalyticsCore, form: dict[str, Any], change: dict[str, Any], error_type: ErrorType
) -> None:
    change = {name: closed_port() if value is ... else value for name, value in change.items()}
    with pytest.raises(PayloadSchemaError) as caught:
        core.databases.validate_parameters(changed(form, **change) | {"database_name": "by form"})
    assert types_of(caught.value) == [error_type.value]
    (problem,) = caught.value.problems
    assert problem.path == f"parameters.{next(iter(change))}"


REPORTED_BY_A_TRIAL = {
    "postgresql": [
        ({"database": "nosuch"}, E.CONNECTION_UNKNOWN_DATABASE_ERROR),
        ({"username": "nosuch"}, E.CONNECTION_INVALID_USERNAME_ERROR),
        ({"host": "nosuch.invalid"}, E.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"port": ...}, E.CONNECTION_PORT_CLOSED_ERROR),
    ],
    "mysql": [
        ({"password": PASSWORD}, E.CONNECTION_ACCESS_DENIED_ERROR),
        ({"host": "nosuch.invalid"}, E.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"port": ...}, E.CONNECTION_PORT_CLOSED_ERROR),
    ],
}
"""What each server tells of itself; see the table in docs/how-to/connect.md."""


@pytest.mark.slow
def test_a_trial_tells_what_the_server_says(core: AnalyticsCore, form: dict[str, Any]) -> None:
    for change, error_type in REPORTED_BY_A_TRIAL[form["engine"]]:
        given = {name: closed_port() if value is ... else value for name, value in change.items()}
        with pytest.raises(DatabaseError) as caught:
            core.databases.test_connection(changed(form, **given))
        assert caught.value.error_type is error_type, change
        assert PASSWORD not in f"{caught.value!r} {caught.value.to_payload()}"


def test_a_database_that_the_user_may_not_enter_is_a_matter_of_permissions(
    core: AnalyticsCore, postgres_url: str
) -> None:
    url = sa.make_url(postgres_url)
    admin = sa.create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS closed_by_test")
        connection.exec_driver_sql("DROP ROLE IF EXISTS shut_out")
        connection.exec_driver_sql("CREATE ROLE shut_out LOGIN")
        connection.exec_driver_sql("CREATE DATABASE closed_by_test")
        connection.exec_driver_sql("REVOKE CONNECT ON DATABASE closed_by_test FROM PUBLIC")
    parameters = {"host": url.host, "port": url.port, "database": "closed_by_test", "username": "shut_out"}
    form = {"engine": "postgresql", "configuration_method": "dynamic_form", "parameters": parameters}
    with pytest.raises(DatabaseError) as caught:
        core.databases.test_connection(form)
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE closed_by_test")
        connection.exec_driver_sql("DROP ROLE shut_out")
    admin.dispose()
    assert caught.value.error_type is E.CONNECTION_DATABASE_PERMISSIONS_ERROR


# ------------------------------------------------------------------------------------------------------------ secrets
SECRET_FORM: dict[str, Any] = {
    "engine": "postgresql",
    "configuration_method": "dynamic_form",
    "parameters": {"host": "db.example", "database": "sales", "username": "ann", "password": PASSWORD},
}


def test_a_password_is_masked_and_its_mask_keeps_it(core: AnalyticsCore) -> None:
    made = core.databases.create(SECRET_FORM | {"database_name": "sealed"})
    connection = core.databases.connection(made.id)
    assert connection.parameters is not None
    assert connection.parameters["password"] == MASK
    assert PASSWORD not in repr(connection)
    back = SECRET_FORM["parameters"] | {"password": MASK, "database": "other"}
    core.databases.update(made.id, {"parameters": back})
    parameters = core.databases.connection(made.id).parameters
    assert parameters is not None
    assert (parameters["database"], parameters["password"]) == ("other", MASK)
    with core._runtime.content.store.unit_of_work() as unit:
        stored = unit.databases.get(made.id)
    assert sa.make_url(stored.uri.reveal()).password == PASSWORD


@pytest.mark.parametrize("change", [{"host": "evil.example"}, {"username": "eve"}, {"port": 5433}])
def test_a_mask_is_no_password_for_another_server_or_user(core: AnalyticsCore, change: dict[str, Any]) -> None:
    made = core.databases.create(SECRET_FORM | {"database_name": "sealed"})
    moved = SECRET_FORM["parameters"] | {"password": MASK} | change
    with pytest.raises(ConnectionUriError, match="give the password again"):
        core.databases.update(made.id, {"parameters": moved})
    with pytest.raises(ConnectionUriError, match="give the password again"):
        core.databases.test_connection(SECRET_FORM | {"parameters": moved, "database_name": "sealed"})


def test_a_mask_alone_is_refused_at_create(core: AnalyticsCore) -> None:
    masked = SECRET_FORM["parameters"] | {"password": MASK}
    with pytest.raises(ConnectionUriError, match="give the password itself"):
        core.databases.create(SECRET_FORM | {"parameters": masked, "database_name": "sealed"})


# ----------------------------------------------------------------------------------------------------------- refusals
@for_each(
    ("change", "path"),
    [
        ({"configuration_method": "orm_form"}, "configuration_method"),
        ({"orm_uri": "postgresql://ann@db.example/sales"}, "orm_uri"),
        ({"engine": None}, "engine"),
        ({"parameters": {"host": "db.example", "hots": "x"}}, "parameters.hots"),
        ({"parameters": {"host": "a,b", "database": "d", "username": "u"}}, "parameters.host"),
    ],
)
def test_payloads_that_contradict_themselves_are_refused(
    core: AnalyticsCore, change: dict[str, Any], path: str
) -> None:
    with pytest.raises(PayloadSchemaError) as caught:
        core.databases.create(SECRET_FORM | {"database_name": "x"} | change)
    assert [problem.path for problem in caught.value.problems] == [path]


def test_an_engine_that_nobody_knows_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(UnknownEngineError):
        core.databases.create(SECRET_FORM | {"database_name": "x", "engine": "nosuch"})


def test_an_option_that_no_connection_may_have_is_refused(core: AnalyticsCore) -> None:
    parameters = SECRET_FORM["parameters"] | {"query": {"options": "-c x=y"}}
    with pytest.raises(ConnectionUriError, match="not allowed"):
        core.databases.create(SECRET_FORM | {"database_name": "x", "parameters": parameters})


@pytest.mark.server
def test_only_administrators_look_at_servers(core: AnalyticsCore, form: dict[str, Any]) -> None:
    role = core.roles.create({"name": "readers"})
    user = core.users.create({"username": "ann", "first_name": "Ann", "roles": [role.id]})
    for ask in (core.as_user(user.id).databases.validate_parameters, core.as_user(user.id).databases.test_connection):
        with pytest.raises(AccessError):
            ask(form)
