"""Annotation layers in the answers of charts: stored annotations, charts as sources, access, freshness."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.support.annotated import BY_MONTH, HOST, YEAR, answer, chart, displayed, layer, releases, titles
from tests.support.cases import for_each
from tests.support.shop import AMOUNT, KEY, add_reader, ask, axis, context, hosted_core, orders_core, shop_url, total

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import Relationship
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User

MS_OF_MARCH = 1_709_251_200_000
FIRST = {"columns": ["id", "order_date", "country"], "row_limit": 3, "orderby": [["id", True]]}
"""A table of the first orders."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop_url(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def core(url: str) -> Iterator[AnalyticsCore]:
    with orders_core(url) as made:
        yield made


# ----------------------------------------------------------------------------------------------------- stored layers
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["EVENT", "INTERVAL", "TIME_SERIES", None])
def test_a_stored_layer_gives_its_annotations(core: AnalyticsCore, kind: str | None) -> None:
    layer_id = releases(core)
    texts = {"short_descr": "2.0", "long_descr": "a “new”\nversion", "json_metadata": '{"a": [1]}'}
    core.annotations.create(layer_id, {"start_dttm": "2024-03-01", "end_dttm": "2024-03-02T00:00:00.5", **texts})
    times = {"start_dttm": MS_OF_MARCH, "end_dttm": MS_OF_MARCH + 86_400_500}
    assert displayed(core, layer(layer_id, kind=kind)) == {
        "Marks": {
            "columns": ["start_dttm", "end_dttm", "short_descr", "long_descr", "json_metadata"],
            "records": [{**times, **texts}],
        }
    }


def test_annotation_data_is_what_the_contract_says(core: AnalyticsCore) -> None:
    layers = [layer(releases(core, "2024-03-01")), layer(chart(core, FIRST), "table", name="Orders")]
    result = answer(core, *layers)
    data = result.to_payload()["annotation_data"]
    TypeAdapter(list[dict[str, str]]).validate_python(data, strict=True)
    assert [list(item) for item in data] == [["Marks"], ["Orders"]]
    assert json.loads(result_json(core, *layers))["result"][0]["annotation_data"] == data
    assert [(item.name, item.source_type, len(item.records)) for item in result.annotations] == [
        ("Marks", "NATIVE", 1),
        ("Orders", "table", 3),
    ]


def result_json(core: AnalyticsCore, *layers: Any) -> bytes:
    return core.charts.data(context({**HOST, "annotation_layers": layers})).to_json()


def test_without_layers_annotation_data_is_empty(core: AnalyticsCore) -> None:
    assert answer(core).to_payload()["annotation_data"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "are_visible"),
    [
        ("2023-12-31T23:59:59.999999", False),
        ("2024-01-01", True),
        ("2024-12-31T23:59:59.999999", True),
        ("2025-01-01", False),
        ("2023-06-01/2024-01-01", True),
        ("2023-06-01/2023-12-31T23:59:59.999999", False),
        ("2024-12-31/2026-01-01", True),
        ("2020-01-01/2030-01-01", True),
    ],
)
def test_annotations_that_touch_the_range_of_the_query_are_shown(
    core: AnalyticsCore, days: str, are_visible: bool
) -> None:
    assert titles(core, layer(releases(core, days))) == ([days] if are_visible else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"time_range": "No filter"}, ["0001-01-01", "2023-05-01", "2024-05-01", "9999-12-31"]),
        ({"time_range": "2024-01-01 : "}, ["2024-05-01", "9999-12-31"]),
        ({"time_range": " : 2024-01-01"}, ["0001-01-01", "2023-05-01"]),
        ({"time_range": "0001-01-01 : 2024-01-01"}, ["0001-01-01", "2023-05-01"]),
        ({"time_range": YEAR, "time_shift": "1 year ago"}, ["2023-05-01"]),
        (
            {
                "granularity": None,
                "time_range": None,
                "filters": [{"col": "order_date", "op": "TEMPORAL_RANGE", "val": "2023-01-01 : 2024-01-01"}],
            },
            ["2023-05-01"],
        ),
    ],
)
def test_the_range_may_be_open_shifted_or_come_from_a_filter(
    core: AnalyticsCore, query: dict[str, Any], expected: list[str]
) -> None:
    layer_id = releases(core, "2024-05-01", "0001-01-01", "9999-12-31", "2023-05-01")
    assert titles(core, layer(layer_id), query={**HOST, **query}) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"time_range": "2023-01-01 : 2024-01-01"}, ["2023-05-01"]),
        ({"time_range": "No filter"}, ["2023-05-01", "2024-05-01"]),
        ({"time_range": None}, ["2024-05-01"]),
        ({"since": "2023-01-01", "until": "2024-01-01"}, ["2023-05-01"]),
        ({"until": "2024-01-01"}, ["2023-05-01"]),
        ({"since": None, "until": None}, ["2024-05-01"]),
        ({}, ["2024-05-01"]),
    ],
)
def test_a_stored_layer_may_have_a_range_of_its_own(
    core: AnalyticsCore, overrides: dict[str, Any], expected: list[str]
) -> None:
    layer_id = releases(core, "2023-05-01", "2024-05-01")
    assert titles(core, layer(layer_id, overrides=overrides)) == expected


def test_formulas_hidden_layers_and_layers_without_a_source_give_no_data(core: AnalyticsCore) -> None:
    layers = [
        layer("2 * x + 1", "", "FORMULA", name="Line"),
        layer("99", "NATIVE", "FORMULA", name="Other line"),
        layer(99, show=False),
        layer(1, "", name="Nowhere"),
        layer(1, None, name="Nobody"),
    ]
    result = answer(core, *layers)
    result.raise_for_error()
    assert (result.annotation_data, result.annotations) == ([], ())
    assert [note.partition(" shows")[0] for note in result.notes] == [
        "annotation layer 'Nowhere'",
        "annotation layer 'Nobody'",
    ]


def test_ids_may_be_digits_and_other_values_are_refused_with_the_name_of_the_layer(core: AnalyticsCore) -> None:
    layer_id = releases(core, "2024-03-01")
    assert titles(core, layer(str(layer_id))) == ["2024-03-01"]
    for value in ("", "one", "1; DROP", "-1.5", None, True, 1.5, [1], {"id": 1}, "٣", "9" * 30):
        for source, what in (("NATIVE", "an annotation layer"), ("line", "a chart")):
            failure = answer(core, layer(value, source)).failure
            assert isinstance(failure, errors.QueryError)
            assert failure.message == f"annotation layer 'Marks': value must be the id of {what}"


@for_each(("source", "what"), [("NATIVE", "annotation layer"), ("line", "chart"), ("table", "chart")])
@for_each("value", [99, 0, -1, 2**70])
def test_a_source_that_never_was_fails_the_query(core: AnalyticsCore, source: str, what: str, value: int) -> None:
    result = answer(core, layer(value, source))
    assert isinstance(result.failure, errors.NotFoundError)
    assert result.error == f"annotation layer 'Marks': there is no {what} {value}"
    assert (result.status.value, result.rowcount, result.annotation_data) == ("failed", 0, None)


def test_a_deleted_layer_leaves_the_chart_and_a_note(core: AnalyticsCore) -> None:
    layer_id = releases(core, "2024-03-01")
    chart_id = chart(core, {**HOST, "annotation_layers": [layer(layer_id), layer(releases(core, name="b"), name="b")]})
    core.annotation_layers.delete(layer_id)
    result = core.charts.data(chart_id).raise_for_error().results[0]
    assert [item.name for item in result.annotations] == ["b"]
    assert result.notes == ("annotation layer 'Marks' shows nothing: the layer 'Releases' was deleted",)
    assert result.rowcount == 12


def test_a_deleted_chart_fails_the_query_that_shows_it(core: AnalyticsCore) -> None:
    chart_id = chart(core, BY_MONTH)
    core.charts.delete(chart_id)
    assert answer(core, layer(chart_id, "line")).error == f"annotation layer 'Marks': there is no chart {chart_id}"


# ------------------------------------------------------------------------------------------------------- freshness
def test_a_changed_annotation_shows_at_once_while_the_rows_come_from_the_cache(core: AnalyticsCore) -> None:
    layer_id = releases(core, "2024-03-01")
    assert titles(core, layer(layer_id)) == ["2024-03-01"]
    annotation_id = core.annotations.list(layer_id).result[0].id
    core.annotations.update(layer_id, annotation_id, {"short_descr": "renamed"})
    assert titles(core, layer(layer_id)) == ["renamed"]
    core.annotations.create(layer_id, {"start_dttm": "2024-04-01", "end_dttm": "2024-04-01", "short_descr": "more"})
    assert titles(core, layer(layer_id)) == ["renamed", "more"]
    core.annotations.delete(layer_id, annotation_id)
    assert titles(core, layer(layer_id)) == ["more"]
    assert answer(core, layer(layer_id)).is_cached


def test_a_change_by_another_process_shows_at_once(url: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/meta.db"
    with hosted_core(url, metadata_url=store, settings={"metadata_freshness_s": 3600}) as host:
        admin = host.as_user("admin")
        layer_id = releases(admin, "2024-03-01")
        assert titles(admin, layer(layer_id)) == ["2024-03-01"]
        with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store, acting_as="admin") as other:
            releases_of_other = {"start_dttm": "2024-04-01", "end_dttm": "2024-04-01", "short_descr": "theirs"}
            other.annotations.create(layer_id, releases_of_other)
        assert titles(admin, layer(layer_id)) == ["2024-03-01", "theirs"]


def test_the_rows_of_queries_with_other_layers_are_one_cache_entry(core: AnalyticsCore) -> None:
    plain = answer(core)
    annotated = answer(core, layer(releases(core, "2024-03-01")))
    assert annotated.is_cached
    assert annotated.cache_key == plain.cache_key
    assert annotated.data == plain.data
    assert answer(core).annotation_data == []


# ---------------------------------------------------------------------------------------------------------- charts
@pytest.mark.parametrize("source", ["line", "table"])
def test_a_chart_as_layer_gives_the_rows_of_its_first_query(core: AnalyticsCore, source: str) -> None:
    second = {"columns": ["country"], "metrics": ["count"]}
    chart_id = chart(core, {**BY_MONTH, "post_processing": [{"operation": "cum", "options": CUM}]}, second)
    own = core.charts.data(chart_id).raise_for_error().results[0]
    data = displayed(core, layer(chart_id, source, "TIME_SERIES"))
    assert data == {"Marks": {"columns": ["month", "amount"], "records": own.data}}
    assert len(own.data) == 24


def test_each_chart_of_several_layers_gives_its_own_rows(core: AnalyticsCore) -> None:
    queries = {"Days": {"columns": ["id"], "row_limit": 1}, "Lands": {"columns": ["country"], "row_limit": 2}}
    layers = [layer(chart(core, query), "table", name=name) for name, query in queries.items()]
    found = displayed(core, *layers)
    assert {name: (found[name]["columns"], len(found[name]["records"])) for name in queries} == {
        "Days": (["id"], 1),
        "Lands": (["country"], 2),
    }


CUM = {"columns": {"amount": "amount"}, "operator": "sum"}


def test_a_chart_that_stores_another_result_type_gives_rows_all_the_same(core: AnalyticsCore) -> None:
    chart_id = chart(core, {**BY_MONTH, "result_type": "columns"}, result_type="query")
    assert displayed(core, layer(chart_id, "line", "TIME_SERIES"))["Marks"]["columns"] == ["month", "amount"]


def test_the_totals_of_another_query_of_the_chart_count(core: AnalyticsCore) -> None:
    share = {"operation": "contribution", "options": {"columns": ["count"], "rename_columns": ["share"]}}
    query = {"columns": ["country"], "metrics": ["count"], "row_limit": 1, "post_processing": [share]}
    chart_id = chart(core, query, {"metrics": ["count"]})
    (record,) = displayed(core, layer(chart_id, "table", "TIME_SERIES"))["Marks"]["records"]
    assert 0 < record["share"] < 1


def test_the_layers_of_a_chart_are_not_followed(core: AnalyticsCore) -> None:
    inner = chart(core, {**BY_MONTH, "annotation_layers": [layer(99, "line")]})
    result = answer(core, layer(inner, "line"))
    result.raise_for_error()
    assert [item.name for item in result.annotations] == ["Marks"]
    assert result.notes == (f"annotation layer 'Marks': the layers of chart {inner} itself are not followed",)


def test_a_chart_may_show_itself_once(core: AnalyticsCore) -> None:
    chart_id = chart(core, HOST)
    query = {**HOST, "annotation_layers": [layer(chart_id, "line", "TIME_SERIES")]}
    core.charts.update(chart_id, {"query_context": json.dumps(context(query))})
    result = core.charts.data(chart_id).raise_for_error().results[0]
    assert list(result.annotations[0].records) == result.data


@pytest.mark.slow
@for_each(
    ("overrides", "chosen"),
    [
        ({}, lambda _day: True),
        ({"time_range": "2023-01-01 : 2024-01-01"}, lambda day: day.year == 2023),
        ({"time_range": None}, lambda day: day.year == 2024),
        ({"since": "2023-01-01", "until": "2023-02-01"}, lambda day: (day.year, day.month) == (2023, 1)),
        ({"time_range": YEAR, "time_shift": "1 year ago"}, lambda day: day.year == 2023),
    ],
)
@for_each("way", ["granularity", "filter"])
def test_overrides_bound_the_time_of_the_chart(
    core: AnalyticsCore, overrides: dict[str, Any], chosen: Any, way: str
) -> None:
    bounded = {"granularity": "order_date"} if way == "granularity" else {"filters": [TEMPORAL]}
    chart_id = chart(core, {"metrics": [AMOUNT], **bounded})
    (record,) = displayed(core, layer(chart_id, "line", "TIME_SERIES", overrides=overrides))["Marks"]["records"]
    assert record["amount"] == pytest.approx(total(lambda row: chosen(row["order_date"])))


TEMPORAL = {"col": "order_date", "op": "TEMPORAL_RANGE", "val": "No filter"}


@pytest.mark.slow
@for_each("name", ["time_grain_sqla", "time_grain_orm"])
@for_each(("grain", "rows"), [("P1Y", 2), ("P3M", 8), (None, 24), ("", 24)])
@for_each("way", ["axis", "granularity"])
def test_overrides_set_the_time_grain_of_the_chart(
    core: AnalyticsCore, name: str, grain: str | None, rows: int, way: str
) -> None:
    query = {**BY_MONTH, "columns": [axis("P1D")]}
    if way == "granularity":
        query = {"columns": ["order_date"], "granularity": "order_date", "metrics": [AMOUNT]}
    chart_id = chart(core, {**query, "time_range": "2023-01-01 : 2025-01-01", "filters": [TEMPORAL]})
    host = {**HOST, "time_range": "No filter"}  # by month: what null takes over
    found = displayed(core, layer(chart_id, "line", "TIME_SERIES", overrides={name: grain}), query=host)
    assert len(found["Marks"]["records"]) == rows


def test_overrides_set_the_time_column_of_the_chart(core: AnalyticsCore) -> None:
    core.datasets.create({"database": 1, "table_name": "customers"})
    chart_id = chart(core, {"columns": ["id"], "row_limit": 0}, dataset=2)
    wide = {"granularity": "joined_on", "time_range": "No filter"}
    none = {"granularity_sqla": "joined_on", "time_range": "1900-01-01 : 1901-01-01"}
    assert displayed(core, layer(chart_id, "table", overrides=wide))["Marks"]["records"]
    assert displayed(core, layer(chart_id, "table", overrides=none))["Marks"]["records"] == []


def test_null_takes_the_time_column_of_the_view(core: AnalyticsCore) -> None:
    chart_id = chart(core, {"metrics": ["count"]})
    both = {"granularity": None, "time_range": None}
    (record,) = displayed(core, layer(chart_id, "line", overrides=both))["Marks"]["records"]
    assert record["count"] == ask(core, {**HOST, "columns": []}).data[0]["count"]


def test_overrides_that_do_nothing_are_told(core: AnalyticsCore) -> None:
    core.datasets.create({"database": 1, "table_name": "products"})
    chart_id = chart(core, {"metrics": ["count"]}, dataset=2)
    result = answer(core, layer(chart_id, "line", overrides={"time_range": YEAR, "color": "red", "b": 1}))
    assert result.notes == (
        "annotation layer 'Marks': overrides kept but not read: b, color",
        "annotation layer 'Marks': its time range bounds nothing: "
        f"chart {chart_id} has no time column that it could bound",
    )


def test_the_time_range_of_a_layer_bounds_the_main_time_column_of_its_chart(core: AnalyticsCore) -> None:
    chart_id = chart(core, {"metrics": ["count"]})
    (record,) = displayed(core, layer(chart_id, "line", overrides={"time_range": YEAR}))["Marks"]["records"]
    assert (
        record["count"]
        == ask(core, {"metrics": ["count"], "time_range": YEAR, "granularity": "order_date"}).data[0]["count"]
    )


@for_each(
    ("overrides", "error"),
    [
        ({"time_range": 5}, errors.QueryError),
        ({"time_range": ["2024"]}, errors.QueryError),
        ({"time_range": "whenever"}, errors.TimeRangeError),
        ({"since": "x" * 1001}, errors.QueryError),
        ({"time_grain_sqla": "P5W"}, errors.UnknownTimeGrainError),
        ({"time_grain_sqla": {"a": 1}}, errors.QueryError),
        ({"granularity": "order_dat"}, errors.UnknownColumnError),
        ({"granularity": "1) OR (1=1"}, errors.UnknownColumnError),
    ],
)
def test_overrides_that_make_no_sense_are_refused_with_the_name_of_the_layer(
    core: AnalyticsCore, overrides: dict[str, Any], error: type[errors.AnalyticsError]
) -> None:
    chart_id = chart(core, {**BY_MONTH, "granularity": "order_date"})
    failure = answer(core, layer(chart_id, "line", overrides=overrides)).failure
    assert isinstance(failure, error)
    assert failure.message.startswith("annotation layer 'Marks': ")
    assert failure.to_payload()["errors"][0]["message"] == failure.message


# ---------------------------------------------------------------------------------------------------------- columns
ORDERS_TABLE = {"columns": ["country", "id", "order_date", "channel", "amount"], "row_limit": 2}


@for_each(
    ("kind", "fields", "columns"),
    [
        (
            "EVENT",
            {"timeColumn": "order_date", "titleColumn": "country", "descriptionColumns": ["channel", "id"]},
            ["order_date", "country", "channel", "id"],
        ),
        (
            "INTERVAL",
            {"timeColumn": "order_date", "intervalEndColumn": "id", "descriptionColumns": ["order_date"]},
            ["order_date", "id"],
        ),
        (
            "EVENT",
            {"timeColumn": "order_date", "intervalEndColumn": "nowhere", "descriptionColumns": ["id"]},
            ["order_date", "id"],
        ),
        ("EVENT", {"timeColumn": "order_date", "descriptionColumns": []}, ORDERS_TABLE["columns"]),
        ("EVENT", {"timeColumn": "order_date", "titleColumn": "country"}, ORDERS_TABLE["columns"]),
        ("EVENT", {"titleColumn": None, "descriptionColumns": ["id"]}, ORDERS_TABLE["columns"]),
        ("TIME_SERIES", {"timeColumn": "order_date", "descriptionColumns": ["id"]}, ORDERS_TABLE["columns"]),
    ],
)
def test_marks_show_the_columns_that_they_name_and_all_without_descriptions(
    core: AnalyticsCore, kind: str, fields: dict[str, Any], columns: list[str]
) -> None:
    chart_id = chart(core, ORDERS_TABLE)
    data = displayed(core, layer(chart_id, "table", kind, **fields))["Marks"]
    rows = core.charts.data(chart_id).results[0].data
    assert data["columns"] == columns
    assert data["records"] == [{name: row[name] for name in columns} for row in rows]
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timeColumn", "order_dat"),
        ("intervalEndColumn", "order_dat"),
        ("titleColumn", "order_dat"),
        ("descriptionColumns", ["country", "order_dat"]),
    ],
)
def test_a_column_that_the_chart_does_not_give_is_refused_with_the_nearest(
    core: AnalyticsCore, field: str, value: Any
) -> None:
    chart_id = chart(core, ORDERS_TABLE)
    failure = answer(core, layer(chart_id, "table", "INTERVAL", **{field: value})).failure
    assert isinstance(failure, errors.UnknownNameError)
    assert failure.error_type.value == "COLUMN_DOES_NOT_EXIST_ERROR"
    assert failure.message.startswith(
        f"annotation layer 'Marks': {field}: the answer of chart {chart_id} has no column"
    )
    assert failure.suggestions == ("order_date",)


# ----------------------------------------------------------------------------------------------------------- access
class OnlyBrazil:
    """Everybody but the administrator sees Brazil."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        if user.username == "admin" or dataset.table_name != "orders":
            return ()
        return (RowFilter(name="Brazil only", clause="country = 'Brazil'"),)


@pytest.fixture
def host(url: str) -> Iterator[AnalyticsCore]:
    """A host with row rules, where dataset 2 is the table of customers."""
    with hosted_core(url, row_filters=[OnlyBrazil()]) as made:
        made.as_user("admin").datasets.create({"database": 1, "table_name": "customers"})
        yield made


def test_a_chart_that_the_actor_may_not_read_fails_the_query_without_data(host: AnalyticsCore) -> None:
    admin, reader = host.as_user("admin"), add_reader(host, "anna", ("dataset", 1))
    chart_id = chart(admin, {"columns": ["name"]}, dataset=2)
    assert len(displayed(admin, layer(chart_id, "table"))["Marks"]["records"]) > 1
    result = answer(reader, layer(chart_id, "table"))
    assert isinstance(result.failure, errors.ChartAccessError)
    assert (result.failure.status, result.failure.error_type.value) == (403, "CHART_SECURITY_ACCESS_ERROR")
    assert result.error.startswith(f"annotation layer 'Marks': you have no access to chart {chart_id}")
    assert (result.rowcount, result.annotation_data, result.annotations) == (0, None, ())


def test_the_owner_of_a_chart_needs_its_dataset_to_see_rows(host: AnalyticsCore) -> None:
    admin, reader = host.as_user("admin"), add_reader(host, "anna", ("dataset", 1))
    anna = admin.users.list(filters=[{"col": "username", "op": "eq", "val": "anna"}]).result[0].id
    chart_id = chart(admin, {"columns": ["name"]}, dataset=2, owners=[anna])
    result = answer(reader, layer(chart_id, "table"))
    assert isinstance(result.failure, errors.DatasetAccessError)
    assert result.annotations == ()


def test_the_context_of_a_chart_cannot_lead_to_another_dataset(host: AnalyticsCore) -> None:
    admin, reader = host.as_user("admin"), add_reader(host, "anna", ("dataset", 1))
    stolen = json.dumps(context({"columns": ["name"]}, dataset=2))
    chart_id = reader.charts.create(
        {"slice_name": "mine", "datasource_id": 1, "datasource_type": "table", "query_context": stolen}
    ).id
    assert isinstance(answer(reader, layer(chart_id, "table")).failure, errors.DatasetAccessError)
    assert displayed(admin, layer(chart_id, "table"))["Marks"]["records"]


def test_the_row_rules_of_the_actor_hold_in_layers_also_after_others_filled_the_cache(host: AnalyticsCore) -> None:
    admin, reader = host.as_user("admin"), add_reader(host, "anna", ("dataset", 1))
    chart_id = chart(admin, {"columns": ["country"], "metrics": ["count"]})
    seen = {
        name: {row["country"] for row in displayed(core, layer(chart_id, "table"))["Marks"]["records"]}
        for name, core in (("admin", admin), ("anna", reader), ("admin again", admin))
    }
    assert len(seen["admin"]) > 1
    assert (seen["anna"], seen["admin again"]) == ({"Brazil"}, seen["admin"])


def test_stored_layers_are_shared_with_everybody_who_may_ask_the_query(host: AnalyticsCore) -> None:
    layer_id = releases(host.as_user("admin"), "2024-03-01")
    assert titles(add_reader(host, "anna", ("dataset", 1)), layer(layer_id)) == ["2024-03-01"]


def test_a_host_that_keeps_annotations_to_some_keeps_them_out_of_charts_too(url: str) -> None:
    strict = Policy({**RULES, Permission.READ_ANNOTATIONS: frozenset({Relationship.ADMINISTRATOR})})
    with hosted_core(url, policy=strict) as host:
        layer_id = releases(host.as_user("admin"), "2024-03-01")
        result = answer(add_reader(host, "anna"), layer(layer_id))
    assert isinstance(result.failure, errors.AccessError)
    assert result.error == "annotation layer 'Marks': you may not read annotation layers and annotations; " + (
        "ask an administrator"
    )


# ----------------------------------------------------------------------------------------------------------- limits
def test_the_ledger_tells_which_annotations_were_left_out(url: str) -> None:
    with orders_core(url, max_annotations=2) as core:
        layer_id = releases(core, "2024-03-03", "2024-03-01", "2024-03-02")
        result = answer(core, layer(layer_id))
        complete = answer(core, layer(releases(core, "2024-03-01", "2024-03-02", name="few")))
    assert [record["short_descr"] for record in result.annotations[0].records] == ["2024-03-01", "2024-03-02"]
    (entry,) = [limit for limit in result.limits if "annotation" in limit.limit]
    assert entry.to_payload() == {
        "limit": "annotations of annotation layer 'Marks'",
        "rows": 2,
        "set_by": "Settings.max_annotations",
        "cut": True,
    }
    assert not [limit for limit in complete.limits if "annotation" in limit.limit]


def test_the_ledger_tells_when_the_limit_of_a_chart_cut_its_layer(core: AnalyticsCore) -> None:
    result = answer(core, layer(chart(core, FIRST), "table"))
    (entry,) = [limit for limit in result.limits if "annotation" in limit.limit]
    assert (entry.limit, entry.rows, entry.cut) == ("row_limit of annotation layer 'Marks'", 3, True)


def test_too_many_layers_are_refused_and_formulas_do_not_count(url: str) -> None:
    with orders_core(url, max_annotation_layers=2) as core:
        marks = layer(releases(core, "2024-03-01"))
        formulas = [layer("x", "", "FORMULA", name=f"f{i}") for i in range(5)]
        assert len(answer(core, marks, marks, *formulas).annotations) == 2
        failure = answer(core, marks, marks, marks).failure
    assert isinstance(failure, errors.LimitError)
    assert "3 layers" in failure.message


# --------------------------------------------------------------------------------------------------- other failures
def test_a_chart_without_a_query_fails_the_query_that_shows_it(core: AnalyticsCore) -> None:
    bare = core.charts.create({"slice_name": "bare", "datasource_id": 1, "datasource_type": "table"}).id
    empty = core.charts.create(
        {"slice_name": "e", "datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(context())}
    ).id
    assert "has no query_context" in answer(core, layer(bare, "line")).error
    assert "has no queries" in answer(core, layer(empty, "line")).error


def test_a_chart_whose_query_fails_fails_the_query_that_shows_it(core: AnalyticsCore) -> None:
    chart_id = chart(core, {"columns": ["countr"]})
    failure = answer(core, layer(chart_id, "line", name="Broken")).failure
    assert isinstance(failure, errors.UnknownColumnError)
    assert failure.message.startswith("annotation layer 'Broken': ")


def test_a_layer_fails_its_own_query_only(core: AnalyticsCore) -> None:
    data = core.charts.data(context({**HOST, "annotation_layers": [layer(99)]}, HOST))
    assert [result.status.value for result in data.results] == ["failed", "success"]


# -------------------------------------------------------------------------------------------------------- the road
def test_layers_are_read_only_for_the_result_types_that_show_them(core: AnalyticsCore) -> None:
    layers = [layer(releases(core, "2024-03-01"))]
    for result_type in ("full", "post_processed"):
        assert answer(core, *layers, result_type=result_type).annotations
    for result_type in ("samples", "drill_detail", "results", "query", "columns", "timegrains"):
        result = answer(core, layer(99), result_type=result_type)
        result.raise_for_error()
        assert result.annotations == ()


def test_force_reads_the_chart_of_a_layer_anew(tmp_path: Path) -> None:
    url = shop_url(tmp_path)
    with orders_core(url) as core:
        marks = layer(chart(core, {"metrics": ["count"]}), "line")

        def counted(**options: Any) -> int:
            return displayed(core, marks, **options)["Marks"]["records"][0]["count"]

        before = counted()
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript("DELETE FROM orders WHERE id = 1")
        assert (counted(), counted(force=True), counted()) == (before, before - 1, before - 1)


def test_a_job_shows_layers_too(core: AnalyticsCore) -> None:
    layer_id = releases(core, "2024-03-01")
    job = core.charts.submit(context({**HOST, "annotation_layers": [layer(layer_id)]}))
    assert job.result(timeout_s=30).results[0].annotations[0].name == "Marks"


def test_explain_says_where_layers_come_from_and_reads_none(core: AnalyticsCore) -> None:
    query = {**HOST, "annotation_layers": [layer(98), layer(99, "line", name="Line"), layer("x", "", "FORMULA")]}
    (part,) = core.charts.explain(context(query)).queries
    assert part.notes == (
        "annotation layer 'Marks' is read from stored layer 98",
        "annotation layer 'Line' is the answer of chart 99",
    )


@pytest.mark.server
@pytest.mark.parametrize("make_database", ["make_postgres_database", "make_mariadb_database"])
def test_layers_kept_on_a_server_show_alike(make_database: str, url: str, request: pytest.FixtureRequest) -> None:
    store = request.getfixturevalue(make_database)()
    days = ("2023-12-31T23:59:59.999999", "2024-01-01", "2023-06-01/2024-01-01", "2024-12-31T23:59:59", "2025-01-01")
    with hosted_core(url, metadata_url=store) as host:
        admin = host.as_user("admin")
        layer_id = releases(admin, *days)
        assert titles(admin, layer(layer_id)) == ["2023-06-01/2024-01-01", "2024-01-01", "2024-12-31T23:59:59"]
        own = layer(chart(admin, BY_MONTH), "line", "TIME_SERIES", overrides={"time_grain_sqla": "P1Y"})
        assert len(displayed(admin, own)["Marks"]["records"]) == 2
        admin.annotation_layers.delete(layer_id)
        assert "was deleted" in answer(admin, layer(layer_id)).notes[0]
