"""Maps of several layers: each layer is a chart, which is asked under the rights of whoever asks for the map."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import RULE, GuestWorld, dashboard, guest_world, people_of

from analytics_core import AnalyticsCore, errors

CITIES = {
    "viz_type": "deck_scatter",
    "spatial": {"type": "delimited", "lonlatCol": "city"},
    "point_radius_fixed": {"type": "metric", "value": "revenue"},
    "row_limit": 100,
}
WORDS = {"viz_type": "deck_geojson", "geojson": "word", "row_limit": 100}
ACME = [("Bonn", 40), ("Kiel", 20)]
ALL = [("Pisa", 4_000), ("Rome", 2_000), ("Oslo", 1_000), *ACME]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GuestWorld]:
    """The world of guests with the layers 5 (cities of dataset 1) and 6 (words of the secret dataset 2)."""
    with guest_world(f"sqlite:///{tmp_path / 'shop.db'}") as made:
        assert [stored(made.admin, form, dataset=key) for key, form in ((1, CITIES), (2, WORDS))] == [5, 6]
        yield made


def stored(core: AnalyticsCore, form: dict[str, Any], *, dataset: int = 1, **fields: Any) -> int:
    given = {"datasource_id": dataset, "datasource_type": "table", "params": json.dumps(form), **fields}
    return int(core.charts.create({"slice_name": form["viz_type"], "viz_type": form["viz_type"], **given}).id)


def layered(*layers: int, **fields: Any) -> dict[str, Any]:
    return {"viz_type": "deck_multi", "deck_slices": list(layers), **fields}


def displayed(world: GuestWorld, chart_id: int) -> None:
    """Put a chart on the embedded dashboard, beside chart 1."""
    payload = dashboard("displayed", 1, chart_id)
    world.admin.dashboards.update(1, {key: payload[key] for key in ("position_json", "json_metadata")})


def condition(operator: str, comparator: Any, **fields: Any) -> dict[str, Any]:
    simple = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "city"}
    return {**simple, "operator": operator, "comparator": comparator, **fields}


def test_a_map_answers_each_of_its_layers_in_their_order(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(6, 5))
    words, cities = world.admin.charts.data(map_id).results
    assert words.rows() == [("hidden-word",)]
    assert cities.rows() == ALL
    payload = world.admin.charts.payload(map_id)
    assert [query["datasource"]["id"] for query in payload.payload["queries"]] == [2, 1]
    assert payload.origins["queries.1.columns.0"] == ("deck_slices.1.spatial",)
    assert payload.notes[-1] == "the results are, in this order: layer 6 'deck_geojson', layer 5 'deck_scatter'"
    assert cities.notes == words.notes
    assert payload.notes[-1] in cities.notes
    origins = {clause.origin for clause in world.admin.charts.explain(map_id).queries[1].clauses}
    assert "payload: columns[0]; form: deck_slices.1.spatial" in origins


def test_a_map_of_a_stored_query_context_is_asked_by_its_layers_all_the_same(world: GuestWorld) -> None:
    context = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["id"]}], "form_data": layered(5)}
    map_id = stored(world.admin, layered(5), query_context=json.dumps(context))
    assert world.admin.charts.data(map_id).results[0].rows() == ALL
    assert world.admin.charts.submit(map_id).result().results[0].rows() == ALL


def test_filters_of_a_map_count_on_the_layers_in_their_scope(world: GuestWorld) -> None:
    second = stored(world.admin, {**CITIES, "adhoc_filters": [condition("!=", "Kiel")]})
    filters = [condition("!=", "Pisa", layerFilterScope=[1]), condition("!=", "Rome", layerFilterScope=[-1])]
    map_id = stored(world.admin, layered(5, second, adhoc_filters=[*filters, condition("!=", "Oslo")]))
    first, other = world.admin.charts.data(map_id).results
    assert first.rows() == [("Pisa", 4_000), ("Bonn", 40), ("Kiel", 20)]
    assert other.rows() == [("Bonn", 40)]
    origins = world.admin.charts.payload(map_id).origins
    assert [origins[f"queries.0.filters.{place}"] for place in (0, 1)] == [("adhoc_filters.1",), ("adhoc_filters.2",)]
    assert origins["queries.1.filters.0"] == ("deck_slices.1.adhoc_filters.0",)
    assert origins["queries.1.filters.1"] == ("adhoc_filters.0",)


def test_a_mask_counts_on_all_layers_and_hides_some(world: GuestWorld) -> None:
    mask = {"filters": [{"col": "city", "op": "IN", "val": ["Bonn"]}], "visible_deckgl_layers": [5]}
    map_id = stored(world.admin, layered(6, 5, extra_form_data=mask))
    assert [result.rows() for result in world.admin.charts.data(map_id).results] == [[("Bonn", 40)]]


def test_an_edited_layer_is_asked_as_it_is_now(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5))
    assert world.admin.charts.data(map_id).results[0].rows() == ALL
    world.admin.charts.update(5, {"params": json.dumps({**CITIES, "row_limit": 1})})
    assert world.admin.charts.data(map_id).results[0].rows() == ALL[:1]


def test_layers_that_are_closed_gone_or_maps_themselves_are_told(world: GuestWorld) -> None:
    reader = people_of(world)["reader"]
    inner = stored(world.admin, layered(5))
    gone = stored(world.admin, CITIES)
    map_id = stored(world.admin, layered(5, gone, inner))
    world.admin.charts.delete(gone)
    (result,) = reader.charts.data(map_id).results
    assert result.rows() == ALL
    assert f"layer {gone} is left out: there is no such chart, or it is not for you" in result.notes
    assert f"layer {inner} is left out: it has layers itself, which are not followed" in result.notes
    world.admin.charts.delete(5)
    with pytest.raises(errors.QueryError, match=f"chart {map_id} asks nothing.*layer 5 is left out"):
        reader.charts.data(map_id)


def test_a_reader_of_one_dataset_reads_the_layers_on_it_alone(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5, 6))
    role = world.admin.roles.create({"name": "sales only"})
    world.admin.roles.grant(role, on=("dataset", 1))
    reader = world.host.as_user(world.admin.users.create({"username": "narrow", "roles": [role.id]}).id)
    (result,) = reader.charts.data(map_id).results
    assert result.rows() == ALL
    assert "layer 6 is left out: there is no such chart, or it is not for you" in result.notes
    assert len(world.admin.charts.data(map_id).results) == 2  # what is remembered for one is not shown to another
    assert len(reader.charts.data(map_id).results) == 1
    assert reader.charts.payload_of(layered(6, 5, datasource="1__table")).payload["queries"][0]["columns"] == ["city"]


def test_a_map_names_layers_that_its_author_may_read(world: GuestWorld) -> None:
    role = world.admin.roles.create({"name": "authors"})
    world.admin.roles.grant(role, on=("dataset", 1))
    author = world.host.as_user(world.admin.users.create({"username": "author", "roles": [role.id]}).id)
    with pytest.raises(errors.ChartAccessError, match="chart 6"):
        stored(author, layered(5, 6))
    own = stored(author, layered(5))
    for change in (layered(6), layered(5, 6)):
        with pytest.raises(errors.ChartAccessError, match="chart 6"):
            author.charts.update(own, {"params": json.dumps(change)})
    hidden = stored(author, {**layered(6), "viz_type": "table"})
    with pytest.raises(errors.ChartAccessError, match="chart 6"):
        author.charts.update(hidden, {"viz_type": "deck_multi"})
    with pytest.raises(errors.NotFoundError):
        stored(author, layered(77))


@for_each("named", [None, [], 5, "5", [True], ["x"], list(range(1, 60))])
def test_a_map_lists_its_layers(world: GuestWorld, named: Any) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="deck_slices"):
        world.admin.charts.payload_of({"viz_type": "deck_multi", "datasource": "1__table", "deck_slices": named})


def test_a_wrong_layer_names_its_field(world: GuestWorld) -> None:
    world.admin.charts.update(5, {"params": json.dumps({**CITIES, "spatial": None})})
    with pytest.raises(errors.PayloadSchemaError, match=r"deck_slices\.1\.spatial"):
        world.admin.charts.payload_of(layered(6, 5, datasource="1__table"))


def test_a_dashboard_answers_a_map_with_its_filters(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5))
    displayed(world, map_id)
    data = world.admin.dashboards.data(1, filters={"NATIVE_FILTER-city": ["Bonn", "Rome"]})
    (answer,) = [item.answer for item in data.charts if item.chart_id == map_id]
    assert answer is not None
    assert answer.results[0].rows() == [("Rome", 2_000), ("Bonn", 40)]


# ----------------------------------------------------------------------------------------------------------- guests
@pytest.mark.slow
def test_a_guest_of_a_map_reads_its_layers_inside_their_rows(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5))
    displayed(world, map_id)
    guest = world.guest("acme")
    assert guest.charts.data(map_id).results[0].rows() == ACME
    assert guest.charts.data(5).results[0].rows() == ACME
    assert guest.charts.submit(map_id).result().results[0].rows() == ACME
    assert guest.charts.get(5).params is not None
    (answer,) = [item.answer for item in guest.dashboards.data(1).charts if item.chart_id == map_id]
    assert answer is not None
    assert answer.results[0].rows() == ACME
    layer_request = json.loads(json.dumps(world.admin.charts.payload(5).payload))
    layer_request["form_data"] = {"slice_id": 5}
    assert guest.charts.data(layer_request).results[0].rows() == ACME
    request = {**json.loads(json.dumps(world.admin.charts.payload(map_id).payload)), "form_data": {"slice_id": map_id}}
    assert guest.charts.data(request).results[0].rows() == ACME


def test_a_token_needs_a_rule_on_the_datasets_of_layers_too(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5, 6))
    displayed(world, map_id)
    request = world.request({**RULE, "dataset": 1})
    with pytest.raises(errors.PayloadSchemaError, match="2"):
        world.admin.embedded.guest_token(request)
    guest = world.host.as_guest(world.admin.embedded.guest_token(request, all_rows=[2]))
    assert [result.rows() for result in guest.charts.data(map_id).results] == [ACME, [("hidden-word",)]]


@pytest.mark.slow
def test_a_guest_reaches_no_other_chart_through_a_map(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5))
    displayed(world, map_id)
    guest = world.guest(None)
    assert guest.charts.data(map_id).results[0].rows() == ALL
    for closed in (2, 3, 4, 6, 77):  # not shown any more, on another dashboard, on none, no layer, not there
        for ask in (guest.charts.data, guest.charts.get, guest.charts.submit):
            with pytest.raises(errors.ChartAccessError):
                ask(closed)
    base = json.loads(json.dumps(world.admin.charts.payload(map_id).payload))
    query, source = base["queries"][0], {"id": 2, "type": "table"}
    hostile: list[dict[str, Any]] = [
        {"queries": [{**query, "datasource": source, "columns": ["word"]}]},
        {"queries": [query, {**query, "datasource": source, "columns": ["word"], "filters": []}]},
        {"datasource": source},
        {"form_data": {"slice_id": map_id, "deck_slices": [6]}},
        {"form_data": {"slice_id": map_id, "viz_type": "deck_multi", "deck_slices": [5, 6]}},
        {"form_data": {"slice_id": map_id, "extra_form_data": {}, "layer_filter_scope": {"x": [0]}}},
        {"form_data": {"slice_id": 6, "deck_slices": [6]}},
        {"form_data": {"slice_id": 6, "dashboardId": 1, "parent_slice_id": map_id}},
    ]
    for change in hostile:
        with pytest.raises((errors.GuestAccessError, errors.ChartAccessError)):
            guest.charts.data({**base, "form_data": {"slice_id": map_id}, **change})
    for call in ("payload", "payload_of", "explain", "create", "update"):
        with pytest.raises(errors.AccessError):
            getattr(guest.charts, call)(map_id)


@pytest.mark.slow
def test_a_layer_is_closed_to_guests_once_no_map_shows_it(world: GuestWorld) -> None:
    map_id = stored(world.admin, layered(5))
    displayed(world, map_id)
    guest = world.guest("acme")
    job = guest.charts.submit(map_id)
    job.result()
    guest.charts.data(5)
    other = stored(world.admin, {**CITIES, "row_limit": 1})
    world.admin.charts.update(map_id, {"params": json.dumps(layered(other))})
    with pytest.raises(errors.ChartAccessError):
        guest.charts.data(5)
    assert guest.charts.data(map_id).results[0].rows() == ACME[:1]
    with pytest.raises(errors.AnalyticsError):
        guest.charts.job(job.job_id)
    world.admin.charts.update(map_id, {"viz_type": "table", "params": json.dumps({**layered(other), "metrics": []})})
    with pytest.raises(errors.ChartAccessError):
        guest.charts.data(other)


def test_a_map_inside_a_map_opens_nothing_to_guests(world: GuestWorld) -> None:
    inner = stored(world.admin, layered(6))
    map_id = stored(world.admin, layered(5, inner))
    displayed(world, map_id)
    guest = world.guest(None)
    with pytest.raises(errors.ChartAccessError):
        guest.charts.data(6)
    with pytest.raises(errors.QueryError, match="asks nothing"):
        guest.charts.data(inner)  # the inner map itself is a layer, its own layers are not
    assert guest.charts.data(map_id).results[0].rows() == ALL
