"""Saved queries: what they hold, which ones are refused, and who finds them by what; on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import (
    AnalyticsError,
    DatabaseAccessError,
    MissingTemplateValueError,
    NotFoundError,
    PayloadSchemaError,
    StatementError,
    StatementRefusedError,
    TableAccessError,
    UnknownNameError,
)

LATE = {"label": "late", "database": 1, "sql": "SELECT id FROM orders WHERE day > :day"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as shop:
        shop.core.tags.create({"name": "weekly"})
        yield shop


def test_a_saved_query_holds_what_it_was_given_and_changes_in_that_alone(shop: SmallCore) -> None:
    given = {"label": "late", "description": "who waits", "schema": "main", "template_params": '{"n": 1}'}
    payload = {**given, "database": 1, "sql": "SELECT {{ n }}", "tags": [{"name": "weekly"}]}
    made = shop.core.saved_queries.create(payload)
    answer = made.to_payload()
    ada = {"id": 1, "first_name": "Ada", "last_name": "Admin"}
    database, tag = {"id": 1, "database_name": "shop"}, {"id": 1, "name": "weekly", "type": 1}
    expected = {**given, "id": made.id, "sql": "SELECT {{ n }}", "database": database, "tags": [tag], "created_by": ada}
    assert {name: value for name, value in answer.items() if name not in ("uuid", "changed_on")} == expected
    assert shop.core.saved_queries.get(made.id) == made
    (item,) = shop.core.saved_queries.list()
    of_lists = {"created_on": answer["changed_on"], "changed_by": ada, "changed_on_delta_humanized": "now"}
    assert item.to_payload() == {**answer, **of_lists}

    changes = {"schema": None, "tags": [], "label": "later"}
    changed = shop.core.saved_queries.update(made.id, changes).to_payload()
    assert {**changed, "changed_on": None} == {**answer, **changes, "changed_on": None}
    shop.core.saved_queries.delete(made.id)
    acts = [(entry.action, entry.json_text) for entry in shop.core.logs.list(order_by="-id")][:3]
    assert acts == [(f"saved_query.{act}", f'{{"saved_query": {made.id}}}') for act in ("delete", "update", "create")]


REFUSED: dict[str, tuple[dict[str, Any], type[AnalyticsError]]] = {
    "a change": ({"sql": "DELETE FROM orders"}, StatementRefusedError),
    "a function that nobody may call": ({"sql": "SELECT load_extension('x')"}, StatementRefusedError),
    "no SQL": ({"sql": "SELECT 'open"}, StatementError),
    "a script": ({"sql": "SELECT 1; SELECT 2"}, StatementError),
    "no such database": ({"database": 7}, NotFoundError),
    "no such tag": ({"tags": [{"name": "daily"}]}, NotFoundError),
    "no label": ({"label": ""}, PayloadSchemaError),
    "no JSON": ({"template_params": "{"}, PayloadSchemaError),
}


def test_what_could_never_run_is_neither_saved_nor_made_of_what_was(shop: SmallCore) -> None:
    saved = shop.core.saved_queries
    made = saved.create(LATE)
    for case, (fields, kind) in REFUSED.items():
        with pytest.raises(kind):
            pytest.fail(f"{case}: {saved.create({**LATE, **fields})}")
        with pytest.raises(kind):
            pytest.fail(f"{case}: {saved.update(made.id, fields)}")
    assert (saved.get(made.id), saved.list().count) == (made, 1)
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    with pytest.raises(DatabaseAccessError, match="expose_in_sqllab"):
        shop.core.saved_queries.create(LATE)


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "label": ({"col": "label", "op": "starts_with", "val": "la"}, ["late"]),
    "text": ({"col": "sql", "op": "contains", "val": "AS two"}, ["two"]),
    "schema": ({"col": "schema", "op": "eq", "val": "main"}, ["two"]),
    "database": ({"col": "database", "op": "eq", "val": 1}, ["late", "two"]),
    "another database": ({"col": "database", "op": "eq", "val": 2}, ["other"]),
    "tag": ({"col": "tags", "op": "eq", "val": 1}, ["two"]),
}


def test_saved_queries_are_found_by_what_people_look_for_in_databases_that_they_may_ask(shop: SmallCore) -> None:
    shop.core.databases.create({"database_name": "second", "orm_uri": f"sqlite:///{shop.file}"})
    two = {"label": "two", "database": 1, "sql": "SELECT 2 AS two", "schema": "main", "tags": [{"name": "weekly"}]}
    for payload in (LATE, two, {**LATE, "label": "other", "database": 2}):
        shop.core.saved_queries.create(payload)
    for case, (condition, labels) in FILTERS.items():
        assert [one.label for one in shop.core.saved_queries.list([condition], order_by="label")] == labels, case
    reader = shop.reader(("database", 1))
    assert [one.label for one in reader.saved_queries.list(order_by="label")] == ["late", "two"]
    assert [one.text for one in reader.saved_queries.distinct("label").result] == ["late", "two"]
    assert [one.text for one in reader.saved_queries.distinct("schema").result] == ["main"]
    with pytest.raises(UnknownNameError, match="the related fields of saved queries"):
        reader.saved_queries.related("database")


def test_people_with_grants_on_tables_save_what_they_may_run_and_see_their_own_alone(shop: SmallCore) -> None:
    orders = shop.orders()
    ida, bob = (shop.reader(orders, username=name) for name in ("ida", "bob"))
    shop.core.saved_queries.create(LATE)
    own = ida.saved_queries.create({**LATE, "label": "own"})
    rendered = {"sql": "SELECT id FROM {{ t }}", "template_params": '{"t": "orders"}', "label": "rendered"}
    templated = ida.saved_queries.create({**LATE, **rendered})
    assert ida.saved_queries.update(own.id, {"label": "mine"}).label == "mine"
    for fields, kind in (
        ({"sql": "SELECT name FROM people"}, TableAccessError),
        ({"sql": "SELECT name FROM {{ t }}", "template_params": '{"t": "people"}'}, TableAccessError),
        ({"sql": "SELECT {{ nothing }} FROM orders"}, MissingTemplateValueError),
        ({"sql": "SELECT 1 AS one"}, DatabaseAccessError),
    ):
        with pytest.raises(kind):
            pytest.fail(f"{fields}: {ida.saved_queries.create({**LATE, **fields})}")
        with pytest.raises(kind):
            pytest.fail(f"{fields}: {ida.saved_queries.update(own.id, fields)}")

    assert [one.label for one in ida.saved_queries.list(order_by="id")] == ["mine", "rendered"]
    assert (bob.saved_queries.list().count, shop.core.saved_queries.list().count) == (0, 3)
    assert [one.id for one in ida.lineage("orders", column="id").of("saved query")] == [own.id, templated.id]
    assert bob.lineage("orders", column="id").of("saved query") == ()
    for call in (
        lambda: ida.saved_queries.get(1),
        lambda: bob.saved_queries.get(own.id),
        lambda: bob.saved_queries.update(own.id, {"label": "his"}),
        lambda: bob.export_bundle(saved_queries=[own.id]),
    ):
        with pytest.raises(DatabaseAccessError):
            pytest.fail(f"{call()}")
    assert ida.export_bundle(saved_queries=[own.id])
    assert not ida.check().broken

    shop.core.roles.revoke(shop.core.roles.list(order_by="-id")[1], on=orders)
    assert ida.saved_queries.list().count == 0
    with pytest.raises(DatabaseAccessError):
        ida.saved_queries.get(own.id)
