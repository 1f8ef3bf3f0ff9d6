"""What notebooks and mails show of hostile texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Calm
from tests.support.browser import Browser
from tests.support.hostile_pages import TEXTS, aimed
from tests.support.hostile_world import charts, dashboard, dataset, stored
from tests.support.reports import form, report_world

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError
from analytics_core.testing import InlineJobRunner

LAST = "<p id=last></p>"
LAST_IS_LAST = "document.body.lastElementChild.id"
PIXELS = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


def objects(core: AnalyticsCore, folder: Path, text: str) -> Iterator[Any]:
    """Yield what people look at in a notebook, each with the text in it."""
    made = dataset(core, folder, text)
    chart_ids = charts(core, made, text)
    board = dashboard(core, text=text, chart_ids=chart_ids)
    yield from (core, core.charts, core.datasets, core.databases.get(1), core.databases.list())
    yield from (core.datasets.get(made), core.datasets.list(), core.charts.list(), core.dashboards.list())
    for chart in chart_ids:
        yield from (core.charts.get(chart), core.charts.data(chart), core.charts.picture(chart, format="svg"))
    yield from (core.charts.explain(chart_ids[1]), core.charts.submit(chart_ids[1]))
    yield from (core.dashboards.get(board), core.dashboards.data(board), core.dashboards.picture(board, format="svg"))
    yield from (core.check(), core.tags.list(), core.users.list())
    for wrong in ({"columns": [text[:500]]}, {"metrics": [text[:500]]}, {"time_range": text[:500]}, {text[:500]: 1}):
        context = {"datasource": {"id": made, "type": "table"}, "queries": [{"columns": ["region"], **wrong}]}
        try:
            yield core.charts.data(context).raise_for_error()
        except AnalyticsError as error:
            yield error


def forms_of(display: Any) -> Iterator[str]:
    """Yield what a notebook puts into its page of an object."""
    bundle = display._repr_mimebundle_()
    yield from (bundle[kind] for kind in ("text/html", "image/svg+xml") if kind in bundle)


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_that_a_notebook_shows_acts(
    core: AnalyticsCore, browser: Browser, is_calm: Calm, tmp_path: Path, name: str
) -> None:
    text = aimed(TEXTS[name], browser.address)
    forms = [made for one in objects(core, tmp_path, text) for made in forms_of(one)]
    assert len(forms) > 30
    page = "".join(f"<div>{one}</div>" for one in forms)
    is_calm(f"<!doctype html><meta charset=utf-8><body>{page}{LAST}</body>", payloads=len(forms))
    assert browser.evaluate(LAST_IS_LAST) == "last"


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_that_a_mail_shows_acts(browser: Browser, is_calm: Calm, tmp_path: Path, name: str) -> None:
    text = aimed(TEXTS[name], browser.address)
    with report_world(tmp_path, jobs=InlineJobRunner()) as world:
        world.run_sql(f"INSERT INTO orders VALUES (4, '2026-01-04', '{stored(text).replace(chr(39), chr(39) * 2)}', 1)")
        world.admin.charts.update(1, {"slice_name": stored(text)})
        broken = {"slice_name": stored(text, 100), "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
        wrong = world.admin.charts.create({**broken, "params": form(1, groupby=[stored(text, 100)])}).id
        board = dashboard(world.admin, text=text, chart_ids=[1])
        fields = {
            "description": stored(text),
            "extra": {"subject": stored(text, 100).replace("{{", "{ {").replace("}}", "} }")},
        }
        for number, kind in enumerate(("TEXT", "PNG", "CSV")):
            world.report(name=f"{number}{stored(text, 100)}", report_format=kind, **fields)
        world.report(name=f"b{stored(text, 100)}", chart=None, dashboard=board, report_format="PNG", **fields)
        world.report(name=f"w{stored(text, 100)}", chart=wrong, **fields)
        world.alert(name=f"a{stored(text, 100)}", **fields)
        world.pass_time()
        mails = [entry.message.html for entry in world.outbox.sent if entry.message.html is not None]
    assert len(mails) >= 5  # what owners are told of a run that failed is plain text
    page = "".join(f"<div>{re.sub('cid:[a-z0-9-]+', PIXELS, html)}</div>" for html in mails)
    is_calm(f"<!doctype html><meta charset=utf-8><body>{page}{LAST}</body>", payloads=len(mails))
    assert browser.evaluate(LAST_IS_LAST) == "last"
