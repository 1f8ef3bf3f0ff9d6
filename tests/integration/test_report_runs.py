"""Runs of alerts and reports: once per due time, for the right people, with the right rows."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from python_calamine import CalamineWorkbook
from tests.support.reports import (
    HOUR,
    KEY,
    NOON,
    ReportWorld,
    chat,
    filtered_dashboard,
    form,
    mail,
    report_world,
    until,
)

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._reports.delivery_rows import DIED_MIDWAY
from analytics_core._reports.dispatcher import MOST_ATTEMPTS
from analytics_core._reports.options import FurtherFormat, MissedRuns
from analytics_core._reports.run_log import DEACTIVATED, EMPTY, TOOK_TOO_LONG
from analytics_core._reports.runner import ReportRuns
from analytics_core._reports.scheduler import Scheduler
from analytics_core.errors import (
    AlertError,
    ErrorType,
    NotificationError,
    PayloadSchemaError,
    ReportError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState
from analytics_core.ports import Delivery, DeliveryState, JobRunner, Message, Recipient
from analytics_core.testing import InlineJobRunner, Outbox

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ReportWorld]:
    """Give a core whose jobs run at once."""
    with report_world(tmp_path, jobs=InlineJobRunner()) as made:
        yield made


# ------------------------------------------------------------------------------------------------------------- once
def test_a_due_time_is_sent_once_whoever_looks_and_however_often(world: ReportWorld) -> None:
    made = world.report()
    assert world.host.scheduler.tick().due == 0
    first = world.pass_time()
    assert (first.due, first.claimed, first.missed, first.finished, first.taken_up) == (1, 1, 0, 1, 0)
    for _ in range(3):
        assert world.host.scheduler.tick() == replace(first, due=0, claimed=0, finished=0)
    assert len(world.outbox.sent) == 1
    (run,) = world.runs(made)
    assert (run.scheduled_dttm, run.state, run.error_message) == (NOON + HOUR, "Success", None)
    assert run.uuid


@pytest.mark.slow
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_clock_that_jumps_an_hour_sends_nothing_twice(world: ReportWorld, step: timedelta) -> None:
    made = world.report()
    world.pass_time()
    world.clock.advance(step)
    world.host.scheduler.tick()
    world.clock.advance(-step)
    for _ in range(4):
        world.host.scheduler.tick()
        world.clock.advance(timedelta(minutes=30))
    world.host.scheduler.tick()
    due = [run.scheduled_dttm for run in world.runs(made)]
    assert len(due) == len(set(due))
    assert [entry.message.key for entry in world.outbox.sent] == [run.uuid for run in world.runs(made)]


def test_a_crontab_that_is_changed_back_and_forth_sends_nothing_twice(world: ReportWorld) -> None:
    made = world.report()
    world.pass_time()
    world.clock.advance(-timedelta(minutes=10))
    world.admin.reports.update(made.id, {"crontab": "*/30 * * * *"})
    world.clock.advance(timedelta(minutes=10))
    assert world.host.scheduler.tick().claimed == 0
    assert len(world.runs(made)) == 1


def test_a_look_may_be_made_for_a_moment_that_is_named(world: ReportWorld) -> None:
    world.report()
    assert world.host.scheduler.tick(NOON + HOUR).claimed == 1
    assert world.host.scheduler.tick(datetime(2026, 5, 1, 13, 59)).claimed == 0
    with pytest.raises(PayloadSchemaError, match="must be a datetime"):
        world.host.scheduler.tick("now")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("missed", "sent", "states"),
    [
        (MissedRuns.LATEST, 1, ["Missed", "Missed", "Success"]),
        (MissedRuns.ALL, 3, ["Success"] * 3),
        (MissedRuns.SKIP, 0, ["Missed"] * 3),
    ],
)
def test_what_was_missed_is_made_up_for_as_the_schedule_says(
    world: ReportWorld, missed: MissedRuns, sent: int, states: list[str]
) -> None:
    made = world.report(extra={"missed": missed.value})
    tick = world.pass_time(3 * HOUR + timedelta(minutes=20))
    assert (tick.claimed, tick.missed) == (sent, 3 - sent)
    assert world.states(made) == states
    assert len(world.outbox.sent) == sent
    reasons = {run.error_message for run in world.runs(made) if run.state == "Missed"}
    assert all("missed" in (reason or "") for reason in reasons)


def test_a_run_that_is_a_little_late_is_on_time(world: ReportWorld) -> None:
    made = world.report(extra={"missed": "skip"})
    world.pass_time(HOUR + timedelta(minutes=4))
    assert world.states(made) == ["Success"]


def test_a_change_of_other_fields_leaves_a_run_due_and_another_crontab_does_not(world: ReportWorld) -> None:
    renamed, moved = world.report(name="one"), world.report(name="other")
    world.clock.advance(HOUR)
    world.admin.reports.update(renamed.id, {"name": "new"})
    world.admin.reports.update(moved.id, {"crontab": "30 * * * *"})
    assert world.host.scheduler.tick().due == 1
    assert (world.states(renamed), world.states(moved)) == (["Success"], [])


@pytest.mark.slow
def test_an_outage_of_weeks_leaves_no_due_time_without_a_row(world: ReportWorld) -> None:
    made = world.report(crontab="*/15 * * * *", log_retention=100)
    tick = world.pass_time(30 * DAY)
    assert (tick.claimed, tick.missed) == (1, 30 * 96 - 1)
    with world.host._runtime.content.store.unit_of_work() as unit:
        progress = unit.report_progress.find(schedule_id=made.id)
    assert progress is not None
    assert progress.next_due_on == NOON + 30 * DAY + timedelta(minutes=15)
    assert world.admin.reports.executions(made.id).result[0].state == "Success"
    assert world.admin.reports.executions(made.id).count == 30 * 96


def test_each_run_counts_its_due_time_as_now(world: ReportWorld) -> None:
    payload = form(1, adhoc_filters=[], time_range="Last week", granularity_sqla="day")
    world.admin.charts.update(1, {"params": payload})
    world.report(extra={"subject": "{{ scheduled }} of {{ name }}"}, timezone="Asia/Tokyo")
    world.pass_time(HOUR + timedelta(minutes=3))
    assert world.last_message().subject == "2026-05-01 22:00 JST of orders"


# ----------------------------------------------------------------------------------------------------------- content
def test_a_text_shows_the_rows_and_what_cut_them(world: ReportWorld) -> None:
    world.admin.charts.update(1, {"params": form(1, row_limit=1)})
    world.report(context_markdown="*Look* <script>alert(1)</script>", extra={"body": "Due {{ scheduled }}."})
    world.pass_time()
    message = world.last_message()
    assert message.subject == "[Report] orders: By region"
    assert "21" in message.text
    assert message.text.endswith("1 row; cut at 1 row by row_limit\n")
    assert "<p>1 row; cut at 1 row by row_limit</p>" in message.html
    assert "Due 2026-05-01 13:00 UTC." in message.text
    assert "<em>Look</em>" in message.html
    assert "<script" not in message.html


@pytest.mark.slow
def test_images_of_words_are_their_alternative_texts_so_that_no_reader_is_counted(world: ReportWorld) -> None:
    image = "![a map](http://x.example/b.png) <img src='http://x.example/c.png'>"
    world.report(context_markdown=f"one {image}", extra={"body": f"two {image}"})
    world.pass_time()
    html = world.last_message().html
    assert ("one a map" in html, "two a map" in html, "<img" in html) == (True, True, False)


def test_a_text_writes_numbers_as_the_chart_and_the_metrics_of_its_dataset_do(world: ReportWorld) -> None:
    metric = {"metric_name": "revenue", "expression": "SUM(amount) * 1000", "d3format": "$,.2f"}
    world.admin.datasets.update(1, {"metrics": [metric]})
    config = {"total": {"d3NumberFormat": ",.1f", "currencyFormat": {"symbol": "EUR", "symbolPosition": "suffix"}}}
    form_data = json.loads(form(1, column_config=config))
    text = json.dumps({**form_data, "metrics": [*form_data["metrics"], "revenue"]})
    world.admin.charts.update(1, {"params": text})
    made = world.report()
    world.pass_time()
    message = world.last_message()
    assert "EU      10.5 €  $10,500.00" in message.text
    assert '<td class="n">10.5 €</td><td class="n">$10,500.00</td>' in message.html
    world.admin.reports.update(made.id, {"report_format": "CSV"})
    world.pass_time()
    (file,) = world.last_message().attachments
    assert b"EU,10.5,10500.0" in b"".join(file.chunks())


def test_a_csv_and_a_workbook_have_the_rows_that_the_chart_has(world: ReportWorld) -> None:
    answer = world.admin.charts.data(1)
    world.report(name="csv", report_format="CSV")
    world.report(name="xlsx", extra={"format": FurtherFormat.XLSX.value})
    world.pass_time()
    files = {file.name: b"".join(file.chunks()) for entry in world.outbox.sent for file in entry.message.attachments}
    assert files["By_region.csv"] == answer.to_csv()
    rows = CalamineWorkbook.from_filelike(BytesIO(files["By_region.xlsx"])).get_sheet_by_index(0).to_python()
    assert sorted(rows, key=str) == sorted([["region", "total"], ["US", 21.0], ["EU", 10.5]], key=str)


def test_rows_that_stream_are_those_of_the_answer(tmp_path: Path) -> None:
    with report_world(tmp_path, jobs=InlineJobRunner(), settings={"max_row_limit": 1_000_000}) as world:
        columns = [{"id": one.id, "column_name": one.column_name} for one in world.admin.datasets.get(1).columns]
        columns[2]["verbose_name"] = "Where, exactly"
        world.admin.datasets.update(1, {"columns": columns})
        raw = form(
            1, query_mode="raw", all_columns=["day", "region", "amount"], groupby=[], metrics=[], row_limit=200_000
        )
        world.admin.charts.update(1, {"params": raw})
        world.report(report_format="CSV")
        world.pass_time()
        (file,) = world.last_message().attachments
        assert b"".join(file.chunks()) == world.admin.charts.data(1).to_csv()
        assert not isinstance(file.content, bytes)


@pytest.mark.slow
def test_rows_that_find_no_room_on_the_disk_end_the_run_in_a_typed_error(tmp_path: Path) -> None:
    limits = {"max_row_limit": 1_000_000}
    with report_world(tmp_path, jobs=InlineJobRunner(), settings=limits) as world:
        world.run_sql(
            "WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            "INSERT INTO orders SELECT i, '2026-01-01', 'region ' || i, i FROM n;"
        )
        fields = {"all_columns": ["day", "region", "amount"], "groupby": [], "metrics": []}
        world.admin.charts.update(1, {"params": form(1, query_mode="raw", row_limit=200_000, **fields)})
        made = world.report(report_format="CSV")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, before[1]))
        try:
            world.pass_time()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        (run,) = world.runs(made)
    assert run.error_message == (
        "By region: the file of its rows cannot be written: File too large; make room for temporary files"
    )


def test_a_dashboard_is_sent_chart_by_chart_with_the_filters_of_the_schedule(world: ReportWorld) -> None:
    dashboard = filtered_dashboard(world.admin)
    world.report(chart=None, dashboard=dashboard, report_format="CSV", extra={"filters": {"Region": ["EU"]}})
    world.pass_time()
    (file,) = world.last_message().attachments
    assert b"".join(file.chunks()).decode("utf-8-sig") == "region,total\nEU,10.5\n"
    assert world.last_message().subject == "[Report] orders: Shop"


@pytest.mark.parametrize(
    "named", [{"extra": {"tabs": ["Totals"]}}, {"extra": {"tabs": ["TAB-2"]}}, {"selected_tabs": [1]}], ids=str
)
def test_the_tabs_of_a_dashboard_that_the_schedule_names_are_sent_alone(
    world: ReportWorld, named: dict[str, Any]
) -> None:
    second = {"slice_name": "All", "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
    chart = world.admin.charts.create({**second, "params": form(1, groupby=[])})
    layout = {
        "ROOT_ID": {"id": "ROOT_ID", "type": "ROOT", "children": ["TAB-1", "TAB-2"]},
        "TAB-1": {"id": "TAB-1", "type": "TAB", "children": ["CHART-1"], "meta": {"text": "Regions"}},
        "TAB-2": {"id": "TAB-2", "type": "TAB", "children": ["CHART-2"], "meta": {"text": "Totals"}},
        "CHART-1": {"id": "CHART-1", "type": "CHART", "children": [], "meta": {"chartId": 1}},
        "CHART-2": {"id": "CHART-2", "type": "CHART", "children": [], "meta": {"chartId": chart.id}},
    }
    shop = world.admin.dashboards.create({"dashboard_title": "Shop", "position_json": json.dumps(layout)})
    world.report(chart=None, dashboard=shop.id, report_format="CSV", **named)
    world.pass_time()
    assert [file.name for file in world.last_message().attachments] == ["All.csv"]


def test_a_chart_that_fails_is_an_error_and_nothing_is_sent(world: ReportWorld) -> None:
    made = world.report()
    world.run_sql("DROP TABLE orders;")
    world.pass_time()
    (run,) = world.runs(made)
    assert run.state == "Error"
    assert (run.error_message or "").startswith("By region: ")
    (notice,) = world.outbox.sent
    assert notice.message.subject == "Error occurred for Report: orders"
    assert notice.recipient.to == ("ada@example.com",)
    assert run.error_message in notice.message.text


@pytest.mark.parametrize("is_dashboard", [False, True])
def test_each_recipient_gets_their_own_rows_and_equal_rows_are_made_once(
    world: ReportWorld, *, is_dashboard: bool
) -> None:
    shop = filtered_dashboard(world.admin, published=True)
    dataset = world.admin.datasets.get(1)
    for name, region in (("anna", "EU"), ("bert", "US"), ("carl", "EU")):
        core = world.person(name, dataset, email=f"{name}@example.com")
        role = core._actor().roles[0].id
        rule = {
            "name": name,
            "filter_type": "Regular",
            "clause": f"region = '{region}'",
            "roles": [role],
            "tables": [1],
        }
        world.admin.row_level_security.create(rule)
    world.report(
        report_format="CSV",
        extra={"run_as": "recipient"},
        recipients=[mail("anna@example.com; bert@example.com"), mail("carl@example.com")],
        **({"chart": None, "dashboard": shop} if is_dashboard else {}),
    )
    world.pass_time()
    sent = {entry.recipient.to: entry.message for entry in world.outbox.sent}
    rows = {to: b"".join(message.attachments[0].chunks()).decode("utf-8-sig") for to, message in sent.items()}
    assert rows == {
        ("anna@example.com",): "region,total\nEU,10.5\n",
        ("bert@example.com",): "region,total\nUS,21.0\n",
        ("carl@example.com",): "region,total\nEU,10.5\n",
    }
    assert sent[("anna@example.com",)] is sent[("carl@example.com",)]


def test_nobody_gets_rows_by_an_address_that_is_nobodys(world: ReportWorld) -> None:
    made = world.report(extra={"run_as": "recipient"}, recipients=[mail("ada@example.com"), mail("x@example.com")])
    world.pass_time()
    assert "nobody active has the e-mail address x@example.com" in (world.runs(made)[0].error_message or "")
    assert all("Error occurred" in entry.message.subject for entry in world.outbox.sent)


def test_a_recipient_with_a_name_gets_their_rows_under_this_name(world: ReportWorld) -> None:
    world.report(extra={"run_as": "recipient"}, recipients=[mail("Ada Müller <ada@example.com>")])
    world.pass_time()
    assert [entry.recipient.to for entry in world.outbox.sent] == [("Ada Müller <ada@example.com>",)]


def test_an_error_says_whose_rows_cannot_be_asked(world: ReportWorld) -> None:
    world.person("nora", email="nora@example.com")
    made = world.report(extra={"run_as": "recipient"}, recipients=[mail("ada@example.com; nora@example.com")])
    world.pass_time()
    assert (world.runs(made)[0].error_message or "").startswith("nora@example.com: you have no access to chart 1")


# ------------------------------------------------------------------------------------------------------------ alerts
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "validator", "state", "value"),
    [
        ("SELECT COUNT(*) FROM orders", {"op": ">", "threshold": 2}, "Success", 3.0),
        ("SELECT COUNT(*) FROM orders", {"op": ">", "threshold": 3}, "Not triggered", 3.0),
        ("SELECT MAX(amount) FROM orders WHERE region = 'XX'", {"op": "<", "threshold": 3}, "Not triggered", None),
        ("SELECT amount FROM orders WHERE region = 'XX'", {"op": "<", "threshold": 3}, "Not triggered", None),
        ("SELECT COUNT(*) FROM orders", None, "Success", 3.0),
        ("SELECT 0", None, "Not triggered", 0.0),
        ("SELECT amount FROM orders", None, "Error", None),
        ("SELECT id, amount FROM orders LIMIT 1", None, "Error", None),
        ("SELECT region FROM orders LIMIT 1", {"op": ">", "threshold": 2}, "Error", None),
        ("SELECT COUNT(*) FROM nowhere", None, "Error", None),
        ("{{ 'DELETE' }} FROM orders", None, "Error", None),
    ],
)
def test_an_alert_fires_by_the_value_of_its_query(
    world: ReportWorld, sql: str, validator: dict[str, Any] | None, state: str, value: float | None
) -> None:
    kind = {"validator_type": "Not Null"} if validator is None else {"validator_config_json": validator}
    made = world.alert(sql=sql, **kind)
    world.pass_time()
    (run,) = world.runs(made)
    assert (run.state, run.value) == (state, value)
    got = world.admin.reports.get(made.id)
    assert (got.last_state, got.last_value, got.last_value_row_json) == (state, value, run.value_row_json)
    assert (run.value_row_json is None) == (state == "Error" or ("WHERE" in sql and "MAX" not in sql))
    alerts = [entry for entry in world.outbox.sent if entry.message.subject.startswith("[Alert]")]
    assert len(alerts) == (state == "Success")


@pytest.mark.slow
def test_an_alert_keeps_still_for_its_grace_period(world: ReportWorld) -> None:
    made = world.alert(grace_period=7_200)
    for _ in range(3):
        world.pass_time()
    assert world.states(made) == ["Success", "On Grace", "Success"]  # the grace ends with its last second
    world.run_sql("DELETE FROM orders;")
    world.pass_time(2 * HOUR)
    assert world.states(made)[-1] == "Not triggered"


def test_an_alert_asks_as_its_owner_under_their_rules(world: ReportWorld) -> None:
    anna = world.person("anna", world.admin.databases.get(1))
    role = anna._actor().roles[0].id
    rule = {"name": "r", "filter_type": "Regular", "clause": "region = 'EU'", "roles": [role], "tables": [1]}
    world.admin.row_level_security.create(rule)
    made = world.alert(anna, sql="SELECT COUNT(*) AS n FROM orders WHERE day <= '{{ '2026-01-03' }}'")
    world.pass_time()
    (run,) = world.runs(made)
    assert (run.state, run.value) == ("Not triggered", 1.0)


def test_a_query_may_name_its_moment(world: ReportWorld) -> None:
    made = world.alert(sql="SELECT COUNT(*) FROM orders WHERE day < '{{ current_username() }}'")
    verdict = world.admin.reports.evaluate(made.id)
    assert verdict.value == 3


# ------------------------------------------------------------------------------------------------ errors and notices
def test_whoever_runs_the_process_reads_in_its_log_what_failed(
    world: ReportWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.report()
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    world.pass_time()
    world.pass_time()
    (message,) = [entry.getMessage() for entry in caplog.records if "ended in error" in entry.getMessage()]
    why = "bob@example.com was not reached: the outbox was told to fail"
    assert message == f"Report 1 'orders', due 2026-05-01T13:00:00+00:00, ended in error: {why}"


@pytest.mark.slow
def test_owners_are_told_once_per_grace_and_anew_after_a_success(world: ReportWorld) -> None:
    made = world.report(grace_period=2 * 3_600)
    world.run_sql("ALTER TABLE orders RENAME TO away;")
    for _ in range(4):
        world.pass_time()
    assert world.states(made) == ["Error"] * 4
    assert len(world.outbox.sent) == 2
    world.run_sql("ALTER TABLE away RENAME TO orders;")
    world.pass_time()
    world.run_sql("ALTER TABLE orders RENAME TO away;")
    world.pass_time()
    assert world.states(made)[-2:] == ["Success", "Error"]
    assert [entry.message.subject[:5] for entry in world.outbox.sent] == ["Error", "Error", "[Repo", "Error"]


def test_a_deactivated_executor_ends_runs_in_error_with_one_notice(world: ReportWorld) -> None:
    anna = world.person("anna", world.admin.databases.get(1), email="anna@example.com")
    made = world.report(anna)
    user_id = made.owners[0].id
    world.admin.users.update(user_id, {"active": False})
    world.pass_time()
    assert world.states(made) == ["Error"]
    reason = (
        f"report schedule {made.id} has nobody to run as: user {user_id} is not active any more; an owner or an "
        "administrator who lends it their rows saves it with their own id as extra.run_as"
    )
    assert world.runs(made)[0].error_message == reason
    with pytest.raises(ReportError, match="not active any more"):
        world.admin.reports.dry_run(made.id)
    world.pass_time()
    (notice,) = world.outbox.sent  # whoever owns it alone gets no mail: administrators do, once per grace
    assert (notice.recipient.to, notice.recipient.bcc) == (("ada@example.com",), ())
    assert reason in notice.message.text
    assert "This goes to administrators" in notice.message.text


def test_an_owner_who_is_active_hears_of_one_who_is_not(world: ReportWorld) -> None:
    anna, bert = (world.person(name, world.admin.databases.get(1), email=f"{name}@example.com") for name in "ab")
    made = world.report(anna, owners=[anna._actor().id, bert._actor().id])
    world.admin.users.update(anna._actor().id, {"active": False})
    world.pass_time()
    assert world.states(made) == ["Error"]
    (notice,) = world.outbox.sent
    assert (notice.recipient.to, notice.recipient.bcc) == (("b@example.com",), ())
    assert "administrators" not in notice.message.text


def test_nobody_is_told_where_there_is_nobody_to_tell(world: ReportWorld, caplog: pytest.LogCaptureFixture) -> None:
    anna = world.person("anna", world.admin.databases.get(1), email="no address")
    made = world.report(anna)
    world.admin.users.update(world.admin._actor().id, {"email": ""})
    world.run_sql("DROP TABLE orders;")
    world.pass_time()
    assert (world.states(made), world.outbox.attempts) == (["Error"], ())
    reason = "to its owners: no owner or administrator is active and has an e-mail address"
    assert f"the notice of Report {made.id} 'orders' {reason}" in caplog.messages


def test_a_notice_that_does_not_arrive_is_told_in_the_log(world: ReportWorld, caplog: pytest.LogCaptureFixture) -> None:
    made = world.report()
    world.run_sql("DROP TABLE orders;")
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    world.pass_time()
    reason = "to its owners: ada@example.com was not reached: the outbox was told to fail"
    assert f"the notice of Report {made.id} 'orders' {reason}" in caplog.messages


def test_all_recipients_are_tried_and_who_was_not_reached_is_told(world: ReportWorld) -> None:
    made = world.report(recipients=[mail("a@example.com"), chat("#ops"), mail("c@example.com")])
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    world.outbox.fail_next(state=DeliveryState.UNKNOWN)
    world.pass_time()
    (run,) = world.runs(made)
    assert run.state == "Error"
    assert run.error_message == (
        "a@example.com was not reached: the outbox was told to fail;"
        "#ops may or may not have been reached: the outbox was told to fail"
    )
    assert world.deliveries(made) == [
        ("a@example.com", "refused"),
        ("#ops", "unknown"),
        ("c@example.com", "delivered"),
    ]


def test_a_run_says_what_kind_of_error_it_ended_with_and_raises_it_on_demand(world: ReportWorld) -> None:
    made = world.report()
    assert world.admin.reports.run_now(made.id, raise_errors=True).error_type is None
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    with pytest.raises(NotificationError, match=r"bob@example\.com was not reached") as raised:
        world.admin.reports.run_now(made.id, raise_errors=True)
    assert raised.value.error_type is ErrorType.REPORT_NOTIFICATION_ERROR
    world.run_sql("DROP TABLE orders")
    with pytest.raises(ReportError, match="By region") as raised:
        world.admin.reports.run_now(made.id, raise_errors=True)
    assert raised.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR
    listed = world.admin.reports.executions(made.id, order_by="id").result
    types = [None, ErrorType.REPORT_NOTIFICATION_ERROR, ErrorType.TABLE_DOES_NOT_EXIST_ERROR]
    assert [run.error_type for run in listed] == types
    assert [world.admin.reports.execution(made.id, run.id).error_type for run in listed] == types
    assert "error_type" not in listed[1].to_payload()
    unreached = {"col": "error_type", "op": "eq", "val": ErrorType.REPORT_NOTIFICATION_ERROR}
    assert [run.id for run in world.admin.reports.executions(made.id, [unreached])] == [listed[1].id]


def test_a_run_shows_what_went_to_whom_and_how_often_it_was_tried(world: ReportWorld) -> None:
    hook = "https://hooks.example.com/services/secret"
    recipients = [mail("bob@example.com, eve@example.com"), chat(hook)]
    made = world.report(report_format="CSV", recipients=recipients)
    world.outbox.fail_next(2, state=DeliveryState.UNAVAILABLE)
    run = world.admin.reports.run_now(made.id)
    deliveries = [(one.recipient, one.state, one.attempts, one.files) for one in run.deliveries]
    assert deliveries == [
        ("bob@example.com", "delivered", 3, ("By_region.csv",)),
        ("eve@example.com", "delivered", 3, ("By_region.csv",)),
        ("https://hooks.example.com/XXXXXXXXXX", "delivered", 1, ("By_region.csv",)),
    ]
    assert {one.subject for one in run.deliveries} == {"[Report] orders: By region"}
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    first, *_ = world.admin.reports.run_now(made.id).deliveries
    assert (first.state, first.reason) == ("refused", "the outbox was told to fail")


def test_owners_are_told_by_another_notifier_where_the_first_is_away(tmp_path: Path) -> None:
    first = Outbox()
    first.fail_next(100)
    with report_world(tmp_path, jobs=InlineJobRunner(), notifiers=[first]) as world:
        made = world.report()
        world.pass_time()
        assert world.states(made) == ["Error"]
        assert [entry.recipient.to for entry in world.outbox.sent] == [("ada@example.com",)]
        assert first.attempts[-1].recipient.to == ("ada@example.com",)


def test_files_come_beside_the_picture_or_the_table_of_a_report(world: ReportWorld) -> None:
    for format_, attach, names in (
        ("TEXT", ["CSV", "XLSX"], ["By_region.xlsx", "By_region.csv"]),
        ("PNG", ["CSV", "XLSX"], ["By_region.xlsx", "By_region.csv"]),
        ("CSV", ["XLSX"], ["By_region.xlsx", "By_region.csv"]),
        ("CSV", ["CSV"], ["By_region.csv"]),
        ("TEXT", [], []),
    ):
        made = world.report(name=f"{format_} {attach}", report_format=format_, extra={"attach": attach})
        ((_, message),) = world.admin.reports.dry_run(made.id).messages
        assert [file.name for file in message.attachments] == names
        assert (len(message.images), "EU  " in message.text) == (format_ == "PNG", format_ == "TEXT")
        assert all(name in message.text for name in names)
        csv = [b"".join(file.chunks()) for file in message.attachments if file.name.endswith(".csv")]
        assert all(b"EU,10.5" in content and b"US,21.0" in content for content in csv)


def test_nothing_is_sent_without_rows_where_the_schedule_says_so(world: ReportWorld) -> None:
    dashboard = filtered_dashboard(world.admin)
    quiet = [
        world.report(name=f"{format_} {target}", report_format=format_, extra={"skip_when_empty": True}, **target)
        for format_ in ("TEXT", "CSV")
        for target in ({"chart": 1}, {"chart": None, "dashboard": dashboard})
    ]
    report = world.report(name="told")
    world.pass_time()
    assert [world.states(made) for made in (*quiet, report)] == [["Success"]] * 5
    world.run_sql("DELETE FROM orders")
    world.admin.charts.update(1, {"params": form(1, row_limit=0)})  # its file is written as rows come
    world.outbox.clear()
    assert [world.admin.reports.dry_run(made.id).would_send for made in (*quiet, report)] == [*[False] * 4, True]
    world.pass_time()
    assert [world.states(made)[-1] for made in (*quiet, report)] == [*["Not triggered"] * 4, "Success"]
    assert world.runs(quiet[0])[-1].error_message == EMPTY
    assert [entry.message.subject for entry in world.outbox.sent] == ["[Report] told: By region"]
    assert world.admin.reports.replay(quiet[0].id, world.runs(quiet[0])[-1].id).is_equal


def test_what_may_help_is_tried_again(world: ReportWorld) -> None:
    made = world.report()
    world.outbox.fail_next(2)
    world.pass_time()
    assert world.states(made) == ["Success"]
    assert len({entry.message.key for entry in world.outbox.attempts}) == 1


def test_a_report_is_not_lost_to_a_server_that_says_later(world: ReportWorld) -> None:
    made = world.report(crontab="0 8 * * 1", extra={"keep_trying_s": 3 * 3_600})
    world.clock.advance(timedelta(days=2, hours=20))  # to Monday, eight o'clock
    world.outbox.fail_next(2 * 5)
    assert world.host.scheduler.tick().claimed == 1
    (run,) = world.runs(made)
    assert (run.state, run.error_type) == ("Working", None)
    assert "the outbox was told to fail" in str(run.error_message)
    assert world.host.scheduler.tick().taken_up == 0  # it waits
    world.pass_time()
    assert (world.states(made), len(world.outbox.attempts)) == (["Working"], 5)
    for count in (10, 11):
        set_run(world, made, lease_until=NOON - HOUR)
        assert world.host.scheduler.tick().taken_up == 1
        assert len(world.outbox.attempts) == count
    assert (world.states(made), world.runs(made)[0].error_message) == (["Success"], None)
    (sent,) = world.admin.reports.execution(made.id, run.id).deliveries
    assert (sent.state, sent.attempts, len(world.outbox.sent)) == ("delivered", 11, 1)


def test_a_receiver_that_stays_away_is_given_up_with_one_notice(world: ReportWorld) -> None:
    made = world.report(crontab="0 8 * * 1", extra={"keep_trying_s": 3 * 3_600}, recipients=[mail("bob@example.com")])
    world.clock.advance(timedelta(days=2, hours=20))
    world.outbox.fail_next(500)
    world.host.scheduler.tick()
    tries = 1
    while world.states(made) == ["Working"]:
        with world.host._runtime.content.store.unit_of_work() as unit:
            pause = unit.report_executions.get(world.runs(made)[0].id).lease_until - unit.now()  # type: ignore[operator]
        assert timedelta(seconds=58) < pause < timedelta(seconds=902)
        world.clock.advance(pause)
        set_run(world, made, lease_until=NOON - HOUR)
        tries += world.host.scheduler.tick().taken_up
    assert 12 < tries < 20
    assert world.states(made) == ["Error"]
    assert timedelta(hours=2.9) < world.clock.now() - world.runs(made)[0].scheduled_dttm < timedelta(hours=3.1)
    assert [one.recipient.to for one in world.outbox.attempts].count(("ada@example.com",)) == 1


def test_later_attempts_send_what_an_alert_found_to_those_it_did_not_reach(world: ReportWorld) -> None:
    options = {"keep_trying_s": 1_800, "subject": "{{ value }} orders"}
    made = world.alert(extra=options, recipients=[mail("a@example.com"), mail("b@example.com")])
    world.outbox.fail_next(6)
    world.pass_time()
    assert world.deliveries(made) == [("a@example.com", "unavailable"), ("b@example.com", "unavailable")]
    world.run_sql("DELETE FROM orders WHERE id > 1")
    set_run(world, made, lease_until=NOON - HOUR)
    world.host.scheduler.tick()
    assert world.states(made) == ["Success"]
    assert [(one.recipient.to[0], one.message.subject) for one in world.outbox.sent] == [
        ("a@example.com", "3 orders"),
        ("b@example.com", "3 orders"),
    ]
    assert world.runs(made)[0].value == 3


def test_later_attempts_do_not_get_in_the_way_of_the_next_run(world: ReportWorld) -> None:
    made = world.report(extra={"keep_trying_s": 86_400})
    world.outbox.fail_next(10)
    world.pass_time()
    world.clock.advance(timedelta(minutes=59))
    set_run(world, made, lease_until=NOON - HOUR)
    world.host.scheduler.tick()
    assert world.states(made) == ["Error"]
    world.outbox.clear()
    world.pass_time(timedelta(minutes=1))
    assert world.states(made) == ["Error", "Success"]


def test_a_run_that_waits_is_over_before_the_due_times_of_a_new_crontab(world: ReportWorld) -> None:
    made = world.report(crontab="0 8 * * 1", extra={"keep_trying_s": 86_400})
    world.clock.advance(timedelta(days=2, hours=20))  # to Monday, eight o'clock
    world.outbox.fail_next(2, retry_after_s=10_800.0)
    world.host.scheduler.tick()
    for crontab, longest_s in (("0 8 * * 2", 10_800), ("0 * * * *", 3_540)):
        world.admin.reports.update(made.id, {"crontab": crontab})
        with world.host._runtime.content.store.unit_of_work() as unit:
            row = unit.report_executions.get(world.runs(made)[0].id)
            assert timedelta(seconds=longest_s - 10) < row.lease_until - unit.now() <= timedelta(seconds=longest_s)
    world.clock.advance(timedelta(minutes=59))
    set_run(world, made, lease_until=NOON - HOUR)
    assert (world.host.scheduler.tick().taken_up, world.states(made)) == (1, ["Error"])
    world.pass_time(MINUTE)
    assert world.states(made) == ["Error", "Success"]


def test_a_receiver_that_gives_no_answer_is_asked_again_where_at_least_once_is_promised(world: ReportWorld) -> None:
    for promise, state, count in (("at_least_once", "Success", 3), ("at_most_once", "Error", 1)):
        made = world.report(name=promise, extra={"delivery": promise})
        world.outbox.clear()
        world.outbox.fail_next(2, state=DeliveryState.UNKNOWN)
        world.pass_time()
        world.admin.reports.update(made.id, {"active": False})
        assert world.states(made) == [state]
        assert len([entry for entry in world.outbox.attempts if entry.recipient.to == ("bob@example.com",)]) == count
        assert world.deliveries(made) == [("bob@example.com", "delivered" if state == "Success" else "unknown")]


def test_a_mail_server_that_is_down_is_waited_for_once_by_a_run_and_its_notice(world: ReportWorld) -> None:
    made = world.report(recipients=[mail("a@example.com"), mail("b@example.com"), chat("#ops")])
    world.outbox.fail_next(6)
    world.outbox.fail_next(state=DeliveryState.REFUSED)
    world.outbox.fail_next(9)
    world.pass_time()
    assert [(entry.recipient.to[0], entry.state.value) for entry in world.outbox.attempts] == [
        *[("a@example.com", "unavailable")] * 5,
        ("b@example.com", "unavailable"),
        ("#ops", "refused"),
        ("ada@example.com", "unavailable"),
    ]
    assert world.states(made) == ["Error"]


# ---------------------------------------------------------------------------------------------- what others leave
class ForgetfulRunner:
    """Takes jobs and does not run them until it is told to: a worker that is far away."""

    is_local = False

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.run: Callable[[str], None] = lambda _: None

    def start(self, run_job: Callable[[str], None]) -> None:
        """Take what runs a job."""
        self.run = run_job

    def submit(self, job_id: str, *, queue: str = "") -> None:
        """Keep the job; one that waits for long is handed over again, and is the same."""
        if job_id not in self.taken:
            self.taken.append(job_id)

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def far(tmp_path: Path) -> Iterator[tuple[ReportWorld, ForgetfulRunner]]:
    """Give a core whose jobs run elsewhere."""
    runner = ForgetfulRunner()
    with report_world(tmp_path, jobs=runner) as made:
        yield made, runner


def set_run(world: ReportWorld, schedule: Any, **changes: Any) -> None:
    """Change the row of the last run, as time or another process would."""
    with world.host._runtime.content.store.unit_of_work() as unit:
        row = unit.report_executions.get(world.runs(schedule)[-1].id)
        unit.report_executions.update(replace(row, **changes), actor_id=None)


def lose_job(world: ReportWorld, runner: ForgetfulRunner) -> None:
    """Let the job of the last submission end with its process."""
    with world.host._runtime.content.store.unit_of_work() as unit:
        job = unit.jobs.find(job_id=runner.taken[-1])
        assert job is not None
        unit.jobs.delete(job.id)


def test_another_process_takes_up_what_nobody_began(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report()
    assert world.pass_time().claimed == 1
    assert world.host.scheduler.tick().taken_up == 0  # its lease holds
    lose_job(world, runner)
    set_run(world, made, lease_until=NOON - HOUR)
    assert world.host.scheduler.tick().taken_up == 1
    runner.run(runner.taken[0])  # the first worker comes back: the run is not its any more
    assert world.states(made) == ["Working"]
    runner.run(runner.taken[1])
    assert world.states(made) == ["Success"]
    assert len(world.outbox.sent) == 1


def test_a_run_that_nobody_finishes_ends_in_error(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    for _ in range(MOST_ATTEMPTS):
        lose_job(world, runner)
        set_run(world, made, lease_until=NOON - HOUR)
        world.host.scheduler.tick()
    (run,) = world.runs(made)
    assert (run.state, run.error_message) == ("Error", "each of 5 processes that tried it ended before it was done")
    runner.run(runner.taken[-1])
    assert world.outbox.sent[-1].message.subject.startswith("Error occurred")


def test_a_run_that_takes_too_long_ends_in_error_and_sends_nothing_more(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    set_run(world, made, lease_until=None, start_dttm=NOON, late_on=NOON)
    world.host.scheduler.tick()
    assert not world.outbox.attempts  # the owners are told by a job
    for job_id in tuple(runner.taken):
        runner.run(job_id)
    (run,) = world.runs(made)
    assert (run.state, run.error_message) == ("Error", TOOK_TOO_LONG)
    assert [entry.message.subject[:5] for entry in world.outbox.sent] == ["Error"]


def test_a_due_time_while_the_run_before_works_is_refused_and_logged(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    assert world.pass_time().claimed == 0
    assert world.states(made) == ["Working", "Error"]
    assert "still works" in (world.runs(made)[-1].error_message or "")
    runner.run(runner.taken[0])
    assert world.pass_time().claimed == 1


def test_runs_that_are_all_made_up_for_go_one_after_the_other(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report(extra={"missed": "all"})
    world.pass_time(3 * HOUR)
    for count in (1, 2, 3, 3):
        assert len(runner.taken) == count
        world.host.scheduler.tick()
        assert len(runner.taken) == count
        runner.run(runner.taken[-1])  # no look is needed between two of them
    assert world.states(made) == ["Success"] * 3


@pytest.mark.slow
def test_a_backlog_drains_in_one_look_in_turns_with_others(world: ReportWorld) -> None:
    more = {"crontab": "*/2 * * * *", "extra": {"missed": "all"}}
    backlogs = [world.report(name=name, recipients=[mail(f"{name}@example.com")], **more) for name in "ab"]
    hourly = world.report(name="hourly")
    tick = world.pass_time(HOUR)
    assert (tick.due, tick.claimed, tick.finished, tick.missed) == (3, 61, 61, 0)
    assert [world.states(one) for one in (*backlogs, hourly)] == [["Success"] * 30] * 2 + [["Success"]]
    sent = [entry.recipient.to[0] for entry in world.outbox.sent]
    assert sent.index("bob@example.com") < 10
    for end in range(len(sent)):
        assert abs(sent[:end].count("a@example.com") - sent[:end].count("b@example.com")) < 5, sent


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "count"), [(InlineJobRunner, 100), (ThreadJobRunner, 20)])
def test_a_backlog_drains_whoever_does_the_jobs(tmp_path: Path, jobs: Callable[[], JobRunner], count: int) -> None:
    with report_world(tmp_path, jobs=jobs(), url=f"sqlite:///{tmp_path}/meta.db") as world:
        made = world.report(crontab="* * * * *", extra={"missed": "all"})
        world.clock.advance(count * MINUTE)  # where the jobs are done at once, deeper than calls may be nested
        assert world.host.scheduler.tick(wait=False).claimed == count
        assert until(lambda: world.states(made) == ["Success"] * count)
        assert [entry.message.key for entry in world.outbox.sent] == [run.uuid for run in world.runs(made)]


def test_a_due_time_after_a_kill_follows_the_run_that_is_taken_up(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    lose_job(world, runner)
    set_run(world, made, lease_until=NOON - HOUR)
    tick = world.pass_time()
    assert (tick.claimed, tick.taken_up) == (1, 1)
    assert world.states(made) == ["Working", "Working"]
    for job_id in (1, 2):
        runner.run(runner.taken[job_id])
    assert world.states(made) == ["Success", "Success"]
    assert len(world.outbox.sent) == 2


def test_a_due_time_waits_until_it_is_known_whether_the_run_before_was_killed(tmp_path: Path) -> None:
    gate, url = threading.Event(), f"sqlite:///{tmp_path}/meta.db"
    runner = ThreadJobRunner(workers=1)
    with report_world(tmp_path, jobs=runner, url=url, settings={"job_lease_s": 600.0}) as world:
        made = world.report()
        world.host._runtime.reports.deliveries._sleeper = Pause(gate.wait)
        world.outbox.fail_next()
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert until(lambda: world.deliveries(made) == [("bob@example.com", "unavailable")])
        world.clock.advance(HOUR)
        settings = Settings(secret_key=KEY, data_roots=(tmp_path,), job_lease_s=600.0)
        with AnalyticsCore(
            settings, metadata_url=url, clock=world.clock, notifiers=[], jobs=ForgetfulRunner()
        ) as other:
            assert other.scheduler.tick().due == 0  # nobody knows whether the process of the first run lives
            assert world.states(made) == ["Working"]
            world.clock.advance(10 * MINUTE)  # it was heard of in between
            assert other.scheduler.tick().due == 1
        assert world.states(made) == ["Working", "Error"]
        gate.set()
        assert until(lambda: world.states(made) == ["Success", "Error"])


class OutboxAndThen(Outbox):
    """An outbox that does something when a message was given."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Callable[[], object] = lambda: None

    def send(self, message: Message, recipient: Recipient, *, only: Sequence[str] | None = None) -> Sequence[Delivery]:
        """Give it."""
        found = super().send(message, recipient, only=only)
        self.then()
        return found


@pytest.mark.parametrize("addresses", [["a@example.com"], ["a@example.com", "b@example.com"]])
def test_a_message_given_while_others_end_the_run_is_recorded(tmp_path: Path, addresses: list[str]) -> None:
    outbox = OutboxAndThen()
    with report_world(tmp_path, jobs=InlineJobRunner(), notifiers=[outbox]) as world:
        made = world.report(recipients=list(map(mail, addresses)))
        outbox.then = lambda: (
            len(outbox.sent) == len(addresses) and world.admin.reports.update(made.id, {"active": False})
        )
        world.pass_time()
        assert [(run.state, run.error_message) for run in world.runs(made)] == [("Not triggered", DEACTIVATED)]
        assert world.deliveries(made) == [(address, "delivered") for address in addresses]


def test_a_message_is_recorded_although_where_its_schedule_stands_changed_meanwhile(tmp_path: Path) -> None:
    outbox = OutboxAndThen()
    with report_world(tmp_path, jobs=InlineJobRunner(), notifiers=[outbox]) as world:
        made = world.report()

        def stands() -> None:
            with world.host._runtime.content.store.unit_of_work() as unit:
                found = unit.report_progress.find(schedule_id=made.id)
                assert found is not None
                unit.report_progress.update(found, actor_id=None)

        outbox.then = stands
        world.pass_time()
        assert world.states(made) == ["Success"]
        assert world.deliveries(made) == [("bob@example.com", "delivered")]


def test_an_address_of_several_recipients_gets_one_message(world: ReportWorld) -> None:
    made = world.report(recipients=[mail("a@example.com"), mail("a@example.com,b@example.com"), mail("c@example.com")])
    world.pass_time()
    assert world.deliveries(made) == [(f"{name}@example.com", "delivered") for name in "abc"]
    sent = [one.message.key for one in world.outbox.sent]
    assert (len(sent), world.states(made)) == (3, ["Success"])


def test_a_run_ends_although_somebody_wants_to_stop_its_job_at_that_moment(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    store, find = world.host._runtime.content.store, ListQuery(filters=(ListFilter(col="queue", op="neq", val=""),))

    def stop() -> None:
        with store.unit_of_work() as unit:
            (job,) = unit.jobs.list(find)[1]
            unit.jobs.update(replace(job, cancel_requested=True), actor_id=None)

    outbox = OutboxAndThen()
    outbox.then = stop
    world.host._runtime.reports.deliveries._notifiers = (outbox,)
    runner.run(runner.taken[0])
    with store.unit_of_work() as unit:
        states = [job.state for job in unit.jobs.list(find)[1]]
    assert (world.states(made), states) == (["Success"], [JobState.SUCCESS])
    assert world.deliveries(made) == [("bob@example.com", "delivered")]


def test_a_schedule_that_is_deactivated_sends_nothing_more(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report(extra={"missed": "all"})
    world.pass_time(3 * HOUR)
    world.admin.reports.update(made.id, {"active": False})
    while runner.taken:
        runner.run(runner.taken.pop())
    assert [run.error_message for run in world.runs(made)] == [DEACTIVATED] * 3
    assert world.states(made) == ["Not triggered"] * 3
    assert world.admin.reports.run_now(made.id).state == "Working"
    runner.run(runner.taken[-1])
    assert world.states(made)[-1] == "Success"
    assert len(world.outbox.sent) == 1


def test_a_schedule_that_is_deactivated_midway_sends_nothing_more(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report(recipients=[mail("a@example.com"), mail("b@example.com")])
    world.pass_time()
    world.outbox.fail_next()
    stop = Pause(lambda: world.admin.reports.update(made.id, {"active": False}))
    world.host._runtime.reports.deliveries._sleeper = stop
    runner.run(runner.taken[-1])
    assert (world.outbox.sent, world.states(made)) == ((), ["Not triggered"])
    by_hand = world.admin.reports.run_now(made.id)
    world.outbox.fail_next()
    world.admin.reports.update(made.id, {"active": True})
    world.host._runtime.reports.deliveries._sleeper = stop
    runner.run(runner.taken[-1])
    assert world.admin.reports.execution(made.id, by_hand.id).state == "Success"


@pytest.mark.parametrize(("promise", "again"), [("at_most_once", []), ("at_least_once", ["a@example.com"])])
def test_the_one_moment_that_nobody_knows_about(
    far: tuple[ReportWorld, ForgetfulRunner], promise: str, again: list[str]
) -> None:
    world, runner = far
    recipients = [mail("a@example.com"), mail("b@example.com"), mail("c@example.com")]
    made = world.report(recipients=recipients, extra={"delivery": promise})
    world.pass_time()

    _send_until_killed(world, runner, at=2)
    assert [state for _, state in world.deliveries(made)] == ["delivered", "sending"]
    before = [entry.recipient.to[0] for entry in world.outbox.sent]
    set_run(world, made, lease_until=NOON - HOUR)
    lose_job(world, runner)
    world.host.scheduler.tick()
    runner.run(runner.taken[-1])
    (run,) = world.runs(made)
    sent = [entry.recipient.to[0] for entry in world.outbox.sent if entry.message.subject.startswith("[")]
    assert sent[len(before) :] == [*(["b@example.com"] if again else []), "c@example.com"]
    assert (DIED_MIDWAY in (run.error_message or "")) == (promise == "at_most_once")
    assert run.state == ("Error" if promise == "at_most_once" else "Success")


def test_who_takes_an_alert_up_tells_the_others_the_value_that_it_had(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    recipients = [mail("a@example.com"), mail("b@example.com"), mail("c@example.com")]
    made = world.alert(recipients=recipients, extra={"subject": "{{ value }} orders", "delivery": "at_least_once"})
    world.pass_time()
    _send_until_killed(world, runner, at=2)
    world.run_sql("DELETE FROM orders")
    set_run(world, made, lease_until=NOON - HOUR)
    lose_job(world, runner)
    world.host.scheduler.tick()
    runner.run(runner.taken[-1])
    assert [one.message.subject for one in world.outbox.sent] == ["3 orders"] * 4
    assert (world.states(made), world.runs(made)[0].value) == (["Success"], 3)


class KilledError(BaseException):
    """What stands for the end of a process."""


def _send_until_killed(world: ReportWorld, runner: ForgetfulRunner, *, at: int) -> None:
    """Run the last job, and let its process end when it has handed over so many messages."""
    deliveries = world.host._runtime.reports.deliveries
    (outbox,) = deliveries._notifiers

    class Dying:
        """The outbox, until the process ends."""

        takes, close, start = outbox.takes, outbox.close, outbox.start

        def send(self, *args: Any, **named: Any) -> Any:
            """Hand over a message, and perhaps end."""
            done = outbox.send(*args, **named)
            if len(world.outbox.attempts) == at:
                raise KilledError
            return done

    deliveries._notifiers = (Dying(),)
    with pytest.raises(KilledError):
        runner.run(runner.taken[-1])
    deliveries._notifiers = (outbox,)


@pytest.mark.slow
def test_runs_that_find_no_room_wait_and_lose_no_attempt(tmp_path: Path) -> None:
    runner = ForgetfulRunner()
    with report_world(tmp_path, jobs=runner, settings={"max_jobs": 2}) as world:
        made = [world.report(name=f"r{number}") for number in range(5)]
        world.pass_time()
        assert len(runner.taken) == 2
        for _ in range(2 * MOST_ATTEMPTS):  # others look, and find no room either
            _end_leases(world)
            world.host.scheduler.tick()
        assert [world.states(one) for one in made] == [["Working"]] * 5
        for _ in range(3):
            for job_id in tuple(runner.taken):
                runner.run(job_id)
            _end_leases(world)
            world.host.scheduler.tick()
        assert [world.states(one) for one in made] == [["Success"]] * 5
        assert len(world.outbox.sent) == 5


def _end_leases(world: ReportWorld) -> None:
    """Let the leases of runs that nobody began end."""
    with world.host._runtime.content.store.unit_of_work() as unit:
        for run in unit.report_executions.list(ListQuery(page_size=100))[1]:
            if run.lease_until is not None:
                unit.report_executions.update(replace(run, lease_until=NOON - HOUR), actor_id=None)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"timezone": "Nowhere/City"}, {"recipients": "not sealed"}])
def test_a_schedule_that_cannot_be_read_keeps_nobody_from_theirs(
    far: tuple[ReportWorld, ForgetfulRunner], wrong: dict[str, str]
) -> None:
    world, runner = far
    damaged, sound = world.report(name="damaged"), world.report(name="sound")
    world.pass_time()
    for job_id in runner.taken[1:]:
        runner.run(job_id)
    ((column, value),) = wrong.items()
    with world.host._runtime.content.store._engine.connect() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql(f"UPDATE ac_report_schedules SET {column} = ? WHERE id = ?", (value, damaged.id))
        connection.commit()
    lose = runner.taken[0]
    with world.host._runtime.content.store.unit_of_work() as unit:
        unit.jobs.delete_matching([ListFilter(col="job_id", op="eq", val=lose)])
    for _ in range(MOST_ATTEMPTS + 1):
        _end_leases(world)
        before = len(runner.taken)
        world.pass_time()
        runner.run(runner.taken[before])  # before what was left behind is taken up again
    assert world.states(sound) == ["Success"] * (MOST_ATTEMPTS + 2)


def test_recipients_that_no_key_opens_hide_no_schedule_and_are_saved_anew(world: ReportWorld) -> None:
    made = world.report(), world.report(name="sound")
    with world.host._runtime.content.store._engine.connect() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("UPDATE ac_report_schedules SET recipients = 'not sealed' WHERE name = 'orders'")
        connection.commit()
    reports = world.admin.reports
    assert [len(item.recipients) for item in reports.list(order_by="id")] == [0, 1]
    world.pass_time()
    assert "recipients of report schedule 1" in str(world.runs(made[0])[0].error_message)
    assert reports.update(1, {"description": "its recipients cannot be read"}).recipients == ()
    assert reports.update(1, reports.get(1)).recipients == ()
    reports.update(1, {"recipients": [mail("eve@example.com")]})
    world.pass_time()
    assert [world.states(one) for one in made] == [["Error", "Success"], ["Success", "Success"]]


def test_a_run_to_be_made_up_for_waits_for_the_one_that_still_works(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report(extra={"missed": "all"})
    world.pass_time()
    world.pass_time()
    world.host.scheduler.tick()
    assert len(runner.taken) == 1
    runner.run(runner.taken[0])
    world.host.scheduler.tick()
    runner.run(runner.taken[1])
    assert world.states(made) == ["Success", "Success"]


def test_a_scheduler_goes_on_after_an_unexpected_error(world: ReportWorld) -> None:
    world.report()
    ended, calls = threading.Event(), []

    class BrokenClock:
        """Raises what no port may raise, once."""

        def now(self) -> datetime:
            """Raise, or tell that it is time to end."""
            calls.append("asked")
            if len(calls) == 1:
                raise RuntimeError
            ended.set()
            return NOON

        monotonic = world.clock.monotonic

    reports = world.host._runtime.reports
    scheduler = Scheduler(replace(reports, content=replace(reports.content, clock=BrokenClock())))
    scheduler.serve(0.05, stop=ended)
    assert len(calls) == 2


class Pause:
    """A sleeper that does something in place of sleeping."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def sleep(self, seconds: float) -> None:
        """Do it."""
        self._act()


def test_a_message_that_was_not_taken_is_in_no_doubt_when_its_sender_dies(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()
    world.outbox.fail_next()

    def die() -> None:
        raise KilledError

    world.host._runtime.reports.deliveries._sleeper = Pause(die)
    with pytest.raises(KilledError):
        runner.run(runner.taken[-1])
    assert world.deliveries(made) == [("bob@example.com", "unavailable")]
    set_run(world, made, lease_until=NOON - HOUR)
    lose_job(world, runner)
    world.host.scheduler.tick()
    runner.run(runner.taken[-1])
    assert world.states(made) == ["Success"]
    assert len(world.outbox.sent) == 1


def test_a_run_that_waits_for_a_receiver_is_neither_lost_nor_doubled_where_processes_die(
    tmp_path: Path, metadata_url: str
) -> None:
    def die() -> None:
        raise KilledError

    runner = ForgetfulRunner()
    with report_world(tmp_path, jobs=runner, url=metadata_url) as world:
        made = world.report(extra={"keep_trying_s": 1_800}, recipients=[mail("a@example.com"), chat("#ops")])
        world.pass_time()
        world.outbox.fail_next(5)
        runner.run(runner.taken[-1])
        assert world.deliveries(made) == [("a@example.com", "unavailable"), ("#ops", "delivered")]
        lose_job(world, runner)  # nobody is left who knows of it
        assert (world.host.scheduler.tick().taken_up, len(runner.taken)) == (0, 1)
        world.host._runtime.reports.deliveries._sleeper = Pause(die)
        world.outbox.fail_next()
        for is_killed in (True, False):
            set_run(world, made, lease_until=NOON - HOUR)
            assert world.host.scheduler.tick().taken_up == 1
            if is_killed:
                with pytest.raises(KilledError):
                    runner.run(runner.taken[-1])
                lose_job(world, runner)
        runner.run(runner.taken[-1])
        assert world.states(made) == ["Success"]
        assert [one.recipient.to for one in world.outbox.sent] == [("#ops",), ("a@example.com",)]


def test_a_due_time_during_the_last_attempt_of_the_run_before_waits_for_it(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report(extra={"keep_trying_s": 86_400})
    world.pass_time()
    world.outbox.fail_next(6)
    runner.run(runner.taken[-1])
    world.clock.advance(timedelta(minutes=59))
    set_run(world, made, lease_until=NOON - HOUR)
    assert world.host.scheduler.tick().taken_up == 1
    looks = []
    world.host._runtime.reports.deliveries._sleeper = Pause(lambda: looks.append(world.pass_time(MINUTE)))
    runner.run(runner.taken[-1])
    assert [look.claimed for look in looks] == [1]
    runner.run(runner.taken[-1])
    assert world.states(made) == ["Success", "Success"]
    assert len({one.message.key for one in world.outbox.sent}) == 2


def test_a_run_that_others_ended_between_two_attempts_sends_nothing_more(
    far: tuple[ReportWorld, ForgetfulRunner],
) -> None:
    world, runner = far
    made = world.report(recipients=[mail("a@example.com,b@example.com")])
    world.pass_time()
    world.outbox.fail_next()
    seen: list[list[tuple[str, str]]] = []

    def end() -> None:
        seen.append(world.deliveries(made))
        set_run(world, made, late_on=NOON)
        world.host.scheduler.tick()

    world.host._runtime.reports.deliveries._sleeper = Pause(end)
    runner.run(runner.taken[-1])
    assert seen == [[("a@example.com", "unavailable"), ("b@example.com", "unavailable")]]
    assert [run.error_message for run in world.runs(made)] == [TOOK_TOO_LONG]
    runner.run(runner.taken[-1])
    assert [entry.message.subject[:5] for entry in world.outbox.sent] == ["Error"]


def test_a_run_whose_store_is_away_for_a_moment_is_taken_up(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report()
    world.pass_time()

    def away(_: int) -> Any:
        raise StoreUnavailableError("the metadata store is restarted")

    runs = ReportRuns(runtime_of=lambda _: world.host._runtime.reports, find_actor=away, read_actor=lambda *_: away(0))
    with world.host._runtime.content.store.unit_of_work() as unit:
        job = unit.jobs.find(job_id=runner.taken[0])
        assert job is not None
        work = runs.begin(job, unit)
    with pytest.raises(StoreUnavailableError):
        work(CancelToken())
    lose_job(world, runner)
    assert world.states(made) == ["Working"]
    assert world.host.scheduler.tick().taken_up == 1
    runner.run(runner.taken[1])
    assert world.states(made) == ["Success"]


def test_a_schedule_that_is_deleted_midway_sends_nothing_more(far: tuple[ReportWorld, ForgetfulRunner]) -> None:
    world, runner = far
    made = world.report(recipients=[mail("a@example.com"), mail("b@example.com")])
    world.pass_time()
    world.outbox.fail_next()
    world.host._runtime.reports.deliveries._sleeper = Pause(lambda: world.admin.reports.delete(made.id))
    runner.run(runner.taken[-1])
    assert not world.outbox.sent
    assert world.pass_time().due == 0
    with world.host._runtime.content.store.unit_of_work() as unit:
        assert unit.report_deliveries.list(ListQuery())[0] == unit.report_executions.list(ListQuery())[0] == 0
        assert [job.state for job in unit.jobs.list(ListQuery())[1]] == [JobState.SUCCESS]


@pytest.mark.long  # the statement is sampled for seconds before it runs
def test_a_run_whose_process_closes_is_taken_up_by_another(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/meta.db"
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000) SELECT x FROM n"
    with report_world(tmp_path, url=url) as world:
        made = world.alert(sql=f"SELECT COUNT(*) FROM ({numbers})")
        world.clock.advance(HOUR)
        assert world.host.scheduler.tick(wait=False).claimed == 1
        end = time.monotonic() + 20
        while world.runs(made)[0].start_dttm is None and time.monotonic() < end:
            time.sleep(0.05)
    settings = Settings(secret_key=KEY, data_roots=(tmp_path,))
    with AnalyticsCore(
        settings, metadata_url=url, clock=world.clock, notifiers=[world.outbox], jobs=ForgetfulRunner()
    ) as other:
        with other._runtime.content.store.unit_of_work() as unit:
            run = unit.report_executions.get(1)
        assert (run.end_dttm, run.attempts) == (None, 1)
        assert other.scheduler.tick(wait=False).taken_up == 1


@pytest.mark.slow
def test_each_message_of_many_reads_what_became_of_it_alone(world: ReportWorld) -> None:
    world.report(recipients=[mail(f"a{number % 10}@example.com") for number in range(20)])
    statements: list[str] = []
    engine = world.host._runtime.content.store._engine  # type: ignore[attr-defined]
    sa.event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    world.pass_time()
    read = [one for one in statements if "FROM ac_report_deliveries" in one and "execution_id =" in one]
    assert len(read) == 10  # of those alone that the run sent to before
    assert all("recipient_key =" in one for one in read)
    assert len(world.outbox.sent) == 10


# ------------------------------------------------------------------------------------------ by hand, logs, replays
@pytest.mark.slow
def test_a_run_by_hand_leaves_the_schedule_alone(world: ReportWorld) -> None:
    made = world.alert(active=False)
    for _ in range(2):
        assert world.admin.reports.run_now(made.id).state == "Success"  # no grace by hand
    assert len(world.outbox.sent) == 2
    assert world.host.scheduler.tick().due == 0


def test_a_dry_run_sends_nothing_and_tells_what_would_go_to_whom(world: ReportWorld) -> None:
    made = world.alert(recipients=[mail("a@example.com"), chat("#ops")])
    dry = world.admin.reports.dry_run(made.id, at=datetime(2026, 1, 2, tzinfo=UTC))
    assert dry.would_send
    assert dry.verdict is not None
    assert dry.verdict.value == 3
    assert [recipient.to for recipient, _ in dry.messages] == [("a@example.com",), ("#ops",)]
    assert "2026-01-02 00:00 UTC" in dry.messages[0][1].text
    assert not world.outbox.attempts
    assert world.runs(made) == []
    world.run_sql("DELETE FROM orders;")
    assert not world.admin.reports.dry_run(made.id).would_send
    with pytest.raises(PayloadSchemaError, match="must name an alert"):
        world.admin.reports.evaluate(world.report().id)
    world.admin.reports.update(made.id, {"sql": "SELECT 1 UNION SELECT 2"})
    with pytest.raises(AlertError, match="more than one row"):
        world.admin.reports.evaluate(made.id)


def test_a_replay_says_whether_a_run_is_what_it_was(world: ReportWorld) -> None:
    made = world.report(report_format="CSV")
    world.pass_time()
    (run,) = world.runs(made)
    assert world.admin.reports.replay(made.id, run.id).is_equal
    world.admin.reports.update(made.id, {"description": "another"})
    again = world.admin.reports.replay(made.id, run.id)
    assert again.is_equal
    assert "revision" in again.differences[0]
    world.run_sql("UPDATE orders SET amount = 5;")
    changed = world.admin.reports.replay(made.id, run.id)
    assert (changed.is_equal, changed.differences[1:]) == (False, ("the rows are others",))
    world.admin.charts.update(1, {"params": form(1, row_limit=1)})
    assert "the statements are others" in "".join(world.admin.reports.replay(made.id, run.id).differences)
    assert len(world.outbox.sent) == 1


def test_a_run_that_sent_nothing_cannot_be_replayed(world: ReportWorld) -> None:
    made = world.alert(sql="SELECT 0", validator_type="Not Null")
    world.pass_time()
    with pytest.raises(ReportError, match="made no message"):
        world.admin.reports.replay(made.id, world.runs(made)[0].id)


@pytest.mark.slow
def test_old_runs_are_forgotten(world: ReportWorld) -> None:
    made = world.report(log_retention=1)
    for _ in range(30):
        world.pass_time()
    due = [run.scheduled_dttm for run in world.runs(made)]
    assert due[0] >= world.clock.now() - DAY
    assert len(due) == 25


@pytest.mark.slow
def test_runs_of_schedules_that_never_run_again_are_pruned(world: ReportWorld) -> None:
    reports = {days: world.report(name=f"kept for {days}", log_retention=days) for days in (10, 30)}
    world.pass_time()
    for one in reports.values():
        world.admin.reports.update(one.id, {"active": False})
    world.clock.advance(20 * DAY)
    assert world.host.prune().report_executions == 1
    assert [len(world.runs(one)) for one in reports.values()] == [0, 1]
    world.clock.advance(4_000 * DAY)
    assert (world.host.prune().report_executions, world.host.prune().report_executions) == (1, 0)
    assert [len(world.runs(one)) for one in reports.values()] == [0, 0]


def test_a_tick_with_nothing_due_costs_two_statements(world: ReportWorld) -> None:
    for number in range(5):
        world.report(name=f"r{number}")
    statements: list[str] = []
    engine = world.host._runtime.content.store._engine  # type: ignore[attr-defined]
    sa.event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    world.host.scheduler.tick()
    assert len([one for one in statements if one.startswith("SELECT")]) == 2
