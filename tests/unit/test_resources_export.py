"""What datasets, charts and dashboards say of themselves for another store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core._resources.dashboards.content import without_places_of_others
from analytics_core._resources.dashboards.copies import remapped_metadata
from analytics_core.errors import ChartAccessError, DashboardAccessError, DatasetAccessError, PayloadSchemaError


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.orders()
        yield made


def _chart(shop: SmallCore, **content: Any) -> int:
    payload = {"slice_name": "Revenue", "datasource_id": 1, "datasource_type": "table"}
    texts = {name: json.dumps(value) for name, value in content.items()}
    return shop.core.charts.create({**payload, **texts}).id


def test_a_dataset_says_everything_but_what_is_its_stores(shop: SmallCore) -> None:
    columns = [{"column_name": "day", "verbose_name": "Day", "is_dttm": True}, {"column_name": "amount"}]
    calculated = {"column_name": "big", "expression": "amount > 5", "type": "BOOLEAN"}
    shop.core.datasets.update(
        1, {"columns": [*columns, calculated], "always_filter_main_dttm": True, "main_dttm_col": "day", "offset": 2}
    )
    shop.core.datasets.update(1, {"is_sqllab_view": True})
    payload = shop.core.datasets.export_payload(1)
    assert payload["is_sqllab_view"] is True
    assert {"id", "uuid", "owners", "database_id", "table_name", "schema"}.isdisjoint(payload)
    assert (payload["always_filter_main_dttm"], payload["main_dttm_col"], payload["offset"]) == (True, "day", 2)
    day, _, big = payload["columns"]
    assert (day["verbose_name"], day["is_dttm"], "type" in day, big["type"]) == ("Day", True, False, "BOOLEAN")
    before = shop.core.datasets.get(1)
    assert shop.core.datasets.update(1, payload).columns == before.columns


def test_a_chart_speaks_of_its_dataset_there_wherever_it_names_it(shop: SmallCore) -> None:
    form = {"datasource": "1__table", "slice_id": 9, "dashboards": [3], "limit": 1}
    context = {"datasource": {"id": 1, "type": "table"}, "queries": [{"row_limit": 1}], "form_data": form}
    chart = _chart(shop, params=form, query_context=context)
    payload = shop.core.charts.export_payload(chart, dataset_ids={1: 8})
    moved = {"datasource": "8__table", "limit": 1}
    assert payload["datasource_id"] == 8
    assert json.loads(payload["params"]) == moved
    assert json.loads(payload["query_context"]) == {
        "datasource": {"id": 8, "type": "table"},
        "queries": [{"row_limit": 1}],
        "form_data": moved,
    }


def test_annotation_layers_of_a_chart_show_the_records_there(shop: SmallCore) -> None:
    layers = [
        {"name": "n", "sourceType": "NATIVE", "value": 4},
        {"name": "c", "sourceType": "line", "value": 5},
        {"name": "f", "annotationType": "FORMULA", "value": "x+1"},
    ]
    chart = _chart(shop, query_context={"queries": [{"annotation_layers": layers}]})
    payload = shop.core.charts.export_payload(
        chart, dataset_ids={1: 1}, chart_ids={5: 50}, annotation_layer_ids={4: 40}
    )
    (query,) = json.loads(payload["query_context"])["queries"]
    assert [layer["value"] for layer in query["annotation_layers"]] == [40, 50, "x+1"]
    written = [{"name": "x", "source_type": layer.get("sourceType"), "value": str(layer["value"])} for layer in layers]
    other = _chart(shop, query_context={"queries": [{"annotation_layers": written}]})
    moved = shop.core.charts.export_payload(other, dataset_ids={1: 1}, chart_ids={5: 50}, annotation_layer_ids={4: 40})
    (query,) = json.loads(moved["query_context"])["queries"]
    assert [layer["value"] for layer in query["annotation_layers"]] == ["40", "50", "x+1"]
    with pytest.raises(PayloadSchemaError, match="chart_ids: has no id for chart 5"):
        shop.core.charts.export_payload(other, dataset_ids={1: 1}, annotation_layer_ids={4: 40})
    with pytest.raises(PayloadSchemaError, match="annotation_layer_ids: has no id for annotation layer 4"):
        shop.core.charts.export_payload(chart, dataset_ids={1: 1}, chart_ids={5: 50})
    with pytest.raises(PayloadSchemaError, match="chart_ids: has no id for chart 5"):
        shop.core.charts.export_payload(chart, dataset_ids={1: 1}, annotation_layer_ids={4: 40})


def test_a_chart_whose_dataset_has_no_id_there_is_refused(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="dataset_ids: has no id for dataset 1"):
        shop.core.charts.export_payload(_chart(shop), dataset_ids={2: 3})


@pytest.mark.parametrize(
    "text", [None, "", "[1]", '{"datasource": "else"}', '{"datasource": 5}', '{"datasource": "12345678901__table"}']
)
def test_a_chart_of_another_hosts_making_keeps_what_nobody_understands(shop: SmallCore, text: str | None) -> None:
    chart = _chart(shop)
    shop.core.charts.update(chart, {"params": text})
    payload = shop.core.charts.export_payload(chart, dataset_ids={1: 1})
    assert payload["params"] == text


def test_a_dashboard_names_each_chart_and_dataset_that_has_no_id_there(shop: SmallCore) -> None:
    nodes = {f"C{n}": {"type": "CHART", "meta": {"chartId": _chart(shop)}} for n in range(2)}
    filters = [{"id": "f", "targets": [{"datasetId": 7, "column": {"name": "x"}}, {}]}]
    page = shop.core.dashboards.create(
        {
            "position_json": json.dumps(nodes),
            "json_metadata": json.dumps({"native_filter_configuration": filters}),
        }
    )
    with pytest.raises(PayloadSchemaError) as caught:
        shop.core.dashboards.export_payload(page.id, chart_ids={1: 5}, dataset_ids={})
    assert [(problem.path, problem.message) for problem in caught.value.problems] == [
        ("chart_ids", "has no id for chart 2 of the dashboard"),
        ("dataset_ids", "has no id for dataset 7 of the dashboard"),
    ]


def test_only_who_may_read_a_record_is_told_what_makes_it(shop: SmallCore) -> None:
    chart, page = _chart(shop), shop.core.dashboards.create({"dashboard_title": "Draft"})
    stranger = shop.reader(username="stranger")
    with pytest.raises(DatasetAccessError):
        stranger.datasets.export_payload(1)
    with pytest.raises(ChartAccessError):
        stranger.charts.export_payload(chart, dataset_ids={1: 1})
    with pytest.raises(DashboardAccessError):
        stranger.dashboards.export_payload(page.id, chart_ids={}, dataset_ids={})


def test_metadata_for_elsewhere_mentions_no_other_charts() -> None:
    metadata = {
        "chart_configuration": {"1": {"id": 1, "crossFilters": {"chartsInScope": [2, 9]}}, "9": {"id": 9}, "x": 3},
        "timed_refresh_immune_slices": [9, 2],
        "expanded_slices": {"9": True, "2": True},
        "filter_scopes": {"9": {}, "1": {"country": {"immune": [9]}}},
        "default_filters": '{"9": {}, "1": {"country": ["9"]}}',
    }
    text = remapped_metadata(json.dumps(metadata), {1: 11, 2: 12}, keep_others=False)
    assert json.loads(text or "") == {
        "chart_configuration": {"11": {"id": 11, "crossFilters": {"chartsInScope": [12]}}, "x": 3},
        "timed_refresh_immune_slices": [12],
        "expanded_slices": {"12": True},
        "filter_scopes": {"11": {"country": {"immune": []}}},
        "default_filters": '{"11": {"country": ["9"]}}',
    }


def test_places_of_other_charts_leave_the_layout_and_their_parents() -> None:
    layout = {
        "VERSION": "v2",
        "ROW": {"children": ["A", "B", "TEXT"]},
        "A": {"meta": {"chartId": 1}},
        "B": {"meta": {"chartId": 2}},
        "TEXT": {"meta": {"text": "x"}},
    }
    kept = json.loads(without_places_of_others(json.dumps(layout), [2]) or "")
    assert (sorted(kept), kept["ROW"]["children"]) == (["B", "ROW", "TEXT", "VERSION"], ["B", "TEXT"])
