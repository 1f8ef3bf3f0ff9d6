"""Whatever stands anywhere in a bundle, it is loaded or refused with a typed error, and trying it says which.

`--hypothesis-profile night` searches longer than the usual run does.
"""

from __future__ import annotations

import datetime
import io
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_form import HOSTILE, places, with_value
from tests.support.bundles import ASKING, BY_COUNTRY, ORDERS, SHOP, bundle, packed
from tests.support.small_core import small_core

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError

search = settings(suppress_health_check=[HealthCheck.too_slow])
HERE: dict[str, int | str] = {"shop": 1, SHOP: 1}
GONE = object()


def entire() -> dict[str, Any]:
    """Return a bundle with a document of each kind."""
    documents = {path: content for path, content in bundle().items() if isinstance(content, dict)}
    layer = {"name": "n", "annotationType": "EVENT", "sourceType": "NATIVE", "value": {"name": "out"}, "style": "solid"}
    documents["export/charts/in_all.yaml"]["params"].update(
        annotation_layers=[{**layer, "show": True, "showMarkers": False}], deck_slices=[{"uuid": BY_COUNTRY}]
    )
    documents["export/charts/in_all.yaml"]["tags"] = ["one", "two"]
    documents["export/dashboards/board.yaml"].update(tags=["one"], roles=["some"], charts=[ASKING])
    moment = {"start_dttm": "2024-01-01T00:00:00+00:00", "end_dttm": "2024-01-02T00:00:00+00:00", "short_descr": "x"}
    return {
        **documents,
        "export/tags.yaml": {"tags": [{"tag_name": "one", "description": "d"}]},
        "export/layers/out.yaml": {"name": "out", "descr": None, "annotations": [{**moment, "json_metadata": "{}"}]},
        "export/css.yaml": {"template_name": "t", "css": "a { color: red }"},
        "export/role.yaml": {
            "name": "some",
            "is_admin": False,
            "grants": [
                {"on": "dataset", "dataset_uuid": ORDERS},
                {"on": "schema", "database_uuid": SHOP, "schema": "main"},
            ],
        },
        "export/rule.yaml": {
            "name": "r", "clause": "id > 0", "filter_type": "Regular", "group_key": None, "roles": ["some"],
            "tables": [ORDERS],
        },
    }  # fmt: skip


PLACES = sorted(places(entire()), key=repr)
MOMENTS = (datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC))
ODD = (
    *MOMENTS,
    float("inf"),
    2**63,
    -(2**31),
    10**400,
    "1_0",
    "\x1f1",
    "²",
    "x\u2028y",
    b"\0",
    ORDERS,
    BY_COUNTRY,
    "main",
)
VALUES: tuple[Any, ...] = (*(one for one in HOSTILE if one != "\ud800"), *ODD)
CHANGES = st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from((GONE, *VALUES))), min_size=1, max_size=3)


def changed(changes: list[tuple[tuple[Any, ...], Any]]) -> bytes:
    documents: Any = entire()
    for path, value in changes:
        try:
            documents = without(documents, path) if value is GONE else with_value(documents, path, value)
        except (KeyError, IndexError, TypeError):  # an earlier change took the place away
            continue
    return packed({path: content for path, content in documents.items() if content is not None})


def without(documents: Mapping[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    changed = with_value(documents, path, None)
    around: Any = changed
    for key in path[:-1]:
        around = around[key]
    del around[path[-1]]
    return changed


def outcome(core: AnalyticsCore, source: bytes, **how: Any) -> tuple[str, Any]:
    try:
        report = core.load_bundle(source, databases=HERE, rules=True, **how)
    except AnalyticsError as error:
        return type(error).__name__, str(error)
    records = tuple(replace(record, id=None) for record in report.records)
    return "loaded", (records, report.skipped, report.left_out)


def are_ruled(source: bytes, records: Any, skipped: Any, _rest: Any) -> bool:
    """Tell whether the role and the rule of a bundle are there, or told as files that hold none."""
    with zipfile.ZipFile(io.BytesIO(source)) as zipped:
        rights = {"export/role.yaml", "export/rule.yaml"}.intersection(zipped.namelist())
    return len(rights) <= sum(one.kind in {"role", "row rule"} for one in records) + sum(
        one.path in rights for one in skipped
    )


def export(core: AnalyticsCore) -> bytes:
    kinds = {
        "dashboards": core.dashboards, "charts": core.charts, "datasets": core.datasets,
        "annotation_layers": core.annotation_layers, "css_templates": core.css_templates,
        "row_rules": core.row_level_security,
    }  # fmt: skip
    return core.export_bundle(
        **{kind: [one.id for one in records.list(page_size=100)] for kind, records in kinds.items()}
    )


@pytest.mark.slow
@search
@given(CHANGES)
def test_a_changed_bundle_is_loaded_or_refused_as_trying_it_says(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    source = changed(changes)
    with tempfile.TemporaryDirectory() as folder, small_core(Path(folder)) as shop:
        core = shop.core
        tried = outcome(core, source, dry_run=True)
        rest = outcome(core, source, dry_run=True, on_problem="leave_out")
        assert core.charts.list().count == core.datasets.list().count == core.tags.list().count == 0
        assert outcome(core, source, dry_run=False) == tried
        if tried[0] == "loaded":
            assert rest == tried
        else:
            assert core.charts.list().count == core.datasets.list().count == core.tags.list().count == 0
            assert outcome(core, source, on_problem="leave_out") == rest
            assert rest[0] != "loaded" or (rest[1][2] and are_ruled(source, *rest[1]))
        for records in (core.charts, core.dashboards):
            for one in records.list(page_size=100):
                with suppress(AnalyticsError):
                    records.data(one.id)
        core.check()
        try:
            exported = export(core)
        except AnalyticsError:
            return
        assert outcome(core, exported, dry_run=False)[0] == "loaded"
        assert export(core) == exported
