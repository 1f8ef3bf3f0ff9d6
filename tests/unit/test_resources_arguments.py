"""What hosts pass on from addresses and bodies gives an answer or a typed error, wherever it is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import guest_world
from tests.support.hostile import HOSTILE, Subclass, rejection
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, Settings, connect
from analytics_core._records.people import User
from analytics_core.errors import (
    AccessError,
    ActorRequiredError,
    AlreadyExistsError,
    NotFoundError,
    PayloadError,
    PayloadSchemaError,
    SettingsError,
    SourceError,
    UnknownNameError,
)

Ask = Callable[[AnalyticsCore, Any], Any]
LAYOUT = json.dumps({"CHART-1": {"type": "CHART", "meta": {"chartId": 1}}})

CALLS: dict[str, Ask] = {
    "as_user": lambda core, bad: core.as_user(bad),
    "as_of": lambda core, bad: core.as_of(bad).charts.list(),
    "simulate of whom": lambda core, bad: core.row_level_security.simulate(bad, 1),
    "simulate on what": lambda core, bad: core.row_level_security.simulate(1, bad),
    "tables": lambda core, bad: core.databases.tables(1, bad),
    "job": lambda core, bad: core.charts.job(bad),
    "stars of charts": lambda core, bad: core.charts.favourite_status(bad),
    "star of a dashboard": lambda core, bad: core.dashboards.favourite_status([bad]),
    "tag names": lambda core, bad: core.tags.tag("chart", 1, bad),
    "untag names": lambda core, bad: core.tags.untag("chart", 1, bad),
    "embedded": lambda core, bad: core.embedded.get(bad),
    "explore": lambda core, bad: core.explore.context(datasource=bad),
    "databases of a bundle": lambda core, bad: core.load_bundle(b"", databases=bad),
    "passwords of a bundle": lambda core, bad: core.load_bundle(b"", passwords={"shop": bad}),
    "bundle": lambda core, bad: core.load_bundle(bad),
    "exported ids": lambda core, bad: core.export_bundle(charts=bad),
    "exported id": lambda core, bad: core.export_bundle(datasets=[bad]),
    "path of an export": lambda core, bad: core.export_bundle(f"\0{bad}" if isinstance(bad, str) else bad, charts=[1]),
    "columns of batches": lambda core, bad: core.datasets.batches(1, columns=bad),
    "unchanged_since": lambda core, bad: core.charts.update(1, {}, unchanged_since=bad),
    "searched choice": lambda core, bad: core.charts.related("datasets", filter=bad),
    "searched list": lambda core, bad: core.charts.list([{"col": "slice_name", "op": "contains", "val": bad}]),
}
GUEST_CALLS: dict[str, Ask] = {
    "chart": lambda guest, bad: guest.charts.get(bad),
    "dashboard": lambda guest, bad: guest.dashboards.get(bad),
    "charts of a dashboard": lambda guest, bad: guest.dashboards.charts(bad),
    "values of a filter": lambda guest, bad: guest.dashboards.filter_options(bad, "x"),
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.orders()
        made.core.charts.create({"slice_name": "x", "datasource_id": 1, "datasource_type": "table"})
        made.core.dashboards.create({"dashboard_title": "Board", "position_json": LAYOUT})
        yield made


def _wrong(core: AnalyticsCore, calls: dict[str, Ask]) -> list[tuple[str, str, str]]:
    """Return the answers that are no typed error, blame the library, or go on for pages."""
    found = (
        (call, name, rejection(partial(ask, core, bad))) for call, ask in calls.items() for name, bad in HOSTILE.items()
    )
    return [
        (call, name, text[:80])
        for call, name, text in found
        if text.startswith(("raw ", "the metadata store")) or len(text) > 5_000
    ]


@pytest.mark.slow
def test_any_argument_gives_an_answer_or_a_typed_error(shop: SmallCore) -> None:
    assert _wrong(shop.core, CALLS) == []


def test_any_argument_of_a_guest_gives_a_typed_error(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path / 'guests.db'}") as world:
        assert _wrong(world.guest(), GUEST_CALLS) == []


# ------------------------------------------------------------------------------------------------------- endless lists
def _more_than_may_be(item: Any) -> Iterator[Any]:
    """Yield one item more than may be named, and fail when somebody reads on."""
    yield from repeat(item, 1_001)
    raise AssertionError("read on")


def test_an_endless_list_of_ids_or_names_is_refused(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="1000"):
        shop.core.charts.favourite_status(_more_than_may_be(1))
    with pytest.raises(PayloadSchemaError, match="1000"):
        shop.core.tags.tag("chart", 1, _more_than_may_be("x"))  # type: ignore[arg-type]


def test_the_bytes_of_a_text_are_no_ids(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError):
        shop.core.charts.favourite_status(b"\x01")


# --------------------------------------------------------------------------------------------------------------- ids
def test_an_id_of_another_type_is_looked_for_at_once(shop: SmallCore) -> None:
    with pytest.raises(NotFoundError):
        shop.core.embedded.get(Subclass(2**30))
    with pytest.raises(NotFoundError):
        shop.core.explore.context(datasource=Subclass(2**30))


# ------------------------------------------------------------------------------------------------------------ who acts
def test_what_only_resembles_a_key_names_nobody(shop: SmallCore) -> None:
    assert shop.core.as_user(1).users.get(1).username == "admin"  # known, so that an equal key would find it
    keys: list[Any] = [True, 1.0, [1], {"id": 1}, b"admin"]
    for key in keys:
        with pytest.raises(ActorRequiredError, match="names nobody"):
            shop.core.as_user(key)
        with pytest.raises(ActorRequiredError, match="names nobody"):
            shop.core.row_level_security.simulate(key, 1)


def test_a_user_with_lists_is_refused_in_words(shop: SmallCore) -> None:
    listed: Any = ["analysts"]
    with pytest.raises(ActorRequiredError, match="are tuples"):
        shop.core.as_user(User(id=9, username="of the host", role_names=listed))


@for_each("pair", [("tenant", 1), ("tenant", True), ("tenant", 1.0), ("tenant", None), ("tenant",), "te"])
def test_a_user_with_attributes_other_than_texts_is_refused(shop: SmallCore, pair: Any) -> None:
    """Numbers that are equal name different rows as texts, and would share what is remembered."""
    with pytest.raises(ActorRequiredError, match="are pairs of texts"):
        shop.core.as_user(User(id=9, username="of the host", attributes=(pair,)))


def test_who_may_not_act_is_called_by_the_name_alone(shop: SmallCore) -> None:
    gone = User(id=9, username="bea", email="bea@shop.example", active=False, attributes=(("salary", "4711"),))
    with pytest.raises(ActorRequiredError, match="nobody active answers to 'bea'") as caught:
        shop.core.as_user(gone)
    assert "shop.example" not in caught.value.message
    assert "4711" not in caught.value.message


def test_a_name_to_which_nobody_answers_is_told_with_what_would_be_one(shop: SmallCore) -> None:
    for asking in (lambda: shop.core.row_level_security.simulate("bea", 1), lambda: shop.core.as_user("bea")):
        with pytest.raises(ActorRequiredError) as caught:
            asking()
        hint = "give the id, the user name or the User of an active person"
        assert caught.value.message == f"nobody active answers to 'bea'; {hint}"


# ---------------------------------------------------------------------------------------------------------- beginnings
def test_a_first_administrator_has_a_name_as_users_have() -> None:
    strange: list[dict[str, Any]] = [
        {"username": None},
        {"username": "x" * 65},
        {"username": "\x00"},
        {"username": 5},
        {"username": "a", "first_name": None},
        {"username": "a", "role_ids": (1,)},
    ]
    with AnalyticsCore(Settings(secret_key=KEY)) as core:
        for names in strange:
            with pytest.raises(PayloadError):
                core.create_first_administrator(**names)
        assert core.create_first_administrator("ada", email="ada@shop.example").id == 1


def test_a_store_with_people_gets_no_second_first_administrator(shop: SmallCore) -> None:
    shop.core.roles.update(1, {"name": "Bosses"})
    with pytest.raises(AlreadyExistsError, match=r"has its first administrator, go on with core.as_user"):
        shop.core.create_first_administrator("second")
    assert shop.core.users.list().count == 1


def test_connect_names_the_setting_that_is_wrong(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"default_row_limit": "5"}, "default_row_limit must be a whole number, not str"),
        ({"default_row_limit": True}, "default_row_limit must be a whole number, not bool"),
        ({"statement_timeout_s": "5"}, "statement_timeout_s must be a number, not str"),
        ({"strict_queries": 1}, "strict_queries must be True or False, not int"),
        ({"job_workers_per_database": 1.5}, "job_workers_per_database must be a whole number, or None, not float"),
        ({"data_roots": "data"}, "data_roots must be a tuple of folders"),
        ({"data_roots": None}, "data_roots must be a tuple of folders"),
        ({"data_roots": (5,)}, "data_roots must be a tuple of folders"),
        ({"allowed_drivers": "psycopg2"}, "allowed_drivers must be a set of texts, not str"),
        ({"guest_roles": "Guests"}, "guest_roles must be a tuple of texts, not str"),
        ({"guest_token_audience": 5}, "guest_token_audience must be a text, not int"),
        ({"allowed_functions": ["sin"]}, "allowed_functions must be a map of engines to sets of names, not list"),
        ({"allowed_functions": {"sqlite": None}}, "allowed_functions of 'sqlite' must be a set of names"),
        ({"secret_key": 12345678901234567890}, "secret_key must be a text, not int$"),
        ({"previous_secret_keys": "a-test-key-of-before-9f3a"}, "previous_secret_keys must be a tuple of texts, not"),
        ({"previous_secret_keys": (5,)}, "previous_secret_keys must be text"),
        ({"defualt_row_limit": 5}, "no field 'defualt_row_limit'; did you mean 'default_row_limit'"),
        ({"colour": 5}, "no field 'colour'; it has: secret_key"),
    ]
    for settings, said in wrong:
        with pytest.raises(SettingsError, match=said):
            connect(f"sqlite:///{tmp_path / 'shop.db'}", **settings)


def test_an_attribute_that_is_no_text_is_told_in_plain_words(shop: SmallCore) -> None:
    with pytest.raises(PayloadError, match=r"attributes\.id: must be text, or an array of texts$"):
        shop.core.users.create({"username": "bea", "attributes": {"id": 5}})


def test_connect_takes_no_none() -> None:
    with pytest.raises(SourceError, match="None cannot be connected"):
        connect(None)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------------- times
def test_as_of_moves_no_times_in_words(shop: SmallCore) -> None:
    later = shop.core.as_of(datetime(2124, 1, 1))
    shop.core.tags.create({"name": "t"})
    shop.core.annotation_layers.create({"name": "l"})
    texts = {
        namespace: getattr(later, namespace).list().result[0].changed_on_delta_humanized
        for namespace in ("charts", "dashboards", "databases", "datasets", "tags", "annotation_layers")
    }
    assert [name for name, text in texts.items() if "year" in text] == []


# -------------------------------------------------------------------------------------------------------- blank fields
def test_a_blank_schema_is_no_schema_and_moves_no_rules(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    shop.core.datasets.update(1, {"owners": [2]})
    rule = {"name": "r", "clause": "amount > 0", "filter_type": "Base", "roles": [1], "tables": [1]}
    shop.core.row_level_security.create(rule)
    changed = reader.datasets.update(1, {"schema": "", "sql": "", "description": "theirs"})
    assert (changed.schema_name, changed.sql, changed.description) == (None, None, "theirs")


# ------------------------------------------------------------------------------------------------- slugs and other keys
def test_only_get_takes_a_slug_and_no_log_entry_names_one(shop: SmallCore) -> None:
    dashboards = shop.core.dashboards
    dashboards.update(1, {"slug": "board"})
    assert dashboards.get("board").id == dashboards.get("1").id == 1
    calls: list[Callable[[Any], Any]] = [
        lambda key: dashboards.update(key, {"css": ""}),
        lambda key: dashboards.update_native_filters(key, {"deleted": [], "modified": [], "reordered": []}),
        lambda key: dashboards.copy(key, {"json_metadata": "{}"}),
        dashboards.add_favourite,
        dashboards.charts,
        dashboards.datasets,
        dashboards.delete,
    ]
    for key in ("board", "1"):
        for call in calls:
            with pytest.raises(NotFoundError):
                call(key)
    of_it = shop.core.logs.list([{"col": "dashboard_id", "op": "eq", "val": 1}])
    assert [entry.action for entry in of_it] == ["dashboard.update", "dashboard.create"]


FORBIDDEN: dict[str, Callable[[AnalyticsCore], Any]] = {
    "database": lambda core: core.databases.create(7),
    "parameters": lambda core: core.databases.validate_parameters(7),
    "connection": lambda core: core.databases.test_connection(7),
    "user": lambda core: core.users.create(7),
    "changed user": lambda core: core.users.update(1, 7),
    "list of users": lambda core: core.users.list(7),
    "role": lambda core: core.roles.create(7),
    "changed role": lambda core: core.roles.update(1, 7),
    "list of roles": lambda core: core.roles.list(columns=7),
    "row rule": lambda core: core.row_level_security.create(7),
    "changed row rule": lambda core: core.row_level_security.update(1, 7),
    "choice for row rules": lambda core: core.row_level_security.related("nothing"),
    "pruned log": lambda core: core.logs.prune(-1),
    "pruned permalinks": lambda core: core.permalinks.prune(-1),
    "guest token": lambda core: core.embedded.guest_token(7),
}


@pytest.mark.slow
@pytest.mark.parametrize("ask", FORBIDDEN.values(), ids=FORBIDDEN)
def test_who_may_not_ask_at_all_is_told_so_before_the_payload_is_read(shop: SmallCore, ask: Any) -> None:
    with pytest.raises((PayloadError, UnknownNameError)):
        ask(shop.core)
    with pytest.raises(AccessError):
        ask(shop.reader(("database", 1)))


@pytest.mark.parametrize("columns", ["amount", b"amount", {"amount": 1}, 3])
def test_columns_of_batches_that_are_no_list_are_refused_with_what_would_work(shop: SmallCore, columns: Any) -> None:
    wanted = r"columns: must be a list of names of columns, for example \['amount'\]"
    with pytest.raises(PayloadSchemaError, match=wanted):
        shop.core.datasets.batches(1, columns=columns)
