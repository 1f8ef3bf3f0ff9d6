"""Charts that store form data and no query context: answers, explanations, jobs and batches say how they were made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import PayloadSchemaError, QueryError

FORM = {"viz_type": "table", "query_mode": "aggregate", "groupby": ["country"], "metrics": ["count"], "glow": 3}
NOTE = "not understood, and not asked: glow"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.orders()
        yield made


def chart_of(shop: SmallCore, form: dict[str, Any], **fields: Any) -> int:
    given = {"slice_name": "x", "datasource_id": 1, "datasource_type": "table", "params": json.dumps(form), **fields}
    return int(shop.core.charts.create({**given, "viz_type": form.get("viz_type")}).id)


def test_every_road_asks_what_the_form_asks_and_tells_what_it_leaves_out(shop: SmallCore) -> None:
    chart = chart_of(shop, FORM)
    charts = shop.core.charts
    direct = charts.data(charts.payload(chart).payload).results[0]
    told = charts.data(chart).results[0]
    job = charts.submit(chart).result().results[0]
    assert told.rows() == job.rows() == direct.rows()
    assert NOTE in told.notes
    assert told.notes == job.notes
    assert NOTE in charts.explain(chart).queries[0].notes
    with charts.batches(chart) as stream:
        assert [tuple(row.values()) for batch in stream for row in batch.to_pylist()] == direct.rows()


def test_a_form_that_was_edited_is_asked_in_place_of_its_older_context(shop: SmallCore) -> None:
    before = {**FORM, "datasource": "1__table"}
    context = {**shop.core.charts.payload_of(before).payload, "form_data": before}
    chart = chart_of(shop, before, query_context=json.dumps(context))
    assert shop.core.charts.data(chart).results[0].colnames == ("country", "count")
    shop.core.charts.update(chart, {"params": json.dumps({**before, "groupby": ["id"]})})
    assert shop.core.charts.data(chart).results[0].colnames == ("id", "count")


def test_a_form_that_only_draws_otherwise_leaves_the_stored_context(shop: SmallCore) -> None:
    before = {**FORM, "datasource": "1__table"}
    context = {**shop.core.charts.payload_of(before).payload, "form_data": before}
    context["queries"][0]["row_limit"] = 1  # tells the stored context from a built one
    chart = chart_of(shop, {**before, "show_cell_bars": True}, query_context=json.dumps(context))
    assert len(shop.core.charts.data(chart).results[0].rows()) == 1


def test_what_cannot_be_asked_is_told_by_its_chart(shop: SmallCore) -> None:
    without = chart_of(shop, {"viz_type": "pie", "groupby": 5, "metric": {"nothing": 1}})
    with pytest.raises(PayloadSchemaError, match="groupby"):
        shop.core.charts.data(without)
    given = {"slice_name": "x", "datasource_id": 1, "datasource_type": "table"}
    empty = shop.core.charts.create(given).id
    with pytest.raises(QueryError, match=f"chart {empty} has no query_context and no params"):
        shop.core.charts.data(empty)
