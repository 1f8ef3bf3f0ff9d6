"""`core.diff`: what a change of content does to the statements, columns and rows of charts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sqlalchemy as sa
from tests.support.bundles import ASKING, BY_COUNTRY, IN_ALL, NAMES, bundle, chart, column, packed
from tests.support.cases import for_each
from tests.support.guests import chart as stored_chart
from tests.support.servers import LOOPBACK
from tests.support.small_core import SmallCore, small_core
from tests.support.stalling_proxy import stalling_proxy, through

from analytics_core import errors
from analytics_core._content.checks.difference import RecordChange, column_differences, row_differences

HERE = {"shop": 1}
CHART = "export/charts/by_country.yaml"
DAY = re.compile(r"\d{4}-\d\d-\d\d")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def test_the_same_content_does_not_differ(shop: SmallCore) -> None:
    report = shop.core.diff(packed(bundle()), packed(bundle()), databases=HERE)
    assert report
    assert str(report) == "0 of 4 charts differ"
    assert shop.core.charts.list().count == shop.core.datasets.list().count == 0


def test_a_changed_metric_is_told_with_statement_columns_and_rows(shop: SmallCore) -> None:
    changed = bundle()
    total = {"expressionType": "SQL", "sqlExpression": "SUM(id)", "label": "total"}
    changed[CHART]["params"]["metrics"] = [total]
    report = shop.core.diff(packed(bundle()), packed(changed), databases=HERE)
    (one,) = report.changed
    assert (one.uuid, one.name, one.change) == (BY_COUNTRY, "by country", RecordChange.CHANGED)
    assert "-select  COUNT(*) AS count" in one.sql.splitlines()
    assert one.columns == ("column 'count' is gone", "column 'total' is new")
    assert one.rows == ()


def test_a_changed_filter_is_told_by_the_rows_that_come_and_go(shop: SmallCore) -> None:
    changed = bundle()
    france = {"clause": "WHERE", "expressionType": "SQL", "sqlExpression": "country = 'France'"}
    changed[CHART]["params"]["adhoc_filters"] = [france]
    (one,) = shop.core.diff(packed(bundle()), packed(changed), databases=HERE).changed
    assert one.columns == ()
    assert one.rows == ("1 of 2 rows gone, 0 of 1 row new", "- None, 1")


def test_without_answers_the_statement_is_told_alone(shop: SmallCore) -> None:
    changed = bundle()
    changed[CHART]["params"]["row_limit"] = 1
    (one,) = shop.core.diff(packed(bundle()), packed(changed), databases=HERE, answers=False).changed
    assert one.sql
    assert (one.columns, one.rows) == ((), ())


def test_another_time_of_comparison_is_told_by_its_statement(shop: SmallCore) -> None:
    def compared_with(offset: str) -> bytes:
        changed = bundle()
        dataset = changed["export/datasets/shop/orders.yaml"]
        dataset["columns"].append(column("day", type="DATE", is_dttm=True))
        query = {"columns": ["country"], "metrics": ["count"], "granularity": "day", "time_range": "2024-01-02"}
        context = {"datasource": {"id": 99, "type": "table"}, "queries": [{**query, "time_offsets": [offset]}]}
        changed["export/charts/asked.yaml"]["query_context"] = json.dumps(context)
        return packed(changed)

    (one,) = shop.core.diff(compared_with("1 day ago"), compared_with("1 year ago"), databases=HERE).changed
    assert (one.uuid, one.failures) == (ASKING, ())
    days = {line[0] + day for line in one.sql.splitlines() for day in DAY.findall(line)}
    assert {"-2024-01-01", "+2023-01-02"} <= days


def test_charts_that_come_and_go_are_told(shop: SmallCore) -> None:
    changed = bundle()
    del changed["export/dashboards/board.yaml"]
    del changed["export/charts/in_all.yaml"]
    new = "00000000-0000-4000-8000-000000000029"
    changed["export/charts/new.yaml"] = chart("new", new, groupby=["id"])
    report = shop.core.diff(packed(bundle()), packed(changed), databases=HERE)
    assert {one.uuid: one.change for one in report.changed} == {IN_ALL: RecordChange.REMOVED, new: RecordChange.ADDED}


def test_what_is_stored_is_compared_with_a_bundle_and_stays_as_it_is(shop: SmallCore) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    changed = bundle()
    changed[CHART]["params"]["groupby"] = ["id"]
    before = shop.core.export_bundle(dashboards=[1])
    report = shop.core.diff(None, packed(changed), databases=HERE)
    assert [one.uuid for one in report.changed] == [BY_COUNTRY]
    assert shop.core.export_bundle(dashboards=[1]) == before
    assert shop.core.diff(packed(bundle()), databases=HERE)


def test_a_changed_dataset_changes_its_charts(shop: SmallCore) -> None:
    changed = bundle()
    metric = {"metric_name": "count", "expression": "COUNT(DISTINCT country)"}
    changed["export/datasets/shop/orders.yaml"]["metrics"] = [metric]
    report = shop.core.diff(packed(bundle()), packed(changed), databases=HERE)
    assert {one.uuid for one in report.changed} == {BY_COUNTRY, IN_ALL, ASKING}


def test_a_chart_that_breaks_is_told_with_the_reason(shop: SmallCore) -> None:
    changed = bundle()
    changed["export/charts/names.yaml"]["params"]["groupby"] = ["naem"]
    (one,) = shop.core.diff(packed(bundle()), packed(changed), databases=HERE).changed
    assert one.uuid == NAMES
    assert one.failures[0].startswith("b cannot be asked: ")
    assert "'naem'" in one.failures[0]
    assert shop.core.diff(packed(changed), packed(changed), databases=HERE)


def test_row_rules_of_stored_datasets_hold_in_bundles(shop: SmallCore) -> None:
    shop.core.load_bundle(packed(bundle()), databases=HERE)
    reader = shop.reader(("database", 1))
    role = shop.core.users.get(reader._actor().id).roles[0].id
    rule = {"name": "france", "filter_type": "Regular", "tables": [1], "roles": [role], "clause": "country = 'France'"}
    shop.core.row_level_security.create(rule)
    changed = bundle()
    changed[CHART]["params"]["metrics"] = [{"expressionType": "SQL", "sqlExpression": "MAX(id) + 5", "label": "count"}]
    (one,) = reader.diff(packed(bundle()), packed(changed), databases=HERE).changed
    assert "of 1 row" in one.rows[0]
    assert "None" not in str(one.rows)


def test_who_has_no_grant_on_the_database_is_refused(shop: SmallCore) -> None:
    reader = shop.reader(username="stranger")
    with pytest.raises(errors.AnalyticsError):
        reader.diff(packed(bundle()), packed(bundle()), databases=HERE)


def test_a_bundle_that_cannot_be_here_is_told_with_its_file(shop: SmallCore) -> None:
    changed = bundle()
    changed["export/datasets/shop/people.yaml"]["table_name"] = "nobody"
    with pytest.raises(errors.PayloadSchemaError, match=r"datasets/shop/people\.yaml"):
        shop.core.diff(packed(bundle()), packed(changed), databases=HERE)


def test_reports_say_the_same_in_markdown_and_junit(shop: SmallCore) -> None:
    changed = bundle()
    changed[CHART]["params"]["groupby"] = ["shouted"]
    changed[CHART]["slice_name"] = "a | b"
    report = shop.core.diff(packed(bundle()), packed(changed), databases=HERE)
    text = report.markdown()
    assert "| a \\| b | changed | column 'country' is gone<br>column 'shouted' is new |" in text
    assert "```diff\n--- a\n+++ b\n" in text
    suite = ElementTree.fromstring(report.junit()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")


@pytest.mark.server
def test_charts_on_a_database_that_hangs_are_told_and_the_others_compared(
    tmp_path: Path, make_postgres_database: Callable[[], str]
) -> None:
    url = sa.make_url(make_postgres_database())
    with sa.create_engine(url.set(drivername="postgresql+psycopg"), poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE visits (id INTEGER, city TEXT)")
    with (
        stalling_proxy(url.port or 0) as proxy,
        small_core(tmp_path, allowed_networks=LOOPBACK, statement_timeout_s=1.0) as shop,
    ):
        core, far = shop.core, through(url.render_as_string(hide_password=False), proxy)
        database = core.databases.create({"database_name": "far", "orm_uri": far}).id
        there = core.datasets.create({"database": database, "table_name": "visits"}).id
        here = shop.orders().id
        ids = [
            core.charts.create(stored_chart("hung", there, {"columns": ["city"]})).id,
            core.charts.create(stored_chart("well", here, {"columns": ["country"]})).id,
        ]
        before = core.export_bundle(charts=ids)
        changed = stored_chart("well", here, {"columns": ["id"]})
        core.charts.update(ids[1], {"query_context": changed["query_context"]})
        proxy.stall()
        report = core.diff(before, databases={"far": database, "shop": 1}, answers=False)
        proxy.resume()
    charts = {one.name: one for one in report.charts}
    assert (charts["well"].change, bool(charts["well"].sql)) == (RecordChange.CHANGED, True)
    assert [failure.partition(";")[0] for failure in charts["hung"].failures] == [
        "a cannot be asked: the database did not answer within 1 seconds"
    ]


def test_columns_in_another_order_are_told_as_such_alone(shop: SmallCore) -> None:
    changed = bundle()
    changed[CHART]["params"] |= {"query_mode": "raw", "all_columns": ["id", "country"]}
    before = bundle()
    before[CHART]["params"] |= {"query_mode": "raw", "all_columns": ["country", "id"]}
    (one,) = shop.core.diff(packed(before), packed(changed), databases=HERE).changed
    assert (one.columns, one.rows) == (("the columns have another order",), ())


def test_differences_of_columns_are_told_once() -> None:
    assert list(column_differences((("a", 0), ("b", 1)), (("b", 1), ("a", 0)))) == ["the columns have another order"]
    assert list(column_differences((("a", 0), ("b", 1)), (("a", 0), ("b", 1)))) == []
    assert list(column_differences((("a", 0), ("b", 1)), (("b", 1),))) == ["column 'a' is gone"]
    assert list(column_differences((("a", 0),), (("a", 2),))) == ["column 'a' is a moment, and was a number"]


def test_rows_in_another_order_are_told_as_such() -> None:
    assert list(row_differences([(1,), (2,)], [(2,), (1,)])) == ["the same 2 rows in another order"]
    assert list(row_differences([(float("nan"),)], [(float("nan"),)])) == []
    assert list(row_differences([(1,), (1,)], [(1,)])) == ["1 of 2 rows gone, 0 of 1 row new", "- 1"]


ODD_NAMES = (
    *(
        "a|b",
        "a\nb",
        "a\r\nb",
        "\x85",
        "\u2028x",
        "]]>",
        "<![CDATA[x]]>",
        "&amp;",
        "<script>",
        "\"'",
        "```",
        "~~~",
        "# x",
    ),
    *(
        "\x1f",
        "\x1b[31mred",
        "\ufffe",
        "\u202eright to left",
        " ",
        "|",
        "\\|",
        "- x",
        "--",
        "1. x",
        "[x](javascript:y)",
    ),
    *("@all", "<!--", "-->", "![x](y)", "http://x.example", "$x$", ":x:", "*x*", "_x_", "\t", "|---|"),
)


@pytest.mark.slow
@for_each("name", ODD_NAMES)
def test_reports_stay_well_formed_whatever_a_chart_is_called_and_asks(shop: SmallCore, name: str) -> None:
    first, second = bundle(), bundle()
    in_sql = "".join(character for character in name if character >= " " and character != "'")
    for documents, more in ((first, ""), (second, "x")):
        own = {"expressionType": "SQL", "sqlExpression": f"MAX('{more}{in_sql}')", "label": f"{name}{more}"}
        documents[CHART]["params"]["metrics"] = [own]
        documents[CHART]["slice_name"] = name
    report = shop.core.diff(packed(first), packed(second), databases=HERE)
    assert [one.name for one in report.changed] == [name]
    suite = ElementTree.fromstring(report.junit()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("4", "1", 4)
    text = report.markdown()
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ufffe]", text + report.junit()) == []
    lines = text.split("\n")
    rows = [line for line in lines[lines.index("|---|---|---|") + 1 :] if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) for row in rows] == [4]
    assert len([line for line in lines if re.match(r"^`{3,}(diff)?$", line)]) in {0, 2}
    assert re.findall(r"(?<!\\)[<\[](?!br>)", text.partition("\n```")[0]) == []
