"""Any argument of logs, look-ups, the explore view, permalinks and the cache gives an answer or a typed error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.hostile import HOSTILE, nested, rejection
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError

FORM: dict[str, Any] = {"datasource_id": 1, "datasource_type": "table", "form_data": "{}"}


Ask = Callable[[AnalyticsCore, Any], Any]

CALLS: dict[str, Ask] = {
    "logs.get": lambda core, bad: core.logs.get(bad),
    "logs.create": lambda core, bad: core.logs.create(bad),
    "logs.create action": lambda core, bad: core.logs.create({"action": bad}),
    "logs.create user_id": lambda core, bad: core.logs.create({"action": "x", "user_id": bad}),
    "logs.create slice_id": lambda core, bad: core.logs.create({"action": "x", "slice_id": bad}),
    "logs.create json": lambda core, bad: core.logs.create({"action": "x", "json": bad}),
    "logs.create dttm": lambda core, bad: core.logs.create({"action": "x", "dttm": bad}),
    "logs.list filters": lambda core, bad: core.logs.list(filters=bad),
    "logs.list filter": lambda core, bad: core.logs.list(filters=[bad]),
    "logs.list order": lambda core, bad: core.logs.list(order_by=bad),
    "logs.list orders": lambda core, bad: core.logs.list(order_by=[bad]),
    "logs.list page": lambda core, bad: core.logs.list(page=bad),
    "logs.list page_size": lambda core, bad: core.logs.list(page_size=bad),
    "logs.list columns": lambda core, bad: core.logs.list(columns=bad),
    "logs.list column": lambda core, bad: core.logs.list(columns=[bad]),
    "recent user": lambda core, bad: core.logs.recent_activity(user=bad),
    "recent actions": lambda core, bad: core.logs.recent_activity(actions=bad),
    "recent action": lambda core, bad: core.logs.recent_activity(actions=[bad]),
    "recent page": lambda core, bad: core.logs.recent_activity(page=bad),
    "recent page, all": lambda core, bad: core.logs.recent_activity(page=bad, distinct=False),
    "recent page_size": lambda core, bad: core.logs.recent_activity(page_size=bad),
    "prune": lambda core, bad: core.logs.prune(bad),
    "related field": lambda core, bad: core.charts.related(bad),
    "related people": lambda core, bad: core.charts.related("owners", filter=bad),
    "related records": lambda core, bad: core.charts.related("datasets", filter=bad),
    "related page of people": lambda core, bad: core.charts.related("owners", page=bad),
    "related page of records": lambda core, bad: core.charts.related("datasets", page=bad),
    "distinct field": lambda core, bad: core.charts.distinct(bad),
    "distinct filter": lambda core, bad: core.charts.distinct("viz_type", filter=bad),
    "distinct page": lambda core, bad: core.charts.distinct("viz_type", page=bad),
    "related_objects of a dataset": lambda core, bad: core.datasets.related_objects(bad),
    "related_objects of a database": lambda core, bad: core.databases.related_objects(bad),
    "context chart": lambda core, bad: core.explore.context(chart_id=bad),
    "context datasource": lambda core, bad: core.explore.context(datasource=bad),
    "context datasource id": lambda core, bad: core.explore.context(datasource={"id": bad, "type": "table"}),
    "context datasource type": lambda core, bad: core.explore.context(datasource={"id": 1, "type": bad}),
    "context form data": lambda core, bad: core.explore.context(datasource=1, form_data_key=bad),
    "context permalink": lambda core, bad: core.explore.context(datasource=1, permalink_key=bad),
    "form data": lambda core, bad: core.explore.create_form_data(bad),
    "form data datasource": lambda core, bad: core.explore.create_form_data({**FORM, "datasource_id": bad}),
    "form data type": lambda core, bad: core.explore.create_form_data({**FORM, "datasource_type": bad}),
    "form data chart": lambda core, bad: core.explore.create_form_data({**FORM, "chart_id": bad}),
    "form data text": lambda core, bad: core.explore.create_form_data({**FORM, "form_data": bad}),
    "form data get": lambda core, bad: core.explore.get_form_data(bad),
    "form data update": lambda core, bad: core.explore.update_form_data(bad, FORM),
    "form data delete": lambda core, bad: core.explore.delete_form_data(bad),
    "advanced type": lambda core, bad: core.explore.advanced_data_type(bad, ["1"]),
    "advanced values": lambda core, bad: core.explore.advanced_data_type("port", bad),
    "advanced value": lambda core, bad: core.explore.advanced_data_type("internet_address", [bad]),
    "permalink": lambda core, bad: core.permalinks.create_for_chart(bad),
    "permalink form data": lambda core, bad: core.permalinks.create_for_chart({"formData": bad}),
    "permalink datasource": lambda core, bad: core.permalinks.create_for_chart({"formData": {"datasource": bad}}),
    "permalink datasource type": lambda core, bad: core.permalinks.create_for_chart(
        {"formData": {"datasource": {"id": 1, "type": bad}}}
    ),
    "permalink chart": lambda core, bad: core.permalinks.create_for_chart(
        {"formData": {"datasource": "1__table", "slice_id": bad}}
    ),
    "permalink parameters": lambda core, bad: core.permalinks.create_for_chart(
        {"formData": {"datasource": "1__table"}, "urlParams": [bad]}
    ),
    "permalink value": lambda core, bad: core.permalinks.create_for_chart(
        {"formData": {"datasource": "1__table", "x": bad}}
    ),
    "permalink prune": lambda core, bad: core.permalinks.prune(bad),
    "permalink get": lambda core, bad: core.permalinks.get_for_chart(bad),
    "permalink dashboard get": lambda core, bad: core.permalinks.get_for_dashboard(bad),
    "permalink dashboard": lambda core, bad: core.permalinks.create_for_dashboard(bad, {}),
    "permalink dashboard state": lambda core, bad: core.permalinks.create_for_dashboard(1, bad),
    "permalink dashboard mask": lambda core, bad: core.permalinks.create_for_dashboard(1, {"dataMask": {"x": bad}}),
    "invalidate": lambda core, bad: core.cache.invalidate(bad),
    "invalidate uids": lambda core, bad: core.cache.invalidate({"datasource_uids": bad}),
    "invalidate uid": lambda core, bad: core.cache.invalidate({"datasource_uids": [bad]}),
    "invalidate names": lambda core, bad: core.cache.invalidate({"datasources": [bad]}),
    "invalidate name": lambda core, bad: core.cache.invalidate(
        {"datasources": [{"datasource_type": "table", "database_name": bad, "datasource_name": bad, "schema": bad}]}
    ),
    "warm_up_chart": lambda core, bad: core.cache.warm_up_chart({"chart_id": bad}),
    "warm_up_chart dashboard": lambda core, bad: core.cache.warm_up_chart({"chart_id": 1, "dashboard_id": bad}),
    "warm_up_chart filters": lambda core, bad: core.cache.warm_up_chart({"chart_id": 1, "extra_filters": bad}),
    "warm_up_dataset": lambda core, bad: core.cache.warm_up_dataset({"db_name": "shop", "table_name": bad}),
    "warm_up_dataset database": lambda core, bad: core.cache.warm_up_dataset({"db_name": bad, "table_name": bad}),
    "warm_up_many": lambda core, bad: list(core.cache.warm_up_many(bad)),
    "warm_up_many chart": lambda core, bad: list(core.cache.warm_up_many([bad])),
    "warm_up_many dashboard": lambda core, bad: list(core.cache.warm_up_many([1], dashboard_id=bad)),
    "warm_up_many filters": lambda core, bad: list(core.cache.warm_up_many([1], extra_filters=bad)),
    "warm_up_many filter": lambda core, bad: list(
        core.cache.warm_up_many([1], extra_filters=[{"col": bad, "op": bad, "val": bad}])
    ),
    "question": lambda core, bad: core.charts.question(bad),
    "question dashboard": lambda core, bad: core.charts.question(1, dashboard_id=bad),
    "question filter": lambda core, bad: core.charts.question(1, extra_filters=[{"col": bad, "op": "==", "val": bad}]),
}


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str) -> Iterator[SmallCore]:
    with small_core(tmp_path, ports={"metadata_url": metadata_url}) as made:
        made.orders()
        requested = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["country"]}]}
        given = {
            "slice_name": "x",
            "datasource_id": 1,
            "datasource_type": "table",
            "query_context": json.dumps(requested),
        }
        made.core.charts.create(given)
        made.core.dashboards.create({"dashboard_title": "Board"})
        yield made


@pytest.mark.each_store
@pytest.mark.slow
def test_any_argument_gives_an_answer_or_a_typed_error(shop: SmallCore) -> None:
    messages = {
        (call, name): rejection(partial(ask, shop.core, bad))
        for call, ask in CALLS.items()
        for name, bad in HOSTILE.items()
    }
    assert [(place, text) for place, text in messages.items() if text.startswith("raw ")] == []
    assert [(place, len(text)) for place, text in messages.items() if len(text) > 5_000] == []


@pytest.mark.each_store
@pytest.mark.slow
@for_each("column", ["id", "action", "user_id", "dttm", "referrer"])
def test_any_condition_of_a_list_gives_an_answer_or_a_typed_error(shop: SmallCore, column: str) -> None:
    values = {**HOSTILE, "with null": [1, None], "deep list": [nested(3_000)]}
    messages = {
        (op, name): rejection(partial(shop.core.logs.list, [{"col": column, "op": op, "val": bad}], page_size=1))
        for op in ("eq", "neq", "gt", "lt", "in", "contains", "starts_with", "is_null")
        for name, bad in values.items()
    }
    assert [(place, text) for place, text in messages.items() if text.startswith("raw ")] == []


def test_true_is_no_id(shop: SmallCore) -> None:
    calls: tuple[Callable[[], Any], ...] = (
        lambda: shop.core.logs.get(True),
        lambda: shop.core.explore.context(chart_id=True),
        lambda: shop.core.permalinks.create_for_dashboard(True, {}),
        lambda: shop.core.logs.recent_activity(user=True),
    )
    for call in calls:
        with pytest.raises(AnalyticsError):
            call()


def test_is_null_takes_true_or_false_alone(shop: SmallCore) -> None:
    def count(value: Any) -> int:
        return shop.core.logs.list(filters=[{"col": "referrer", "op": "is_null", "val": value}]).count

    every = shop.core.logs.list().count
    assert (count(True), count(None), count(False)) == (every, every, 0)
    for value in ("false", 0, "no", [], {}):
        with pytest.raises(AnalyticsError, match="true or false"):
            count(value)


def test_actions_are_a_list_of_names(shop: SmallCore) -> None:
    found = shop.core.logs.recent_activity(actions=["chart.create"]).result
    assert [one.action for one in found] == ["chart.create"]
    for actions in ("chart.create", {"chart.create": 1}, 5, [5], [None]):
        with pytest.raises(AnalyticsError, match="actions"):
            shop.core.logs.recent_activity(actions=actions)  # type: ignore[arg-type]


def test_a_time_option_that_is_no_text_is_refused_and_not_left_out(shop: SmallCore) -> None:
    for column in ("__time_range", "__time_grain", "__granularity"):
        with pytest.raises(AnalyticsError, match=r"extra_filters\.0"):
            shop.core.charts.question(1, extra_filters=[{"col": column, "op": "==", "val": 5}])


def test_a_moment_beyond_the_calendar_is_refused_with_its_path(shop: SmallCore) -> None:
    for moment in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        with pytest.raises(AnalyticsError, match="dttm"):
            shop.core.logs.create({"action": "x", "dttm": moment})
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert shop.core.logs.create({"action": "x", "dttm": moment}).dttm is not None
