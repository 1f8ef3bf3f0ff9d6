"""Reports as pictures: charts and dashboards inside a mail and beside it."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from tests.support import reports
from tests.support.mail_server import MailServer, mail_server
from tests.support.reports import HOUR, KEY, NOON, ReportWorld, form, mail, report_world, until

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._reports.namespace import Reports
from analytics_core._reports.run_log import TOOK_TOO_LONG
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.trials import Trial
from analytics_core.errors import PayloadSchemaError, PictureError, ReportError
from analytics_core.notifiers import EmailNotifier, SmtpSettings
from analytics_core.renderers import PictureFormat, VegaRenderer
from analytics_core.testing import FakeRenderer, InlineJobRunner, Outbox

HOSTILE = '"><img src=x onerror=alert(1)>'

renderer, world = reports.renderer, reports.drawing_world


def shop(world: ReportWorld) -> int:
    """Return a dashboard of two tabs with a chart each."""
    second = {"slice_name": "All", "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
    chart = world.admin.charts.create({**second, "params": form(1, groupby=[])}).id
    nodes: dict[str, Any] = {
        "ROOT_ID": {"type": "ROOT", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "children": ["TABS"]},
        "TABS": {"type": "TABS", "children": ["TAB-1", "TAB-2"]},
        "TAB-1": {"type": "TAB", "children": ["CHART-1"], "meta": {"text": "Regions"}},
        "TAB-2": {"type": "TAB", "children": ["CHART-2"], "meta": {"text": "Totals"}},
        "CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": 1, "width": 6, "height": 30}},
        "CHART-2": {"type": "CHART", "children": [], "meta": {"chartId": chart, "width": 12, "height": 30}},
    }
    return world.admin.dashboards.create({"dashboard_title": "Shop", "position_json": json.dumps(nodes)}).id


def test_where_a_renderer_is_wired_a_report_is_a_picture_unless_it_says_otherwise(world: ReportWorld) -> None:
    payload = {"name": "orders", "type": "Report", "crontab": "0 * * * *", "chart": 1}
    made = world.admin.reports.create({**payload, "recipients": [mail("bob@example.com")]})
    assert made.report_format == "PNG"


def test_a_chart_as_png_stands_inside_the_mail(world: ReportWorld, renderer: FakeRenderer) -> None:
    world.admin.charts.update(1, {"slice_name": HOSTILE})
    world.report(report_format="PNG", custom_width=1_000, context_markdown="As *every* hour.")
    world.pass_time()
    message = world.outbox.sent[-1].message
    (image,) = message.images
    (drawn,) = renderer.drawn
    assert drawn.specification is not None
    assert (drawn.specification["width"], drawn.specification["height"], drawn.format) == (1_000, 115, "png")
    assert (image.content_type, image.content_id, message.attachments) == ("image/png", "picture-1", ())
    assert message.html is not None
    tag = re.search(r"<img[^>]*>", message.html)
    assert tag is not None
    assert tag[0].startswith('<img src="cid:picture-1" alt="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;.')
    assert message.html.count("<img") == 1
    assert "<em>every</em>" in message.html
    assert "Table of 2 rows: region, total" in message.text
    assert "21" not in message.html  # the rows are in the picture


@pytest.mark.parametrize(
    ("named", "tabs"),
    [
        ({}, ["Regions", "Totals"]),
        ({"selected_tabs": [1]}, ["Totals"]),
        ({"extra": {"tabs": ["Regions"]}}, ["Regions"]),
    ],
    ids=str,
)
def test_a_dashboard_as_pdf_has_a_page_for_each_tab(
    world: ReportWorld, renderer: FakeRenderer, named: dict[str, Any], tabs: list[str]
) -> None:
    extra = {"format": "PDF", **named.get("extra", {})}
    world.report(chart=None, dashboard=shop(world), custom_width=900, **{**named, "extra": extra})
    world.pass_time()
    message = world.outbox.sent[-1].message
    (file,) = message.attachments
    assert (file.name, file.content_type, message.images) == ("Shop.pdf", "application/pdf", ())
    pages = renderer.drawn[-1].pages
    assert len(PdfReader(BytesIO(b"".join(file.chunks()))).pages) == len(pages) == len(tabs)
    assert all('width="900"' in page[:200] for page in pages)
    texts = [re.findall(r">(Regions|Totals)</text>", page) for page in pages]
    assert texts == ([[tab] for tab in tabs] if len(tabs) > 1 else [[]])  # a single page needs no title of its tab
    titles = [drawn.specification["layer"] for drawn in renderer.drawn if drawn.specification]
    assert len(titles) == len(tabs)


def test_a_chart_of_a_dashboard_that_fails_is_an_error_and_nothing_is_drawn(
    world: ReportWorld, renderer: FakeRenderer
) -> None:
    dashboard = shop(world)
    made = world.report(chart=None, dashboard=dashboard, report_format="PNG")
    world.run_sql("DROP TABLE orders;")
    world.pass_time()
    (run,) = world.runs(made)
    assert (run.state, (run.error_message or "").startswith("By region: "), renderer.drawn) == ("Error", True, ())
    assert [entry.message.subject for entry in world.outbox.sent] == ["Error occurred for Report: orders"]


@pytest.mark.parametrize("is_dashboard", [False, True])
def test_a_picture_that_cannot_be_drawn_is_an_error_of_the_run(
    world: ReportWorld, renderer: FakeRenderer, is_dashboard: bool
) -> None:
    target = {"chart": None, "dashboard": shop(world)} if is_dashboard else {}
    made = world.report(report_format="PNG", **target)
    renderer.fail_next("no ink")
    world.pass_time()
    (run,) = world.runs(made)
    assert (run.state, run.error_message) == ("Error", "By region: no ink")
    assert [entry.message.subject for entry in world.outbox.sent] == ["Error occurred for Report: orders"]


@pytest.mark.slow
@pytest.mark.parametrize("is_dashboard", [False, True])
def test_a_picture_of_equal_rows_is_drawn_once_unless_each_is_to_be_drawn_anew(
    world: ReportWorld, renderer: FakeRenderer, is_dashboard: bool
) -> None:
    target = {"chart": None, "dashboard": shop(world)} if is_dashboard else {}
    made = world.report(report_format="PNG", **target)
    for _ in range(2):
        world.pass_time()
    each = 3 if is_dashboard else 1  # two charts and the whole
    assert len(renderer.drawn) == each
    world.run_sql("INSERT INTO orders VALUES (4, '2026-01-04', 'EU', 1.5);")
    world.pass_time()
    assert len(renderer.drawn) == 2 * each
    world.admin.reports.update(made.id, {"force_screenshot": True})
    world.pass_time()
    assert len(renderer.drawn) == 3 * each
    assert len(world.outbox.sent) == 4


@pytest.mark.slow
def test_each_recipient_gets_a_picture_of_their_own_rows(world: ReportWorld, renderer: FakeRenderer) -> None:
    for name, region in (("anna", "EU"), ("bert", "US")):
        core = world.person(name, world.admin.datasets.get(1), email=f"{name}@example.com")
        rule = {"name": name, "filter_type": "Regular", "clause": f"region = '{region}'", "tables": [1]}
        world.admin.row_level_security.create({**rule, "roles": [core._actor().roles[0].id]})
    world.report(
        report_format="PNG", extra={"run_as": "recipient"}, recipients=[mail("anna@example.com; bert@example.com")]
    )
    world.pass_time()
    first, second = (json.dumps(drawn.specification) for drawn in renderer.drawn)
    assert ("EU" in first, "US" in first, "EU" in second, "US" in second) == (True, False, False, True)
    assert len({b"".join(entry.message.images[0].chunks()) for entry in world.outbox.sent}) == 2


# ------------------------------------------------------------------------------------------------ renderers that fail
class HostRenderer(FakeRenderer):
    """A host's renderer, which first does what a test wants."""

    def __init__(self, before: Callable[[], None]) -> None:
        super().__init__()
        self.before = before

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        self.before()
        return super().render(specification, format=format, scale=scale)


def test_a_renderer_that_raises_anything_is_an_error_of_the_run_that_tells_no_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("hunter2 21.0")

    with report_world(tmp_path, jobs=InlineJobRunner(), renderer=HostRenderer(broken)) as world:
        made = world.report(report_format="PNG")
        world.pass_time()
        (run,) = world.runs(made)
        assert (run.state, run.error_message) == ("Error", "By region: the renderer failed (RuntimeError)")
        assert [entry.message.subject for entry in world.outbox.sent] == ["Error occurred for Report: orders"]
        assert "ended in error: By region: the renderer failed (RuntimeError)" in caplog.text
        assert "hunter2" not in caplog.text


def test_what_a_renderer_raises_is_not_chained_to_the_error_of_a_picture(tmp_path: Path) -> None:
    def broken() -> None:
        raise RuntimeError("hunter2 21.0")

    with report_world(tmp_path, renderer=HostRenderer(broken)) as world:
        with pytest.raises(PictureError) as caught:
            world.admin.charts.picture(1)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(("busy", "state", "pauses"), [(0, "Success", 0), (9, "Success", 9), (10, "Error", 9)])
def test_a_run_waits_for_a_renderer_that_has_no_room(tmp_path: Path, busy: int, state: str, pauses: int) -> None:
    times = iter(range(busy))

    def wait_in_vain() -> None:
        if next(times, None) is not None:
            raise PictureError("other pictures were drawn", retryable=True)

    with report_world(tmp_path, jobs=InlineJobRunner(), renderer=HostRenderer(wait_in_vain)) as world:
        made = world.report(report_format="PNG")
        world.pass_time()
        assert world.states(made) == [state]
        assert world.host._runtime.reports.sleeper.slept_s == pauses  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_renderer_that_hangs_ends_the_run_at_its_working_timeout_and_nothing_is_sent(tmp_path: Path) -> None:
    entered, let_go = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        assert let_go.wait(120)

    url = f"sqlite:///{tmp_path}/meta.db"
    with report_world(tmp_path, url=url, jobs=ThreadJobRunner(workers=4), renderer=HostRenderer(hang)) as world:
        made = world.report(report_format="PNG")
        plain = world.report(name="plain", recipients=[mail("carl@example.com")])
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert entered.wait(60)
        with world.host._runtime.content.store.unit_of_work() as unit:
            run = unit.report_executions.get(world.runs(made)[0].id)
            unit.report_executions.update(replace(run, late_on=NOON), actor_id=None)
        world.host.scheduler.tick(wait=False)
        assert [run.error_message for run in world.runs(made)] == [TOOK_TOO_LONG]
        assert until(lambda: world.states(plain) == ["Success"])
        assert until(lambda: len(world.outbox.sent) == 2)
        let_go.set()
    subjects = sorted(entry.message.subject for entry in world.outbox.sent)
    assert subjects == ["Error occurred for Report: orders", "[Report] plain: By region"]


@pytest.mark.slow
def test_a_run_that_draws_while_its_process_ends_is_left_to_others(tmp_path: Path) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def draw_until_stopped() -> None:
        begun.set()
        assert stopped.wait(30)

    url, renderer = f"sqlite:///{tmp_path}/meta.db", HostRenderer(draw_until_stopped)
    with report_world(tmp_path, url=url, renderer=renderer) as world:
        made = world.report(chart=None, dashboard=shop(world), report_format="PNG")
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert begun.wait(20)
        (job,) = world.host._runtime.content.job_registry._jobs.values()
        ending = threading.Thread(target=world.host.close)
        ending.start()
        while not job.cancel.cancelled:
            time.sleep(0.01)
        stopped.set()
        ending.join()
    assert (len(renderer.drawn), world.outbox.attempts) == (1, ())  # of two charts
    chosen = Settings(secret_key=KEY, data_roots=(tmp_path,))
    outbox = Outbox()
    others = {"jobs": InlineJobRunner(), "notifiers": [outbox], "renderer": FakeRenderer()}
    with AnalyticsCore(chosen, metadata_url=url, clock=world.clock, acting_as=1, **others) as other:
        assert other.scheduler.tick().taken_up == 1
        assert [(run.state, run.error_message) for run in other.reports.executions(made.id)] == [("Success", None)]
        assert [len(entry.message.images) for entry in outbox.sent] == [1]


def without_renderer(world: ReportWorld) -> ReportsRuntime:
    """Return the reports of a process that draws nothing."""
    reports = world.host._runtime.reports
    return replace(reports, content=replace(reports.content, renderer=None))


def test_a_process_without_a_renderer_makes_texts_and_can_put_a_report_with_pictures_to_rest(
    world: ReportWorld,
) -> None:
    drawn = world.report(report_format="PNG")
    reports = Reports(without_renderer(world), world.admin._actor(), lambda _: world.admin._actor())
    payload = {"name": "text", "type": "Report", "crontab": "0 * * * *", "chart": 1}
    text = reports.create({**payload, "recipients": [mail("bob@example.com")]})
    assert text.report_format == "TEXT"
    assert reports.update(drawn.id, {"active": False, "name": "at rest"}).active is False
    for changes in ({"report_format": "PNG"}, {"extra": {"format": "PDF"}}):
        with pytest.raises(PayloadSchemaError, match=re.escape('pip install "analytics-core[charts]"')):
            reports.update(text.id, changes)


def test_a_process_without_a_renderer_says_what_it_lacks(world: ReportWorld) -> None:
    made, runtime = world.report(report_format="PNG"), without_renderer(world)
    with runtime.content.store.unit_of_work() as unit:
        trial = Trial.of(runtime, unit.report_schedules.get(made.id), lambda _: world.admin._actor(), at=None)
    with pytest.raises(ReportError, match=re.escape('pip install "analytics-core[charts]"')):
        list(trial.contents(None))


def opened(mails: MailServer) -> EmailMessage:
    """Return the last mail; `ANALYTICS_CORE_KEEP_MAILS` names a folder to look at it in."""
    found = mails.mails[-1]
    if folder := os.environ.get("ANALYTICS_CORE_KEEP_MAILS"):
        Path(folder, f"report-{len(mails.mails)}.eml").write_bytes(found.content)
    return found.parsed()


@pytest.mark.slow
def test_a_png_and_a_pdf_arrive_in_a_mail_server_and_open(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    with mail_server(folder, security="starttls") as mails:
        smtp = SmtpSettings(host="127.0.0.1", port=mails.port, sender="reports@example.com", ca_file=mails.ca_file)
        chosen = {"allowed_networks": ("127.0.0.1",)}
        drawing = {"settings": chosen, "notifiers": (EmailNotifier(smtp),), "renderer": VegaRenderer()}
        with report_world(tmp_path, jobs=InlineJobRunner(), **drawing) as world:
            made = world.report(report_format="PNG")
            world.pass_time()
            parts = {part.get_content_type(): part for part in opened(mails).walk()}
            image = parts["image/png"]
            assert (image["Content-ID"], image.get_content_disposition()) == ("<picture-1>", "inline")
            render = world.admin.charts.picture(1, width_px=800, scale=2.0)
            assert image.get_payload(decode=True) == render.data
            assert (render.format, render.data[16:24]) == (PictureFormat.PNG, b"\0\0\x06\x40\0\0\0\xe6")  # 1600 by 230
            world.admin.reports.delete(made.id)
            world.report(name="pdf", chart=None, dashboard=shop(world), extra={"format": "PDF"})
            world.pass_time()
            (file,) = opened(mails).iter_attachments()
            texts = [page.extract_text() for page in PdfReader(BytesIO(file.get_payload(decode=True))).pages]
            assert ["Regions" in texts[0], "21" in texts[0], "Totals" in texts[1], "31.5" in texts[1]] == [True] * 4
