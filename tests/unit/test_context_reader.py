"""Payloads are read once; the quick look at their JSON bytes never lets through what the full look refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._content.lookups.chart_contexts import ChartContexts, stored_form
from analytics_core._engine.compile.explanation import ExplainedClause
from analytics_core._engine.compile.plan import RejectedFilter
from analytics_core._engine.querying.chart_request import ChartRequest, notes_of, requested_queries
from analytics_core._engine.querying.explain import ExplainedQuery, Explanation, with_form_fields
from analytics_core._engine.querying.reading import ContextReader
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import User
from analytics_core._superset.registry import ChartKinds
from analytics_core.errors import LimitError, PayloadError, PayloadFormatError
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.testing.store.records import a_chart

ANNA = Actor(user=User(id=2, username="anna"))
NOW = datetime(2024, 6, 1, tzinfo=UTC)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats()
    | st.text(max_size=4)
    | st.just("a\x00")
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def read(reader: ContextReader, payload: Any, **options: Any) -> ChartRequest:
    return reader.read(payload, actor=ANNA, now=NOW, **options)


def _outcome(read: Any, payload: Any) -> Any:
    try:
        return read(payload)
    except PayloadError as error:
        return str(error)


@given(form_data=VALUES)
def test_reading_with_and_without_the_quick_look_gives_the_same(form_data: Any) -> None:
    payload = {"queries": [{"columns": ["a"]}], "form_data": form_data}
    quick = _outcome(lambda value: read(ContextReader(most_queries=5), value).context, payload)
    full = _outcome(parse_query_context, payload)
    assert repr(quick) == repr(full)


@pytest.mark.parametrize("hostile", ["a\x00b", "\ud800", float("nan"), float("inf")])
def test_text_and_numbers_that_no_engine_takes_are_refused(hostile: object) -> None:
    with pytest.raises(PayloadError):
        read(ContextReader(most_queries=5), {"queries": [{"filters": [{"col": "a", "op": "==", "val": hostile}]}]})


def test_a_payload_nested_without_end_is_refused() -> None:
    deepest: dict[str, Any] = {}
    payload = {"form_data": deepest}
    for _ in range(80):
        deepest["a"] = {}
        deepest = deepest["a"]
    with pytest.raises(PayloadError, match="levels deep"):
        read(ContextReader(most_queries=5), payload)


def test_the_same_payload_is_validated_once() -> None:
    reader = ContextReader(most_queries=5)
    payload = {"queries": [{"columns": ["a"]}]}
    assert read(reader, payload).context is read(reader, dict(payload)).context


def test_the_form_of_a_chart_is_built_once_until_the_chart_changes() -> None:
    contexts = ChartContexts(ChartKinds())
    chart = a_chart(id=7, viz_type="table", datasource_id=4, datasource_type="table", params='{"metrics": ["count"]}')
    assert contexts.of_chart(chart) is contexts.of_chart(replace(chart))
    changed = contexts.of_chart(replace(chart, params='{"metrics": ["units"]}'))
    assert ["units" in one.text for one in (contexts.of_chart(chart), changed)] == [False, True]


def test_a_changed_payload_is_another_one() -> None:
    reader = ContextReader(most_queries=5)
    assert (
        read(reader, {"queries": [{"columns": ["a"]}]}).digest != read(reader, {"queries": [{"columns": ["b"]}]}).digest
    )


def test_of_a_known_shape_the_values_alone_are_read() -> None:
    reader = ContextReader(most_queries=5)
    queries = [{"columns": ["a"], "filters": [{"col": "a", "op": "==", "val": value}]} for value in (1, 2)]
    first, second = (read(reader, {"queries": [query], "form_data": {"n": n}}) for n, query in enumerate(queries))
    assert (first.is_of_known_shape, second.is_of_known_shape) == (False, True)
    assert second.context.queries[0].columns is first.context.queries[0].columns
    assert second.context == parse_query_context({"queries": [queries[1]], "form_data": {"n": 1}})


def test_a_long_payload_is_remembered_for_no_other_one() -> None:
    reader = ContextReader(most_queries=5)
    filters = [{"col": "a", "op": "IN", "val": ["x" * 100] * 1_000}]
    requests = [read(reader, {"queries": [{"filters": filters, "row_limit": limit}]}) for limit in (1, 2, 3)]
    assert not any(request.is_of_known_shape for request in requests)


def test_a_context_with_more_queries_than_allowed_is_refused_however_it_is_given() -> None:
    query = {"columns": ["a"]}
    reader = ContextReader(most_queries=2)
    assert len(read(reader, {"queries": [query] * 2}).context.queries) == 2
    many: dict[str, Any] = {"queries": [query] * 3}
    for payload in (many, json.dumps(many), json.dumps(many).encode(), parse_query_context(many)):
        with pytest.raises(LimitError, match=r"2 queries at most \(Settings.max_queries_per_context\), not 3"):
            read(reader, payload)


LISTS: dict[str, Any] = {
    "annotation_layers": {"name": "x", "annotationType": "FORMULA", "value": "x", "show": True, "showMarkers": True},
    "columns": {"label": "x", "sqlExpression": "id"},
    "filters": {"col": "id", "op": "==", "val": 1},
    "groupby": "id",
    "metrics": {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "x"},
    "orderby": ["id", True],
    "post_processing": {"operation": "cum", "options": {}},
    "series_columns": "id",
}


@for_each("name", LISTS)
def test_a_list_of_more_items_than_allowed_is_refused_before_it_is_planned(name: str) -> None:
    reader = ContextReader(most_queries=5, most_items=3)
    assert read(reader, {"queries": [{name: [LISTS[name]] * 3}]}).context.queries
    many: dict[str, Any] = {"queries": [{"columns": ["id"]}, {name: [LISTS[name]] * 4}]}
    for payload in (many, json.dumps(many), parse_query_context(many)):
        with pytest.raises(LimitError, match=r"has 4 items; at most 3 are allowed \(Settings.max_items_per_list\)"):
            read(reader, payload)


@for_each(
    ("payload", "message"),
    [
        ({"datasource": {"id": 1, "type": "table"}}, "name at least one query"),
        ({"datasource": {"id": 1, "type": "table"}, "queries": []}, "name at least one query"),
        ({"form_data": {}}, "name at least one query"),
        ({}, "name at least one query"),
        ({"form_data": {"viz_type": "table", "datasource": "1__table"}}, "form data alone cannot be answered yet"),
    ],
)
def test_a_context_that_asks_nothing_is_refused(payload: dict[str, Any], message: str) -> None:
    for requested in (payload, json.dumps(payload), parse_query_context(payload)):
        with pytest.raises(PayloadError, match=message):
            read(ContextReader(most_queries=5), requested)


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": [{"columns": ["a"]}], "queries": [{"columns": ["b"]}]}',
        '{"queries": [{"filters": [{"col": "a", "op": "==", "val": 1, "val": 2}]}]}',
        '{"queries": [{"columns": ["a"]}], "form_data": {"x": {"y": 1, "y": 1}}}',
    ],
)
def test_json_with_a_key_twice_is_refused(text: str) -> None:
    for payload in (text, text.encode()):
        with pytest.raises(PayloadError, match=r"names the key .\w+. twice"):
            read(ContextReader(most_queries=5), payload)


def test_a_number_that_is_none_is_refused_though_the_same_payload_with_null_was_read() -> None:
    reader = ContextReader(most_queries=5)
    for value in (None, float("nan"), float("inf")):
        payload = {"queries": [{"columns": ["a"], "filters": [{"col": "a", "op": "==", "val": value}]}]}
        if value is None:
            assert read(reader, payload).context.queries[0].filters[0].val is None
            continue
        with pytest.raises(PayloadFormatError, match="NaN and infinity"):
            read(reader, payload)


def test_parameters_in_form_data_are_told_to_be_unread() -> None:
    def notes(**query: object) -> tuple[str, ...]:
        context = parse_query_context(
            {"form_data": {"url_params": {"a": "1"}}, "queries": [{"columns": ["a"], **query}]}
        )
        return notes_of(context, requested_queries(context)[0])

    assert notes() == notes(url_params={"a": "2"}) != ()
    assert "queries[i].url_params" in notes()[0]
    assert notes(url_params={"a": "1"}) == ()


def test_the_options_of_all_steps_hold_at_most_five_times_the_items_of_a_list() -> None:
    reader = ContextReader(most_queries=5, most_items=3)

    def payload(*lengths: int) -> dict[str, Any]:
        steps = [{"operation": "select", "options": {"columns": ["a"] * length}} for length in lengths]
        return {"queries": [{"columns": ["id"]}, {"post_processing": steps}]}

    # A map's one member counts, and so do the members of the list that it is: 1 + 6 and 1 + 7.
    assert read(reader, payload(6, 7)).context.queries
    with pytest.raises(LimitError, match=r"^queries\.1\.post_processing: the options .* more than 15 items, 5 times"):
        read(reader, payload(7, 7))


def test_a_clause_names_the_fields_of_the_form_that_its_place_in_the_payload_comes_from() -> None:
    places = ("payload: filters[1]", "payload: columns", "payload: metrics[0]", "the dataset")
    one = ExplainedQuery(clauses=tuple(ExplainedClause(part="where", sql="x", origin=origin) for origin in places))
    origins = {"queries.0.filters.1": ("adhoc_filters",), "queries.1.columns": ("groupby", "x_axis")}
    explained = with_form_fields(Explanation(queries=(one, one)), origins)
    assert [[clause.origin for clause in query.clauses] for query in explained.queries] == [
        ["payload: filters[1]; form: adhoc_filters", *places[1:]],
        [places[0], "payload: columns; form: groupby, x_axis", *places[2:]],
    ]


def test_the_fields_for_drawing_name_the_record_before_what_was_stored() -> None:
    fields = {"viz_type": "pie", "slice_id": 3, "datasource": "1__table", "metric": "count"}
    known = a_chart(id=7, viz_type="table", datasource_id=4, datasource_type="table")
    assert stored_form(known, fields) == {
        "viz_type": "table",
        "slice_id": 7,
        "datasource": "4__table",
        "metric": "count",
    }
    assert stored_form(replace(known, datasource_id=None), fields)["datasource"] == "1__table"


def test_an_explanation_is_shown_with_all_that_it_tells() -> None:
    fields: dict[str, Any] = {
        "clauses": (ExplainedClause(part="where", sql="a > 1", origin="payload: filters[0] a"),),
        "time_range": "Last week",
        "rejected_filters": (RejectedFilter(column="planet", reason="not_in_datasource"),),
        "offsets": {"1 year ago": ExplainedQuery(time_range="the week of last year")},
        "cache_timeout": "kept for 10 s",
        "notes": ("kept but not read: colour",),
        "sql": "SELECT 1",
    }
    explained = ExplainedQuery(**fields, bound_sql="SELECT ?", parameters=(7,), cache_key="k1")
    texts = [
        *("a > 1", "payload: filters[0] a", "Last week", "planet", "not_in_datasource", "compared with 1 year ago"),
        *("the week of last year", "kept for 10 s", "kept but not read: colour", "SELECT 1", "k1"),
    ]
    html = explained._repr_mimebundle_()["text/html"].replace("&gt;", ">")
    assert [text for text in texts if text not in str(explained)] == []
    assert [text for text in (*texts, "SELECT ?", "7") if text not in html] == []
    twice = Explanation(queries=(explained, explained))._repr_mimebundle_()["text/html"]
    assert [twice.count(text) for text in ("query 0", "query 1", "SELECT ?")] == [1, 1, 2]
