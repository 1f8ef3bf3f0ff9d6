"""Bundles of another store: loaded as a whole, found again by their UUIDs, refused with file and field."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.bundles import (
    ASKING,
    BOARD,
    BY_COUNTRY,
    IN_ALL,
    NAMES,
    ORDERS,
    SHOP,
    bundle,
    chart,
    packed,
    unpacked,
)
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, errors

HERE = {"shop": 1}
EVENTS = {"name": "events", "annotationType": "EVENT", "sourceType": "table"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "superset_export.py"


@pytest.fixture(params=["memory", "file"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallCore]:
    store = "sqlite://" if request.param == "memory" else f"sqlite:///{tmp_path}/store.db"
    with small_core(tmp_path, metadata_url=store) as made:
        yield made


def counts(core: AnalyticsCore) -> tuple[int, int, int]:
    return core.datasets.list().count, core.charts.list().count, core.dashboards.list().count


def ids(report: Any) -> dict[str, int]:
    return {record.uuid: record.id for record in report.records}


# ------------------------------------------------------------------------------------------------------- what comes
@pytest.mark.slow
def test_all_forms_of_a_bundle_are_read_alike(shop: SmallCore, tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(packed(bundle()))
    folder = unpacked(bundle(), tmp_path / "unpacked")
    sources: list[Any] = [file, str(file), file.read_bytes(), io.BytesIO(file.read_bytes()), folder, str(folder)]
    reports = [shop.core.load_bundle(source, databases=HERE, dry_run=True) for source in sources]
    assert all(report == reports[0] for report in reports)
    assert str(reports[0]) == "2 datasets, 4 charts, 1 dashboard (tried, nothing stored)"
    assert [(file.path, file.reason.partition(";")[0]) for file in reports[0].skipped] == [
        ("export/themes/x.yaml", "themes are not kept here")
    ]
    assert {record.id for record in reports[0].records} == {None}
    assert counts(shop.core) == (0, 0, 0)


def test_what_is_loaded_answers_without_a_browser(shop: SmallCore) -> None:
    report = shop.core.load_bundle(packed(bundle()), databases=HERE)
    assert (str(report), counts(shop.core)) == ("2 datasets, 4 charts, 1 dashboard", (2, 4, 1))
    made = ids(report)
    rows = shop.core.charts.data(made[BY_COUNTRY]).raise_for_error().results[0].rows()
    assert sum(row[1] for row in rows) == shop.core.charts.data(made[IN_ALL]).results[0].data[0]["count"]
    assert shop.core.charts.data(made[ASKING]).results[0].rowcount == 1  # the stored context counts: its limit is 1
    data = shop.core.dashboards.data(made[BOARD], filters={"Country": [rows[0][0]]})
    assert [chart.name for chart in data] == ["by country", "in all", "asked"]
    assert data.raise_for_error().chart("by country").results[0].rows() == rows[:1]
    assert data.chart("in all").results[0].rows() != rows[:1]  # excluded from the scope of the filter


def test_a_list_of_charts_without_a_scope_is_kept_with_the_ids_here(shop: SmallCore) -> None:
    documents = bundle()
    (country,) = documents["export/dashboards/board.yaml"]["metadata"]["native_filter_configuration"]
    del country["scope"]
    country["chartsInScope"] = [41, 999]
    made = ids(shop.core.load_bundle(packed(documents), databases=HERE))
    stored = json.loads(shop.core.dashboards.get("board").json_metadata or "")
    assert stored["native_filter_configuration"][0]["chartsInScope"] == [made[BY_COUNTRY]]


def test_ids_of_the_other_store_become_those_here(shop: SmallCore) -> None:
    shop.core.datasets.create({"database": 1, "table_name": "first", "sql": "SELECT 1 AS x"})  # takes the id 1
    made = ids(shop.core.load_bundle(packed(bundle()), databases={SHOP: 1}))
    stored = shop.core.dashboards.get("board")
    metadata = json.loads(stored.json_metadata or "")
    (country,) = metadata["native_filter_configuration"]
    assert country["targets"] == [{"column": {"name": "country"}, "datasetId": made[ORDERS]}]
    assert country["scope"]["excluded"] == [made[IN_ALL]]
    assert "chartsInScope" not in country
    assert metadata["chart_configuration"] == {
        str(made[BY_COUNTRY]): {"id": made[BY_COUNTRY], "crossFilters": {"scope": "global"}}
    }
    assert metadata["expanded_slices"] == {str(made[BY_COUNTRY]): True}
    assert metadata["timed_refresh_immune_slices"] == [made[IN_ALL]]
    places = json.loads(stored.position_json or "")
    assert places["CHART-c"]["meta"]["chartId"] == made[ASKING]
    context = json.loads(shop.core.charts.get(made[ASKING]).query_context or "")
    assert context["datasource"] == {"id": made[ORDERS], "type": "table"}
    assert context["form_data"]["datasource"] == f"{made[ORDERS]}__table"


def test_the_report_tells_what_does_not_come_along(shop: SmallCore) -> None:
    report = shop.core.load_bundle(packed(bundle()), databases=HERE)
    records = {record.name: record for record in report.records}
    assert records["orders"].notes == (
        "column 'long_gone' is left out: the table has none",
        "normalize_columns does not come along",
    )
    assert (records["by country"].fidelity, records["by country"].notes) == ("exact", ())
    assert records["names"].fidelity == "approximated"
    assert records["names"].notes == ("not understood, and not asked: glow",)
    assert records["Board"].notes == ("description does not come along",)
    columns = {item.column_name: item for item in shop.core.datasets.get(records["orders"].id).columns}
    assert columns["country"].verbose_name == "Country"
    assert columns["shouted"].expression == "UPPER(country)"
    assert columns["id"].type == "INTEGER"  # as the table has it, and not as the bundle says


def test_layers_that_show_something_of_the_other_store_are_left_out(shop: SmallCore) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)  # the ids 1 and 2 are charts here
    layers = [
        {
            "name": "goal",
            "annotationType": "FORMULA",
            "value": "3",
            "style": "solid",
            "show": True,
            "showMarkers": False,
        },
        {
            "name": "events",
            "annotationType": "EVENT",
            "sourceType": "table",
            "value": 1,
            "style": "solid",
            "show": True,
            "showMarkers": False,
        },
    ]
    documents = bundle()
    documents["export/charts/in_all.yaml"]["params"].update(annotation_layers=layers, deck_slices=[1, 2])
    context = json.loads(documents["export/charts/asked.yaml"]["query_context"])
    context["queries"][0]["annotation_layers"] = layers
    documents["export/charts/asked.yaml"]["query_context"] = json.dumps(context)
    report = shop.core.load_bundle(packed(documents), databases=HERE)
    notes = {record.name: record.notes for record in report.of("chart")}
    assert [note.partition(" does not")[0] for note in notes["in all"]] == ["annotation layer 'events'", "deck_slices"]
    form = json.loads(shop.core.charts.get(ids(report)[IN_ALL]).params or "")
    assert [layer["name"] for layer in form["annotation_layers"]] == ["goal"]
    assert "deck_slices" not in form
    stored = json.loads(shop.core.charts.get(ids(report)[ASKING]).query_context or "")
    assert [layer["name"] for layer in stored["queries"][0]["annotation_layers"]] == ["goal"]


def test_a_second_bundle_changes_what_the_first_one_made(shop: SmallCore) -> None:
    first = shop.core.load_bundle(packed(bundle()), databases=HERE)
    changed = bundle()
    changed["export/charts/in_all.yaml"]["slice_name"] = "all of them"
    changed["export/datasets/shop/orders.yaml"]["metrics"].append({"metric_name": "most", "expression": "MAX(id)"})
    before = {item.column_name: item.id for item in shop.core.datasets.get(ids(first)[ORDERS]).columns}
    second = shop.core.load_bundle(packed(changed), databases=HERE)
    assert ids(first) == ids(second)
    assert {record.is_new for record in first.records} == {True}
    assert {record.is_new for record in second.records} == {False}
    assert counts(shop.core) == (2, 4, 1)
    assert shop.core.charts.get(ids(first)[IN_ALL]).slice_name == "all of them"
    dataset = shop.core.datasets.get(ids(first)[ORDERS])
    assert [metric.metric_name for metric in dataset.metrics] == ["count", "most"]
    assert {item.column_name: item.id for item in dataset.columns} == before
    alone = {path: content for path, content in changed.items() if "dashboards" in path}
    assert ids(shop.core.load_bundle(packed(alone))) == {BOARD: ids(first)[BOARD]}  # its charts are here


# ------------------------------------------------------------------------------------------------------- who may
@pytest.mark.slow
def test_loading_takes_a_grant_on_the_database_and_ownership_of_what_changes(shop: SmallCore) -> None:
    stranger, owner, other = (
        shop.reader(*grants, username=name)
        for name, grants in (("stranger", ()), ("owner", (("database", 1),)), ("other", (("database", 1),)))
    )
    with pytest.raises(errors.DatabaseAccessError):
        stranger.load_bundle(packed(bundle()), databases=HERE)
    with pytest.raises(errors.DatabaseNotFoundError):
        owner.load_bundle(packed(bundle()), databases={"shop": 99})
    made = ids(owner.load_bundle(packed(bundle()), databases=HERE))
    assert [person.id for person in owner.charts.get(made[NAMES]).owners or ()] == [2 + 1]
    with pytest.raises(errors.PayloadSchemaError, match=r"orders\.yaml") as refused:
        other.load_bundle(packed(bundle()), databases=HERE)
    assert [problem.path.rpartition("/")[2] for problem in refused.value.problems] == [
        *("orders.yaml", "people.yaml", "asked.yaml", "by_country.yaml", "in_all.yaml", "names.yaml", "board.yaml")
    ]
    owner.load_bundle(packed(bundle()), databases=HERE)
    actions = [entry.action for entry in shop.core.logs.list(page_size=100)]
    assert {name: actions.count(name) for name in ("dataset.create", "chart.create", "dashboard.update")} == {
        "dataset.create": 2,
        "chart.create": 4,
        "dashboard.update": 1,
    }


# ------------------------------------------------------------------------------------------------------- what is wrong
def _wrong(documents: dict[str, Any]) -> None:
    documents["export/datasets/shop/people.yaml"]["table_name"] = "nowhere"
    documents["export/datasets/shop/orders.yaml"]["metrics"][0]["expression"] = "COUNT(("


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_stored(shop: SmallCore) -> None:
    documents = bundle()
    _wrong(documents)
    with pytest.raises(errors.PayloadSchemaError) as refused:
        shop.core.load_bundle(packed(documents), databases=HERE)
    faults = {problem.path.partition(":")[0].rpartition("/")[2]: problem.message for problem in refused.value.problems}
    assert set(faults) == {"people.yaml", "orders.yaml"}  # charts and the dashboard wait for them, and say nothing
    assert "nowhere" in faults["people.yaml"]
    assert counts(shop.core) == (0, 0, 0)
    documents = bundle()
    documents["export/charts/in_all.yaml"]["dataset_uuid"] = BOARD
    documents["export/charts/names.yaml"]["viz_type"] = 5
    with pytest.raises(errors.PayloadSchemaError) as refused:
        shop.core.load_bundle(packed(documents), databases=HERE)
    assert [problem.path.partition(":")[0].rpartition("/")[2] for problem in refused.value.problems] == [
        "in_all.yaml",
        "names.yaml",
    ]
    assert counts(shop.core) == (0, 0, 0)


@pytest.mark.slow
@for_each(
    ("change", "message"),
    [
        (lambda d: d["export/charts/in_all.yaml"].update(uuid="x"), "in_all.yaml: uuid: must be a UUID"),
        (lambda d: d["export/charts/in_all.yaml"].update(version="2.0"), "versions 1.x can be read"),
        (lambda d: d["export/charts/in_all.yaml"].update(slice_name=["x"]), "slice_name"),
        (lambda d: d["export/charts/in_all.yaml"].update(cache_timeout="soon"), "cache_timeout"),
        (lambda d: d["export/dashboards/board.yaml"].update(slug="a b"), "slug"),
        (lambda d: d["export/dashboards/board.yaml"].update(css="</style>"), "css"),
        (
            lambda d: d["export/dashboards/board.yaml"]["position"]["CHART-a"]["meta"].pop("uuid"),
            "board.yaml: there is no",
        ),
        (lambda d: d["export/dashboards/board.yaml"]["metadata"].update(refresh_frequency="x"), "refresh_frequency"),
        (lambda d: d["export/datasets/shop/orders.yaml"].update(offset="x"), "offset"),
        (lambda d: d["export/datasets/shop/orders.yaml"].update(columns=[{"column_name": 5}]), ""),
        (lambda d: d["export/datasets/shop/orders.yaml"].update(columns=[{"column_name": ["id"]}]), ""),
    ],
)
def test_a_field_that_no_record_takes_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    documents = bundle()
    change(documents)
    with small_core(tmp_path) as shop:
        if not message:  # what says nothing of a column that there is tells so
            assert "left out" in str(shop.core.load_bundle(packed(documents), databases=HERE).records[0].notes)
            return
        with pytest.raises(errors.PayloadSchemaError) as refused:
            shop.core.load_bundle(packed(documents), databases=HERE)
        assert message in str(refused.value)
        assert counts(shop.core) == (0, 0, 0)


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(8)
)
HOSTILE: list[tuple[str | bytes, str]] = [
    (LAUGHS, "values"),
    ("a: &a [*a]\n", "levels"),
    ("a: " + "[" * 200 + "]" * 200, "levels"),
    ("a: [" + "&x 1," + "*x," * 2_000 + "]", "aliases"),
    ("!!python/object/apply:os.system ['echo']", "a tag in line 1"),
    ("a: 1\nb: !!binary aGk=", "a tag in line 2"),
    ("a: &a {x: 1}\nb: {<<: *a}", "a merge key in line 2"),
    ("a: 1\na: 2", "is no YAML, in line 1"),
    ("a: {10: x, 1_0: y}", "is no YAML, in line 1"),
    ("a: {10: x, '10': y}", "a key twice"),
    ("a: [1", "is no YAML"),
    ("a: .nan", "not finite"),
    ("? [1, 2]\n: x", "is no YAML"),
    ("true: x", "key that is neither"),
    ("- 1", "must be an object"),
    (b"\xff\xfe\x00", "is no YAML"),
    ('a: "\\0"', "NUL"),
    ("a: " + "x" * (3 << 20), "bytes"),
]


@pytest.mark.slow
@for_each(("text", "message"), HOSTILE)
def test_a_hostile_file_is_refused_by_its_path(tmp_path: Path, text: str | bytes, message: str) -> None:
    with small_core(tmp_path) as shop:
        for source in (
            packed({**bundle(), "export/evil.yaml": text}),
            unpacked({"evil.yaml": text}, tmp_path / "folder"),
        ):
            with pytest.raises(errors.PayloadError, match=message) as refused:
                shop.core.load_bundle(source, databases=HERE)
            assert "evil.yaml" in str(refused.value)
        assert counts(shop.core) == (0, 0, 0)


@pytest.mark.slow
@for_each("name", ["../evil.yaml", "/etc/evil.yaml", "a/../../evil.yaml", "C:/evil.yaml", "a\\evil.yaml"])
def test_a_path_that_leads_out_of_the_zip_file_is_refused(tmp_path: Path, name: str) -> None:
    with small_core(tmp_path) as shop, pytest.raises(errors.PayloadSchemaError, match="leads out of the ZIP file"):
        shop.core.load_bundle(packed({name: "a: 1"}), databases=HERE)


@pytest.mark.slow
def test_sources_that_are_no_bundles_are_refused(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("evil.yaml", b" " * (200 << 20))
    (tmp_path / "linked").mkdir()
    (tmp_path / "secret.yaml").write_text("a: 1")
    (tmp_path / "linked" / "evil.yaml").symlink_to(tmp_path / "secret.yaml")
    (tmp_path / "empty").mkdir()
    cut = packed(bundle())[:-200]
    sources: list[tuple[Any, str]] = [
        (bomb.getvalue(), "evil.yaml: has more than"),
        (tmp_path / "linked", "is a link"),
        (tmp_path / "empty", "no YAML file"),
        (packed({"a.txt": "x"}), "no YAML file"),
        (tmp_path / "nowhere", "no file and no folder"),
        (b"no zip", "no ZIP file"),
        (cut, "no ZIP file"),
        (5, "must be the path"),
        (None, "must be the path"),
    ]
    with small_core(tmp_path) as shop:
        for source, message in sources:
            with pytest.raises(errors.PayloadSchemaError, match=message):
                shop.core.load_bundle(source, databases=HERE)
        with pytest.raises(errors.PayloadSchemaError, match=r"databases: must be one of .*databases=\{"):
            shop.core.load_bundle(packed(bundle()), databases={"shop": "main"})
        wrong: list[Any] = [{"shop": "1"}, ["shop"], 5, {}, None]
        for databases in wrong:
            with pytest.raises(errors.PayloadSchemaError, match="databases"):
                shop.core.load_bundle(packed(bundle()), databases=databases)


def test_uuids_are_read_however_they_are_written(shop: SmallCore) -> None:
    documents = yaml.safe_dump(bundle(), sort_keys=False)
    for uuid in (ORDERS, BY_COUNTRY, SHOP):
        changed = uuid.replace("-", "").upper() if uuid == SHOP else f"{{{uuid.upper()}}}"
        head, found, tail = documents.rpartition(uuid)
        documents = f"{head}'{changed}'{tail}" if found else documents
    report = shop.core.load_bundle(packed(yaml.safe_load(documents)), databases=HERE)
    assert counts(shop.core) == (2, 4, 1)
    data = shop.core.dashboards.data(ids(report)[BOARD]).raise_for_error()
    assert len(data) == 3


NO_IDS = ["\x1f", "\x1f1", "\x1f²", "²", "٤١", "1_0", " 41", "+41", "041", "41.0", "9" * 5_000]


@pytest.mark.slow
@for_each("text", NO_IDS)
def test_a_text_that_only_python_reads_as_a_number_is_no_id(tmp_path: Path, text: str) -> None:
    documents = bundle()
    metadata = documents["export/dashboards/board.yaml"]["metadata"]
    metadata["expanded_slices"] = {text: True, "41": True}
    metadata["label_colors"] = {"a": text}
    metadata["chart_configuration"][text] = {"id": text}
    with small_core(tmp_path) as shop:
        made = ids(shop.core.load_bundle(packed(documents), databases=HERE))
        stored = json.loads(shop.core.dashboards.get("board").json_metadata or "")
        assert stored["expanded_slices"] == {text: True, str(made[BY_COUNTRY]): True}
        assert stored["label_colors"] == {"a": text}
        assert stored["chart_configuration"][text] == {"id": text}
        with pytest.raises(errors.NotFoundError):
            shop.core.dashboards.get("١")  # 1 is an id here


@for_each("uuid", [f"{BOARD[:-2]}_1", f" {BOARD[:-1]}", f"+{BOARD[:-1]}", f"0x{BOARD[2:]}", f"{BOARD[:-1]}١"])
def test_a_text_that_only_python_reads_as_a_uuid_is_none(tmp_path: Path, uuid: str) -> None:
    documents = bundle()
    documents["export/charts/in_all.yaml"]["uuid"] = uuid
    with (
        small_core(tmp_path) as shop,
        pytest.raises(errors.PayloadSchemaError, match=r"in_all\.yaml: uuid: must be a UUID"),
    ):
        shop.core.load_bundle(packed(documents), databases=HERE)


def test_a_file_of_a_uuid_that_stands_for_something_else_is_refused(shop: SmallCore) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    documents = bundle()
    documents["export/datasets/shop/orders.yaml"].update(table_name="people", columns=[], metrics=[])
    del documents["export/datasets/shop/people.yaml"]
    with pytest.raises(errors.PayloadSchemaError, match="has this UUID, and reads another table"):
        shop.core.load_bundle(packed(documents), databases=HERE)
    other = bundle()
    other["export/datasets/shop/orders.yaml"]["uuid"] = BOARD
    with pytest.raises(errors.PayloadSchemaError, match="orders"):
        shop.core.load_bundle(packed(other), databases=HERE)


@pytest.mark.long
def test_ten_thousand_charts_are_loaded_or_refused_as_a_whole(tmp_path: Path) -> None:
    documents = bundle()
    for number in range(10_000):
        uuid = f"00000000-0000-4000-9000-{number:012}"
        documents[f"export/charts/many/{number}.yaml"] = chart(f"chart {number}", uuid, groupby=["country"])
    with small_core(tmp_path, metadata_url=f"sqlite:///{tmp_path}/store.db") as shop:
        broken = {**documents, "export/charts/many/9999.yaml": chart("x", BY_COUNTRY[:-1] + "9", BOARD)}
        with pytest.raises(errors.PayloadSchemaError, match=r"many/9999\.yaml"):
            shop.core.load_bundle(packed(broken), databases=HERE)
        assert counts(shop.core) == (0, 0, 0)
        assert len(shop.core.load_bundle(packed(documents), databases=HERE).of("chart")) == 10_004


@pytest.mark.slow
def test_the_example_loads_an_export_and_asks_its_dashboards(tmp_path: Path) -> None:
    with small_core(tmp_path):
        pass
    file = tmp_path / "export.zip"
    file.write_bytes(packed(bundle()))
    ended = subprocess.run(
        [sys.executable, str(EXAMPLE), str(file), f"sqlite:///{tmp_path}/shop.db", "shop"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[0] == "2 datasets, 4 charts, 1 dashboard"
    assert "Board / in all: 1 rows" in ended.stdout


def test_a_second_bundle_changes_the_sql_of_a_virtual_dataset(shop: SmallCore) -> None:
    documents = bundle()
    virtual = {"table_name": "some", "sql": "SELECT id, country FROM orders WHERE id < 2", "columns": []}
    documents["export/datasets/shop/orders.yaml"].update(virtual)
    made = ids(shop.core.load_bundle(packed(documents), databases=HERE))
    assert shop.core.charts.data(made[IN_ALL]).results[0].data == [{"count": 1}]
    documents["export/datasets/shop/orders.yaml"]["sql"] = "SELECT id, country FROM orders WHERE id < 3"
    shop.core.load_bundle(packed(documents), databases=HERE)
    assert shop.core.charts.data(made[IN_ALL]).results[0].data == [{"count": 2}]
    documents["export/datasets/shop/orders.yaml"]["sql"] = "DELETE FROM orders"
    with pytest.raises(errors.PayloadSchemaError, match=r"orders\.yaml"):
        shop.core.load_bundle(packed(documents), databases=HERE)


@pytest.mark.slow
def test_a_database_that_cannot_be_asked_now_ends_it_at_once(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop, closing(sqlite3.connect(shop.file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(errors.DatabaseError, match="locked") as refused:
            shop.core.load_bundle(packed(bundle()), databases=HERE)
        assert refused.value.retryable
        other.rollback()
        assert len(shop.core.load_bundle(packed(bundle()), databases=HERE).records) == 7


# ------------------------------------------------------------------------------------------------------- exports
@pytest.mark.slow
def test_an_export_is_the_same_in_every_store_and_changes_nothing(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("here", "there")]
    for folder in folders:
        folder.mkdir()
    with small_core(folders[0]) as here, small_core(folders[1]) as there:
        made = ids(here.core.load_bundle(packed(bundle()), databases=HERE))
        exported = here.core.export_bundle(dashboards=[made[BOARD]], charts=[made[NAMES]])
        assert here.core.export_bundle(charts=[made[NAMES]], dashboards=[made[BOARD]]) == exported
        again = here.core.load_bundle(exported)  # its database is found by its UUID
        assert {record.is_new for record in again.records} == {False}
        assert here.core.export_bundle(dashboards=[made[BOARD]], charts=[made[NAMES]]) == exported
        for number in range(3):  # other ids there
            there.core.datasets.create({"database": 1, "table_name": f"v{number}", "sql": "SELECT 1 AS x"})
        ids_there = ids(there.core.load_bundle(exported, databases={"shop": 1}))
        assert ids_there[ORDERS] != made[ORDERS]
        exported_there = there.core.export_bundle(dashboards=[ids_there[BOARD]], charts=[ids_there[NAMES]])
        contents = [files_of(one) for one in (exported, exported_there)]
        database = [{path: text for path, text in one.items() if "databases" in path} for one in contents]
        assert len(database[0]) == len(database[1]) == 1  # each store has its own
        uuids = [yaml.safe_load(next(iter(one.values())))["uuid"] for one in database]
        plain = [
            {path: text.replace(uuid, "UUID") for path, text in one.items() if "databases" not in path}
            for one, uuid in zip(contents, uuids, strict=True)
        ]
        assert plain[0] == plain[1]
        answers = [
            [chart.raise_for_error().results[0].rows() for chart in shop.core.dashboards.data(shop_ids[BOARD])]
            for shop, shop_ids in ((here, made), (there, ids_there))
        ]
        assert answers[0] == answers[1]


def files_of(bundle_file: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(bundle_file)) as zipped:
        return {name: zipped.read(name).decode() for name in zipped.namelist()}


def test_an_export_holds_no_connection_and_nothing_that_goes_by_ids_here(shop: SmallCore) -> None:
    made = ids(shop.core.load_bundle(packed(bundle()), databases=HERE))
    shop.core.charts.update(
        made[IN_ALL], {"params": json.dumps({"viz_type": "table", "deck_slices": [99, "x"], "x": "<<"})}
    )
    files = files_of(shop.core.export_bundle(dashboards=[made[BOARD]]))
    assert sorted(path.split("/")[1] for path in files) == [
        *("charts", "charts", "charts", "dashboards", "databases", "datasets", "metadata.yaml"),
    ]
    together = "\n".join(files.values())
    assert str(shop.file) not in together
    assert "deck_slices" not in together
    database = yaml.safe_load(next(text for path, text in files.items() if "databases" in path))
    assert database["sqlalchemy_uri"] == "sqlite://"
    dashboard = yaml.safe_load(next(text for path, text in files.items() if "dashboards" in path))
    assert dashboard["metadata"]["native_filter_configuration"][0]["targets"][0]["datasetUuid"] == ORDERS
    assert sorted(
        node["meta"]["chartId"] for node in dashboard["position"].values() if isinstance(node, dict) and "meta" in node
    ) == [1, 2, 3]


def test_exports_hold_what_the_actor_may_read(shop: SmallCore) -> None:
    made = ids(shop.core.load_bundle(packed(bundle()), databases=HERE))
    stranger, reader = shop.reader(username="stranger"), shop.reader(("dataset", made[ORDERS]), username="reader")
    with pytest.raises(errors.AccessError):
        stranger.export_bundle(dashboards=[made[BOARD]])
    assert files_of(reader.export_bundle(dashboards=[made[BOARD]]))
    with pytest.raises(errors.AccessError):
        reader.export_bundle(charts=[made[NAMES]])
    with pytest.raises(errors.NotFoundError):
        shop.core.export_bundle(charts=[99])
    wrong: list[dict[str, Any]] = [{}, {"charts": 5}, {"dashboards": "1"}]
    for named in wrong:
        with pytest.raises(errors.PayloadSchemaError, match="export_bundle"):
            shop.core.export_bundle(**named)
