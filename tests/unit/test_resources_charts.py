"""Charts as records: who owns, sees and changes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._content.field_formatter import MarkdownToHtml
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.datasource import Dataset
from analytics_core.errors import (
    ChartAccessError,
    DatasetAccessError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.orders()
        yield made


def add(core: AnalyticsCore, **payload: Any) -> Any:
    return core.charts.create({"slice_name": "Revenue", "datasource_id": 1, "datasource_type": "table", **payload})


def test_a_chart_is_stored_and_owned_by_its_creator(shop: SmallCore) -> None:
    made = add(shop.core, viz_type="line", params='{"a": 1}', cache_timeout=60)
    assert (made.id, made.slice_name, made.viz_type, made.params, made.cache_timeout) == (
        1,
        "Revenue",
        "line",
        '{"a": 1}',
        60,
    )
    assert [owner.first_name for owner in made.owners] == ["Ada"]
    assert shop.core.charts.get(1).to_payload() == made.to_payload()


@pytest.mark.parametrize("source", ["table", "dataset"])
def test_both_names_of_a_dataset_are_taken(shop: SmallCore, source: str) -> None:
    assert add(shop.core, datasource_type=source).id == 1


@pytest.mark.parametrize(("source", "key"), [("table", 99), ("sl_table", 1)])
def test_a_chart_on_nothing_is_refused(shop: SmallCore, source: str, key: int) -> None:
    with pytest.raises(NotFoundError):
        add(shop.core, datasource_type=source, datasource_id=key)


@pytest.mark.parametrize("source", ["query", "saved_query"])
def test_a_chart_on_a_statement_is_refused_with_the_way_to_a_dataset(shop: SmallCore, source: str) -> None:
    with pytest.raises(PayloadSchemaError, match=r"datasource_type: .* core\.sql\.save_as_dataset"):
        add(shop.core, datasource_type=source)


def test_a_chart_needs_the_right_to_read_its_dataset(shop: SmallCore) -> None:
    with pytest.raises(DatasetAccessError):
        add(shop.reader())
    assert add(shop.reader(("dataset", 1), username="other")).id == 1


def test_a_dashboard_that_does_not_exist_leaves_no_chart_behind(shop: SmallCore) -> None:
    with pytest.raises(NotFoundError, match="dashboard 5"):
        add(shop.core, dashboards=[5])
    assert shop.core.charts.list().count == 0


def test_dashboards_and_tags_that_do_not_exist_are_refused(shop: SmallCore) -> None:
    with pytest.raises(NotFoundError, match="dashboard"):
        add(shop.core, dashboards=[5])
    made = add(shop.core, dashboards=[])
    with pytest.raises(NotFoundError, match="tag"):
        shop.core.charts.update(made.id, {"tags": [{"name": "sales"}]})


def test_an_update_changes_what_it_names_and_null_clears(shop: SmallCore) -> None:
    made = add(shop.core, description="d", certified_by="c", viz_type="line")
    changed = shop.core.charts.update(made.id, {"description": None, "viz_type": "bar", "slice_name": None})
    assert (changed.slice_name, changed.description, changed.viz_type, changed.certified_by) == (
        "Revenue",
        None,
        "bar",
        "c",
    )


def test_an_update_cannot_move_a_chart_to_a_dataset_without_a_grant(shop: SmallCore) -> None:
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    reader = shop.reader(("dataset", 1))
    mine = add(reader)
    with pytest.raises(DatasetAccessError):
        reader.charts.update(mine.id, {"datasource_id": people.id})
    assert shop.core.charts.update(mine.id, {"datasource_id": people.id}).id == mine.id
    (item,) = shop.core.charts.list()
    assert item.datasource_name_text == "people"


def test_only_owners_change_and_delete(shop: SmallCore) -> None:
    made = add(shop.core)
    reader = shop.reader(("dataset", 1))
    assert reader.charts.get(made.id).id == made.id
    with pytest.raises(OwnershipError):
        reader.charts.update(made.id, {"description": "x"})
    with pytest.raises(OwnershipError):
        reader.charts.delete(made.id)
    shop.core.charts.update(made.id, {"owners": [1, 2]})
    assert reader.charts.update(made.id, {"description": "x"}).description == "x"


def test_nobody_loses_their_own_chart_by_naming_others(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    made = add(reader)
    changed = reader.charts.update(made.id, {"owners": [1]})
    assert [owner.id for owner in changed.owners] == [1, 2]
    assert [owner.id for owner in reader.charts.update(made.id, {"owners": []}).owners] == [2]


def test_a_list_shows_only_what_the_actor_may_read(shop: SmallCore) -> None:
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    add(shop.core)
    add(shop.core, datasource_id=people.id)
    reader = shop.reader(("dataset", people.id))
    assert [chart.id for chart in reader.charts.list()] == [2]
    assert shop.core.charts.list().count == 2
    with pytest.raises(ChartAccessError):
        reader.charts.get(1)


def test_a_listed_chart_has_its_computed_fields(shop: SmallCore) -> None:
    add(shop.core, params='{"metric": "count"}', viz_type="big_number")
    (item,) = shop.core.charts.list(filters=[{"col": "viz_type", "op": "starts_with", "val": "big"}])
    assert item.form_data == {"metric": "count", "slice_id": 1, "viz_type": "big_number", "datasource": "1__table"}
    assert item.table is not None
    assert item.table.table_name == "orders"
    assert (item.changed_by_name, item.created_by_name) == ("Ada Admin", "Ada Admin")
    assert item.last_saved_by is not None
    assert item.last_saved_at is not None
    assert json.dumps(item.to_payload())


def test_a_description_is_shown_as_html_in_which_nothing_acts(shop: SmallCore) -> None:
    hostile = "**bold** <script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1))"
    add(shop.core, description=hostile)
    html = shop.core.charts.list().result[0].description_markeddown or ""
    assert "<strong>bold</strong>" in html
    assert not any(danger in html.lower() for danger in ("<script", "onerror=", 'href="javascript'))


@for_each(
    ("text", "html"),
    [
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ('<a href="java\nscript:alert(1)">x</a>', '<p><a rel="noopener noreferrer">x</a></p>\n'),
        ("<svg><script>alert(1)</script></svg>", "<p></p>\n"),
        ("<form action=//e><input></form><base href=//e><iframe src=//e></iframe>", ""),
        ('<div id="x" class="y" style="position:fixed">', "<div></div>"),
        ("<b onclick=x>1</b>", "<p><b>1</b></p>\n"),
        ("<b>" * 7_000, f"<pre>{'&lt;b&gt;' * 7_000}</pre>"),
    ],
)
def test_html_of_a_description_is_what_may_stand_in_a_page(text: str, html: str) -> None:
    assert MarkdownToHtml()(text) == html


@pytest.mark.parametrize("params", ["", "[1]", '"text"'])
def test_params_of_any_json_do_not_break_a_list(shop: SmallCore, params: str) -> None:
    add(shop.core, params=params)
    (item,) = shop.core.charts.list()
    assert item.form_data == {"slice_id": 1, "datasource": "1__table"}


def test_params_that_are_no_json_are_refused(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="params: must be JSON text"):
        add(shop.core, params="{not json")


def test_a_chart_whose_dataset_went_away_is_still_listed(shop: SmallCore) -> None:
    made = add(shop.core)
    shop.core.charts.update(made.id, {"certified_by": "x"})
    shop.core.charts.delete(made.id)
    assert shop.core.charts.list().count == 0
    with pytest.raises(NotFoundError):
        shop.core.charts.get(made.id)


@pytest.mark.parametrize("params", ['{"a":' * 400 + "1" + "}" * 400, '{"a": NaN}'])
def test_parameters_beyond_reason_do_not_keep_others_from_their_list(shop: SmallCore, params: str) -> None:
    made = shop.core.charts.create(
        {"slice_name": "deep", "datasource_id": 1, "datasource_type": "table", "params": params}
    )
    (item,) = shop.core.charts.list().to_payload()["result"]
    assert (item["form_data"]["slice_id"], item["params"]) == (made.id, params)
    assert "NaN" not in str(item["form_data"])


def test_an_owner_who_may_not_read_the_dataset_does_not_learn_its_name(shop: SmallCore) -> None:
    made = shop.core.charts.create({"slice_name": "c", "datasource_id": 1, "datasource_type": "table"})
    owner = shop.reader(username="owner")
    shop.core.charts.update(made.id, {"owners": [2]})
    (item,) = owner.charts.list()
    assert (item.table, item.datasource_name_text, item.datasource_id) == (None, None, 1)
    assert shop.core.charts.list().result[0].datasource_name_text == "orders"


@pytest.mark.parametrize("asks_each", [False, True])
def test_an_owner_does_not_find_out_the_name_of_a_dataset_that_they_may_not_read(
    tmp_path: Path, asks_each: bool
) -> None:
    with small_core(tmp_path, policy=AsksEach() if asks_each else None) as shop:
        shop.orders()
        shop.core.datasets.create({"database": 1, "table_name": "people"})
        reader, stranger = shop.reader(("dataset", 1)), shop.reader(username="stranger")
        for owner, dataset in ((2, 1), (2, 2), (3, 2)):
            shop.core.charts.create({"slice_name": "x", "datasource_id": dataset, "datasource_type": "table"})
            shop.core.charts.update(shop.core.charts.list().count, {"owners": [owner]})

        def found(core: AnalyticsCore, name: str) -> list[int]:
            by_name = [{"col": "datasource_name", "op": "starts_with", "val": name}]
            return [chart.id for chart in core.charts.list(by_name, order_by="id")]

        def names(core: AnalyticsCore) -> list[str | None]:
            return [item.text for item in core.charts.distinct("datasource_name").result]

        assert [core.charts.list().count for core in (shop.core, reader, stranger)] == [3, 2, 1]
        assert [found(core, "peo") for core in (shop.core, reader, stranger)] == [[2, 3], [], []]
        assert [found(core, "ord") for core in (shop.core, reader, stranger)] == [[1], [1], []]
        assert [names(core) for core in (shop.core, reader, stranger)] == [["orders", "people"], ["orders"], []]


@pytest.mark.parametrize("asks_each", [False, True])
def test_the_order_by_dataset_names_tells_nothing_of_names_that_are_not_for_the_owner(
    tmp_path: Path, asks_each: bool
) -> None:
    with small_core(tmp_path, policy=AsksEach() if asks_each else None) as shop:
        shop.orders()
        for name in ("people", "hidden"):
            shop.core.datasets.create({"database": 1, "table_name": name, "sql": "SELECT 1 AS x"})
        reader = shop.reader(("dataset", 1), ("dataset", 2))
        for dataset in (2, 3, 1):
            made = shop.core.charts.create({"slice_name": "x", "datasource_id": dataset, "datasource_type": "table"})
            shop.core.charts.update(made.id, {"owners": [2]})

        def order(core: AnalyticsCore, by: str) -> list[int | None]:
            return [chart.datasource_id for chart in core.charts.list(order_by=by)]

        assert (order(shop.core, "datasource_name"), order(shop.core, "-datasource_name")) == ([3, 1, 2], [2, 1, 3])
        assert (order(reader, "datasource_name"), order(reader, "-datasource_name")) == ([1, 2, 3], [2, 1, 3])


def test_charts_go_by_the_present_name_of_their_dataset(shop: SmallCore) -> None:
    made = shop.core.datasets.create({"database": 1, "table_name": "old", "sql": "SELECT 1 AS x"}).id
    for dataset in (made, 1):
        shop.core.charts.create({"slice_name": "c", "datasource_id": dataset, "datasource_type": "table"})
    shop.core.datasets.update(made, {"table_name": "a new one"})

    def found(name: str) -> int:
        return shop.core.charts.list([{"col": "datasource_name", "op": "eq", "val": name}]).count

    assert [found(name) for name in ("old", "a new one", "orders")] == [0, 1, 1]
    names = shop.core.charts.distinct("datasource_name")
    assert (names.count, [item.text for item in names.result]) == (2, ["a new one", "orders"])
    assert [chart.datasource_id for chart in shop.core.charts.list(order_by="datasource_name")] == [made, 1]


class AsksEach(Policy):
    """A policy that decides by a method of its own, so that each dataset is asked about."""

    def can_read_dataset(self, actor: Actor, dataset: Dataset) -> bool:
        """Return what the table says."""
        return super().can_read_dataset(actor, dataset)
