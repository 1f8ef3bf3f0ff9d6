"""Saved queries move between stores as Apache Superset exports them, are compared, and are checked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles import SHOP, packed
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core._content.checks.difference import RecordChange
from analytics_core.errors import DatabaseAccessError, NotFoundError, PayloadSchemaError

UUID = "00000000-0000-4000-8000-000000000051"
HERE = {"shop": 1}
FILE = "export/queries/shop/main/countries.yaml"


def superset(**changes: Any) -> bytes:
    """Return a bundle of one saved query, written as Superset writes it."""
    query = {
        "schema": "main",
        "label": "countries",
        "description": "who buys",
        "sql": "SELECT country FROM orders",
        "uuid": UUID,
        "version": "1.0.0",
        "database_uuid": SHOP,
        **changes,
    }
    return packed(
        {
            "export/metadata.yaml": {
                "version": "1.0.0",
                "type": "SavedQuery",
                "timestamp": "2024-01-01T00:00:00+00:00",
            },
            "export/databases/shop.yaml": {"database_name": "shop", "sqlalchemy_uri": "x://", "uuid": SHOP},
            FILE: query,
        }
    )


def files(bundle: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as opened:
        return {name: yaml.safe_load(opened.read(name)) for name in opened.namelist()}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def test_a_saved_query_of_superset_is_made_and_then_changed_under_its_id(shop: SmallCore) -> None:
    report = shop.core.load_bundle(superset(), databases=HERE)
    assert (str(report), report.skipped) == ("0 datasets, 0 charts, 0 dashboards, 1 saved query", ())
    (record,) = report.records
    assert (record.kind, record.name, record.uuid, record.is_new) == ("saved query", "countries", UUID, True)
    saved = shop.core.saved_queries.get(record.id or 0)
    assert (saved.schema_name, saved.description, saved.database.id) == ("main", "who buys", 1)
    tag = shop.core.tags.create({"name": "kept"}).id
    shop.core.saved_queries.update(saved.id, {"template_params": '{"a": 1}', "tags": [{"id": tag}]})
    (again,) = shop.core.load_bundle(superset(sql="SELECT id FROM orders", description=""), databases=HERE).records
    assert (again.id, again.is_new) == (saved.id, False)
    changed = shop.core.saved_queries.get(saved.id)
    assert (changed.sql, changed.description) == ("SELECT id FROM orders", None)
    assert (changed.template_params, [tag.name for tag in changed.tags]) == ('{"a": 1}', ["kept"])


def test_an_export_has_the_fields_of_superset_and_ours_where_they_say_something(shop: SmallCore) -> None:
    plain = shop.core.saved_queries.create({"label": "a/b: ../c", "database": 1, "sql": "SELECT 1 AS x"})
    tag = shop.core.tags.create({"name": "mine"}).id
    full = shop.core.saved_queries.create(
        {"label": "b", "database": 1, "sql": "SELECT 2 AS x", "schema": "main", "template_params": '{"a": 1}',
         "tags": [{"id": tag}]}
    )  # fmt: skip
    found = files(shop.core.export_bundle(saved_queries=[plain.id, full.id]))
    database = shop.core.databases.get(1).uuid
    assert found[f"export/queries/shop/a_b_c_{plain.uuid}.yaml"] == {
        "label": "a/b: ../c", "description": None, "schema": None, "sql": "SELECT 1 AS x", "uuid": plain.uuid,
        "database_uuid": database, "version": "1.0.0",
    }  # fmt: skip
    ours = found[f"export/queries/shop/main/b_{full.uuid}.yaml"]
    assert (ours["template_params"], ours["tags"], ours["schema"]) == ('{"a": 1}', ["mine"], "main")
    assert found["export/tags.yaml"]["tags"] == [{"tag_name": "mine", "description": None}]
    with pytest.raises(NotFoundError):
        shop.core.export_bundle(saved_queries=[99])


def test_what_an_empty_store_loads_it_exports_as_the_same_bytes(shop: SmallCore, tmp_path: Path) -> None:
    tag = shop.core.tags.create({"name": "t"}).id
    for label in ("same", "same"):
        shop.core.saved_queries.create({"label": label, "database": 1, "sql": "SELECT 1 -- ß\n", "tags": [{"id": tag}]})
    exported = shop.core.export_bundle(saved_queries=[1, 2])
    (tmp_path / "other").mkdir()
    with small_core(tmp_path / "other") as there:
        report = there.core.load_bundle(exported)
        assert [record.is_new for record in report.records if record.kind == "saved query"] == [True, True]
        assert "2 saved queries" in str(report)
        assert there.core.export_bundle(saved_queries=[1, 2]) == exported


def test_whoever_may_not_run_sql_there_moves_no_saved_query(shop: SmallCore) -> None:
    made = shop.core.saved_queries.create({"label": "a", "database": 1, "sql": "SELECT 1 AS x"})
    shop.orders()
    stranger = shop.reader(("dataset", 1))
    with pytest.raises(DatabaseAccessError):
        stranger.export_bundle(saved_queries=[made.id])
    with pytest.raises(PayloadSchemaError):  # what is not for them is told as what is not there
        stranger.load_bundle(superset())
    with pytest.raises(DatabaseAccessError):
        stranger.load_bundle(superset(), databases=HERE)
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    with pytest.raises(PayloadSchemaError, match="closed to the SQL editor"):
        shop.core.load_bundle(superset(), databases=HERE)


def test_only_its_creator_and_administrators_change_it_by_a_bundle(shop: SmallCore) -> None:
    shop.core.load_bundle(superset(), databases=HERE)
    colleague = shop.reader(("database", 1))
    with pytest.raises(PayloadSchemaError, match="only an owner or an administrator"):
        colleague.load_bundle(superset(sql="SELECT 1"), databases=HERE)
    other = "00000000-0000-4000-8000-000000000052"
    (own,) = colleague.load_bundle(superset(uuid=other), databases=HERE).records
    assert colleague.saved_queries.update(own.id or 0, {"label": "x"}).label == "x"
    report = colleague.load_bundle(superset(sql="SELECT 1"), databases=HERE, on_problem="leave_out")
    assert [problem.path for problem in report.left_out] == [FILE]
    assert shop.core.saved_queries.get(1).sql == "SELECT country FROM orders"


@for_each(
    ("fields", "path"),
    [
        ({"sql": "SELEC 1"}, FILE),
        ({"sql": "DELETE FROM orders"}, FILE),
        ({"sql": 5}, f"{FILE}: sql"),
        ({"label": "x" * 300}, f"{FILE}: label"),
        ({"uuid": "x"}, FILE),
        ({"database_uuid": None}, "databases"),
    ],
)
def test_what_could_never_run_is_told_with_its_file(shop: SmallCore, fields: dict[str, Any], path: str) -> None:
    with pytest.raises(PayloadSchemaError) as raised:
        shop.core.load_bundle(superset(**fields), databases=HERE)
    assert [problem.path for problem in raised.value.problems] == [path]
    assert shop.core.saved_queries.list().count == 0


def test_differences_of_saved_queries_are_those_of_their_texts(shop: SmallCore) -> None:
    (record,) = shop.core.load_bundle(superset(), databases=HERE).records
    assert str(shop.core.diff(superset(), databases=HERE)) == "0 of 0 charts and 1 saved query differ"
    changed = superset(sql="SELECT country\nFROM orders\nWHERE id > 1", label="buyers")
    report = shop.core.diff(None, changed, databases=HERE)
    (one,) = report.changed
    assert (one.uuid, one.name, one.change) == (UUID, "buyers", RecordChange.CHANGED)
    assert {"-label: countries", "+label: buyers", "+WHERE id > 1"} <= set(one.sql.splitlines())
    assert "changed: 'buyers'" in str(report)
    assert "| Chart or saved query |" in report.markdown()
    assert 'classname="diff.saved query"' in report.junit()
    shop.core.saved_queries.delete(record.id or 0)
    assert [one.change for one in shop.core.diff(superset(), databases=HERE).changed] == [RecordChange.REMOVED]
    assert [one.change for one in shop.core.diff(None, superset(), databases=HERE).changed] == [RecordChange.ADDED]


def test_a_check_finds_saved_queries_that_lost_tables_and_columns(shop: SmallCore) -> None:
    saved = {
        "sound": "SELECT country FROM orders WHERE id = :id",
        "column": "SELECT country, amount FROM orders",
        "table": "SELECT name FROM people",
        "template": "SELECT {{ column }} FROM orders",
    }
    for label, sql in saved.items():
        shop.core.saved_queries.create({"label": label, "database": 1, "sql": sql})
    assert shop.core.check()
    shop.run("ALTER TABLE orders RENAME COLUMN amount TO price; DROP TABLE people")
    report = shop.core.check()
    assert {record.name: len(record.problems) for record in report.broken} == {"column": 1, "table": 1}
    problems = {record.name: (record.kind, *record.problems) for record in report.broken}
    assert problems["column"][0] == "saved query"
    assert "no column 'amount'" in problems["column"][1]
    assert "no table 'people'" in problems["table"][1]


def test_a_check_tells_what_it_did_not_look_at(shop: SmallCore) -> None:
    shop.core.saved_queries.create({"label": "a", "database": 1, "sql": "SELECT country FROM lost"})
    assert len(shop.core.check().broken) == 1
    assert shop.reader().check().records == ()
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    (record,) = shop.core.check().records
    assert (record.problems, len(record.notes)) == ((), 1)
