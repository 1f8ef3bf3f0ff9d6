"""Pictures in reports that run as their recipients: nobody gets what only another recipient may see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.reports import TOTAL, ReportWorld, mail, report_world

from analytics_core import AnalyticsCore
from analytics_core.testing import FakeRenderer, InlineJobRunner

SECRETS = ("111111", "222222", "333333")
BOTH = {"recipients": [mail("alice@example.com; mallory@example.com")], "extra": {"run_as": "recipient"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipients:
    """A world in which Alice may see all salaries, Mallory none; both may see the orders."""

    world: ReportWorld
    renderer: FakeRenderer
    mallory: AnalyticsCore
    salaries: int

    def displayed(self, drawn: str) -> list[str]:
        """Return what of the salaries stands in something that was drawn."""
        return [one for one in SECRETS if one in drawn]

    def images(self) -> dict[str, bytes]:
        """Return the image that each address got."""
        return {one.recipient.to[0]: b"".join(one.message.images[0].chunks()) for one in self.world.outbox.sent}


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Recipients]:
    renderer = FakeRenderer()
    with report_world(tmp_path, jobs=InlineJobRunner(), renderer=renderer) as world:
        rows = ", ".join(f"('2026-01-0{day}', {amount})" for day, amount in enumerate(SECRETS, 1))
        world.run_sql(f"CREATE TABLE salaries (day DATE, amount REAL); INSERT INTO salaries VALUES {rows};")
        orders = world.admin.datasets.get(1)
        salaries = world.admin.datasets.create({"database": 1, "table_name": "salaries"})
        world.person("alice", orders, salaries, email="alice@example.com")
        mallory = world.person("mallory", orders, email="mallory@example.com")
        yield Recipients(world=world, renderer=renderer, mallory=mallory, salaries=salaries.id)


def line_chart(core: AnalyticsCore, dataset_id: int, **form: Any) -> int:
    kind = "echarts_timeseries_line"
    params = {"viz_type": kind, "x_axis": "day", "metrics": [TOTAL], "groupby": [], **form}
    named = {"slice_name": "by day", "viz_type": kind, "datasource_id": dataset_id, "datasource_type": "table"}
    return int(core.charts.create({**named, "params": json.dumps(params)}).id)


def test_the_value_that_a_filter_begins_with_is_not_shown_to_others(people: Recipients) -> None:
    own = line_chart(people.mallory, 1)
    native = {
        "id": "NATIVE_FILTER-s",
        "name": "Salary",
        "filterType": "filter_select",
        "targets": [{"datasetId": people.salaries, "column": {"name": "amount"}}],
        "controlValues": {"defaultToFirstItem": True},
        "scope": {"rootPath": ["ROOT_ID"], "excluded": [own]},
    }
    metadata = json.dumps({"native_filter_configuration": [native]})
    made = people.mallory.dashboards.create({"dashboard_title": "M", "published": True, "json_metadata": metadata})
    people.mallory.charts.update(own, {"dashboards": [made.id]})
    people.world.report(people.mallory, chart=None, dashboard=made.id, report_format="PNG", **BOTH)
    people.world.pass_time()
    pages = ["".join(one.pages) for one in people.renderer.drawn if one.pages]
    assert [people.displayed(page) for page in pages] == [["111111"], []]
    assert len(set(people.images().values())) == len(people.images()) == 2


def annotated_chart(people: Recipients) -> int:
    """Return a chart of Mallory's that draws the salaries over the orders."""
    layer: dict[str, Any] = dict.fromkeys(("intervalEndColumn", "titleColumn"), "")
    layer |= {"name": "L", "annotationType": "TIME_SERIES", "sourceType": "line", "timeColumn": "day", "show": True}
    layer |= {"value": line_chart(people.world.admin, people.salaries), "style": "solid", "showMarkers": False}
    return line_chart(people.mallory, 1, annotation_layers=[{**layer, "descriptionColumns": []}])


def test_a_layer_that_one_recipient_may_not_read_is_sent_to_nobody(people: Recipients) -> None:
    made = people.world.report(people.mallory, chart=annotated_chart(people), report_format="PNG", **BOTH)
    people.world.pass_time()
    assert people.world.states(made) == ["Error"]
    assert [one.message.images for one in people.world.outbox.sent] == [()]  # the notice for the owner
    assert "no access to chart" in people.world.runs(made)[0].error_message


def test_the_rows_of_a_layer_are_those_of_its_reader(people: Recipients) -> None:
    admin = people.world.admin
    role = next(role for role in admin.roles.list() if role.name == "role of mallory")
    admin.roles.grant(role.id, on=admin.datasets.get(people.salaries))
    rule = {"name": "first", "filter_type": "Regular", "clause": "amount = 111111", "tables": [people.salaries]}
    admin.row_level_security.create({**rule, "roles": [role.id]})
    people.world.report(people.mallory, chart=annotated_chart(people), report_format="PNG", **BOTH)
    people.world.pass_time()
    drawn = [people.displayed(json.dumps(one.specification)) for one in people.renderer.drawn]
    assert drawn == [list(SECRETS), ["111111"]]
    assert len(set(people.images().values())) == len(people.images()) == 2


def test_recipients_with_equal_rows_share_one_picture(people: Recipients) -> None:
    people.world.report(people.mallory, report_format="PNG", **BOTH)
    people.world.pass_time()
    assert (len(people.renderer.drawn), len(people.images())) == (1, 2)
