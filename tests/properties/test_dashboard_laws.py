"""Laws of layouts, metadata and filters of dashboards: any JSON is taken or refused with a type, nothing gets lost."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics_core._content.dashboards.copies import remapped_layout, remapped_metadata
from analytics_core._content.questions.dashboard_content import charts_in, checked_content
from analytics_core._content.questions.dashboard_filters import with_changed_filters
from analytics_core._content.stored_json import json_object
from analytics_core._records.dashboard import Dashboard
from analytics_core.errors import PayloadError, PayloadSchemaError
from analytics_core.models.dashboard import DashboardNativeFiltersUpdate

CHARTS = st.integers(1, 9)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | CHARTS.map(str)
NAMES = st.sampled_from(
    [
        "positions",
        "meta",
        "chartId",
        "type",
        "children",
        "id",
        "scope",
        "excluded",
        "chartsInScope",
        "immune",
        "1",
        "2",
        "native_filter_configuration",
        "chart_configuration",
        "global_chart_configuration",
        "filter_scopes",
        "expanded_slices",
        "timed_refresh_immune_slices",
        "default_filters",
        "crossFilters",
    ]
)
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(NAMES, ANY_JSON, max_size=6)
SWAP = {1: 2, 2: 3, 3: 1}


@given(st.sampled_from(["position_json", "json_metadata"]), ANY_JSON | OBJECTS)
def test_any_json_is_taken_or_refused_with_a_type(field: str, content: Any) -> None:
    with contextlib.suppress(PayloadError):
        fields = checked_content({field: json.dumps(content)}, shape="x")
        assert all(isinstance(chart_id, int) for chart_id in fields.get("chart_ids", ()))
        assert isinstance(json.loads(fields[field]), dict)


@given(st.sampled_from(["position_json", "json_metadata"]), st.text(max_size=40))
def test_any_text_is_taken_or_refused_with_a_type(field: str, text: str) -> None:
    with contextlib.suppress(PayloadError):
        checked_content({field: text}, shape="x")


@given(OBJECTS)
def test_putting_nothing_in_the_places_of_charts_changes_nothing(content: dict[str, Any]) -> None:
    content = json_object(json.dumps(content))  # what is no JSON (NaN, infinity) is read as null
    text = json.dumps(content)
    assert _same(remapped_layout(text, {}), text)
    with contextlib.suppress(PayloadError):
        checked_content({"json_metadata": text}, shape="x")
        metadata = {key: value for key, value in content.items() if key != "default_filters"}
        assert _same(remapped_metadata(json.dumps(metadata), {}), json.dumps(metadata))


@given(st.lists(CHARTS, max_size=8))
def test_a_layout_of_copies_places_the_copies(chart_ids: list[int]) -> None:
    layout = {f"CHART-{n}": {"type": "CHART", "meta": {"chartId": chart_id}} for n, chart_id in enumerate(chart_ids)}
    copied = json.loads(remapped_layout(json.dumps(layout), SWAP) or "")
    assert charts_in(copied) == tuple(SWAP.get(chart_id, chart_id) for chart_id in charts_in(layout))


@given(OBJECTS)
def test_charts_swapped_thrice_are_where_they_were(content: dict[str, Any]) -> None:
    once = json.dumps(json_object(json.dumps(content)))  # what is no JSON (NaN, infinity) is read as null
    thrice: str | None = once
    for _ in range(3):
        thrice = remapped_metadata(thrice, SWAP)
    changed = {"default_filters", "filter_scopes", "expanded_slices", "chart_configuration"}  # keys may meet each other
    before, after = json.loads(once), json.loads(thrice or "")
    assert set(before) == set(after)
    assert all(_same(json.dumps(before[key]), json.dumps(after[key])) for key in set(before) - changed)


IDS = st.sampled_from(["a", "b", "c", "d", 1, 2])
FILTER_LISTS = st.lists(IDS, unique_by=str).map(lambda ids: [{"id": key, "old": True} for key in ids])


@given(FILTER_LISTS, st.lists(IDS), st.lists(IDS, unique_by=str), st.lists(IDS))
def test_no_filter_gets_lost_or_twice(
    stored: list[dict[str, Any]], deleted: list[Any], modified: list[Any], reordered: list[Any]
) -> None:
    page = Dashboard(uuid="u", json_metadata=json.dumps({"native_filter_configuration": stored, "kept": 1}))
    update = DashboardNativeFiltersUpdate.model_validate(
        {"deleted": deleted, "modified": [{"id": key, "old": False} for key in modified], "reordered": reordered}
    )
    before, gone, new = {str(item["id"]) for item in stored}, set(map(str, deleted)), set(map(str, modified))
    makes_sense = gone <= before and not gone & new and set(map(str, reordered)) <= (before | new) - gone
    if not makes_sense:
        with pytest.raises(PayloadSchemaError):
            with_changed_filters(page, update, shape="x")
        return
    metadata = json.loads(with_changed_filters(page, update, shape="x").json_metadata or "")
    after = [str(item["id"]) for item in metadata["native_filter_configuration"]]
    assert len(after) == len(set(after))
    assert set(after) == (before | new) - gone
    assert after[: len(set(map(str, reordered)))] == list(dict.fromkeys(map(str, reordered)))
    assert all(item["old"] is (str(item["id"]) not in new) for item in metadata["native_filter_configuration"])
    assert metadata["kept"] == 1


def _same(one: str | None, other: str) -> bool:
    """Tell whether two texts hold the same JSON; NaN, which json.dumps writes, is like itself here."""
    return json.dumps(json.loads(one or "{}"), sort_keys=True) == json.dumps(json.loads(other), sort_keys=True)
