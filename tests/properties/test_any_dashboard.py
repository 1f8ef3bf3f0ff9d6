"""Whatever a dashboard stores, and whatever is asked of it, it answers with data or typed errors, chart by chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_form import HOSTILE, places, with_value
from tests.support.filtered_dashboard import FILTERS, FilteredDashboard, by_hand, filtered_dashboard, native

from analytics_core.errors import AnalyticsError

METADATA: dict[str, Any] = {
    "native_filter_configuration": [
        {**filter_, "controlValues": {"defaultToFirstItem": True, "multiSelect": True, "sortMetric": "revenue"}}
        for filter_ in FILTERS
    ]
    + [
        native(
            "masked",
            "filter_select",
            column="city",
            adhoc_filters=[
                {
                    "clause": "WHERE",
                    "expressionType": "SIMPLE",
                    "subject": "city",
                    "operator": "==",
                    "comparator": "Ulm",
                }
            ],
            defaultDataMask={
                "extraFormData": {"filters": [{"col": "city", "op": "IN", "val": ["Ulm"]}], "time_range": "No filter"},
                "filterState": {"value": ["Ulm"], "label": "Ulm"},
            },
            chartsInScope=[1, 2],
            tabsInScope=["TAB-1"],
            requiredFirst=True,
            time_range="No filter",
            granularity_sqla="day",
        )
    ],
    "chart_customization_config": [
        {"id": "by", "type": "CHART_CUSTOMIZATION", "customization": {"dataset": 3, "column": "city", "value": "city"}}
    ],
    "chart_configuration": {
        "1": {"id": 1, "crossFilters": {"scope": "global", "chartsInScope": [1, 2]}},
    },
    "global_chart_configuration": {"scope": {"rootPath": ["ROOT_ID"], "excluded": []}, "chartsInScope": [1, 2]},
    "cross_filters_enabled": True,
    "default_filters": '{"1": {"city": ["Ulm"]}}',
    "filter_scopes": {"1": {"city": {"scope": ["ROOT_ID"], "immune": []}}},
    "timed_refresh_immune_slices": [],
}
ANYTHING = st.sampled_from(HOSTILE)
CROSS_FILTERS: dict[str, Any] = {"1": {"extraFormData": {"filters": [{"col": "city", "op": "IN", "val": ["Ulm"]}]}}}
VALUES: dict[str, Any] = {
    "region": ["north"],
    "amount": [1, 50],
    "time": "No filter",
    "grain": "P1M",
    "time column": "day",
}
FUZZ = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(f"sqlite:///{tmp_path_factory.mktemp('any')}/shop.db") as made:
        yield made


def ask(board: FilteredDashboard, **given_: Any) -> None:
    """Ask all that a dashboard answers, for each actor; what it raises beside typed errors goes on."""
    for name, (core, _) in board.actors().items():
        with suppress(AnalyticsError):
            for chart in core.dashboards.data(1, **given_):
                with suppress(AnalyticsError):
                    chart.raise_for_error()
        if name == "guest":
            continue
        for filter_id in ("region", "city", "masked", "amount"):
            with suppress(AnalyticsError):
                core.dashboards.filter_options(1, filter_id, filters=given_.get("filters"))


def without_hidden(board: FilteredDashboard, **given_: Any) -> None:
    """Check that guest and reader are answered inside of their rows."""
    acme = {key for (key,) in by_hand("ids", "tenant = 'acme'")}
    for name in ("reader", "guest"):
        core, _ = board.actors()[name]
        with suppress(AnalyticsError):
            data = core.dashboards.data(1, **given_)
            with suppress(AnalyticsError):
                assert {key for key, *_ in data.chart("ids").results[0].rows()} <= acme
            with suppress(AnalyticsError):
                assert sum(row[0] or 0 for row in data.chart("total").results[0].rows()) <= 150


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_whatever_is_stored_is_answered_or_told(filtered: FilteredDashboard, data: st.DataObject) -> None:
    stored = with_value(METADATA, data.draw(st.sampled_from(list(places(METADATA)))), data.draw(ANYTHING))
    with suppress(AnalyticsError, UnicodeEncodeError):
        filtered.world.admin.dashboards.update(1, {"json_metadata": json.dumps(stored)})
        ask(filtered)
        without_hidden(filtered)


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_whatever_layout_is_stored_is_answered_or_told(filtered: FilteredDashboard, data: st.DataObject) -> None:
    filtered.store()
    layout = json.loads(filtered.world.admin.dashboards.get(1).position_json or "{}")
    changed = with_value(layout, data.draw(st.sampled_from(list(places(layout)))), data.draw(ANYTHING))
    try:
        with suppress(AnalyticsError, UnicodeEncodeError):
            filtered.world.admin.dashboards.update(1, {"position_json": json.dumps(changed)})
            ask(filtered, tabs=["Cities"])
            without_hidden(filtered)
    finally:
        filtered.world.admin.dashboards.update(1, {"position_json": json.dumps(layout)})


@pytest.mark.slow
@FUZZ
@given(data=st.data())
def test_whatever_is_asked_is_answered_or_told(filtered: FilteredDashboard, data: st.DataObject) -> None:
    filtered.store()
    request = {"filters": VALUES}
    request = with_value(request, data.draw(st.sampled_from(list(places(request)))), data.draw(ANYTHING))
    ask(filtered, **request)
    without_hidden(filtered, **request)
    given_ = {"filters": VALUES, "cross_filters": CROSS_FILTERS, "url_params": {"a": "b"}, "tabs": ["Cities"]}
    given_ = with_value(given_, data.draw(st.sampled_from(list(places(given_)))), data.draw(ANYTHING))
    reader, _ = filtered.actors()["reader"]
    with suppress(AnalyticsError):
        found = reader.dashboards.data(1, **given_)
        with suppress(AnalyticsError):
            assert {key for key, *_ in found.chart("ids").results[0].rows()} <= {1, 2, 3, 4, 5}
