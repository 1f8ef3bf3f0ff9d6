"""What is in the messages of reports, and to whom they go, at each bound."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from tests.support.cases import for_each
from tests.support.reports import ReportWorld, chat, filtered_dashboard, form, mail, report_world

from analytics_core._reports.recipients import problems_of
from analytics_core.errors import PayloadSchemaError
from analytics_core.testing import FakeRenderer, InlineJobRunner

HOOK = "https://hooks.example.com/T0/B0/{}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ReportWorld]:
    with report_world(tmp_path, jobs=InlineJobRunner()) as made:
        yield made


def test_a_report_that_is_called_as_its_chart_says_so_once(world: ReportWorld) -> None:
    for name, head in (("By region", "By region\n2026-05-01"), ("Sales", "Sales\nBy region · 2026-05-01")):
        world.report(name=name)
        world.pass_time()
        assert next(one for one in world.outbox.sent if name in one.message.subject).message.text.startswith(head)


def test_the_rows_of_a_chart_without_a_limit_stream_and_fewer_do_not(world: ReportWorld) -> None:
    world.report(report_format="CSV")
    columns = {"query_mode": "raw", "all_columns": ["region"], "groupby": [], "metrics": []}
    for limit, streams in ((0, True), (50_001, True), (50_000, False)):
        world.admin.charts.update(1, {"params": form(1, **columns, row_limit=limit)})
        world.pass_time()
        (file,) = world.last_message().attachments
        assert isinstance(file.content, bytes) is not streams
        assert b"".join(file.chunks()).decode("utf-8-sig").split() == ["region", "EU", "US", "US"]


def test_sheets_of_charts_whose_names_differ_by_case_alone_are_numbered(world: ReportWorld) -> None:
    named = {"datasource_id": 1, "datasource_type": "table", "viz_type": "table", "params": form(1)}
    other = world.admin.charts.create({**named, "slice_name": "BY REGION"})
    third = world.admin.charts.create({**named, "slice_name": "by [region]?"})
    dashboard = filtered_dashboard(world.admin)
    world.admin.charts.update(other.id, {"dashboards": [dashboard]})
    world.admin.charts.update(third.id, {"dashboards": [dashboard]})
    world.report(chart=None, dashboard=dashboard, report_format="TEXT", extra={"format": "XLSX"})
    world.pass_time()
    (file,) = world.last_message().attachments
    book = CalamineWorkbook.from_filelike(BytesIO(b"".join(file.chunks())))
    assert book.sheet_names == ["By region", "BY REGION 2", "by  region"]
    assert file.name == "Shop.xlsx"


@for_each(("width", "height"), [(None, 480), (1_000, 600), (601, 360)])
def test_the_height_of_a_picture_follows_its_width(tmp_path: Path, width: int | None, height: int) -> None:
    renderer = FakeRenderer()
    with report_world(tmp_path, jobs=InlineJobRunner(), renderer=renderer) as world:
        series = form(1, viz_type="pie", metric="count", groupby=["region"])
        world.admin.charts.update(1, {"viz_type": "pie", "params": series})
        world.report(report_format="PNG", custom_width=width)
        world.pass_time()
    (drawn,) = renderer.drawn
    assert drawn.specification is not None
    assert (drawn.specification["width"], drawn.specification["height"]) == (width or 800, height)


def test_a_look_for_a_moment_of_another_zone_means_that_moment(world: ReportWorld) -> None:
    made = world.report()
    berlin = timezone(timedelta(hours=2))
    for moment, runs in (
        (datetime(2026, 5, 1, 14, 59, tzinfo=berlin), 0),
        (datetime(2026, 5, 1, 15, 0, tzinfo=berlin), 1),
        (datetime(2026, 5, 1, 14, 0), 2),  # naive is UTC
    ):
        world.host.scheduler.tick(moment)
        assert len(world.runs(made)) == runs


# ------------------------------------------------------------------------------------------------------------- to whom
def test_owners_do_not_see_the_addresses_of_each_other(world: ReportWorld) -> None:
    anna, bert = (world.person(name, world.admin.databases.get(1), email=f"{name}@example.com") for name in "ab")
    world.report(anna, owners=[anna._actor().id, bert._actor().id])
    world.run_sql("DROP TABLE orders;")
    world.pass_time()
    (notice,) = world.outbox.sent
    recipient = notice.recipient
    assert (recipient.to, recipient.cc, recipient.bcc) == (("a@example.com",), (), ("b@example.com",))


def test_nobody_gets_rows_by_an_address_that_several_have(world: ReportWorld) -> None:
    for name in ("anna", "bert"):
        world.person(name, world.admin.databases.get(1), email="team@example.com")
    made = world.report(extra={"run_as": "recipient"}, recipients=[mail("Team <team@example.com>")])
    world.pass_time()
    (run,) = world.runs(made)
    assert "several people have the e-mail address Team <team@example.com>" in (run.error_message or "")


def test_a_masked_address_stands_for_one_stored_address_alone(world: ReportWorld) -> None:
    made = world.report(recipients=[chat(HOOK.format(1)), chat(HOOK.format(2))])
    first, second = world.admin.reports.get(made.id).to_payload()["recipients"]
    with pytest.raises(PayloadSchemaError, match="is masked, and stands for none, or for several"):
        world.admin.reports.update(made.id, {"recipients": [first]})
    with pytest.raises(PayloadSchemaError, match="is masked, and stands for none, or for several"):
        world.admin.reports.update(made.id, {"recipients": [first, second, second]})
    same = world.report(name="same", recipients=[chat(HOOK.format(1)), chat(HOOK.format(1))])
    (masked, _) = world.admin.reports.get(same.id).to_payload()["recipients"]
    assert len(world.admin.reports.update(same.id, {"recipients": [masked]}).recipients) == 1


def _reported(*recipients: dict[str, Any]) -> list[str]:
    return [one.message for one in problems_of(recipients, lambda _: True, by_mail_alone=False)]


def test_as_many_recipients_and_addresses_as_may_be_are_taken_and_no_more() -> None:
    one = mail("bob@example.com")
    assert _reported(*[one] * 1_000) == []
    assert _reported(*[one] * 1_001) == ["may name 1000 recipients at most"]
    assert _reported(mail("; ".join(["b@example.com"] * 1_000))) == []
    assert _reported(mail("; ".join(["b@example.com"] * 1_000)), mail("c@example.com")) == [
        "may name 1000 addresses at most"
    ]
    assert _reported(chat("x" * 500_000)) == []
    assert _reported(chat("x" * 500_000), chat("y")) == ["may take 500000 characters at most"]
    assert _reported(chat("  ")) == ["needs a target: e-mail addresses, a channel, or the address of a web hook"]
    assert _reported({"type": "Chat", "recipient_config_json": {"target": "#a", "ccTarget": "#b"}}) == [
        "takes ccTarget and bccTarget for e-mail alone"
    ]
