"""Each column by which a list filters and sorts gives the records that have its value, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import PayloadSchemaError, SettingsError

COLUMNS: Mapping[str, str] = {
    "css_templates": "id template_name css",
    "annotation_layers": "id name descr",
    "tags": "id name description type",
    "datasets": "id table_name schema sql description is_managed_externally",
    "dashboards": "id dashboard_title slug certified_by published is_managed_externally",
    "charts": "id slice_name viz_type description certified_by is_managed_externally",
    "databases": "id database_name backend expose_in_sqllab allow_dml allow_run_async allow_file_upload",
    "row_level_security": "id name description filter_type group_key",
    "users": "id username first_name last_name email active",
    "roles": "id name is_admin",
}
"""Those of the contract that an item of the list or its record shows as they are stored."""

LINKS: Mapping[tuple[str, str], Callable[[Any], list[int]]] = {
    ("dashboards", "owners"): lambda item: [one.id for one in item.owners],
    ("dashboards", "tags"): lambda item: [one.id for one in item.tags],
    ("datasets", "owners"): lambda item: [one.id for one in item.owners],
    ("row_level_security", "roles"): lambda item: [one.id for one in item.roles],
    ("row_level_security", "tables"): lambda item: [one.id for one in item.tables],
    ("users", "roles"): lambda item: [one.id for one in item.roles],
}


def fill(shop: SmallCore) -> None:
    """Store two records of each list, or more, which differ in each of its columns."""
    core = shop.core
    for number in (1, 2):
        core.css_templates.create({"template_name": f"c{number}", "css": f"a {{ width: {number}px }}"})
        core.annotation_layers.create({"name": f"l{number}", "descr": f"d{number}"})
        core.tags.create({"name": f"t{number}", "description": f"d{number}"})
        core.roles.create({"name": f"r{number}"})
    core.users.create(
        {"username": "eve", "first_name": "Eve", "last_name": "Moor", "email": "eve@x.example", "roles": [1]}
    )
    core.users.create({"username": "old", "first_name": "Old", "active": False, "roles": [2]})
    flags = {"allow_dml": True, "allow_run_async": True, "allow_file_upload": True, "expose_in_sqllab": False}
    core.databases.create({"database_name": "more", "sqlalchemy_uri": f"sqlite:///{shop.file}", **flags})
    first = shop.orders().id
    second = core.datasets.create({"database": 1, "table_name": "mine", "sql": "SELECT 1 AS id", "owners": [1, 2]}).id
    core.datasets.update(second, {"description": "by hand", "is_managed_externally": True})
    for number, dataset in enumerate((first, second)):
        source = {"datasource_id": dataset, "datasource_type": "table"}
        fields = {"certified_by": f"by {number}", "is_managed_externally": number == 1}
        kind = ("table", "pie")[number]
        core.charts.create(
            {
                "slice_name": f"chart {number}",
                "viz_type": kind,
                "params": "{}",
                **source,
                **fields,
                "description": f"d{number}",
            }
        )
        board = {"dashboard_title": f"board {number}", "slug": f"b{number}", "published": number == 1}
        owners = [1, 2][: number + 1]
        made = core.dashboards.create({**board, **fields, "owners": owners})
        if number == 0:  # the other is managed by another system
            core.tags.tag("dashboard", made.id, ["t1"])
        rule = {"name": f"rule {number}", "clause": "id = 1", "filter_type": ("Regular", "Base")[number]}
        core.row_level_security.create(
            {**rule, "roles": [number + 1], "tables": [dataset], "group_key": f"g{number}", "description": f"d{number}"}
        )


def all_of(core: AnalyticsCore, name: str, **options: Any) -> list[Any]:
    return list(getattr(core, name).list(page_size=100, **options))


def displayed(core: AnalyticsCore, name: str, item: Any, column: str) -> Any:
    """Return what an item shows in a column, or else its record."""
    return getattr(item if hasattr(item, column) else getattr(core, name).get(item.id), column)


@pytest.mark.slow
def test_a_list_filters_and_sorts_by_each_of_its_columns(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        fill(shop)
        for name, columns in COLUMNS.items():
            items = all_of(shop.core, name)
            assert len(items) >= 2, name
            for column in columns.split():
                values = {item.id: displayed(shop.core, name, item, column) for item in items}
                for value in set(values.values()) - {None}:
                    found = all_of(shop.core, name, filters=[{"col": column, "op": "eq", "val": value}])
                    assert {item.id for item in found} == {key for key in values if values[key] == value}, column
                known = [key for key in values if values[key] is not None]
                ordered = [values[item.id] for item in all_of(shop.core, name, order_by=column) if item.id in known]
                assert ordered == sorted(ordered), f"{name}.{column}"
        for (name, column), read in LINKS.items():
            items = all_of(shop.core, name)
            for value in {key for item in items for key in read(item)}:
                found = all_of(shop.core, name, filters=[{"col": column, "op": "eq", "val": value}])
                assert {item.id for item in found} == {item.id for item in items if value in read(item)}, column


def test_an_unknown_field_is_told_with_the_act_that_the_contract_names(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        shop.orders()
        shop.core.roles.create({"name": "few"})
        acts: dict[str, Callable[[], Any]] = {
            "DatabaseRestApi.post": lambda: shop.core.databases.create({"glow": 1}),
            "DatabaseRestApi.put": lambda: shop.core.databases.update(1, {"glow": 1}),
            "DatasetRestApi.post": lambda: shop.core.datasets.create({"glow": 1}),
            "DatasetRestApi.put": lambda: shop.core.datasets.update(1, {"glow": 1}),
            "ChartRestApi.post": lambda: shop.core.charts.create({"glow": 1}),
            "DashboardRestApi.post": lambda: shop.core.dashboards.create({"glow": 1}),
            "CssTemplateRestApi.post": lambda: shop.core.css_templates.create({"glow": 1}),
            "AnnotationLayerRestApi.post": lambda: shop.core.annotation_layers.create({"glow": 1}),
        }
        for name, act in acts.items():
            with pytest.raises(PayloadSchemaError) as refused:
                act()
            assert refused.value.message.startswith(f"{name} is not valid: "), refused.value.message


def test_a_list_counts_no_more_records_than_the_settings_say(tmp_path: Path) -> None:
    with AnalyticsCore(Settings(secret_key="a-key-of-these-tests-5f1c9e", max_list_count=2)) as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        tag = core.tags.create({"name": "every"}).id
        for number in range(3):
            core.tags.tag("dashboard", core.dashboards.create({"dashboard_title": f"d{number}"}).id, ["every"])
        for page, found in ((0, 2), (1, 1), (2, 0)):
            for listed in (
                core.dashboards.list(page=page, page_size=2),
                core.tags.tagged(tag, "dashboard", page=page, page_size=2),
            ):
                assert (listed.count, len(listed.result)) == (2, found)
    with pytest.raises(SettingsError, match="max_list_count must be at least 1, or None"):
        Settings(secret_key="a-key-of-these-tests-5f1c9e", max_list_count=0)
