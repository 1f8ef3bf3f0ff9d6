"""Databases: what is stored, who sees it, and what never comes out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

import analytics_core
from analytics_core import AnalyticsCore, Settings
from analytics_core._engine.engines.registry import installed_engines
from analytics_core.errors import (
    AlreadyExistsError,
    ConnectionUriError,
    DatabaseAccessError,
    DatabaseError,
    DatabaseNotFoundError,
    InUseError,
    OwnershipError,
    PayloadSchemaError,
)

SERVER = "postgresql+psycopg://ann:s3same@db.example/sales"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


@pytest.fixture
def core(shop: SmallCore) -> AnalyticsCore:
    return shop.core


def add(core: AnalyticsCore, **payload: Any) -> Any:
    return core.databases.create({"database_name": "sales", "orm_uri": SERVER, **payload})


# ------------------------------------------------------------------------------------------------------------- create
def test_a_database_is_stored_with_its_engine_and_driver(core: AnalyticsCore) -> None:
    made = add(core, cache_timeout=60, allow_dml=True)
    assert (made.id, made.database_name, made.backend, made.driver) == (2, "sales", "postgresql", "psycopg")
    assert (made.cache_timeout, made.allow_dml, made.expose_in_sqllab, made.configuration_method) == (
        60,
        True,
        True,
        "orm_form",
    )
    assert core.databases.get(2) == made


def test_a_uuid_is_made_or_taken(core: AnalyticsCore) -> None:
    assert add(core).uuid
    wanted = "7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e3f"
    assert add(core, database_name="other", uuid=wanted).uuid == wanted


def test_a_database_name_is_taken_once(core: AnalyticsCore) -> None:
    with pytest.raises(AlreadyExistsError, match="shop"):
        add(core, database_name="shop")


def test_a_database_without_a_uri_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(PayloadSchemaError, match="orm_uri: is required"):
        core.databases.create({"database_name": "sales"})


@for_each(
    "uri",
    [
        "not a uri",
        "nosuchengine://h/d",
        "postgresql+evil://u@h/d",
        "postgresql://u@h/d?options=-c%20x",
        "sqlite:////etc/passwd",
        "sqlite:///../elsewhere.db",
    ],
)
def test_a_uri_that_is_not_allowed_is_refused_without_repeating_it(core: AnalyticsCore, uri: str) -> None:
    with pytest.raises(Exception) as caught:
        add(core, orm_uri=uri)
    assert getattr(caught.value, "status", 0) in (400, 422)
    assert uri not in str(caught.value)


@for_each("port", ["99999", "0", "port"])
def test_a_port_that_no_server_has_is_an_invalid_port_on_every_road(core: AnalyticsCore, port: str) -> None:
    uri = f"postgresql://u:p@127.0.0.1:{port}/d"
    databases = core.databases
    for road in (
        lambda: add(core, orm_uri=uri),
        lambda: databases.update(1, {"orm_uri": uri}),
        lambda: databases.test_connection({"orm_uri": uri}),
        lambda: analytics_core.connect(uri),
    ):
        with pytest.raises(ConnectionUriError) as caught:
            road()
        assert [item["error_type"] for item in caught.value.to_payload()["errors"]] == ["CONNECTION_INVALID_PORT_ERROR"]


@pytest.mark.parametrize(
    "extra",
    [
        '{"engine_params": {"connect_args": {"password": "s3same"}}}',
        '{"engine_params": {"creator": "os.system"}}',
        '{"engine_params": 5}',
        '{"credentials_info": {"private_key": "s3same"}}',
    ],
)
def test_options_that_are_not_allowed_are_refused(core: AnalyticsCore, extra: str) -> None:
    with pytest.raises(ConnectionUriError) as caught:
        add(core, extra=extra)
    assert "s3same" not in str(caught.value)


def test_harmless_options_are_stored(core: AnalyticsCore) -> None:
    extra = '{"engine_params": {"pool_size": 3}, "disable_data_preview": true, "version": "16"}'
    add(core, extra=extra)
    (item,) = core.databases.list(filters=[{"col": "database_name", "op": "eq", "val": "sales"}])
    assert item.extra == extra
    assert item.disable_data_preview is True


@pytest.mark.parametrize(("field", "value"), [("engine", "mysql"), ("driver", "psycopg2")])
def test_an_engine_or_driver_that_contradicts_the_uri_is_refused(core: AnalyticsCore, field: str, value: str) -> None:
    with pytest.raises(PayloadSchemaError, match=field):
        add(core, **{field: value})


@pytest.mark.parametrize("port", [0, -1, 65_536, 99_999_999])
def test_a_port_of_a_tunnel_that_no_server_has_is_refused(core: AnalyticsCore, port: int) -> None:
    tunnel = {"server_address": "gate", "server_port": port}
    for write in (add, lambda core, **fields: core.databases.update(1, fields)):
        with pytest.raises(PayloadSchemaError, match=r"ssh_tunnel\.server_port: must be (1 or more|65535 or less)"):
            write(core, ssh_tunnel=tunnel)
    trial = {"orm_uri": "sqlite://", "ssh_tunnel": tunnel}
    with pytest.raises(PayloadSchemaError, match=r"ssh_tunnel\.server_port"):
        core.databases.test_connection(trial)


# ------------------------------------------------------------------------------------------------------------ secrets
def test_no_read_shows_a_password(core: AnalyticsCore) -> None:
    made = add(core)
    answers = (made, core.databases.get(2), core.databases.connection(2), *core.databases.list())
    for answer in answers:
        assert "s3same" not in json.dumps(answer.to_payload()) + repr(answer)


def test_the_connection_shows_the_uri_with_a_mask(core: AnalyticsCore) -> None:
    add(core)
    assert core.databases.connection(2).orm_uri == "postgresql+psycopg://ann:XXXXXXXXXX@db.example/sales"


def test_a_masked_password_keeps_the_stored_one(core: AnalyticsCore) -> None:
    add(core)
    masked = core.databases.connection(2).orm_uri
    assert masked is not None
    core.databases.update(2, {"orm_uri": masked.replace("/sales", "/archive")})
    assert core.databases.connection(2).orm_uri == masked.replace("/sales", "/archive")


def test_a_masked_password_does_not_follow_to_another_server(core: AnalyticsCore) -> None:
    add(core)
    masked = core.databases.connection(2).orm_uri or ""
    with pytest.raises(ConnectionUriError, match="password"):
        core.databases.update(2, {"orm_uri": masked.replace("db.example", "evil.example")})


def test_a_masked_password_of_a_new_database_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(ConnectionUriError):
        add(core, orm_uri="postgresql+psycopg://ann:XXXXXXXXXX@db.example/sales")


# ------------------------------------------------------------------------------------------------------------- update
def test_an_update_changes_what_it_names(core: AnalyticsCore) -> None:
    changed = core.databases.update(1, {"allow_dml": True, "cache_timeout": 5, "database_name": None, "extra": None})
    assert (changed.database_name, changed.allow_dml, changed.cache_timeout) == ("shop", True, 5)
    assert core.databases.update(1, {"cache_timeout": None}).cache_timeout is None


def test_an_empty_uri_keeps_the_stored_one(core: AnalyticsCore) -> None:
    before = core.databases.connection(1).orm_uri
    core.databases.update(1, {"orm_uri": ""})
    assert core.databases.connection(1).orm_uri == before


def test_after_an_update_queries_reach_the_new_file(shop: SmallCore, tmp_path: Path) -> None:
    shop.orders()
    with small_core(_folder(tmp_path, "other")) as other:
        other.run("CREATE TABLE newcomers (a INTEGER)")
        moved = tmp_path / "moved.db"
        moved.write_bytes(other.file.read_bytes())
    shop.core.databases.update(1, {"orm_uri": f"sqlite:///{moved}"})
    made = shop.core.datasets.create({"database": 1, "table_name": "newcomers"})
    assert [column.column_name for column in made.columns] == ["a"]


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder


# ------------------------------------------------------------------------------------------------------------- delete
def test_a_deleted_database_is_gone(core: AnalyticsCore) -> None:
    add(core)
    core.databases.delete(2)
    with pytest.raises(DatabaseNotFoundError):
        core.databases.get(2)


def test_a_database_that_datasets_read_stays(shop: SmallCore) -> None:
    shop.orders()
    with pytest.raises(InUseError):
        shop.core.databases.delete(1)


@pytest.mark.parametrize("call", ["get", "delete", "connection"])
def test_an_unknown_database_is_not_found(core: AnalyticsCore, call: str) -> None:
    with pytest.raises(DatabaseNotFoundError) as caught:
        getattr(core.databases, call)(99)
    assert caught.value.status == 404


# ------------------------------------------------------------------------------------------------------------- rights
def test_only_administrators_create_change_and_delete(shop: SmallCore) -> None:
    reader = shop.reader(("database", 1))
    with pytest.raises(DatabaseAccessError):
        add(reader)
    with pytest.raises(DatabaseAccessError):
        reader.databases.connection(1)
    with pytest.raises(DatabaseAccessError):
        reader.databases.test_connection({"orm_uri": "sqlite://"})
    with pytest.raises(OwnershipError):
        reader.databases.update(1, {"allow_dml": True})
    with pytest.raises(OwnershipError):
        reader.databases.delete(1)


def test_a_list_shows_only_what_the_actor_may_see(shop: SmallCore) -> None:
    add(shop.core)
    assert shop.core.databases.list().count == 2
    assert [d.id for d in shop.reader(("database", 2)).databases.list()] == [2]
    assert [d.id for d in shop.reader(("schema", 1, "main"), username="other").databases.list()] == [1]
    assert shop.reader(username="nobody").databases.list().count == 0


def test_a_database_without_a_grant_is_refused(shop: SmallCore) -> None:
    with pytest.raises(DatabaseAccessError):
        shop.reader().databases.get(1)


# --------------------------------------------------------------------------------------------------------------- list
def test_lists_are_filtered_sorted_and_paged(core: AnalyticsCore) -> None:
    for name in ("b", "c", "a"):
        add(core, database_name=name)
    page = core.databases.list(
        filters=[{"col": "backend", "op": "eq", "val": "postgresql"}], order_by="-database_name", page_size=2
    )
    assert (page.count, [item.database_name for item in page]) == (3, ["c", "b"])
    assert page.to_payload()["result"][0]["database_name"] == "c"


# ------------------------------------------------------------------------------------------------------------- trying
def test_a_connection_that_works_says_nothing(shop: SmallCore) -> None:
    assert shop.core.databases.test_connection({"orm_uri": f"sqlite:///{shop.file}"}) is None


def test_a_stored_connection_is_tried_by_its_name(shop: SmallCore) -> None:
    assert shop.core.databases.test_connection({"database_name": "shop"}) is None


def test_a_connection_that_does_not_work_is_diagnosed(shop: SmallCore, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError):
        shop.core.databases.test_connection({"orm_uri": f"sqlite:///{tmp_path / 'absent' / 'file.db'}"})
    assert not (tmp_path / "absent").exists()


def test_trying_does_not_store_anything(shop: SmallCore) -> None:
    shop.core.databases.test_connection({"database_name": "new", "orm_uri": f"sqlite:///{shop.file}"})
    assert shop.core.databases.list().count == 1


def test_a_database_of_an_engine_that_is_gone_can_be_seen_and_removed(tmp_path: Path) -> None:
    known = installed_engines(())
    aside = replace(known.get("postgresql"), name="pond", aliases=())
    settings, url = Settings(secret_key="a-key-for-tests-0123456789"), f"sqlite:///{tmp_path / 'meta.db'}"
    with AnalyticsCore(settings, metadata_url=url, engines=known.with_spec(aside)) as core:
        core.create_first_administrator("ann")
        made = core.as_user("ann").databases.create({"database_name": "pond", "orm_uri": "pond://db.example/pond"})
    with AnalyticsCore(settings, metadata_url=url, acting_as="ann") as core:
        (seen,) = core.databases.list().result
        assert (seen.backend, seen.allows_cost_estimate, seen.allows_subquery) == ("pond", False, False)
        assert core.databases.get(made.id).backend == "pond"
        assert core.databases.connection(made.id).database_name == "pond"
        core.databases.delete(made.id)
        assert core.databases.list().count == 0
