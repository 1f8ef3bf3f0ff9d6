"""The log: every change writes itself, hosts record views, people read their own, administrators all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.many_records import statements_of
from tests.support.small_core import SmallCore, small_core

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core._content.changes import begin_act
from analytics_core._records.audit import LogEntry
from analytics_core._records.dashboard import Dashboard
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import (
    ChartAccessError,
    DashboardAccessError,
    ErrorType,
    PayloadSchemaError,
    UserActivityAccessError,
)
from analytics_core.policy import RULES, Permission, Policy, Relationship
from analytics_core.testing.clock import FixedClock

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
NAMESPACES = frozenset(
    {"annotation", "annotation_layer", "cache", "chart", "css_template", "dashboard", "database", "dataset", "embedded"}
    | {
        "dataset_column",
        "dataset_metric",
        "form_data",
        "log",
        "oauth",
        "permalink",
        "role",
        "row_level_security",
        "tag",
        "user",
    }
)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str, clock: FixedClock) -> Iterator[SmallCore]:
    ports = {"metadata_url": metadata_url, "clock": clock}
    with small_core(tmp_path, ports=ports, url_for=lambda kind, values: f"/{kind}/{values['id']}") as made:
        made.orders()
        yield made


def chart(core: AnalyticsCore, name: str = "Revenue", **payload: Any) -> int:
    made = core.charts.create({"slice_name": name, "datasource_id": 1, "datasource_type": "table", **payload})
    return int(made.id)


def actions(core: AnalyticsCore) -> list[Any]:
    return [entry.action for entry in core.logs.list(order_by="id")]


def dashboard(shop: SmallCore, owner: int, title: str = "Board") -> int:
    record = Dashboard(uuid=f"00000000-0000-0000-0000-{owner:012}", dashboard_title=title, owner_ids=(owner,))
    with shop.core._runtime.content.store.unit_of_work() as unit:
        return unit.dashboards.add(record, actor_id=owner).id


# ------------------------------------------------------------------------------------------------ acts of the library
def test_every_change_of_a_record_is_logged(shop: SmallCore) -> None:
    core = shop.core
    made = chart(core)
    core.charts.update(made, {"description": "x"})
    core.charts.delete(made)
    core.datasets.update(1, {"description": "x"})
    core.datasets.refresh(1)
    core.datasets.delete(1)
    core.databases.update(1, {"cache_timeout": 5})
    core.databases.delete(1)
    user = core.users.create({"username": "new"})
    core.users.update(user.id, {"first_name": "New"})
    core.users.delete(user.id)
    role = core.roles.create({"name": "analysts"})
    core.roles.update(role.id, {"name": "readers"})
    core.roles.delete(role.id)
    assert actions(core) == [
        "database.create",
        "dataset.create",
        "chart.create",
        "chart.update",
        "chart.delete",
        "dataset.update",
        "dataset.refresh",
        "dataset.delete",
        "database.update",
        "database.delete",
        "user.create",
        "user.update",
        "user.delete",
        "role.create",
        "role.update",
        "role.delete",
    ]


def test_an_entry_says_who_when_and_on_what(shop: SmallCore, clock: FixedClock) -> None:
    reader = shop.reader(("dataset", 1))
    clock.advance(timedelta(minutes=5))
    made = chart(reader)
    entry = reader.logs.list(filters=[{"col": "action", "op": "eq", "val": "chart.create"}]).result[0]
    assert (entry.slice_id, entry.user_id, entry.dttm) == (made, 2, NOW + timedelta(minutes=5))
    assert entry.user.to_payload() == {"username": "reader"}
    assert entry.duration_ms == 0
    of_dataset = shop.core.logs.list(filters=[{"col": "action", "op": "eq", "val": "dataset.create"}]).result[0]
    assert of_dataset.json_text == '{"dataset_id": 1}'


def test_an_act_names_the_further_records_that_it_made_or_changed(shop: SmallCore) -> None:
    made = chart(shop.core)
    board = shop.core.dashboards.create({"dashboard_title": "Board"}).id
    shop.core.charts.update(made, {"dashboards": [board]})
    shop.core.dashboards.copy(board, {"json_metadata": "{}"})
    shop.core.dashboards.copy(board, {"json_metadata": "{}", "duplicate_slices": True})
    query = {"database": 1, "table_name": "query", "sql": "SELECT amount FROM orders"}
    base = shop.core.datasets.create(query).id
    bare = shop.core.datasets.duplicate({"base_model_id": base, "table_name": "bare"}).id
    rule = {"name": "r", "clause": "amount > 1", "filter_type": "Regular", "roles": [1], "tables": [base]}
    bound = shop.core.row_level_security.create(rule).id
    copy = shop.core.datasets.duplicate({"base_model_id": base, "table_name": "copy"}).id
    copies = shop.core.logs.list(filters=[{"col": "action", "op": "eq", "val": "dashboard.copy"}], order_by="id")
    assert [json.loads(entry.json_text or "") for entry in copies] == [
        {"source": board},
        {"source": board, "charts": [made + 1]},
    ]
    copies = shop.core.logs.list(filters=[{"col": "action", "op": "eq", "val": "dataset.duplicate"}], order_by="id")
    assert [json.loads(entry.json_text or "") for entry in copies] == [
        {"dataset_id": bare, "base_model_id": base},
        {"dataset_id": copy, "base_model_id": base, "row_rule_ids": [bound]},
    ]


def test_a_grant_is_logged_once_and_only_when_it_changes_something(shop: SmallCore) -> None:
    role = shop.core.roles.create({"name": "analysts"})
    for _ in range(2):
        shop.core.roles.grant(role, on=("schema", 1, "main"))
    shop.core.roles.revoke(role, on=("schema", 1, "main"))
    shop.core.roles.revoke(role, on=("schema", 1, "main"))
    entries = shop.core.logs.list(filters=[{"col": "action", "op": "starts_with", "val": "role."}], order_by="id")
    on = {"role_id": role.id, "on": {"target": "schema", "id": 1, "schema": "main"}}
    logged = [(entry.action, json.loads(entry.json_text or "")) for entry in entries]
    assert logged[1:] == [("role.grant", on), ("role.revoke", on)]


def test_what_was_refused_is_not_logged(shop: SmallCore) -> None:
    made = chart(shop.core)
    before = actions(shop.core)
    reader = shop.reader(("dataset", 1))
    for act in (lambda: reader.charts.delete(made), lambda: reader.datasets.update(1, {"description": "x"})):
        with pytest.raises(Exception, match="only an owner"):
            act()
    assert [action for action in actions(shop.core) if action not in before] == [
        "role.create",
        "role.grant",
        "user.create",
    ]


# ------------------------------------------------------------------------------------------------------ acts of hosts
def test_a_host_records_a_view_with_all_its_fields(shop: SmallCore) -> None:
    made = chart(shop.core)
    reader = shop.reader(("dataset", 1))
    entry = reader.logs.create(
        {
            "action": "chart.view",
            "slice_id": made,
            "duration_ms": 12,
            "json": '{"a": 1}',
            "referrer": "https://x.example",
        }
    )
    assert entry.to_payload() == {
        "action": "chart.view",
        "dashboard_id": None,
        "slice_id": made,
        "user_id": 2,
        "dttm": "2024-06-01T12:00:00Z",
        "duration_ms": 12,
        "json": '{"a": 1}',
        "referrer": "https://x.example",
        "user": {"username": "reader"},
    }
    masked = reader.logs.create({"action": "a", "json": "{}", "referrer": "https://me:s3cret@x.example/y"})
    assert masked.referrer == f"https://me:{MASK}@x.example/y"


@for_each(
    ("payload", "path"),
    [
        ({}, "action"),
        ({"action": ""}, "action"),
        ({"action": "x" * 513}, "action"),
        ({"action": "chart.delete"}, "action"),
        ({"action": "dashboard.create"}, "action"),
        ({"action": "view", "json": "{"}, "json"),
        ({"action": "view", "referrer": "x" * 1025}, "referrer"),
        ({"action": "view", "dttm": 5}, "dttm"),
        ({"action": "view", "duration_ms": 2**31}, "duration_ms"),
    ],
)
def test_a_malformed_entry_is_refused_with_its_path(shop: SmallCore, payload: Any, path: str) -> None:
    before = actions(shop.core)
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.logs.create(payload)
    assert [problem.path for problem in rejection.value.problems] == [path]
    assert actions(shop.core) == before


def test_no_act_that_the_library_logs_can_be_written_by_hand(shop: SmallCore) -> None:
    sources = Path(analytics_core.__file__).parent.glob("_content/**/*.py")
    logged = {name for source in sources for name in re.findall(r'"([a-z_]+\.[a-z_]+)"', source.read_text())}
    acts = {name for name in logged if name.rpartition(".")[0] in NAMESPACES}
    assert {"dashboard.create", "embedded.guest_token", "embedded.revoke_guest_tokens", "log.prune"} <= acts
    spellings = {f"{act}{end}" for act in acts for end in ("", " ", "\u200b", "!")} | {act.upper() for act in acts}
    for act in sorted(spellings):
        with pytest.raises(PayloadSchemaError, match="recorded when it happens"):
            shop.core.logs.create({"action": act})
    assert shop.core.logs.create({"action": "chart.created_elsewhere"}).action == "chart.created_elsewhere"


def test_another_now_for_queries_moves_no_time_in_the_log(shop: SmallCore, clock: FixedClock) -> None:
    elsewhen = shop.core.as_of(datetime(2001, 1, 1, tzinfo=UTC))
    made = chart(elsewhen)
    assert elsewhen.logs.create({"action": "chart.view", "slice_id": made}).dttm == NOW
    assert {entry.dttm for entry in shop.core.logs.list()} == {NOW}
    with shop.core._runtime.content.store.unit_of_work() as unit:
        assert unit.charts.get(made).last_saved_at == NOW
    assert [one.action for one in elsewhen.logs.recent_activity().result] == ["chart.view", "chart.create"]
    assert shop.core.as_of(NOW + timedelta(days=10_000)).logs.prune(older_than_days=1) == 0


def test_an_act_never_took_less_than_no_time(shop: SmallCore) -> None:
    clock = FixedClock(NOW)
    runtime = replace(shop.core._runtime.content, wall_clock=clock)
    act = begin_act(runtime, shop.core._actor(), "chart.update")
    clock.advance(timedelta(hours=-1))
    clock.advance(timedelta(milliseconds=250))
    with runtime.store.unit_of_work() as unit:
        act.log(unit)
    entry = shop.core.logs.list(order_by="-id", page_size=1).result[0]
    assert (entry.dttm, entry.duration_ms) == (clock.now(), 250)


@pytest.mark.parametrize("extra", [{"user_id": 1}, {"dttm": "2020-01-01T00:00:00Z"}])
def test_only_administrators_write_for_others_or_into_the_past(shop: SmallCore, extra: dict[str, Any]) -> None:
    with pytest.raises(UserActivityAccessError) as rejection:
        shop.reader().logs.create({"action": "view", **extra})
    assert rejection.value.error_type is ErrorType.USER_ACTIVITY_SECURITY_ACCESS_ERROR
    assert shop.core.logs.create({"action": "view", **extra}).action == "view"


def test_nobody_records_a_view_of_what_they_may_not_see(shop: SmallCore) -> None:
    made = chart(shop.core)
    board = dashboard(shop, owner=1)
    stranger = shop.reader()
    for slice_id in (made, made + 50, 2**40):
        with pytest.raises(ChartAccessError):
            stranger.logs.create({"action": "chart.view", "slice_id": slice_id})
    for dashboard_id in (board, board + 50):
        with pytest.raises(DashboardAccessError):
            stranger.logs.create({"action": "dashboard.view", "dashboard_id": dashboard_id})


def test_recording_a_view_leaves_what_was_read_of_the_store_fresh(shop: SmallCore) -> None:
    store = shop.core._runtime.content.store
    before = store.revision()
    shop.core.logs.create({"action": "view"})
    assert store.revision() == before
    chart(shop.core)
    assert store.revision() > before


# ----------------------------------------------------------------------------------------------------------- reading
def test_people_read_their_own_entries_and_administrators_all(shop: SmallCore) -> None:
    reader, other = shop.reader(), shop.reader(username="other")
    mine = reader.logs.create({"action": "a.view"})
    other.logs.create({"action": "b.view"})
    assert [entry.action for entry in reader.logs.list()] == [mine.action]
    assert reader.logs.list(filters=[{"col": "user_id", "op": "eq", "val": 3}]).count == 0
    assert {"a.view", "b.view"} <= {entry.action for entry in shop.core.logs.list(page_size=100)}


def test_a_table_that_shows_people_nothing_of_their_own_holds_for_lists_too(tmp_path: Path) -> None:
    policy = Policy({**RULES, Permission.READ_ACTIVITY: frozenset({Relationship.ADMINISTRATOR})})
    with small_core(tmp_path, policy=policy) as made:
        reader = made.reader()
        reader.logs.create({"action": "a.view"})
        assert reader.logs.list().count == 0
        assert reader.logs.distinct("action").count == 0
        assert [one.text for one in reader.logs.related("user").result] == ["Reader"]
        with pytest.raises(UserActivityAccessError):
            reader.logs.recent_activity()
        assert "a.view" in {entry.action for entry in made.core.logs.list()}


def test_an_entry_of_somebody_else_is_refused(shop: SmallCore) -> None:
    shop.reader().logs.create({"action": "a.view"})
    log_id = shop.core.logs.list().count  # ids count from 1 in an empty store
    assert shop.core.as_user("reader").logs.get(log_id).action == "a.view"
    with pytest.raises(UserActivityAccessError) as rejection:
        shop.reader(username="other").logs.get(log_id)
    assert rejection.value.status == 403


def test_a_list_is_newest_first_and_pages_do_not_overlap(shop: SmallCore, clock: FixedClock) -> None:
    reader = shop.reader()
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        reader.logs.create({"action": f"view {number}"})
    pages = [[entry.action for entry in reader.logs.list(page=page, page_size=2)] for page in range(3)]
    assert pages == [["view 4", "view 3"], ["view 2", "view 1"], ["view 0"]]
    assert reader.logs.list(page_size=2).count == 5
    only_action = reader.logs.list(page_size=1, columns=["action"]).result[0]
    assert only_action.to_payload() == {"action": "view 4"}


# --------------------------------------------------------------------------------------------------- recent activity
@pytest.mark.each_store
def test_recent_activity_names_each_item_once_newest_first(shop: SmallCore, clock: FixedClock) -> None:
    core = shop.core
    first, second = chart(core, "One"), chart(core, "Two")
    board = dashboard(shop, owner=1)
    for item in ({"slice_id": first}, {"slice_id": second}, {"slice_id": first}, {"dashboard_id": board}):
        clock.advance(timedelta(minutes=1))
        core.logs.create({"action": "item.view", **item})
    clock.advance(timedelta(hours=3))
    found = core.logs.recent_activity(actions=["item.view"]).to_payload()["result"]
    assert [(one["item_type"], one["item_title"], one["item_url"]) for one in found] == [
        ("dashboard", "Board", f"/dashboard/{board}"),
        ("slice", "One", f"/chart/{first}"),
        ("slice", "Two", f"/chart/{second}"),
    ]
    assert found[0]["time"] == (NOW + timedelta(minutes=4)).timestamp() * 1000
    assert found[0]["time_delta_humanized"] == "3 hours ago"
    assert len(core.logs.recent_activity(actions=["item.view"], distinct=False).result) == 4
    pages = [core.logs.recent_activity(actions=["item.view"], page=n, page_size=2).result for n in range(3)]
    assert [[one.item_title for one in page] for page in pages] == [["Board", "One"], ["Two"], []]


def test_recent_activity_shows_only_what_may_still_be_seen(shop: SmallCore) -> None:
    made, remaining = chart(shop.core, "Gone"), chart(shop.core, "Kept")
    reader = shop.reader(("dataset", 1))
    for slice_id in (made, remaining):
        reader.logs.create({"action": "chart.view", "slice_id": slice_id})
    shop.core.charts.delete(made)
    assert [one.item_title for one in reader.logs.recent_activity().result] == ["Kept"]
    shop.core.roles.revoke("role of reader", on=("dataset", 1))
    assert reader.logs.recent_activity().result == ()
    assert [one.item_title for one in shop.core.logs.recent_activity(user=2).result] == ["Kept"]


@pytest.mark.slow
def test_recent_activity_is_of_the_last_year(shop: SmallCore, clock: FixedClock) -> None:
    made = chart(shop.core)
    clock.advance(timedelta(days=366))
    assert shop.core.logs.recent_activity().result == ()
    shop.core.logs.create({"action": "chart.view", "slice_id": made})
    assert [one.action for one in shop.core.logs.recent_activity().result] == ["chart.view"]


@pytest.mark.slow
def test_the_work_for_recent_activity_does_not_grow_with_what_was_done(shop: SmallCore) -> None:
    made = chart(shop.core)

    def statements(**requested: Any) -> int:
        with statements_of(shop.core) as seen:
            shop.core.logs.recent_activity(**requested)
        return len(seen)

    def log(number: int, **fields: Any) -> None:
        with shop.core._runtime.content.store.unit_of_work() as unit:
            for _ in range(number):
                unit.logs.append(LogEntry(user_id=1, dttm=NOW, **fields), actor_id=1)

    few = [statements(distinct=distinct) for distinct in (True, False)]
    log(1200, action="chart.view", slice_id=made)
    log(1200, action="chart.view", slice_id=made + 50)
    log(1200, action="something")
    assert [statements(distinct=distinct) for distinct in (True, False)] == few
    assert len(shop.core.logs.recent_activity().result) == 2
    assert len(shop.core.logs.recent_activity(distinct=False, page=1, page_size=1000).result) == 201


def test_an_entry_with_a_dashboard_and_a_chart_is_about_the_dashboard(shop: SmallCore) -> None:
    made, board = chart(shop.core), dashboard(shop, owner=1)
    for slice_id in (made, None, made + 9):
        with shop.core._runtime.content.store.unit_of_work() as unit:
            entry = LogEntry(action="view", user_id=1, dttm=NOW, slice_id=slice_id, dashboard_id=board)
            unit.logs.append(entry, actor_id=1)
    found = shop.core.logs.recent_activity(actions=["view"]).result
    assert [(one.item_type, one.item_title) for one in found] == [("dashboard", "Board")]
    assert len(shop.core.logs.recent_activity(actions=["view"], distinct=False).result) == 3


def test_the_activity_of_others_is_for_administrators(shop: SmallCore) -> None:
    reader = shop.reader()
    with pytest.raises(UserActivityAccessError):
        reader.logs.recent_activity(user=1)
    assert reader.logs.recent_activity(user=2).result == ()


# ----------------------------------------------------------------------------------------------------------- pruning
def test_pruning_removes_old_entries_only_and_is_logged(shop: SmallCore, clock: FixedClock) -> None:
    old = len(actions(shop.core))
    clock.advance(timedelta(days=31))
    shop.core.logs.create({"action": "chart.view"})
    assert shop.core.logs.prune(older_than_days=30) == old
    assert actions(shop.core) == ["chart.view", "log.prune"]
    assert shop.core.logs.prune(older_than_days=30) == 0


def test_pruning_keeps_what_is_exactly_so_old(shop: SmallCore, clock: FixedClock) -> None:
    old = len(actions(shop.core))
    clock.advance(timedelta(days=30))
    assert shop.core.logs.prune(older_than_days=30) == 0
    clock.advance(timedelta(microseconds=1))
    assert shop.core.logs.prune(older_than_days=30) == old


@pytest.mark.parametrize("distinct", [True, False])
def test_recent_activity_is_shown_as_far_back_as_its_limit(shop: SmallCore, distinct: bool) -> None:
    recent = shop.core.logs.recent_activity
    assert recent(page=99, page_size=1000, distinct=distinct).result == ()
    with pytest.raises(PayloadSchemaError, match="within 100000 entries"):
        recent(page=100, page_size=1000, distinct=distinct)


def test_pruning_is_for_administrators_and_never_takes_everything(shop: SmallCore) -> None:
    with pytest.raises(UserActivityAccessError):
        shop.reader().logs.prune(older_than_days=30)
    for days in (0, -1, 10**9, True, "30"):
        with pytest.raises(PayloadSchemaError, match="older_than_days"):
            shop.core.logs.prune(older_than_days=days)  # type: ignore[arg-type]
