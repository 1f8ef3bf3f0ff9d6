"""Content that is exported and loaded into an empty store is exported there as the same bytes, without secrets."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles import SHOP
from tests.support.small_core import KEY, SmallCore, small_core

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.command_line import main
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.secret import Secret

ODD_TEXTS = (
    *("1_0", "0o7", "0x1F", "1:30", "yes", "null", "~", "=", "<<", "2024-01-01", "1e3", ".nan", "-", "&a", "*a", "!!x"),
    *(" ends ", "tab\tand\nlines\n\n  more\n", "\x1f", "\u2028", "\x85", "\ufeff", "ß 表 🙂"),
    *("'", '"', "#", ": ", "{%", "x" * 300),
)
ODD_NUMBERS = [0, -0.0, 1e16, 1e-7, 2**70, 0.1, True]
ODD = {"texts": list(ODD_TEXTS), "keys": dict.fromkeys(ODD_TEXTS, 1), "numbers": ODD_NUMBERS}


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Callable[[str], SmallCore]]:
    """Give what makes stores in folders of their own, which have one file of data under the same UUID."""
    opened = []

    def make(name: str) -> SmallCore:
        (tmp_path / name).mkdir()
        made = small_core(tmp_path / name, metadata_url=f"sqlite:///{tmp_path}/{name}/meta.db")
        opened.append(made)
        shop = made.__enter__()
        uri = f"sqlite:///{shop.file}"
        shop.core.databases.create({"database_name": "data", "orm_uri": uri, "uuid": SHOP})
        return shop

    yield make
    for made in opened:
        made.__exit__(None, None, None)


# -------------------------------------------------------------------------------------------------------- the content
def fill(core: AnalyticsCore) -> dict[str, list[int]]:
    """Store something of every kind, and return the ids that an export names."""
    core.charts.create({"slice_name": "takes an id", "datasource_id": orders(core), "datasource_type": "table"})
    virtual = core.datasets.create(
        {
            "database": 2,
            "table_name": "some orders",
            "sql": "SELECT id, day, country FROM orders WHERE id < {{ (filter_values('most') or [100])[0] }} -- ß\n",
        }
    )
    core.datasets.update(
        virtual.id, {"template_params": '{"b": 1, "a": [null, "x"]}', "fetch_values_predicate": "id > 0"}
    )
    tags = [core.tags.create({"name": name, "description": "for all"}).id for name in ("öffentlich", "1_0")]
    layer = core.annotation_layers.create({"name": "releases: all", "descr": "of\nsoftware"})
    for day in ("2024-02-01", "2024-01-01"):
        note = {"start_dttm": f"{day}T00:00:00+01:00", "end_dttm": f"{day}T10:00:00.5Z", "short_descr": "out"}
        core.annotations.create(layer.id, {**note, "json_metadata": '{"b": 1, "a": 2}'})
    template = core.css_templates.create({"template_name": "dark: /..", "css": ".a {\r\n  color: red;\n}\t"})
    inner = chart(core, "inner", virtual.id, groupby=["country"], metrics=["count"])
    shows = {
        "name": "n", "annotationType": "EVENT", "sourceType": "NATIVE", "value": layer.id,
        "style": "solid", "show": True, "showMarkers": False,
    }  # fmt: skip
    lines = {**shows, "name": "l", "annotationType": "TIME_SERIES", "sourceType": "line", "value": inner}
    outer = chart(core, "outer", 1, annotation_layers=[shows, lines], deck_slices=[inner], tags=tags)
    odd = chart(core, "Odd | <name>\n/../ \x1f", 1, odd=ODD, cache_timeout=-1, certified_by="me", description="a\nb")
    core.charts.update(odd, {"query_context": context(1, odd)})
    board = core.dashboards.create(dashboard(outer, odd, filtered=virtual.id))
    with core._runtime.content.store.unit_of_work() as unit:  # one chart stands beside the layout
        stored = unit.dashboards.get(board.id)
        chart_ids = (*stored.chart_ids, inner)
        unit.dashboards.update(replace(stored, chart_ids=chart_ids, tag_ids=tuple(tags)), actor_id=1)
    role = core.roles.create({"name": "readers of ../all"})
    for on in (("database", 2), ("schema", 2, "main"), ("dataset", virtual.id)):
        core.roles.grant(role.id, on=on)
    core.dashboards.update(board.id, {"roles": [role.id]})
    query = {"label": "a/b: ../c", "database": 2, "schema": "main", "sql": "SELECT 1 -- ß\n", "description": "1_0"}
    saved = core.saved_queries.create({**query, "template_params": '{"b": 1}', "tags": [{"id": tags[0]}]}).id
    rules = [
        core.row_level_security.create(
            {"name": f"rule {kind}", "filter_type": kind, "clause": "country = 'France' -- ß", "group_key": key,
             "tables": [1, virtual.id], "roles": [role.id], "description": "why"}
        ).id
        for kind, key in (("Regular", "k"), ("Base", None))
    ]  # fmt: skip
    return {
        "dashboards": [board.id], "charts": [inner, 1], "datasets": [virtual.id], "annotation_layers": [layer.id],
        "css_templates": [template.id], "roles": [role.id], "row_rules": rules,
        "saved_queries": [saved],
    }  # fmt: skip


def orders(core: AnalyticsCore) -> int:
    made = core.datasets.create({"database": 2, "table_name": "orders"})
    columns = [
        {"column_name": "id", "type": "INTEGER", "description": "=1+1", "extra": '{"warning_markdown": "x"}'},
        {"column_name": "day", "type": "DATE", "is_dttm": True, "python_date_format": "%Y-%m-%d", "groupby": False},
        {"column_name": "loud", "expression": "UPPER(country) -- '", "type": "TEXT", "verbose_name": " Loud "},
        *({"column_name": name} for name in ("country", "amount")),
    ]
    metrics = [
        {"metric_name": "most", "expression": "MAX(amount)", "d3format": ",.2f", "currency": '{"symbol": "EUR"}'},
        {"metric_name": "count", "expression": "COUNT(*)", "warning_text": "slow", "extra": '{"b": 1, "a": 2}'},
    ]
    more = {"description": "1_0", "offset": -2, "cache_timeout": 7, "main_dttm_col": "day", "extra": "{}"}
    core.datasets.update(made.id, {**more, "columns": columns, "metrics": metrics, "always_filter_main_dttm": True})
    return int(made.id)


def chart(core: AnalyticsCore, name: str, dataset_id: int, *, tags: Any = (), odd: Any = None, **given: Any) -> int:
    own = {key: given.pop(key) for key in ("cache_timeout", "certified_by", "description") if key in given}
    form = {"viz_type": "table", "query_mode": "aggregate", "metrics": ["count"], "z": odd, "a": None, **given}
    made = core.charts.create(
        {"slice_name": name, "viz_type": "table", "params": json.dumps(form), "datasource_id": dataset_id,
         "datasource_type": "table", **own}
    )  # fmt: skip
    if tags:
        core.charts.update(made.id, {"tags": [{"id": tag} for tag in tags]})
    return int(made.id)


def context(dataset_id: int, chart_id: int) -> str:
    form = {"viz_type": "table", "slice_id": chart_id, "datasource": f"{dataset_id}__table", "z": 1, "a": ODD}
    query = {"metrics": ["count"], "columns": ["country"], "extras": {"where": "id < 10"}}
    return json.dumps({"queries": [query], "datasource": {"id": dataset_id, "type": "table"}, "form_data": form})


def dashboard(first: int, second: int, *, filtered: int) -> dict[str, Any]:
    def place(name: str, chart_id: int) -> dict[str, Any]:
        meta = {"chartId": chart_id, "width": 4, "sliceName": "1_0"}
        return {"id": name, "type": "CHART", "children": [], "meta": meta}

    def native(name: str, column: str, *, kind: str = "filter_select", **more: Any) -> dict[str, Any]:
        targets = [{"datasetId": filtered, "column": {"name": column}}] if column else [{}]
        scope = {"rootPath": ["ROOT_ID"], "excluded": [second]}
        return {
            "id": f"NATIVE_FILTER-{name}",
            "name": name,
            "filterType": kind,
            "targets": targets,
            "scope": scope,
            **more,
        }

    metadata = {
        "native_filter_configuration": [
            native("Land", "country", chartsInScope=[first], defaultDataMask={"filterState": {"value": ["1_0"]}}),
            native("Most", "id", kind="filter_range", cascadeParentIds=["NATIVE_FILTER-Land"]),
            native("When", "", kind="filter_time"),
        ],
        "chart_configuration": {
            str(first): {"id": first, "crossFilters": {"scope": "global", "chartsInScope": [second]}}
        },
        "global_chart_configuration": {"scope": {"rootPath": ["ROOT_ID"], "excluded": [first]}, "chartsInScope": []},
        "expanded_slices": {str(second): True},
        "timed_refresh_immune_slices": [first, second],
        "filter_scopes": {str(first): {"country": {"scope": ["ROOT_ID"], "immune": [second]}}},
        "default_filters": json.dumps({str(first): {"country": ["x"]}}),
        "label_colors": {"1_0": "#fff", "²": "#000"},
        "color_scheme": "",
        "own": ODD,
    }
    layout = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["CHART-b", "CHART-a"]},
        "CHART-b": place("CHART-b", second),
        "CHART-a": place("CHART-a", first),
    }
    return {
        "dashboard_title": "A/B: ../all", "slug": "all", "css": "/* 1_0 */", "published": True, "certified_by": "us",
        "certification_details": "a\n", "position_json": json.dumps(layout), "json_metadata": json.dumps(metadata),
    }  # fmt: skip


def everything(core: AnalyticsCore) -> dict[str, list[int]]:
    """Return the ids of all that an empty store got from a bundle."""
    names = {
        "dashboards": core.dashboards, "charts": core.charts, "datasets": core.datasets, "roles": core.roles,
        "annotation_layers": core.annotation_layers, "css_templates": core.css_templates,
        "row_rules": core.row_level_security, "saved_queries": core.saved_queries,
    }  # fmt: skip
    return {name: [item.id for item in records.list(page_size=100)] for name, records in names.items()}


def without_own_role(ids: dict[str, list[int]], core: AnalyticsCore) -> dict[str, list[int]]:
    own = {role.id for role in core.roles.list(page_size=100) if role.name != "readers of ../all"}
    return {**ids, "roles": [key for key in ids["roles"] if key not in own]}


def unzipped(packed: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        file.extractall(folder)
    return folder


# ---------------------------------------------------------------------------------------------------------- the trips
@pytest.mark.slow
@pytest.mark.parametrize("form", ["file", "bytes", "folder"])
def test_what_an_empty_store_loads_it_exports_as_the_same_bytes(
    stores: Callable[[str], SmallCore], tmp_path: Path, form: str
) -> None:
    here, there = stores("here").core, stores("there").core
    named = fill(here)
    exported = here.export_bundle(tmp_path / "out.zip", **named)
    assert (tmp_path / "out.zip").read_bytes() == exported
    source: Any = {"file": tmp_path / "out.zip", "bytes": exported}.get(form) or unzipped(exported, tmp_path / "files")
    there.datasets.create({"database": 2, "table_name": "first", "sql": "SELECT 1 AS x"})  # takes the id 1
    there.datasets.delete(1)
    report = there.load_bundle(source, rules=True)
    assert (report.skipped, {record.is_new for record in report.records}) == ((), {True})
    again = without_own_role(everything(there), there)
    assert there.export_bundle(**again) == exported
    assert {record.is_new for record in there.load_bundle(exported, rules=True).records} == {False}
    assert there.export_bundle(**again) == exported
    assert here.load_bundle(exported, rules=True).skipped == ()
    assert here.export_bundle(**named) == exported


@pytest.mark.slow
def test_a_round_trip_keeps_what_was_said(stores: Callable[[str], SmallCore]) -> None:
    here, there = stores("here").core, stores("there").core
    exported = here.export_bundle(**fill(here))
    loaded = {(record.kind, record.name): record.id for record in there.load_bundle(exported, rules=True).records}
    dataset = there.datasets.get(loaded["dataset", "orders"])
    assert (dataset.offset, dataset.cache_timeout, dataset.main_dttm_col) == (-2, 7, "day")
    columns = {column.column_name: column for column in dataset.columns}
    assert (columns["loud"].expression, columns["loud"].verbose_name) == ("UPPER(country) -- '", " Loud ")
    assert [metric.metric_name for metric in dataset.metrics] == ["most", "count"]
    odd = there.charts.get(loaded["chart", "Odd | <name>\n/../ \x1f"])
    assert json.loads(odd.params or "")["z"] == ODD
    board = there.dashboards.get("all")
    assert json.loads(board.json_metadata or "")["own"] == ODD
    assert set(board.charts or ()) == {"outer", "inner", "Odd | <name>\n/../ \x1f"}
    rules = there.row_level_security.list(page_size=10)
    assert {(rule.name, rule.clause, rule.filter_type.value) for rule in rules} == {
        ("rule Regular", "country = 'France' -- ß", "Regular"),
        ("rule Base", "country = 'France' -- ß", "Base"),
    }
    notes = there.annotations.list(loaded["annotation layer", "releases: all"])
    assert sorted(note.start_dttm.isoformat() for note in notes) == [
        *("2023-12-31T23:00:00+00:00", "2024-01-31T23:00:00+00:00")
    ]


@pytest.mark.slow
def test_the_command_line_takes_content_there_and_back(stores: Callable[[str], SmallCore], tmp_path: Path) -> None:
    fill(stores("here").core)
    stores("there")

    def call(name: str, *arguments: str) -> int:
        environ = {"ANALYTICS_CORE_SECRET_KEY": KEY, "ANALYTICS_CORE_DATA_ROOTS": str(tmp_path)}
        return main(["--store", f"sqlite:///{tmp_path}/{name}/meta.db", "--as", "admin", *arguments], environ)

    out, back = tmp_path / "out.zip", tmp_path / "back.zip"
    assert call("here", "export", str(out)) == 0
    assert call("there", "load", str(unzipped(out.read_bytes(), tmp_path / "files"))) == 0
    assert call("there", "export", str(back)) == 0
    files = [unpacked(path) for path in (out, back)]
    boards = [files_of for files_of in files if any("dashboards" in name for name in files_of)]
    assert len(boards) == 2
    differing = {name for name in files[0] | files[1] if files[0].get(name) != files[1].get(name)}
    assert [name.split("/")[1] for name in differing] == ["dashboards"]  # for whom it is stays, without --rules


def unpacked(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as file:
        return {name: yaml.safe_load(file.read(name)) for name in file.namelist()}


# -------------------------------------------------------------------------------------------------------------- secrets
def test_no_secret_of_a_connection_is_in_an_export(tmp_path: Path) -> None:
    secrets = [f"hush-{number}" for number in range(9)]
    extra = {
        "engine_params": {"connect_args": {"password": secrets[1], "sslkey": secrets[2]}},
        "server_cert": f"-----BEGIN PRIVATE KEY-----\n{secrets[3]}\n",
        "metadata_cache_timeout": {},
    }
    secret_extra = {"oauth2_client_info": {"id": "x", "secret": secrets[4]}, "credentials_info": {"key": secrets[5]}}
    tunnel = {"server_address": secrets[6], "username": "u", "password": secrets[7], "private_key": secrets[8]}
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url="sqlite://") as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        with host._runtime.content.store.unit_of_work() as unit:
            database = Database(
                uuid=SHOP, database_name="far", engine="postgresql", driver="psycopg",
                uri=Secret(f"postgresql+psycopg://someone:{secrets[0]}@db.example/shop?sslpassword={secrets[1]}"),
                extra=json.dumps(extra), secret_extra=Secret(json.dumps(secret_extra)),
                ssh_tunnel=Secret(json.dumps(tunnel)),
                external_url=f"https://x:{secrets[0]}@example.org",
            )  # fmt: skip
            stored = unit.databases.add(database, actor_id=1)
            record = Dataset(uuid=SHOP[:-1] + "9", database_id=stored.id, table_name="t", owner_ids=(1,))
            dataset = unit.datasets.add(record, actor_id=1)
        role = core.roles.create({"name": "readers"})
        core.roles.grant(role.id, on=("database", stored.id))
        with zipfile.ZipFile(io.BytesIO(core.export_bundle(datasets=[dataset.id], roles=[role.id]))) as file:
            files = {name: file.read(name).decode() for name in file.namelist()}
        (text,) = (text for name, text in files.items() if "/databases/" in name)
        assert yaml.safe_load(text) == {
            "database_name": "far", "sqlalchemy_uri": "postgresql://", "uuid": SHOP, "version": "1.0.0"
        }  # fmt: skip
        together = "\n".join([*files, *files.values()])
        assert [secret for secret in (*secrets, "someone", "db.example") if secret in together] == []
