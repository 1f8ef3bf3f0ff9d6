"""Charts are found by the name that they alone have, as datasets are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import NotFoundError, PayloadFormatError


@pytest.fixture(scope="module")
def core() -> Iterator[AnalyticsCore]:
    with analytics_core.connect([{"region": "North", "n": 1}, {"region": "South", "n": 2}]) as core:
        data = core.dataset("data")
        data.query("n").by("region").chart("bar").save_as("By region")
        data.query("n").save_as("Total")
        data.query("n").save_as("Total")
        yield core


@pytest.mark.slow
def test_a_chart_is_got_and_asked_by_its_name(core: AnalyticsCore) -> None:
    found = core.charts.get("By region")
    assert found.slice_name == "By region"
    assert core.charts.data("By region").results[0].rows() == core.charts.data(found.id).results[0].rows()
    assert str(core.charts.explain("By region")) == str(core.charts.explain(found.id))
    assert core.charts.submit("By region").result(30).results[0].rowcount == 2


def test_a_chart_is_drawn_by_its_name(core: AnalyticsCore) -> None:
    by_name, by_id = (core.charts.picture(key, format="svg") for key in ("By region", 1))
    assert by_name.specification == by_id.specification


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("By regions", r"there is no chart 'By regions' \(give its id or its name\)"),
        ("Total", "there is no chart 'Total' alone: 2, 3 are called so; give an id"),
    ],
)
def test_a_name_of_no_chart_or_of_several_is_an_error(core: AnalyticsCore, name: str, message: str) -> None:
    for ask in (core.charts.get, core.charts.data, core.charts.picture, core.charts.explain):
        with pytest.raises(NotFoundError, match=message):
            ask(name)


@pytest.mark.slow
def test_a_query_context_as_text_is_still_one(core: AnalyticsCore) -> None:
    context = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["region"], "metrics": ["count"]}]}
    assert core.charts.data(json.dumps(context)).results[0].rowcount == 2
    with pytest.raises(PayloadFormatError):
        core.charts.data('{"queries": ')
