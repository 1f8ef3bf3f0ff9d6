"""Bundles give nobody more rights than `create` and `update` do, and are stored whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.bundles import (
    ASKING,
    BOARD,
    BY_COUNTRY,
    IN_ALL,
    NAMES,
    ORDERS,
    PEOPLE,
    SHOP,
    bundle,
    chart,
    packed,
)
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, errors
from analytics_core._content.storage.tables import METADATA

ROOT = Path(__file__).resolve().parents[2]
HERE = {"shop": 1}
NO_ONE = "00000000-0000-4000-8000-0000000000ff"
"""A UUID of nothing."""


@pytest.fixture
def store_url(metadata_url: str, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/meta.db" if metadata_url == "sqlite://" else metadata_url


@pytest.fixture
def shop(store_url: str, tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, metadata_url=store_url) as made:
        yield made


def stored(core: AnalyticsCore) -> dict[str, list[Any]]:
    """Return everything that a store holds."""
    with core._runtime.content.store._engine.connect() as connection:
        rows = {name: connection.execute(sa.select(table)).all() for name, table in METADATA.tables.items()}
    return {name: sorted(map(tuple, found), key=repr) for name, found in rows.items()}


def only(*paths: str, **changes: Any) -> dict[str, Any]:
    """Return some documents of the bundle, each with these changes."""
    return {path: {**content, **changes} for path, content in bundle().items() if path.endswith(paths)}


def refusal(core: AnalyticsCore, documents: Any, **options: Any) -> str:
    with pytest.raises(errors.AnalyticsError) as refused:
        core.load_bundle(packed(documents), **options)
    return f"{type(refused.value).__name__}: {refused.value}"


# -------------------------------------------------------------------------------------------------- what nobody gets
WITHOUT_RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("a connection by its URL", {"databases": {"shop": "sqlite:///shop.db"}}),
    ("a connection by its password", {"passwords": {"shop": "guess"}}),
    ("roles and row rules", {"rules": True}),
]


@pytest.mark.parametrize(("what", "options"), WITHOUT_RIGHT)
def test_who_may_not_create_it_cannot_load_it(shop: SmallCore, what: str, options: dict[str, Any]) -> None:
    reader = shop.reader(("database", 1))
    before = stored(shop.core)
    documents = bundle()
    documents["export/databases/shop.yaml"]["sqlalchemy_uri"] = f"sqlite:///{shop.file}"
    rule = {"name": "r", "clause": "1 = 1", "filter_type": "Regular", "roles": ["Admin"], "tables": [ORDERS]}
    documents["export/row_rules/r.yaml"] = rule
    for dry_run in (True, False):
        with pytest.raises(errors.AccessError):
            reader.load_bundle(packed(documents), dry_run=dry_run, **options)
    assert stored(shop.core) == before


@pytest.mark.slow
@pytest.mark.parametrize("grants", [(), (("dataset", 1),), (("schema", 1, "main"),)])
def test_datasets_take_a_grant_on_the_whole_database(shop: SmallCore, grants: tuple[Any, ...]) -> None:
    shop.orders()
    reader = shop.reader(*grants)
    before = stored(shop.core)
    with pytest.raises(errors.DatabaseAccessError):
        reader.load_bundle(packed(bundle()), databases=HERE)
    assert stored(shop.core) == before


def test_rules_and_audiences_stay_without_rules(shop: SmallCore) -> None:
    role = shop.core.roles.create({"name": "few"})
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    shop.core.dashboards.update(1, {"roles": [role.id]})
    rule = {"name": "r", "clause": "id = 1", "filter_type": "Base", "roles": [], "tables": [1]}
    shop.core.row_level_security.create(rule)
    documents = {
        **only("board.yaml", roles=[]),
        "export/row_rules/r.yaml": {**rule, "clause": "1 = 1", "tables": [ORDERS]},
        "export/roles/few.yaml": {"name": "few", "grants": [{"on": "dataset", "dataset_uuid": ORDERS}]},
    }
    report = shop.core.load_bundle(packed(documents), databases=HERE)
    assert [file.path for file in report.skipped] == ["export/roles/few.yaml", "export/row_rules/r.yaml"]
    assert [audience.id for audience in shop.core.dashboards.get(1).roles or ()] == [role.id]
    assert shop.core.row_level_security.get(1).clause == "id = 1"


def test_no_bundle_makes_an_administrator(shop: SmallCore) -> None:
    before = stored(shop.core)
    admin = {"name": "kings", "grants": [], "is_admin": True}
    assert "is_admin" in refusal(shop.core, {"roles/kings.yaml": admin}, rules=True)
    assert stored(shop.core) == before


# ------------------------------------------------------------------------------------------------ what others own
OWNED = {ORDERS: "orders.yaml", BY_COUNTRY: "by_country.yaml", BOARD: "board.yaml"}


@pytest.mark.parametrize("uuid", OWNED)
def test_what_another_owns_is_not_overwritten(shop: SmallCore, uuid: str) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    other = shop.reader(("database", 1))
    before = stored(shop.core)
    reason = refusal(other, only(OWNED[uuid]), databases={SHOP: 1})
    assert "only an owner or an administrator may change" in reason
    assert stored(shop.core) == before


def _unreadable(shop: SmallCore) -> AnalyticsCore:
    """Load the bundle; return the core of somebody who may use another database, and reads none of it."""
    documents = bundle()
    documents["export/databases/shop.yaml"]["database_name"] = "private"
    shop.core.load_bundle(packed(documents), databases={SHOP: f"sqlite:///{shop.file}"})
    reader = shop.reader(("database", 1), username="of another database")
    assert [core_list.list().count for core_list in (reader.datasets, reader.charts, reader.dashboards)] == [0, 0, 0]
    return reader


References = Callable[[str], dict[str, Any]]
REFERENCES: dict[str, tuple[str, References]] = {
    "the database of a dataset": (SHOP, lambda uuid: only("orders.yaml", uuid=NO_ONE, database_uuid=uuid)),
    "the dataset of a chart": (ORDERS, lambda uuid: {"charts/c.yaml": chart("c", NO_ONE, uuid)}),
    "the dataset of a filter": (
        ORDERS,
        lambda uuid: {
            "dashboards/d.yaml": {
                "dashboard_title": "d", "position": {}, "uuid": NO_ONE,
                "metadata": {"native_filter_configuration": [{"id": "f", "targets": [{"datasetUuid": uuid}]}]},
            }
        },
    ),
    "a chart of a layout": (
        IN_ALL,
        lambda uuid: {
            "dashboards/d.yaml": {
                "dashboard_title": "d", "uuid": NO_ONE, "metadata": {},
                "position": {"a": {"type": "CHART", "id": "a", "children": [], "meta": {"chartId": 1, "uuid": uuid}}},
            }
        },
    ),
    "a chart beside a layout": (
        IN_ALL,
        lambda uuid: {
            "dashboards/d.yaml": {
                "dashboard_title": "d", "uuid": NO_ONE, "metadata": {}, "position": {}, "charts": [uuid]
            }
        },
    ),
    "a chart on a dataset that is not for the loader": (
        BY_COUNTRY, lambda uuid: {"charts/c.yaml": chart("c", uuid, PEOPLE)}
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", REFERENCES)
def test_what_is_not_for_the_loader_is_told_as_what_does_not_exist(shop: SmallCore, what: str) -> None:
    uuid, documents = REFERENCES[what]
    reader = _unreadable(shop)
    before = stored(shop.core)
    unknown = "00000000-0000-4000-8000-0000000000ee"
    reasons = [refusal(reader, documents(known)).replace(known, "UUID") for known in (uuid, unknown)]
    assert reasons[0] == reasons[1]
    assert stored(shop.core) == before


def test_a_uuid_that_is_taken_tells_nothing_of_what_has_it(shop: SmallCore) -> None:
    reader = _unreadable(shop)
    mine = only("people.yaml", uuid=NO_ONE, database_uuid=NO_ONE)
    reasons = {
        refusal(
            reader, {**mine, "charts/c.yaml": chart("c", uuid, NO_ONE)}, databases={NO_ONE: 1}
        ).partition("c.yaml: ")[2]
        for uuid in (BY_COUNTRY, NAMES, ASKING)
    }  # fmt: skip
    assert reasons == {"only an owner or an administrator may change what has this UUID here"}


# ------------------------------------------------------------------------------------------------- all or nothing
FAULTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a dataset": lambda d: d["export/datasets/shop/people.yaml"].update(table_name="nowhere"),
    "a metric": lambda d: d["export/datasets/shop/people.yaml"]["metrics"][0].update(expression=")"),
    "a chart": lambda d: d["export/charts/names.yaml"].update(cache_timeout="soon"),
    "a dashboard": lambda d: d["export/dashboards/board.yaml"].update(slug="a b"),
    "a tag": lambda d: d.update({"export/tags.yaml": {"tags": [{"tag_name": 5}]}}),
    "a layer": lambda d: d.update({"export/l.yaml": {"name": "l", "annotations": [{"short_descr": "x"}]}}),
    "a template": lambda d: d.update({"export/t.yaml": {"template_name": "t", "css": "</style>"}}),
    "a role": lambda d: d.update({"export/r.yaml": {"name": "r", "grants": [{"on": "moon"}]}}),
    "a rule": lambda d: d.update(
        {"export/x.yaml": {"name": "x", "clause": "nope = 1", "filter_type": "Base", "roles": [], "tables": [ORDERS]}}
    ),
}


@pytest.mark.each_store
@pytest.mark.slow
@for_each("part", FAULTS)
def test_a_part_that_is_refused_leaves_the_store_as_it_was(shop: SmallCore, part: str) -> None:
    documents = bundle()
    FAULTS[part](documents)
    for _ in ("empty", "loaded"):
        before = stored(shop.core)
        with pytest.raises(errors.AnalyticsError):
            shop.core.load_bundle(packed(documents), databases=HERE, rules=True)
        assert stored(shop.core) == before
        shop.core.load_bundle(packed(bundle()), databases=HERE)


LONG = pytest.mark.long


@pytest.mark.each_store
@pytest.mark.slow
@pytest.mark.parametrize("share", [pytest.param("0.3", marks=LONG), "0.7", pytest.param("1", marks=LONG)])
def test_a_process_that_is_killed_leaves_the_store_as_it_was(
    shop: SmallCore, store_url: str, tmp_path: Path, share: str
) -> None:
    before = stored(shop.core)
    program = [sys.executable, "-m", "tests.support.killed_load", store_url, str(tmp_path), share]
    with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=ROOT) as loading:
        try:
            assert loading.stdout is not None
            assert loading.stdout.readline() == b"half\n"
        finally:
            loading.kill()
    assert stored(shop.core) == before
    assert str(shop.core.load_bundle(packed(bundle()), databases=HERE)) == "2 datasets, 4 charts, 1 dashboard"
