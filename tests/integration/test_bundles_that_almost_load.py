"""Bundles of which a part cannot be here: the rest is loaded on request, and no rule is ever what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
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
from analytics_core._engine.results.answer import QueryResult
from analytics_core.testing.clock import FixedClock

HERE = {"shop": 1}
ORDERS_YAML, PEOPLE_YAML = ("export/datasets/shop/orders.yaml", "export/datasets/shop/people.yaml")
CHARTS = {name: f"export/charts/{name}.yaml" for name in ("asked", "by_country", "in_all", "names")}
BOARD_YAML = "export/dashboards/board.yaml"
INTEGERS = {ORDERS, PEOPLE, BY_COUNTRY, IN_ALL, ASKING, NAMES, BOARD}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def lost_metric() -> dict[str, Any]:
    """Return the bundle with a metric on a column that the table has lost."""
    documents = bundle()
    documents[ORDERS_YAML]["metrics"].append({"metric_name": "lost", "expression": "SUM(long_gone)"})
    return documents


def listed(core: AnalyticsCore) -> tuple[int, int, int]:
    return core.datasets.list().count, core.charts.list().count, core.dashboards.list().count


def load(core: AnalyticsCore, documents: Any, **options: Any) -> Any:
    return core.load_bundle(packed(documents), on_problem="leave_out", **{"databases": HERE, **options})


def answer(core: AnalyticsCore, dataset: int, **query: Any) -> QueryResult:
    (result,) = core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [query]}).results
    return result


# ---------------------------------------------------------------------------------------------------------- left out
def test_a_metric_on_a_lost_column_alone_is_left_out(shop: SmallCore) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="long_gone"):
        shop.core.load_bundle(packed(lost_metric()), databases=HERE)
    assert listed(shop.core) == (0, 0, 0)
    tried = load(shop.core, lost_metric(), dry_run=True)
    assert listed(shop.core) == (0, 0, 0)
    report = load(shop.core, lost_metric())
    assert tried.left_out == report.left_out
    (problem,) = report.left_out
    assert problem.path == f"{ORDERS_YAML}: metrics.'lost'.expression"
    assert "no column 'long_gone'" in problem.message
    assert str(report) == "2 datasets, 4 charts, 1 dashboard; 1 part left out"
    assert str(tried) == f"{report} (tried, nothing stored)"
    assert [metric.metric_name for metric in shop.core.datasets.get(1).metrics] == ["count"]
    assert "long_gone" in report._repr_mimebundle_()["text/html"]


Change = Callable[[dict[str, Any]], object]
PARTS: dict[str, tuple[Change, set[str], list[str]]] = {
    "nothing": (lambda d: None, set(), []),
    "a calculated column": (
        lambda d: d[ORDERS_YAML]["columns"][2].update(expression="UPPER(long_gone)"),
        set(),
        [f"{ORDERS_YAML}: columns.'shouted'.expression"],
    ),
    "a field of a column, and a metric given twice": (
        lambda d: (
            d[ORDERS_YAML]["columns"][0].update(groupby="perhaps"),
            d[ORDERS_YAML]["metrics"].append(d[ORDERS_YAML]["metrics"][0]),
        ),
        set(),
        [f"{ORDERS_YAML}: columns.'id'.groupby", f"{ORDERS_YAML}: metrics.'count'.metric_name"],
    ),
    "a chart, and its place": (
        lambda d: d[CHARTS["in_all"]].update(cache_timeout="soon"),
        {IN_ALL},
        [f"{CHARTS['in_all']}: cache_timeout", f"{BOARD_YAML}: position"],
    ),
    "a table, and its charts": (
        lambda d: d[PEOPLE_YAML].update(table_name="nowhere"), {PEOPLE, NAMES}, [PEOPLE_YAML, CHARTS["names"]],
    ),
    "what narrows its values, so the dataset": (
        lambda d: d[PEOPLE_YAML].update(fetch_values_predicate="nobody = 1"),
        {PEOPLE, NAMES},
        [f"{PEOPLE_YAML}: fetch_values_predicate", CHARTS["names"]],
    ),
    "a database": (
        lambda d: d[PEOPLE_YAML].update(database_uuid=BOARD),
        {PEOPLE, NAMES},
        ["databases", PEOPLE_YAML, CHARTS["names"]],
    ),
    "all that the dashboard shows and filters": (
        lambda d: d[ORDERS_YAML].update(sql="DELETE FROM orders"),
        {ORDERS, BY_COUNTRY, IN_ALL, ASKING},
        [
            ORDERS_YAML, CHARTS["asked"], CHARTS["by_country"], CHARTS["in_all"], f"{BOARD_YAML}: position",
            f"{BOARD_YAML}: metadata",
        ],
    ),
    "the dashboard": (lambda d: d[BOARD_YAML].update(slug="a b"), {BOARD}, [f"{BOARD_YAML}: slug"]),
    "a layer that a chart shows": (
        lambda d: (
            d.update({"export/l.yaml": {"name": "out", "annotations": [{"short_descr": "x"}]}}),
            d[CHARTS["names"]]["params"].update(
                annotation_layers=[
                    {"name": "n", "annotationType": "EVENT", "sourceType": "NATIVE", "value": {"name": "out"}}
                ]
            ),
        ),
        set(),
        [*(f"export/l.yaml: annotations.0.{name}_dttm" for name in ("start", "end")), f"{CHARTS['names']}: params"],
    ),
    "a chart that a chart shows, which comes after it": (
        lambda d: (
            d[CHARTS["by_country"]]["params"].update(deck_slices=[{"uuid": NAMES}]),
            d[CHARTS["names"]].update(cache_timeout="soon"),
        ),
        {NAMES},
        [f"{CHARTS['names']}: cache_timeout", f"{CHARTS['by_country']}: params"],
    ),
    "a chart that nobody has": (
        lambda d: d[BOARD_YAML]["position"]["CHART-a"]["meta"].update(uuid=ORDERS),
        set(),
        [f"{BOARD_YAML}: position"],
    ),
}  # fmt: skip
"""By what is wrong: the records that are not here, and the paths of what is told."""


@pytest.mark.slow
@for_each("part", PARTS)
def test_the_smallest_part_is_left_out_and_the_rest_answers(tmp_path: Path, part: str) -> None:
    change, gone, paths = PARTS[part]
    documents = bundle()
    change(documents)
    with small_core(tmp_path) as shop:
        core = shop.core
        if paths:
            with pytest.raises(errors.PayloadSchemaError):
                core.load_bundle(packed(documents), databases=HERE)
        tried = load(core, documents, dry_run=True)
        report = load(core, documents)
        assert sorted({problem.path for problem in report.left_out}) == sorted(set(paths))
        assert tried.left_out == report.left_out
        assert {record.uuid for record in report.records} - {None} == INTEGERS - gone
        for record in report.of("chart"):
            core.charts.data(record.id).raise_for_error()
        for record in report.of("dashboard"):
            charts = {name.id for name in core.dashboards.charts(record.id)}
            assert len(charts) == 3 - len(gone & {IN_ALL, BY_COUNTRY, ASKING}) - (part == "a chart that nobody has")
            core.dashboards.data(record.id).raise_for_error()
            metadata = json.loads(core.dashboards.get(record.id).json_metadata or "{}")
            assert len(metadata["native_filter_configuration"]) == (ORDERS not in gone)
            assert not any(uuid in json.dumps(metadata) for uuid in gone)
        assert not core.check().broken
        again = load(core, documents)
        assert ([record.is_new for record in again.records], again.left_out) == (
            [False] * len(again.records), report.left_out,
        )  # fmt: skip
        ids = {f"{kind}s": [one.id for one in report.of(kind)] for kind in ("dataset", "chart", "dashboard")}
        assert len(core.load_bundle(core.export_bundle(**ids)).records) == len(report.records)


def test_a_dataset_that_is_left_out_is_not_replaced_by_what_is_here(shop: SmallCore) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    documents = bundle()
    documents[ORDERS_YAML].update(table_name="people", columns=[], metrics=[])
    documents[CHARTS["in_all"]]["slice_name"] = "changed"
    report = load(shop.core, documents)
    paths = [problem.path for problem in report.left_out]
    assert paths[:1] == [f"{ORDERS_YAML}: table_name"]
    assert CHARTS["in_all"] in paths
    assert shop.core.charts.get(report.records[0].id).slice_name != "changed"
    assert shop.core.datasets.get(1).table_name == "orders"


# ------------------------------------------------------------------------------------------------- rules and audiences
RULE = {"name": "r", "clause": "id = 1", "filter_type": "Base", "roles": [], "tables": [ORDERS]}
ROLE = {"name": "few", "grants": [{"on": "dataset", "dataset_uuid": ORDERS}]}
RIGHTS: dict[str, Change] = {
    "a rule that cannot be read": lambda d: d["export/r.yaml"].update(clause="nope = 1"),
    "a rule on a dataset that is left out": lambda d: d[ORDERS_YAML].update(table_name="nowhere"),
    "a rule on a dataset that nobody has": lambda d: d["export/r.yaml"].update(tables=[ORDERS, BOARD]),
    "a rule for a role that nobody has": lambda d: d["export/r.yaml"].update(filter_type="Regular", roles=["none"]),
    "a role that grants something else": lambda d: d["export/few.yaml"].update(grants=[{"on": "moon"}]),
    "a role that gives the rank of administrators": lambda d: d["export/few.yaml"].update(is_admin=True),
    "a file that may be a rule": lambda d: d.update({"export/x.yaml": "name: [r"}),
}


@pytest.mark.slow
@for_each("fault", RIGHTS)
def test_roles_and_row_rules_are_never_left_out(tmp_path: Path, fault: str) -> None:
    documents = {**bundle(), "export/r.yaml": dict(RULE), "export/few.yaml": dict(ROLE)}
    RIGHTS[fault](documents)
    with small_core(tmp_path) as shop:
        with pytest.raises(errors.PayloadSchemaError) as refused:
            load(shop.core, documents, rules=True)
        if "file" not in fault:
            assert "roles and row rules are never left out" in str(refused.value)
        assert listed(shop.core) == (0, 0, 0)
        assert shop.core.row_level_security.list().count == 0


def test_what_is_loaded_without_a_part_has_its_row_rules(shop: SmallCore) -> None:
    documents = {**lost_metric(), "export/r.yaml": RULE, "export/few.yaml": ROLE}
    documents[PEOPLE_YAML]["table_name"] = "nowhere"
    report = load(shop.core, documents, rules=True)
    assert {problem.path.partition(":")[0] for problem in report.left_out} == {
        ORDERS_YAML,
        PEOPLE_YAML,
        CHARTS["names"],
    }
    (dataset,) = report.of("dataset")
    assert answer(shop.core.as_user(1), dataset.id, metrics=["count"]).data == [{"count": 1}]


def test_a_dashboard_without_its_audience_is_left_out(shop: SmallCore) -> None:
    documents = bundle()
    documents[BOARD_YAML]["roles"] = ["nobody has it"]
    report = load(shop.core, documents, rules=True)
    assert [problem.path for problem in report.left_out] == [BOARD_YAML]
    assert listed(shop.core) == (2, 4, 0)


# -------------------------------------------------------------------------------------------- columns that count, too
def test_a_column_that_the_export_does_not_list_counts_where_it_is_named(shop: SmallCore) -> None:
    documents = bundle()
    orders = documents[ORDERS_YAML]
    orders.update(columns=[], main_dttm_col="day")
    orders["metrics"].append({"metric_name": "most", "expression": "MAX(AMOUNT)"})
    report = shop.core.load_bundle(packed(documents), databases=HERE)
    added = "is added: the table has it, and the bundle names it"
    assert report.of("dataset")[0].notes[:3] == tuple(
        f"column {name!r} {added}" for name in ("day", "country", "amount")
    )
    columns = {column.column_name: column for column in shop.core.datasets.get(1).columns}
    assert set(columns) == {"day", "country", "amount"}  # nothing names id
    assert columns["day"].is_dttm
    assert answer(shop.core, 1, metrics=["most"]).data == [{"most": 20.0}]
    for one in report.of("chart"):
        shop.core.charts.data(one.id).raise_for_error()


Said = Callable[[dict[str, Any]], object]
SAID: dict[str, tuple[Said, bool]] = {
    "a metric": (lambda d: d[ORDERS_YAML]["metrics"].append({"metric_name": "m", "expression": 'SUM("amount")'}), True),
    "a calculated column": (
        lambda d: d[ORDERS_YAML]["columns"].append({"column_name": "c", "expression": "amount + 1"}), True,
    ),
    "the predicate": (lambda d: d[ORDERS_YAML].update(fetch_values_predicate="amount > 1"), True),
    "SQL of a chart": (
        lambda d: d[CHARTS["in_all"]]["params"].update(
            metrics=[{"expressionType": "SQL", "sqlExpression": "SUM(amount)", "label": "x"}]
        ),
        True,
    ),
    "a query context": (
        lambda d: d[CHARTS["in_all"]].update(
            query_context=json.dumps({"datasource": {"id": 1}, "queries": [{"extras": {"where": "(amount > 1)"}}]})
        ),
        True,
    ),
    "a filter": (
        lambda d: d[BOARD_YAML]["metadata"]["native_filter_configuration"][0]["targets"].append(
            {"datasetUuid": ORDERS, "column": {"name": "amount"}}
        ),
        True,
    ),
    "nothing": (lambda d: None, False),
    "a label": (
        lambda d: d[CHARTS["in_all"]]["params"].update(
            metrics=[{"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "amount"}]
        ),
        False,
    ),
    "a chart of another dataset": (
        lambda d: d.update({"export/charts/o.yaml": chart("o", SHOP, PEOPLE, groupby=["amount"])}), False,
    ),
    "a calculated column of this name": (
        lambda d: d[ORDERS_YAML]["columns"].append({"column_name": "amount", "expression": "long_gone"}), False,
    ),
    "a metric of this name": (
        lambda d: (
            d[ORDERS_YAML]["metrics"].append({"metric_name": "amount", "expression": "COUNT(*)"}),
            d[CHARTS["in_all"]]["params"].update(metrics=["amount"]),
        ),
        False,
    ),
}  # fmt: skip
"""By what names the column `amount`, which the export does not list: whether it joins the dataset."""


@pytest.mark.slow
@for_each("what", SAID)
def test_a_column_that_nothing_names_stays_away(tmp_path: Path, what: str) -> None:
    say, joins = SAID[what]
    documents = bundle()
    say(documents)
    with small_core(tmp_path) as shop:
        load(shop.core, documents)
        columns = {column.column_name for column in shop.core.datasets.get(1).columns if not column.expression}
        assert columns == {"id", "country", *(["amount"] if joins else [])}


def test_a_main_time_column_that_is_lost_refuses_nothing(shop: SmallCore) -> None:
    documents = bundle()
    documents[ORDERS_YAML]["main_dttm_col"] = "ds"
    report = shop.core.load_bundle(packed(documents), databases=HERE)
    assert "main_dttm_col is left out: the table has no column 'ds'" in report.of("dataset")[0].notes
    assert shop.core.datasets.get(1).main_dttm_col is None


# ------------------------------------------------------------------------------------------------------- what is here
@pytest.mark.slow
@for_each("name", ["orders", ORDERS, ORDERS.upper(), "{" + ORDERS + "}"])
def test_a_dataset_that_is_here_takes_the_place_of_one_of_the_bundle(tmp_path: Path, name: str) -> None:
    clock = FixedClock(datetime.now(UTC))  # answers say in words how long ago it was
    with small_core(tmp_path, ports={"clock": clock}) as shop:
        mine = shop.orders()
        described, alone = lost_metric(), lost_metric()
        del alone[ORDERS_YAML]
        for documents in (described, *([alone] if name != "orders" else [])):
            report = shop.core.load_bundle(packed(documents), databases=HERE, datasets={name: mine.id})
            assert [record.name for record in report.of("dataset")] == ["people"]
            assert shop.core.charts.data(report.of("chart")[2].id).results[0].data == [{"count": 2}]
        assert shop.core.datasets.get(mine.id) == mine
        assert shop.core.dashboards.data(report.of("dashboard")[0].id).raise_for_error()


def test_a_dataset_that_is_not_here_or_not_for_the_loader_takes_no_place(shop: SmallCore) -> None:
    mine = shop.orders()
    with pytest.raises(errors.NotFoundError):
        load(shop.core, bundle(), datasets={ORDERS: 99})
    documents = bundle()
    documents["export/databases/shop.yaml"]["database_name"] = "private"
    report = shop.core.load_bundle(packed(documents), databases={SHOP: f"sqlite:///{shop.file}"})
    private = report.of("dataset")[0].id
    other = shop.reader(("dataset", mine.id))
    with pytest.raises(errors.AccessError):
        load(other, {CHARTS["in_all"]: bundle()[CHARTS["in_all"]]}, databases={}, datasets={ORDERS: private})


@for_each("choice", ["skip", None, True, ["leave_out"]])
def test_another_choice_is_refused(shop: SmallCore, choice: Any) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="on_problem: must be 'refuse' or 'leave_out'"):
        shop.core.load_bundle(packed(bundle()), databases=HERE, on_problem=choice)
