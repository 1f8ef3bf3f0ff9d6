"""Schedules of alerts and reports: who may have them, what they must be, and what is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.reports import NOON, ReportWorld, chat, filtered_dashboard, form, mail, report_world

from analytics_core.errors import (
    AlreadyExistsError,
    ChartAccessError,
    DatabaseAccessError,
    InUseError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
    ReportExistsError,
    StaleVersionError,
)
from analytics_core.ports import DeliveryState
from analytics_core.testing import InlineJobRunner

HOOK = "https://hooks.example.com/T0/B0/secret"
MASKED = "https://hooks.example.com/XXXXXXXXXX"
ALERT = {"database": 1, "sql": "SELECT 1 AS n", "validator_type": "Not Null"}
REPORT = {"name": "a report", "type": "Report", "crontab": "0 9 * * *", "report_format": "TEXT", "chart": 1}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ReportWorld]:
    """Give a core with one chart to be sent."""
    with report_world(tmp_path) as made:
        yield made


def problems(world: ReportWorld, **changes: Any) -> dict[str, str]:
    """Return what is wrong with a report, by its fields."""
    with pytest.raises(PayloadSchemaError) as caught:
        world.report(**changes)
    return {problem.path: problem.message for problem in caught.value.problems}


# ------------------------------------------------------------------------------------------------------- what it is
def test_a_report_has_the_defaults_of_the_contract(world: ReportWorld) -> None:
    made = world.admin.reports.create(
        {"name": "r", "type": "Report", "crontab": "0 9 * * 1-5", "chart": 1, "recipients": [mail("a@example.com")]}
    )
    found = world.admin.reports.get(made.id).to_payload()
    assert found == made.to_payload()
    defaults = {
        name: found[name]
        for name in ("timezone", "active", "creation_method", "grace_period", "log_retention", "working_timeout")
    }
    assert defaults == {
        "timezone": "UTC",
        "active": True,
        "creation_method": "alerts_reports",
        "grace_period": 14_400,
        "log_retention": 90,
        "working_timeout": 3_600,
    }
    assert found["report_format"] == "PNG"
    assert found["chart"] == {"id": 1, "slice_name": "By region", "viz_type": "table"}
    assert (found["last_state"], found["last_eval_dttm"], found["dashboard"]) == (None, None, None)


def test_a_list_tells_the_crontab_in_words_and_how_the_last_run_ended(world: ReportWorld) -> None:
    world.report(name="hourly")
    world.report(name="daily", crontab="@daily", active=False)
    world.pass_time()
    first, second = world.admin.reports.list(order_by="id")
    assert (first.crontab_humanized, first.last_state) == ("Every hour", "Success")
    assert (second.crontab_humanized, second.last_state) == ("At 00:00", None)
    assert [item.name for item in world.admin.reports.list([{"col": "active", "op": "eq", "val": False}])] == ["daily"]
    assert [item.name for item in world.admin.reports.list([{"col": "chart_id", "op": "eq", "val": 1}])].count("daily")
    assert [item.text for item in world.admin.reports.distinct("type").result] == ["Report"]
    assert [item.text for item in world.admin.reports.related("chart").result] == ["By region"]


@pytest.mark.parametrize("missing", ["name", "type", "crontab"])
def test_name_type_and_crontab_are_required(world: ReportWorld, missing: str) -> None:
    with pytest.raises(PayloadSchemaError, match=missing):
        world.admin.reports.create({name: value for name, value in REPORT.items() if name != missing})


def test_all_that_is_wrong_is_told_at_once(world: ReportWorld) -> None:
    found = problems(
        world,
        type="Alert",
        crontab="0 9 31 2 *",
        chart=99,
        custom_width=599,
        validator_type="operator",
        extra={"formt": "XLSX", "missed": "none"},
        recipients=[mail("nobody at all"), chat("")],
    )
    assert {path: message[:20] for path, message in found.items()} == {
        "crontab": "must be a crontab of",
        "chart": "there is no chart 99",
        "database": "is missing: an alert",
        "sql": "is missing: an alert",
        "validator_config_json": "needs op and thresho",
        "custom_width": "must be between 600 ",
        "extra.formt": "is no key that is re",
        "extra.missed": "must be one of skip,",
        "recipients.0.recipient_config_json": "'nobody at all' is n",
        "recipients.1.recipient_config_json": "needs a target: e-ma",
    }


@for_each(
    ("changes", "path", "says"),
    [
        ({"chart": None}, "chart", "a chart or a dashboard"),
        ({"dashboard": 1}, "chart", "one of the two alone"),
        ({"database": 1}, "database", "a report has none"),
        ({"extra": {"filters": {"a": 1}}}, "extra.filters", "for dashboards"),
        ({"extra": {"tabs": ["Sales"]}}, "extra.tabs", "for dashboards"),
        ({"extra": {"tabs": "Sales"}}, "extra.tabs", "an array of texts"),
        ({"extra": {"dashboard": {"activeTabs": ["TAB-1"]}}}, "extra.dashboard", "extra.tabs"),
        ({"extra": {"subject": "{{ title of {{ name }}"}}, "extra.subject", "double braces"),
        ({"extra": {"body": "{{ title"}}, "extra.body", "without their counterparts"),
        ({"extra": {"subject": "{{ nme }}"}}, "extra.subject", "did you mean 'name'"),
        (
            {"extra": {"run_as": "recipient"}, "recipients": [chat("#ops")]},
            "recipients.0",
            "e-mail addresses of people",
        ),
        ({"creation_method": "dashboards"}, "dashboard", "must be given"),
        ({"custom_width": 2_401}, "custom_width", "between 600 and 2400"),
        ({"crontab": "0 9 * * * *"}, "crontab", "five fields"),
        ({"crontab": "@often"}, "crontab", "@daily"),
        ({"timezone": "Mars/Olympus"}, "timezone", "IANA"),
        ({"grace_period": 0}, "grace_period", "1"),
        ({"log_retention": 0}, "log_retention", "1"),
        ({"working_timeout": 0}, "working_timeout", "1"),
        ({"type": "Alert", "validator_type": "Between"}, "validator_type", "'Not Null' or 'Operator'"),
        (
            {"recipients": [{"type": "Chat", "recipient_config_json": {"target": "#a", "ccTarget": "b@c.de"}}]},
            "recip",
            "e-mail alone",
        ),
    ],
)
def test_what_a_schedule_may_not_be(world: ReportWorld, changes: dict[str, Any], path: str, says: str) -> None:
    found = problems(world, **changes)
    assert any(place.startswith(path) and says in message for place, message in found.items()), found


def test_a_name_is_taken_once_per_type(world: ReportWorld) -> None:
    world.report(name="same")
    world.alert(name="same")
    with pytest.raises(AlreadyExistsError, match="same"):
        world.report(name="same")


def test_a_report_beside_a_chart_goes_to_its_maker_once(world: ReportWorld) -> None:
    made = world.report(creation_method="charts", recipients=[mail("somebody@example.com")])
    assert '"ada@example.com"' in (made.recipients[0].recipient_config_json or "")
    with pytest.raises(ReportExistsError, match="orders") as caught:
        world.report(name="another", creation_method="charts")
    assert caught.value.status == 409
    user = world.person("no_mail", world.admin.databases.get(1))
    with pytest.raises(PayloadSchemaError, match="no e-mail address"):
        world.report(user, name="third", creation_method="charts")


def test_runs_may_have_to_lie_apart(tmp_path: Path) -> None:
    with report_world(tmp_path, settings={"report_min_interval_s": 3_600, "alert_min_interval_s": 7_200}) as world:
        assert "runs every 1800 seconds" in problems(world, crontab="*/30 * * * *")["crontab"]
        world.report(crontab="0 * * * *")
        with pytest.raises(PayloadSchemaError, match="runs every 3600 seconds"):
            world.alert()


# -------------------------------------------------------------------------------------------------------- who may
def test_owners_and_administrators_alone_see_a_schedule(world: ReportWorld) -> None:
    database = world.admin.databases.get(1)
    anna, bob = world.person("anna", database), world.person("bob", database)
    made = world.report(anna)
    for core in (anna, world.admin):
        assert core.reports.get(made.id).name == "orders"
        assert [item.id for item in core.reports.list()] == [made.id]
    for act in (
        lambda: bob.reports.get(made.id),
        lambda: bob.reports.update(made.id, {"name": "mine"}),
        lambda: bob.reports.delete(made.id),
        lambda: bob.reports.executions(made.id),
        lambda: bob.reports.execution(made.id, 1),
        lambda: bob.reports.next_runs(made.id),
        lambda: bob.reports.run_now(made.id),
        lambda: bob.reports.dry_run(made.id),
        lambda: bob.reports.replay(made.id, 1),
    ):
        with pytest.raises(OwnershipError):
            act()
    assert len(bob.reports.list()) == 0
    assert bob.reports.distinct("name").count == 0
    with pytest.raises(NotFoundError):
        bob.reports.get(99)


def test_what_is_sent_must_be_for_its_maker(world: ReportWorld) -> None:
    stranger = world.person("stranger", email="s@example.com")
    with pytest.raises(ChartAccessError):
        world.report(stranger)
    reader = world.person("reader", world.admin.datasets.get(1))
    world.report(reader, name="readers")
    with pytest.raises(DatabaseAccessError):
        world.alert(reader)


def test_a_chart_that_is_not_for_an_owner_any_more_does_not_stop_other_changes(world: ReportWorld) -> None:
    role = world.admin.roles.create({"name": "readers"})
    world.admin.roles.grant(role, on=world.admin.datasets.get(1))
    user = world.admin.users.create({"username": "anna", "first_name": "Anna", "roles": [role.id]})
    anna = world.host.as_user(user.id)
    made = world.report(anna)
    world.admin.roles.revoke(role, on=world.admin.datasets.get(1))
    changed = anna.reports.update(made.id, {"active": False})
    assert (changed.active, changed.chart) == (False, None)


def test_an_administrator_who_owns_none_of_it_lends_nobodys_rights(world: ReportWorld) -> None:
    database = world.admin.databases.get(1)
    anna, mallory = world.person("anna", database), world.person("mallory", database)
    made = world.report(anna)
    owners = [anna._actor().id, mallory._actor().id]
    anna.reports.update(made.id, {"owners": owners})
    mallory.reports.update(made.id, {"extra": {"run_as": "mallory"}, "recipients": [mail("mallory@example.com")]})
    assert world.admin.reports.update(made.id, {"active": False}).executor_id == mallory._actor().id


def test_the_words_of_run_as_are_nobodys_name(world: ReportWorld) -> None:
    database = world.admin.databases.get(1)
    named_recipient, named_executor = world.person("recipient", database), world.person("executor", database)
    made = world.report(named_recipient, extra={"run_as": "recipient"})
    assert made.extra == {"run_as": "recipient"}
    other = world.report(name="other", owners=[1, named_executor._actor().id])
    assert named_executor.reports.update(other.id, {"extra": {"run_as": "executor"}}).executor_id == 1


# -------------------------------------------------------------------------------------------------------- changes
def test_null_clears_what_may_be_empty(world: ReportWorld) -> None:
    made = world.report(description="d", context_markdown="c", custom_width=700, selected_tabs=[1])
    changed = world.admin.reports.update(made.id, {"description": None, "custom_width": None})
    assert (changed.description, changed.context_markdown, changed.custom_width) == (None, "c", None)


def test_numbers_that_name_no_tab_are_refused(world: ReportWorld) -> None:
    dashboard = world.admin.dashboards.create({"dashboard_title": "D"})
    for numbers in ([0], [-1]):
        with pytest.raises(PayloadSchemaError, match="selected_tabs: must be numbers of tabs"):
            world.report(chart=None, dashboard=dashboard.id, selected_tabs=numbers)


def test_what_somebody_else_changed_is_not_overwritten_and_runs_do_not_count(world: ReportWorld) -> None:
    made = world.report()
    world.pass_time()
    changed = world.admin.reports.update(made.id, {"description": "a"}, unchanged_since=made.changed_on)
    with pytest.raises(StaleVersionError):
        world.admin.reports.update(made.id, {"description": "b"}, unchanged_since=made.changed_on)
    assert world.admin.reports.update(made.id, {"description": "c"}, unchanged_since=changed.changed_on)


def test_the_address_of_a_web_hook_is_never_told_again(world: ReportWorld, tmp_path: Path) -> None:
    made = world.report(recipients=[chat(HOOK), mail("a@example.com")])
    assert MASKED in (made.recipients[0].recipient_config_json or "")
    again = [chat(MASKED), mail("b@example.com")]
    changed = world.admin.reports.update(made.id, {"recipients": again})
    assert "secret" not in f"{changed!r}{world.admin.reports.list()!r}{made!r}"
    world.pass_time()
    assert {entry.recipient.to[0] for entry in world.outbox.sent} == {HOOK, "b@example.com"}
    assert "secret" not in repr(world.outbox.sent)
    logged = [entry.to_payload()["json"] for entry in world.admin.logs.list(page_size=100)]
    assert not any("secret" in (text or "") for text in logged)


def test_an_alert_becomes_a_report_and_loses_its_query(world: ReportWorld) -> None:
    made = world.alert()
    changed = world.admin.reports.update(made.id, {"type": "Report"})
    assert (changed.type, changed.database, changed.sql, changed.validator_type) == ("Report", None, None, None)
    with pytest.raises(PayloadSchemaError, match="database: is for alerts"):
        world.admin.reports.update(made.id, {"database": 1})
    world.pass_time()
    assert world.states(made) == ["Success"]


@pytest.mark.parametrize("sql", ["SELEC 1", "DELETE FROM orders", "SELECT 1; SELECT 2", "SELECT (1"])
def test_an_alert_whose_query_can_never_be_asked_is_refused(world: ReportWorld, sql: str) -> None:
    made = world.alert()
    with pytest.raises(PayloadSchemaError, match=r"sql: the query: ") as error:
        world.alert(name="second", sql=sql, crontab="0 0 30 2 *")
    assert "crontab: " in str(error.value)
    with pytest.raises(PayloadSchemaError, match=r"sql: the query: "):
        world.admin.reports.update(made.id, {"sql": sql})
    assert world.alert(name="template", sql=sql.replace("1", "{{ 1 }}").replace("FROM", "{# #}FROM")).sql


def test_recipients_can_be_written_back_as_they_were_read(world: ReportWorld) -> None:
    made = world.report(recipients=[chat(HOOK), mail("a@example.com", ccTarget="b@example.com")])
    read = world.admin.reports.get(made.id)
    for again in (read.to_payload()["recipients"], read.to_payload()["recipients"][::-1]):
        changed = world.admin.reports.update(made.id, {"recipients": again})
        assert len(changed.recipients) == 2
    world.pass_time()
    sent = {(entry.recipient.to, entry.recipient.cc) for entry in world.outbox.sent}
    assert sent == {((HOOK,), ()), (("a@example.com",), ("b@example.com",))}


@pytest.mark.parametrize("text", ["", "bob@example.com", "[1]", "[" * 100_000])
def test_a_configuration_that_is_another_text_is_refused(world: ReportWorld, text: str) -> None:
    recipient = {"type": "Email", "recipient_config_json": text}
    with pytest.raises(PayloadSchemaError, match=r"recipient_config_json: must be an object, not text"):
        world.report(recipients=[recipient])


def test_a_schedule_that_goes_to_nobody_is_refused(world: ReportWorld) -> None:
    made = world.report()
    with pytest.raises(PayloadSchemaError, match="recipients: must name somebody"):
        world.report(name="second", recipients=[])
    with pytest.raises(PayloadSchemaError, match="recipients: must name somebody"):
        world.admin.reports.update(made.id, {"recipients": []})
    assert world.report(name="mine", recipients=[], creation_method="charts").recipients


@pytest.mark.parametrize("noun", ["chart", "dashboard", "database"])
def test_what_a_schedule_needs_is_not_deleted(world: ReportWorld, noun: str) -> None:
    dashboard = world.admin.dashboards.create({"dashboard_title": "D"})
    made = {
        "chart": world.report,
        "dashboard": lambda: world.report(chart=None, dashboard=dashboard.id),
        "database": world.alert,
    }[noun]()
    namespace = getattr(world.admin, f"{noun}s")
    with pytest.raises(InUseError, match=re.escape(f"{made.type} {made.id} {made.name!r}")):
        namespace.delete(1)
    world.admin.reports.delete(made.id)
    if noun != "database":
        namespace.delete(1)


def test_the_schedules_of_others_are_counted_and_not_named(world: ReportWorld) -> None:
    database = world.admin.databases.get(1)
    anna, bob = world.person("anna", database), world.person("bob", database)
    chart = anna.charts.create(
        {"slice_name": "Anna's", "datasource_id": 1, "datasource_type": "table", "params": form(1)}
    )
    world.report(bob, name="hidden", chart=chart.id)
    with pytest.raises(InUseError, match="1 of somebody else's alerts and reports") as caught:
        anna.charts.delete(chart.id)
    assert "hidden" not in caught.value.message


def test_a_stored_key_that_nothing_reads_is_in_the_way_of_no_other_change(world: ReportWorld) -> None:
    made = world.report()
    with world.host._runtime.content.store.unit_of_work() as unit:
        row = unit.report_schedules.get(made.id)
        unit.report_schedules.update(replace(row, extra='{"colour": "red"}'), actor_id=None)
    assert not world.admin.reports.update(made.id, {"active": False}).active
    with pytest.raises(PayloadSchemaError, match=r"extra\.colour: is no key that is read"):
        world.admin.reports.update(made.id, {"extra": {"colour": "red", "missed": "all"}})


def test_a_user_whose_rows_a_schedule_sends_is_not_deleted(world: ReportWorld) -> None:
    anna = world.person("anna", world.admin.databases.get(1))
    made = world.report(anna)
    user_id = made.owners[0].id
    world.admin.reports.update(made.id, {"owners": [user_id, 1]})
    with pytest.raises(InUseError, match="run those in their place"):
        world.admin.users.delete(user_id)
    world.admin.reports.update(made.id, {"extra": {"run_as": 1}})
    world.admin.users.delete(user_id)
    assert [owner.id for owner in world.admin.reports.get(made.id).owners] == [1]


# ----------------------------------------------------------------------------------------------------------- times
def test_next_runs_are_those_of_the_zone(world: ReportWorld) -> None:
    made = world.report(crontab="30 2 * * *", timezone="Europe/Berlin")
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)
    days = [
        (28, 1, 30),  # that of the 28th is over
        (29, 1, 0),  # 02:30 does not exist on the day of the change: the next minute that does is 03:00, 01:00 UTC
        (30, 0, 30),
    ][1:]
    assert world.admin.reports.next_runs(made.id, 2, after=before) == tuple(
        datetime(2026, 3, day, hour, minute, tzinfo=UTC) for day, hour, minute in days
    )
    assert world.admin.reports.next_runs(made.id, 1, after=datetime(2026, 7, 1)) == (
        datetime(2026, 7, 1, 0, 30, tzinfo=UTC),
    )
    for n in (0, 1_001, True, "5"):
        with pytest.raises(PayloadSchemaError, match="from 1 to 1000"):
            world.admin.reports.next_runs(made.id, n)


def test_a_schedule_that_is_put_to_rest_owes_nothing_when_it_is_woken(world: ReportWorld) -> None:
    made = world.report()
    world.admin.reports.update(made.id, {"active": False})
    assert world.pass_time(timedelta(hours=5)).due == 0
    world.admin.reports.update(made.id, {"active": True})
    assert world.host.scheduler.tick().due == 0
    assert world.pass_time().claimed == 1
    assert [run.scheduled_dttm for run in world.runs(made)] == [NOON + timedelta(hours=6)]


def test_another_crontab_counts_from_its_change_on(world: ReportWorld) -> None:
    made = world.report(crontab="0 0 1 1 *")
    world.admin.reports.update(made.id, {"crontab": "*/10 * * * *"})
    assert world.pass_time(timedelta(minutes=10)).claimed == 1


# ------------------------------------------------------------------------------------------------ names of dashboards
def test_filters_and_tabs_that_a_dashboard_does_not_have_are_told_together_when_saved(world: ReportWorld) -> None:
    shop = filtered_dashboard(world.admin)
    wrong = {"filters": {"Regoin": ["EU"], "Region": {"no": "mask"}}, "tabs": ["Region", "Regions"]}
    found = problems(world, chart=None, dashboard=shop, extra=wrong, custom_width=10)
    assert set(found) == {"custom_width", "extra.filters.Regoin", "extra.filters.Region", "extra.tabs"}
    assert "did you mean 'Region'?" in found["extra.filters.Regoin"]
    assert "extraFormData" in found["extra.filters.Region"]
    assert "did you mean 'Regions'?" in found["extra.tabs"]


def test_filters_are_looked_at_when_they_or_the_dashboard_are_new(world: ReportWorld) -> None:
    shop, bare = filtered_dashboard(world.admin), world.admin.dashboards.create({"dashboard_title": "bare"}).id
    extra = {"filters": {"NATIVE_FILTER-r": ["EU"]}, "tabs": ["TAB-1"]}
    made = world.report(chart=None, dashboard=shop, extra=extra)
    for change in ({"extra": {"filters": {"Other": 1}}}, {"dashboard": bare}):
        with pytest.raises(PayloadSchemaError, match=r"extra\.filters"):
            world.admin.reports.update(made.id, change)
    world.admin.dashboards.update(shop, {"json_metadata": "{}"})
    assert world.admin.reports.update(made.id, {"name": "other"}).name == "other"


# ------------------------------------------------------------------------------------------------------------- caps
def test_people_own_so_many_active_schedules_and_administrators_more(tmp_path: Path) -> None:
    settings = {"max_active_reports_per_owner": 2}
    with report_world(tmp_path, jobs=InlineJobRunner(), settings=settings) as world:
        anna = world.person("anna", world.admin.databases.get(1))
        first, second = (world.report(anna, name=name) for name in ("first", "second"))
        said = r"active: you own 2 active alerts and reports, and may own 2 \(Settings\.max_active_reports_per_owner\)"
        with pytest.raises(PayloadSchemaError, match=said):
            world.report(anna, name="third")
        third = world.report(anna, name="third", active=False)
        with pytest.raises(PayloadSchemaError, match=said):
            anna.reports.update(third.id, {"active": True})
        assert anna.reports.update(second.id, {"name": "renamed"}).active  # it counts already
        anna.reports.update(first.id, {"active": False})
        assert anna.reports.update(third.id, {"active": True}).active
        for number in range(3):
            world.report(name=f"of an administrator {number}", owners=[anna._actor().id])


# ------------------------------------------------------------------------------------------------------------ lists
def test_lists_filter_and_sort_by_how_the_last_run_ended(world: ReportWorld) -> None:
    good, bad, new = (world.report(name=name, crontab=f"{minute} * * * *") for minute, name in enumerate("abc"))
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    world.admin.reports.run_now(bad.id)
    world.clock.advance(timedelta(minutes=1))
    world.admin.reports.run_now(good.id)

    def found(*filters: dict[str, Any], **more: Any) -> list[int]:
        return [one.id for one in world.admin.reports.list(filters, **more)]

    state = {"col": "last_state", "op": "eq"}
    assert found({**state, "val": "Error"}) == [bad.id]
    assert found({**state, "val": None}) == [new.id]
    assert found({"col": "last_state", "op": "in", "val": ["Error", "Success"]}, order_by="name") == [good.id, bad.id]
    assert found({"col": "last_eval_dttm", "op": "is_null", "val": False}, order_by="-last_eval_dttm") == [
        good.id,
        bad.id,
    ]
    anna = world.person("anna", world.admin.databases.get(1))
    assert anna.reports.list([{**state, "val": "Error"}]).count == 0


# ----------------------------------------------------------------------------------------------------------- checks
def broken(world: ReportWorld) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return what `check` says is broken of alerts and reports."""
    found = world.admin.check().broken
    return {(one.kind, one.name): one.problems for one in found if one.kind in {"alert", "report"}}


def test_a_check_tells_schedules_whose_executor_is_not_active(world: ReportWorld) -> None:
    anna = world.person("anna", world.admin.databases.get(1))
    user_id = anna._actor().id
    made = world.report(anna)
    world.report(anna, name="at rest", active=False)
    assert broken(world) == {}
    world.admin.users.update(user_id, {"active": False})
    stopped, remedy = f"report schedule {made.id} has nobody to run as", "an owner or an administrator who lends it"
    assert broken(world)["report", "orders"][0].startswith(
        f"{stopped}: user {user_id} is not active any more; {remedy}"
    )
    world.admin.reports.update(made.id, {"owners": [world.admin._actor().id]})
    assert broken(world)["report", "orders"][0].startswith(f"{stopped}: whose rows it showed is no owner any more")
    world.admin.reports.update(made.id, {"extra": {"run_as": "ada"}})
    assert broken(world) == {}


@pytest.mark.slow
def test_a_check_tells_what_schedules_lack_that_they_had_when_they_were_saved(world: ReportWorld) -> None:
    database, dataset = world.admin.databases.get(1), world.admin.datasets.get(1)
    anna, bert = world.person("anna", dataset), world.person("bert", database, dataset)
    world.report(anna)
    world.alert(bert)
    shop = filtered_dashboard(world.admin)
    world.report(name="filtered", chart=None, dashboard=shop, extra={"filters": {"Region": ["EU"]}})
    assert broken(world) == {}
    world.admin.roles.revoke(anna._actor().roles[0].id, on=dataset)
    world.admin.roles.revoke(bert._actor().roles[0].id, on=database)
    world.admin.dashboards.update(shop, {"json_metadata": "{}"})
    found = broken(world)
    assert found["report", "orders"][0].startswith(f"as user {anna._actor().id}, whom it runs as: you have no access")
    assert found["alert", "many orders"][0].startswith(f"as user {bert._actor().id}, whom it runs as: you have no")
    assert found["report", "filtered"][0].startswith("extra.filters")
    assert len(found) == 3
    assert all(one.kind not in {"alert", "report"} for one in anna.check().records if one.name != "orders")
