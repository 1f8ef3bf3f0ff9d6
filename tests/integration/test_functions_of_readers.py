"""Who may not write SQL uses listed functions, on every road of a chart query; who may, all that is not denied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import ask, tenant_world

from analytics_core import AnalyticsCore
from analytics_core.errors import FragmentError

UNLISTED = "last_insert_rowid() + id"
LISTED = "abs(id)"


def adhoc(text: str) -> dict[str, Any]:
    return {"label": "x", "sqlExpression": text, "expressionType": "SQL"}


ROADS: Mapping[str, Any] = {
    "where": lambda text: {"columns": ["id"], "extras": {"where": f"{text} >= 0"}},
    "having": lambda text: {"columns": ["id"], "metrics": ["count"], "extras": {"having": f"MAX({text}) >= 0"}},
    "column": lambda text: {"columns": [adhoc(text)]},
    "grouped column": lambda text: {"columns": [adhoc(text)], "metrics": ["count"]},
    "metric": lambda text: {"columns": ["region"], "metrics": [adhoc(f"MAX({text})")]},
    "filter column": lambda text: {"columns": ["id"], "filters": [{"col": adhoc(text), "op": ">=", "val": 0}]},
    "order": lambda text: {"columns": ["id"], "metrics": ["count"], "orderby": [[adhoc(f"MAX({text})"), False]]},
    "series": lambda t: {"columns": [adhoc(t)], "metrics": ["count"], "series_columns": [adhoc(t)], "series_limit": 3},
    "series metric": lambda t: {
        "columns": ["id"],
        "metrics": ["count"],
        "series_columns": ["id"],
        "series_limit": 3,
        "series_limit_metric": adhoc(f"MAX({t})"),
    },
    "offset": lambda t: {
        "columns": ["region"],
        "metrics": [adhoc(f"MAX({t})")],
        "granularity": "sold_on",
        "time_range": "2024-01-01 : 2024-03-01",
        "time_offsets": ["1 year ago"],
    },
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AnalyticsCore]]:
    folder = tmp_path_factory.mktemp("functions")
    with tenant_world("sqlite", f"sqlite:///{folder}/shop.db", folder) as world:
        role = world.admin.roles.create({"name": "readers"})
        world.admin.roles.grant(role, on=("dataset", 1))
        world.admin.users.create({"username": "reader", "roles": [role.id]})
        yield {"admin": world.admin, "analyst": world.user("acme"), "reader": world.user("reader")}


@pytest.mark.slow
@for_each("road", ROADS)
def test_a_reader_is_held_to_the_list_on_every_road(people: dict[str, AnalyticsCore], road: str) -> None:
    query = ROADS[road]
    assert ask(people["reader"], query(LISTED)).data
    for who in ("admin", "analyst"):
        assert ask(people[who], query(UNLISTED)).data
    with pytest.raises(FragmentError, match="last_insert_rowid is not on the list"):
        ask(people["reader"], query(UNLISTED))


@pytest.mark.slow
@for_each("road", ROADS)
def test_a_reader_makes_no_values_of_a_size_that_a_number_tells(people: dict[str, AnalyticsCore], road: str) -> None:
    with pytest.raises(FragmentError, match="printf makes values as wide as its format tells"):
        ask(people["reader"], ROADS[road]("length(printf('%1000000000d', id))"))
    assert ask(people["reader"], ROADS[road]("length(printf('%10d', id))")).data


@for_each("result_type", ["full", "samples", "drill_detail", "query", "results", "post_processed"])
def test_no_type_of_result_and_no_kept_answer_is_another_way(
    people: dict[str, AnalyticsCore], result_type: str
) -> None:
    payload = {
        "datasource": {"id": 1, "type": "table"},
        "queries": [{"columns": ["id"], "extras": {"where": f"{UNLISTED} > 0"}}],
        "result_type": result_type,
    }
    people["analyst"].charts.data(payload).raise_for_error()
    with pytest.raises(FragmentError):
        people["reader"].charts.data(payload).raise_for_error()
    explained = people["reader"].charts.explain(payload)
    assert "is not on the list" in str(explained)


def test_a_saved_metric_may_call_what_its_author_may(people: dict[str, AnalyticsCore]) -> None:
    metrics = [
        {"metric_name": "count", "expression": "COUNT(*)"},
        {"metric_name": "odd", "expression": f"MAX({UNLISTED})"},
    ]
    people["admin"].datasets.update(1, {"metrics": metrics})
    assert ask(people["reader"], {"metrics": ["odd"]}).data
