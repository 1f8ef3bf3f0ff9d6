"""Content that one author makes large or deep costs its readers bounded time and memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.filtered_dashboard import FilteredDashboard, filtered_dashboard, native

from analytics_core import errors
from analytics_core._content.checks.difference import sql_difference

MOST_SECONDS = 20.0
"""What was quadratic took minutes; what is left takes about a second."""

MOST_BYTES = 200 << 20
MANY = 4_000


@pytest.fixture
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(f"sqlite:///{tmp_path_factory.mktemp('large')}/shop.db") as made:
        yield made


WRONG_FORMS: dict[str, dict[str, Any]] = {
    "annotation layers that are none": {"viz_type": "mixed_timeseries", "annotation_layers": ["x"] * 20_000},
    "filters that are none": {
        "viz_type": "table",
        "adhoc_filters": [
            {"expressionType": "SIMPLE", "clause": "WHERE", "subject": f"c{n}", "operator": "?", "comparator": n}
            for n in range(20_000)
        ],
    },
}


@pytest.mark.parametrize("name", WRONG_FORMS)
def test_a_form_with_thousands_of_wrong_values_is_refused_soon(filtered: FilteredDashboard, name: str) -> None:
    started = time.process_time()
    with pytest.raises(errors.PayloadSchemaError) as refused:
        filtered.reader.charts.payload_of({"datasource": "3__table", **WRONG_FORMS[name]})
    assert time.process_time() - started < MOST_SECONDS
    assert len(str(refused.value)) < 20_000


def nodes_of(dashboard: FilteredDashboard) -> dict[str, Any]:
    return {
        f"CHART-{key}": {"type": "CHART", "children": [], "meta": {"chartId": key}} for key in dashboard.charts.values()
    }


def test_thousands_of_filters_on_a_layout_of_thousands_of_nodes_are_read_soon(filtered: FilteredDashboard) -> None:
    places = nodes_of(filtered)
    rows = {f"ROW-{n}": {"type": "ROW", "children": [f"ROW-{n + 1}"], "meta": {}} for n in range(MANY)}
    layout = {**places, **rows, "ROOT_ID": {"type": "ROOT", "children": [*places, "ROW-0"]}}
    filters = [
        {**native(f"f{n}", "filter_select", column="city"), "scope": {"rootPath": [f"ROW-{n}"], "excluded": []}}
        for n in range(MANY)
    ]
    filtered.world.admin.dashboards.update(1, {"position_json": json.dumps(layout)})
    filtered.store(*filters)
    started = time.process_time()
    guest = filtered.world.guest("acme")
    assert len(guest.dashboards.data(1).filters) == MANY
    guest.dashboards.filter_options(1, "f1").raise_for_error()
    assert time.process_time() - started < MOST_SECONDS


def test_thousands_of_tabs_inside_each_other_take_little_memory(filtered: FilteredDashboard) -> None:
    chart = filtered.charts["ids"]
    layout: dict[str, Any] = {"ROOT_ID": {"type": "ROOT", "children": ["TAB-0"]}}
    for n in range(3 * MANY):
        layout[f"TAB-{n}"] = {"type": "TAB", "children": [f"C-{n}", f"TAB-{n + 1}"], "meta": {"text": str(n)}}
        layout[f"C-{n}"] = {"type": "CHART", "children": [], "meta": {"chartId": chart}}
    filtered.world.admin.dashboards.update(1, {"position_json": json.dumps(layout)})
    guest = filtered.world.guest("acme")
    tracemalloc.start()
    try:
        data = guest.dashboards.data(1, parallel=1)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < MOST_BYTES
    assert data.chart("ids").results[0].rows()
    assert data.charts[0].tabs == ("0",)


def test_statements_of_very_many_lines_are_told_apart_soon() -> None:
    before, after = ("\n".join(f"l{n * step % 97}" for n in range(60_000)) for step in (31, 57))
    started = time.process_time()
    difference = sql_difference(before, after)
    assert time.process_time() - started < 2.0
    assert difference == "too long to compare line by line: 60,000 lines in a, 60,000 lines in b"
    assert sql_difference(before, before) == ""
