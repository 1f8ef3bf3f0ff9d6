"""Keys that nobody reads and parts that have no effect: told in notes, and refused where a question is strict."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import context, guest_world
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core.errors import PayloadSchemaError, QueryError, UnknownColumnError

GROUPED: Mapping[str, Any] = {"columns": ["country"], "metrics": ["count"]}
METRIC: Mapping[str, Any] = {
    "expressionType": "SIMPLE",
    "aggregate": "SUM",
    "column": {"column_name": "amount", "id": 7, "filterable": True},
    "isNew": False,
    "datasourceWarning": False,
}
UNREAD = [
    ({"limit": 5}, {}, "queries.0.limit: is not a field here; did you mean 'row_limit'?"),
    ({"order_by": [["country", True]]}, {}, "queries.0.order_by: is not a field here; did you mean 'orderby'?"),
    ({"extras": {"time_grian_orm": "P1D"}}, {}, "queries.0.extras.time_grian_orm: is not a field here"),
    (
        {"filters": [{"col": "country", "op": "==", "val": "x", "value": "y"}]},
        {},
        "queries.0.filters.0.value: is not a field here; did you mean 'val'?",
    ),
    ({"metrics": [{**METRIC, "lable": "n"}]}, {}, "queries.0.metrics.0.lable: is not a field here"),
    ({"columns": [{"label": "a", "sqlExpression": "country", "grain": "P1D"}]}, {}, "queries.0.columns.0.grain"),
    ({"orderby": [[{**METRIC, "ascending": True}, True]]}, {}, "queries.0.orderby.0.0.ascending"),
    ({"post_processing": [{"operation": "sort", "option": {"by": "country"}}]}, {}, "post_processing.0.option: is"),
    ({"datasource": {"id": 1, "type": "table", "name": "x"}}, {}, "queries.0.datasource.name"),
    ({}, {"row_limit": 5}, "row_limit: is not a field here"),
    ({}, {"datasource": {"id": 1, "type": "table", "schema": "x"}}, "datasource.schema: is not a field here"),
]
UNUSED = [
    ({"time_range": "2024-01-01 : 2024-02-01"}, QueryError, "time_range '2024-01-01 : 2024-02-01' filters nothing"),
    ({"extras": {"time_grain_orm": "P1D"}}, QueryError, "time_grain_orm P1D is not used"),
    ({"columns": [], "series_limit": 3}, QueryError, "series_limit: 3 limits nothing"),
    (
        {"filters": [{"col": "contry", "op": "==", "val": "France"}]},
        UnknownColumnError,
        "has no column 'contry'; did you mean 'country'?",
    ),
    (
        {"post_processing": [{"operation": "cum", "options": {"operator": "sum", "columns": {"count": "n"}, "by": 1}}]},
        QueryError,
        r"post_processing\[0\] \(cum\): kept but not read: by",
    ),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(tmp_path_factory.mktemp("strict")) as world:
        world.orders()
        world.core.datasets.update(1, {"main_dttm_col": None})
        yield world


def asking(query: Mapping[str, Any], **context: Any) -> dict[str, Any]:
    return {"datasource": {"id": 1, "type": "table"}, "queries": [{**GROUPED, **query}], **context}


def lenient(core: AnalyticsCore, payload: Any) -> tuple[str, ...]:
    (result,) = core.charts.data(payload).results
    assert result.error is None
    return result.notes


@for_each(("query", "context", "message"), UNREAD, ids=[message for _, _, message in UNREAD])
def test_a_key_that_nobody_reads_is_refused_with_its_place(
    shop: SmallCore, query: dict[str, Any], context: dict[str, Any], message: str
) -> None:
    payload = asking(query, **context)
    for ask in (shop.core.charts.data, shop.core.charts.explain, shop.core.charts.submit):
        with pytest.raises(PayloadSchemaError) as rejected:
            ask(payload, strict=True)
        assert message in str(rejected.value)
    with pytest.raises(PayloadSchemaError):
        shop.core.charts.data(json.dumps(payload), strict=True)
    name = message.partition(":")[0].rpartition(".")[2]
    if "datasource" not in message:
        assert any(note.startswith("kept but not read: ") and name in note for note in lenient(shop.core, payload))


@for_each(("query", "kind", "message"), UNUSED, ids=[message for _, _, message in UNUSED])
def test_a_part_without_effect_is_refused_where_it_was_told(
    shop: SmallCore, query: dict[str, Any], kind: type[QueryError], message: str
) -> None:
    payload = asking(query)
    (result,) = shop.core.charts.data(payload, strict=True).results
    assert result.rowcount == 0
    with pytest.raises(kind, match=message):
        result.pandas()
    (explained,) = shop.core.charts.explain(payload, strict=True).queries
    assert isinstance(explained.failure, kind)
    lenient(shop.core, payload)
    with pytest.raises(kind):
        shop.core.charts.submit(payload, strict=True).result(20).results[0].pandas()
    if "post_processing" not in query:  # which needs all rows
        with shop.core.charts.batches(payload) as batches:
            assert sum(batch.num_rows for batch in batches) == shop.core.charts.data(payload).results[0].rowcount
        with pytest.raises(kind, match=message):
            shop.core.charts.batches(payload, strict=True)


def test_what_clients_send_with_every_query_is_not_refused(shop: SmallCore) -> None:
    payload = asking(
        {
            "metrics": [METRIC],
            "custom_params": {},
            "custom_form_data": {},
            "limit": None,
            "url_params": {"a": "b"},
            "filters": [{"col": "elsewhere", "op": "==", "val": 1, "isExtra": True}],  # a dashboard's
            "granularity_sqla": None,
            "extras": {"time_grain_sqla": None, "having": "", "where": ""},
        },
        form_data={"slice_id": 9, "anything": {"limit": 3}},
    )
    (result,) = shop.core.charts.data(payload, strict=True).results
    assert result.error is None
    assert result.notes == ()


def test_the_argument_of_a_call_goes_before_the_setting(tmp_path: Path) -> None:
    payload = asking({"limit": 5})
    with small_core(tmp_path, strict_queries=True) as shop:
        shop.orders()
        chart = shop.core.charts.create(
            {
                "slice_name": "c",
                "datasource_id": 1,
                "datasource_type": "table",
                "viz_type": "table",
                "query_context": json.dumps(payload),
            }
        )
        for question in (payload, chart.id):
            with pytest.raises(PayloadSchemaError, match=r"queries\.0\.limit"):
                shop.core.charts.data(question)
            assert shop.core.charts.data(question, strict=False).results[0].rowcount == 2
            with pytest.raises(PayloadSchemaError):
                shop.core.charts.data(question, strict=True)
        (warmed,) = shop.core.cache.warm_up_chart({"chart_id": chart.id}).result
        assert "queries.0.limit" in str(warmed.viz_error)


def test_a_lenient_answer_that_was_kept_is_no_answer_to_a_strict_question(shop: SmallCore) -> None:
    payload = asking({"limit": 5})
    assert lenient(shop.core, payload) == ("kept but not read: limit",)
    with pytest.raises(PayloadSchemaError):
        shop.core.charts.data(payload, strict=True)
    assert lenient(shop.core, payload) == ("kept but not read: limit",)


def test_overrides_of_annotation_layers_that_nobody_reads_are_refused(shop: SmallCore) -> None:
    layer = {"name": "l", "show": True, "showMarkers": False, "value": "1+1", "annotationType": "FORMULA"}
    payload = asking({"annotation_layers": [{**layer, "overrides": {"time_rnge": None}}]})
    with pytest.raises(PayloadSchemaError, match=r"overrides\.time_rnge: .* did you mean 'time_range'\?"):
        shop.core.charts.data(payload, strict=True)


def test_what_the_chart_of_a_layer_stores_is_not_the_callers_to_mend(shop: SmallCore) -> None:
    stored = {"columns": ["day"], "metrics": ["count"], "series_limit": 3}
    with pytest.raises(QueryError, match="limits nothing"):
        shop.core.charts.data(asking(stored), strict=True).raise_for_error()
    fields = {
        "slice_name": "l",
        "datasource_id": 1,
        "datasource_type": "table",
        "query_context": json.dumps(asking(stored)),
    }
    chart = shop.core.charts.create(fields)
    layer = {"name": "l", "show": True, "showMarkers": False, "value": chart.id, "annotationType": "EVENT"}
    layer |= {"sourceType": "table", "timeColumn": "day"}
    shop.core.charts.data(asking({"annotation_layers": [layer]}), strict=True).raise_for_error()


def test_guests_may_be_strict_too_and_the_setting_binds_them(tmp_path: Path) -> None:
    stored = json.dumps(context({"columns": ["city"], "metrics": ["revenue"], "limit": 3}))
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        world.admin.charts.update(2, {"query_context": stored})
        guest = world.guest()
        assert guest.charts.data(1, strict=True).results[0].error is None
        assert guest.charts.data(2).results[0].notes == ("kept but not read: limit",)
        with pytest.raises(PayloadSchemaError, match=r"queries\.0\.limit"):
            guest.charts.data(2, strict=True)
    with guest_world(f"sqlite:///{tmp_path}/other.db", strict_queries=True) as world:
        world.admin.charts.update(2, {"query_context": stored})
        with pytest.raises(PayloadSchemaError, match=r"queries\.0\.limit"):
            world.guest().charts.data(2)
        assert world.guest().charts.data(2, strict=False).results[0].rowcount == 2


def test_the_range_of_a_dashboard_that_filters_nothing_is_refused_as_the_querys_own(shop: SmallCore) -> None:
    chart = {"slice_name": "c", "datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(asking({}))}
    made = shop.core.charts.create(chart)
    added = [
        {"col": "__time_range", "op": "==", "val": "2024-01-01 : 2024-02-01"},
        {"col": "elsewhere", "op": "==", "val": 1},
    ]
    question = shop.core.charts.question(made.id, extra_filters=added)
    (result,) = shop.core.charts.data(question, strict=True).results
    assert "filters nothing" in str(result.error)
    question = shop.core.charts.question(made.id, extra_filters=added[1:])
    (result,) = shop.core.charts.data(question, strict=True).results
    assert result.rejected_filters == ({"column": "elsewhere", "reason": "not_in_datasource"},)
