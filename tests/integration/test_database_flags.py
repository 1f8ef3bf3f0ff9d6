"""Every flag and option of a database: made, read, listed, changed and cleared, and for whom.

That each kind of store has the fields is asked by `StoreConformance`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import GuestWorld, context, guest_world

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    ConnectionUriError,
    DatabaseAccessError,
    GuestAccessError,
    OwnershipError,
    PayloadSchemaError,
    StatementRefusedError,
)
from analytics_core.models import DatabasePost, DatabasePut

GET, LIST, CONNECTION = "get", "list", "connection"
EVERYWHERE = (GET, LIST, CONNECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A field of the payload: what it is when nobody says, another value, one more, and where answers show it."""

    default: Any
    first: Any
    second: Any
    displayed: tuple[str, ...] = EVERYWHERE
    clears: bool = False


def _switch(default: bool = False, *, places: tuple[str, ...] = EVERYWHERE) -> Option:
    return Option(default=default, first=not default, second=default, displayed=places)


OPTIONS: Mapping[str, Option] = {
    "allow_ctas": _switch(),
    "allow_cvas": _switch(),
    "allow_dml": _switch(),
    "allow_file_upload": _switch(),
    "allow_run_async": _switch(),
    "expose_in_sqllab": _switch(default=True),
    "impersonate_user": _switch(places=(GET, LIST)),
    "force_ctas_schema": Option(default=None, first="tmp", second="Ünder_%", displayed=(GET, LIST), clears=True),
    "cache_timeout": Option(default=None, first=60, second=0, displayed=(GET, CONNECTION), clears=True),
    "configuration_method": Option(
        default="orm_form", first="dynamic_form", second="orm_form", displayed=(GET, CONNECTION)
    ),
    "external_url": Option(default=None, first="https://a.example/1", second="", displayed=(CONNECTION,), clears=True),
    "extra": Option(default=None, first='{"version": "16"}', second="{}", displayed=(LIST, CONNECTION), clears=True),
    "uuid": Option(
        default=...,  # made by the library
        first="7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e3f",
        second="7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e40",
    ),
}
EXTRAS: Mapping[str, Any] = {
    "engine_params": {"pool_size": 2},
    "metadata_params": {"schema": "main", "naming_convention": {"ix": "ix_%(table_name)s"}},
    "metadata_cache_timeout": {"schema_cache_timeout": 5, "table_cache_timeout": 0},
    "schemas_allowed_for_file_upload": ["main"],
    "version": "16",
    "allows_virtual_table_explore": False,
    "disable_data_preview": True,
    "cost_estimate_enabled": True,  # not in the contract: kept
}
NOT_IN_THE_CONTRACT = {
    "server_cert": "-----BEGIN CERTIFICATE-----",
    "masked_encrypted_extra": "{}",
    "encrypted_extra": "{}",
    "is_managed": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """Who meets databases: `readers` may query database 1 and whatever is granted to the role, 2."""

    world: GuestWorld
    reader: AnalyticsCore
    stranger: AnalyticsCore
    guest: AnalyticsCore

    @property
    def admin(self) -> AnalyticsCore:
        return self.world.admin


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    shop = tmp_path_factory.mktemp("flags") / "shop.db"
    with guest_world(f"sqlite:///{shop}") as world:
        role = world.admin.roles.create({"name": "readers"})
        world.admin.roles.grant(role, on=("database", 1))
        reader = world.admin.users.create({"username": "reader", "roles": [role.id]})
        stranger = world.admin.users.create({"username": "stranger"})
        yield Town(
            world=world,
            reader=world.host.as_user(reader.id),
            stranger=world.host.as_user(stranger.id),
            guest=world.guest(),
        )


@pytest.fixture
def make(town: Town) -> Iterator[Any]:
    """Make a database that readers may query; it is gone after the test."""
    made: list[int] = []
    numbers = itertools.count()

    def make(**options: Any) -> int:
        payload = {"database_name": f"made {next(numbers)}", "orm_uri": "sqlite://", **options}
        database_id = town.admin.databases.create(payload).id
        made.append(database_id)
        town.admin.roles.grant("readers", on=("database", database_id))
        return database_id

    yield make
    town.admin.users.update(1, {"attributes": {"manages_externally": "true"}})
    for database_id in made:
        town.admin.databases.delete(database_id)
    town.admin.users.update(1, {"attributes": {}})


def item(core: AnalyticsCore, database_id: int) -> Any:
    (found,) = core.databases.list(filters=[{"col": "id", "op": "eq", "val": database_id}])
    return found


def displayed(core: AnalyticsCore, database_id: int, name: str, places: tuple[str, ...] = EVERYWHERE) -> list[Any]:
    """Return what the answers say of a field, which must be in all of their payloads too."""
    answers = {
        GET: lambda: core.databases.get(database_id),
        LIST: lambda: item(core, database_id),
        CONNECTION: lambda: core.databases.connection(database_id),
    }
    found = [answers[place]() for place in places]
    assert [answer.to_payload()[name] for answer in found] == [getattr(answer, name) for answer in found]
    return [getattr(answer, name) for answer in found]


# --------------------------------------------------------------------------------------------------------- each option
def test_every_field_of_the_payloads_is_tried_here(town: Town) -> None:
    from_elsewhere = {
        "database_name",
        "orm_uri",
        "parameters",
        "engine",
        "driver",
        "ssh_tunnel",
        "is_managed_externally",
    }
    for method in (town.admin.databases.create, town.admin.databases.update):
        with pytest.raises(PayloadSchemaError) as rejection:
            method(*([1] if method.__name__ == "update" else []), {"nosuch": 1})
        assert any(problem.path == "nosuch" for problem in rejection.value.problems)
    for shape in (DatabasePost, DatabasePut):
        assert set(shape.model_fields) - from_elsewhere == OPTIONS.keys()


@pytest.mark.slow
@for_each("name", OPTIONS)
def test_an_option_is_kept_shown_changed_and_cleared(town: Town, make: Any, name: str) -> None:
    option, admin = OPTIONS[name], town.admin
    plain, chosen = make(), make(**{name: option.first})
    if option.default is not ...:
        assert set(displayed(admin, plain, name, option.displayed)) == {option.default}
    assert set(displayed(admin, chosen, name, option.displayed)) == {option.first}
    admin.databases.update(chosen, {name: option.second})
    assert set(displayed(admin, chosen, name, option.displayed)) == {option.second}
    admin.databases.update(chosen, {"database_name": f"renamed {name}"})  # what is not named stays
    assert set(displayed(admin, chosen, name, option.displayed)) == {option.second}
    if option.clears:
        admin.databases.update(chosen, {name: None})
        assert set(displayed(admin, chosen, name, option.displayed)) == {None}
    else:
        with pytest.raises(PayloadSchemaError, match=name):
            admin.databases.update(chosen, {name: None})


@pytest.mark.slow
@for_each("name", OPTIONS)
def test_readers_see_an_option_and_only_administrators_set_it(town: Town, make: Any, name: str) -> None:
    option = OPTIONS[name]
    database_id = make(**{name: option.first})
    readable = tuple(place for place in option.displayed if place != CONNECTION)
    assert set(displayed(town.reader, database_id, name, readable)) <= {option.first}
    refusals: tuple[tuple[AnalyticsCore, type[AnalyticsError], type[AnalyticsError]], ...] = (
        (town.reader, OwnershipError, AccessError),
        (town.stranger, DatabaseAccessError, AccessError),
        (town.guest, GuestAccessError, GuestAccessError),
    )
    for core, may_not_change, may_not_make in refusals:
        with pytest.raises(may_not_change):
            core.databases.update(database_id, {name: option.second})
        with pytest.raises(may_not_make):
            core.databases.create({"database_name": "theirs", "orm_uri": "sqlite://", name: option.first})
        with pytest.raises(AccessError):
            core.databases.connection(database_id)
    for core in (town.stranger, town.guest):
        with pytest.raises(AccessError):
            core.databases.get(database_id)
    assert set(displayed(town.admin, database_id, name, option.displayed)) == {option.first}


@for_each("key", EXTRAS)
def test_a_key_of_extra_is_kept_as_it_was_written(town: Town, make: Any, key: str) -> None:
    written = json.dumps({key: EXTRAS[key]}, indent=1)
    database_id = make(extra=written)
    assert displayed(town.admin, database_id, "extra", (LIST, CONNECTION)) == [written, written]
    both = json.dumps({**EXTRAS, "also": 1})
    town.admin.databases.update(database_id, {"extra": both})
    assert displayed(town.admin, database_id, "extra", (LIST, CONNECTION)) == [both, both]


@for_each("key", ["allows_virtual_table_explore", "disable_data_preview"])
def test_what_extra_says_of_the_screens_shows_in_lists(town: Town, make: Any, key: str) -> None:
    database_id, usual = make(extra=json.dumps({key: EXTRAS[key]})), make()
    assert getattr(item(town.reader, database_id), key) is EXTRAS[key]
    assert getattr(item(town.reader, usual), key) is (not EXTRAS[key])


@for_each(
    ("option", "value"),
    [
        ("disable_data_preview", "true"),
        ("disable_data_preview", 1),
        ("disable_drill_to_detail", "yes"),
        ("allows_virtual_table_explore", "false"),
        ("explore_database_id", "1"),
        ("schemas_allowed_for_file_upload", ""),
        ("schemas_allowed_for_file_upload", "public"),
        ("schemas_allowed_for_file_upload", {"public": True}),
        ("version", 16),
    ],
)
def test_an_option_of_extra_of_the_wrong_type_is_refused(town: Town, option: str, value: object) -> None:
    extra = json.dumps({option: value})
    given = {"database_name": "wrong", "orm_uri": "sqlite://", "extra": extra}
    for call in (
        lambda: town.admin.databases.create(given),
        lambda: town.admin.databases.update(1, {"extra": extra}),
    ):
        with pytest.raises((PayloadSchemaError, ConnectionUriError), match=option):
            call()


def test_a_database_that_disables_drill_to_detail_shows_no_rows_behind_charts(town: Town) -> None:
    payload = {**context({"metrics": ["count"]}), "result_type": "drill_detail"}
    assert town.admin.charts.data(payload).raise_for_error().results[0].data
    for switch, refuses in (({"disable_drill_to_detail": True}, True), ({"disable_drill_to_detail": None}, False)):
        town.admin.databases.update(1, {"extra": json.dumps(switch)})
        for core in (town.admin, town.reader):
            answer = core.charts.data(payload)
            if not refuses:
                assert answer.raise_for_error().results[0].data
                continue
            with pytest.raises(DatabaseAccessError, match="the rows behind a chart are not shown") as rejection:
                answer.raise_for_error()
            assert (rejection.value.status, rejection.value.error_type.value) == (403, "DATABASE_SECURITY_ACCESS_ERROR")
            with pytest.raises(DatabaseAccessError):
                list(core.charts.batches(payload))
        usual = town.admin.charts.data(context({"metrics": ["count"]})).raise_for_error()
        assert usual.results[0].data == [{"count": 6}]
    town.admin.databases.update(1, {"extra": None})


@for_each("name", NOT_IN_THE_CONTRACT)
def test_a_field_that_the_contract_does_not_have_is_refused_by_name(town: Town, make: Any, name: str) -> None:
    value = {name: NOT_IN_THE_CONTRACT[name]}
    with pytest.raises(PayloadSchemaError, match=name):
        town.admin.databases.create({"database_name": "x", "orm_uri": "sqlite://", **value})
    with pytest.raises(PayloadSchemaError, match=name):
        town.admin.databases.update(make(), value)


def test_engine_and_driver_follow_the_uri(town: Town, make: Any) -> None:
    database_id = make(engine="sqlite")
    assert displayed(town.admin, database_id, "backend") == ["sqlite"] * 3
    town.admin.databases.update(database_id, {"orm_uri": "postgresql+psycopg://u:p@db.example/x", "driver": "psycopg"})
    assert displayed(town.admin, database_id, "backend") == ["postgresql"] * 3
    assert displayed(town.admin, database_id, "driver", (GET, CONNECTION)) == ["psycopg"] * 2
    with pytest.raises(PayloadSchemaError, match="engine: the URI's engine is 'postgresql'"):
        town.admin.databases.update(database_id, {"engine": "mysql"})
    with pytest.raises(PayloadSchemaError, match="driver: the URI's driver is 'psycopg'"):
        town.admin.databases.update(database_id, {"driver": "asyncpg"})
    assert {item.id for item in town.admin.databases.list([{"col": "backend", "op": "eq", "val": "postgresql"}])} == {
        database_id
    }


@for_each("name", ["allow_dml", "allow_run_async", "allow_file_upload", "expose_in_sqllab"])
def test_lists_are_filtered_by_a_switch(town: Town, make: Any, name: str) -> None:
    usual, other = make(), make(**{name: OPTIONS[name].first})
    found = {item.id for item in town.admin.databases.list([{"col": name, "op": "eq", "val": OPTIONS[name].first}])}
    assert other in found
    assert usual not in found


# ---------------------------------------------------------------------------------------------------- what they do here
def test_what_another_system_manages_changes_only_for_that_system(town: Town, make: Any) -> None:
    admin = town.admin
    database_id = make(is_managed_externally=True, external_url="https://elsewhere.example/1")
    assert town.reader.databases.get(database_id).is_managed_externally
    for act in (
        lambda: admin.databases.update(database_id, {"allow_dml": True}),
        lambda: admin.databases.update(database_id, {"is_managed_externally": False}),
        lambda: admin.databases.delete(database_id),
    ):
        with pytest.raises(OwnershipError, match="is managed by another system"):
            act()
    admin.users.update(1, {"attributes": {"manages_externally": "true"}})
    assert not admin.databases.update(database_id, {"is_managed_externally": False}).is_managed_externally
    admin.users.update(1, {"attributes": {}})
    assert admin.databases.update(database_id, {"allow_dml": True}).allow_dml


@for_each("name", ["allow_dml", "allow_ctas", "allow_cvas"])
def test_no_switch_of_the_sql_editor_lets_a_chart_or_dataset_write(town: Town, name: str) -> None:
    town.admin.databases.update(1, {name: True})
    writes = (
        "DELETE FROM sales",
        "INSERT INTO sales (id) VALUES (9)",
        "CREATE TABLE x AS SELECT 1",
        "DROP TABLE sales",
    )
    for sql in writes:
        with pytest.raises(AnalyticsError) as rejection:
            town.admin.datasets.create({"database": 1, "table_name": "writes", "sql": sql})
        assert isinstance(rejection.value, StatementRefusedError), rejection.value
    data = town.admin.charts.data(context({"metrics": ["count"]})).raise_for_error()
    assert data.results[0].data == [{"count": 6}]
    town.admin.databases.update(1, {name: False})


def test_jobs_need_no_leave_of_the_database(town: Town) -> None:
    """`allow_run_async` and `expose_in_sqllab` are the SQL editor's; charts run in the background all the same."""
    town.admin.databases.update(1, {"allow_run_async": False, "expose_in_sqllab": False})
    job = town.reader.charts.submit(1)
    assert job.result(timeout_s=30).raise_for_error().results[0].data
    town.admin.databases.update(1, {"expose_in_sqllab": True})


def test_the_cache_timeout_is_that_of_its_results(town: Town) -> None:
    for seconds, counts in ((77, 77), (0, 0), (-1, None), (None, 86_400)):
        town.admin.databases.update(1, {"cache_timeout": seconds})
        result = town.admin.charts.data(context({"columns": ["city"]})).raise_for_error().results[0]
        assert result.cache_timeout == counts
        again = town.admin.charts.data(context({"columns": ["city"]})).raise_for_error().results[0]
        assert again.is_cached is (seconds != -1)
