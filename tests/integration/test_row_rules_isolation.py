"""Rows outside somebody's rules change none of their answers, on any road, on four engines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from tests.support.tenant_world import ENGINES, ROWS, Row, TenantWorld, ask, rule, tenant_world, url_on

from analytics_core import AnalyticsCore, errors
from analytics_core._core.adapters.clock import SystemClock
from analytics_core.testing import assert_isolated

SUM = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM", "label": "amount"}
TABLES = {
    "table": None,
    "virtual": "SELECT id, tenant, region, amount, sold_on FROM sales",
    "joined": (
        "WITH s AS (SELECT * FROM sales) SELECT s.id, s.tenant, s.region, s.amount, s.sold_on FROM s "
        "JOIN (SELECT id, COUNT(*) AS n FROM sales GROUP BY id) AS c ON c.id = s.id"
    ),
    "compared": (
        "SELECT s.id, s.tenant, s.region, s.amount - (SELECT MIN(amount) FROM sales) AS amount, s.sold_on "
        "FROM sales AS s LEFT JOIN sales AS t ON t.region = s.region AND t.id < s.id WHERE t.id IS NULL"
    ),
}
RAW = {"columns": ["id", "region", "amount"], "row_limit": 500}
COUNT = {**SUM, "aggregate": "COUNT", "label": "count"}
GROUPED = {"columns": ["region"], "metrics": [COUNT, SUM]}
TIMED = {"granularity": "sold_on", "time_range": "2024-01-01 : 2025-01-01"}
SERIES = {"series_columns": ["region"], "series_limit": 1}
Roads = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
ROADS: Roads = {
    "raw rows": (RAW, {}),
    "results": (RAW, {"result_type": "results"}),
    "samples": ({}, {"result_type": "samples"}),
    "drill detail": (GROUPED, {"result_type": "drill_detail"}),
    "metrics": (GROUPED, {}),
    "totals": ({"metrics": [COUNT, SUM]}, {}),
    "post-processed": (GROUPED, {"result_type": "post_processed", "form_data": {"viz_type": "table"}}),
    "share of the whole": (
        {**GROUPED, "post_processing": [{"operation": "contribution", "options": {"columns": ["amount"]}}]},
        {},
    ),
    "count of rows": ({"columns": ["id"], "is_rowcount": True}, {}),
    "values of a filter": ({"columns": ["tenant"], "metrics": []}, {}),
    "comparison": ({**GROUPED, **TIMED, "time_offsets": ["1 year ago", "inherit"]}, {}),
    "best series": ({"columns": ["region", "tenant"], "metrics": [COUNT], **SERIES}, {}),
    "others": ({**GROUPED, **SERIES, "group_others_when_limit_reached": True}, {}),
    "having": ({**GROUPED, "extras": {"having": "SUM(amount) > 0 OR 1 = 1"}}, {}),
    "order": ({**RAW, "orderby": [["amount", False]], "row_limit": 2, "row_offset": 1}, {}),
    "condition": ({**RAW, "extras": {"where": "tenant = 'bolt' OR 1 = 1"}}, {}),
}


LATER = [pytest.mark.server, pytest.mark.long]


@pytest.fixture(scope="module", params=[*ENGINES[:-1], pytest.param("mysql", marks=LATER)])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("isolation")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        for name, sql in TABLES.items():
            if sql is not None:
                made.virtual(name, sql)
        _add_dashboard(made)
        yield made


def _add_dashboard(world: TenantWorld) -> None:
    """Store a chart on every table, and embed dashboard 1 with all of them and a filter on each table's regions."""
    places, filters = {}, []
    for number in range(1, 1 + len(TABLES)):
        stored = {"datasource": {"id": number, "type": "table"}, "queries": [RAW]}
        source = {"datasource_id": number, "datasource_type": "table", "query_context": json.dumps(stored)}
        world.admin.charts.create({"slice_name": f"rows of {number}", **source})
        places[f"CHART-{number}"] = {"type": "CHART", "children": [], "meta": {"chartId": number}}
        target = {"datasetId": number, "column": {"name": "region"}}
        filters.append({"id": f"FILTER-{number}", "filterType": "filter_select", "targets": [target]})
    texts = {
        "position_json": json.dumps(places),
        "json_metadata": json.dumps({"native_filter_configuration": filters}),
    }
    made = world.admin.dashboards.create({"dashboard_title": "All", "published": True, **texts})
    world.admin.embedded.create(made.id, {"allowed_domains": []})


def guest_of(world: TenantWorld, tenant: str) -> AnalyticsCore:
    """Return the core of a guest whom their token binds to a tenant, on each dataset and in SQL reading the table."""
    clause = {"clause": "tenant = {{ value('tenant') }}", "values": {"tenant": tenant}}
    rules = [{"dataset": number, **clause} for number in range(1, 1 + len(TABLES))]
    resources = [{"type": "dashboard", "id": "1"}]
    token = world.admin.embedded.guest_token({"user": {"username": "g"}, "resources": resources, "rls": rules})
    return world.host.as_guest(token)


def dataset_of(world: TenantWorld, table: str) -> int:
    return 1 + list(TABLES).index(table)


def answers(
    world: TenantWorld, user: str, roads: Roads = ROADS, tables: Sequence[str] = tuple(TABLES)
) -> dict[str, Any]:
    """Return what somebody is told on every road, over every table."""
    core, output = world.user(user), {}
    for table in tables:
        for road, (query, options) in roads.items():
            source = {"id": dataset_of(world, table), "type": "table"}
            requested = {"datasource": source, "queries": [dict(query)], "force": True, **options}
            result = core.charts.data(requested).results[0]
            assert result.error is None, f"{table}, {road}: {result.error}"
            output[f"{table}, {road}"] = (result.data, result.rowcount, [limit.to_payload() for limit in result.limits])
        if world.engine == "sqlite" or table == tables[-1]:  # cache, jobs and guests are the same on all engines
            stored = stored_answers(world, user, dataset_of(world, table))
            output |= {f"{table}, {road}": answer for road, answer in stored}
    return output


def stored_answers(world: TenantWorld, user: str, number: int) -> Iterator[tuple[str, Any]]:
    """Yield what somebody, and a guest of theirs, is told by the stored chart and filter of a dataset."""
    core, guest = world.user(user), guest_of(world, user)
    world.admin.cache.invalidate({"datasource_uids": [f"{number}__table"]})
    for name, asking in (("chart", core), ("cached chart", core), ("guest's chart", guest), ("guest's cached", guest)):
        (result,) = asking.charts.data(number).raise_for_error().results
        assert result.is_cached == ("cached" in name)
        yield name, (result.data, result.rowcount)
    for name, asking in (("filter", core), ("guest's filter", guest)):
        yield name, asking.dashboards.filter_options(1, f"FILTER-{number}").raise_for_error().results[0].data
    layer = {"name": "layer", "show": True, "showMarkers": False, "annotationType": "EVENT", "sourceType": "table"}
    query = {**GROUPED, "annotation_layers": [{**layer, "value": number}]}
    requested = {"datasource": {"id": number, "type": "table"}, "queries": [query], "force": True}
    (result,) = core.charts.data(requested).raise_for_error().results
    yield "annotations from a chart", [annotation.records for annotation in result.annotations]
    job = core.charts.submit({**requested, "queries": [RAW]})
    yield "job", job.result(timeout_s=60).results[0].data
    for name, asking in (("dashboard", core), ("guest's dashboard", guest)):
        answers = asking.dashboards.submit(1).result(timeout_s=60)
        chart = next(one for one in answers if one.chart_id == number)
        yield f"{name}, in a job", chart.raise_for_error().raise_for_error().results[0].data


TENANTS = ["bolt", "o'hare", "acm", "acme2", "", None]
REGIONS = ["north", "south", "west", "Others", "", None]
DAYS = ["2022-12-31 00:00:00", "2023-02-05 00:00:00", "2024-01-05 00:00:00", "2024-06-01 00:00:00"]
AMOUNTS = st.one_of(st.none(), st.integers(-1_000_000, 1_000_000))
FOREIGN = st.lists(
    st.tuples(st.sampled_from(TENANTS), st.sampled_from(REGIONS), AMOUNTS, st.sampled_from(DAYS)), max_size=12
)
EACH_VALUE = [
    (tenant, REGIONS[(place + place // 6) % 6], amount, day)
    for place, (tenant, amount, day) in enumerate(
        zip(TENANTS * 4, [None, -1_000_000, 0, 7, 1_000_000] * 5, DAYS * 6, strict=False), start=1
    )
]
"""Foreign rows of each tenant, with each region, day and sort of amount."""
OWN: list[Row] = [row for row in ROWS if row[1] == "acme"]


@pytest.fixture(scope="module")
def alone(world: TenantWorld) -> dict[str, Any]:
    """What acme is told where there are no rows but their own."""
    world.release()
    world.fill(OWN)
    return answers(world, "acme")


AT_NIGHT = settings().max_examples > 25


@pytest.mark.slow
@settings(
    max_examples=2,
    phases=list(Phase) if AT_NIGHT else [Phase.explicit],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(foreign=FOREIGN)
@example(foreign=EACH_VALUE)
def test_rows_outside_the_rules_change_no_answer(
    world: TenantWorld, alone: dict[str, Any], foreign: list[tuple[Any, ...]]
) -> None:
    world.release()
    world.fill([*OWN, *((100 + number, *row) for number, row in enumerate(foreign))])
    results = answers(world, "acme")
    assert {road: results[road] for road in results if results[road] != alone[road]} == {}


@pytest.mark.slow
def test_the_helper_of_tests_finds_tenants_apart(world: TenantWorld) -> None:
    world.release()
    world.fill(ROWS)
    owned = {tenant: {"tenant": tenant} for tenant in ("acme", "bolt")}
    for table in TABLES if world.engine == "sqlite" else [*TABLES][:1]:  # what asks is the same on all engines
        source = {"id": dataset_of(world, table), "type": "table"}
        query = {"datasource": source, "queries": [GROUPED]}
        assert_isolated(world.host, query, tenants=owned, key="id")
        assert_isolated(world.host, query, tenants=["acme", "bolt", "o'hare"])


@pytest.mark.slow
def test_rules_that_cannot_be_read_stop_every_road(world: TenantWorld) -> None:
    world.break_rules()
    try:
        for query, options in ROADS.values():
            requested = {"datasource": {"id": 1, "type": "table"}, "queries": [dict(query)], **options}
            with pytest.raises(errors.StoredDataError):
                world.user("acme").charts.data(requested)
    finally:
        world.mend_rules()
    assert world.user("acme").charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [RAW]}).results[0].data


TRAPS = {
    "sqlite": "ABS(CASE WHEN amount > 100 THEN -9223372036854775807 - 1 ELSE 1 END) > 0",
    "duckdb": "CAST(amount AS TINYINT) > -100",
    "postgresql": "1 / (amount - 1000000) > -5",
    "mysql": "EXP(amount) > -1",
}
"""Conditions that hold on each own row, and fail on a row whose amount is 1000000."""


def trapped_roads(trap: str) -> Roads:
    """Return every road with a condition that fails on foreign rows, and what else can hold a fragment."""
    flag = {"label": "flag", "sqlExpression": f"CASE WHEN {trap} THEN 1 ELSE 0 END"}
    summed = {"expressionType": "SQL", "label": "s", "sqlExpression": f"SUM({flag['sqlExpression']})"}
    foreign = {"col": "id", "op": "==", "val": 100}
    requested = {
        road: ({**query, "extras": {**query.get("extras", {}), "where": trap}}, options)
        for road, (query, options) in ROADS.items()
    }
    return {
        **requested,
        "ad-hoc column": ({"columns": ["id", flag]}, {}),
        "ad-hoc group": ({"columns": [flag], "metrics": [COUNT]}, {}),
        "ad-hoc filter": ({**RAW, "filters": [{"col": flag, "op": "==", "val": 1}]}, {}),
        "metric of a fragment": ({"metrics": [summed]}, {}),
        "having of a fragment": ({**GROUPED, "extras": {"having": f"{summed['sqlExpression']} >= 0"}}, {}),
        "order of a fragment": ({**RAW, "orderby": [[flag, True]]}, {}),
        "series of a fragment": (
            {"columns": [flag], "metrics": [COUNT], "series_columns": ["flag"], "series_limit": 1},
            {},
        ),
        "calculated column": ({"columns": ["id", "trap"], "filters": [{"col": "trap", "op": "==", "val": 1}]}, {}),
        "a foreign key": ({**RAW, "filters": [foreign], "extras": {"where": trap}}, {}),
        "a foreign tenant": (
            {**RAW, "filters": [foreign, {"col": "tenant", "op": "==", "val": "acme"}], "extras": {"where": trap}},
            {},
        ),
    }


@pytest.mark.slow
def test_what_fails_on_foreign_rows_tells_nothing_of_them(world: TenantWorld) -> None:
    trap = TRAPS[world.engine]
    world.release()
    world.fill(OWN)
    world.execute("CREATE INDEX by_id ON sales (id, amount)")
    for number in range(1, 1 + len(TABLES)):
        known = world.admin.datasets.get(number).columns
        columns = [{"id": column.id, "column_name": column.column_name} for column in known]
        calculated = {"column_name": "trap", "expression": f"CASE WHEN {trap} THEN 1 ELSE 0 END", "type": "INTEGER"}
        world.admin.datasets.update(number, {"columns": [*columns, calculated], "fetch_values_predicate": trap})
        stored = {"datasource": {"id": number, "type": "table"}, "queries": [{**RAW, "extras": {"where": trap}}]}
        world.admin.charts.update(number, {"query_context": json.dumps(stored)})
    requested = (world, "acme", trapped_roads(trap), ("table", "joined"))
    own = answers(*requested)
    world.release()
    foreign = [
        (100 + n, tenant, "north", 1_000_000, "2024-01-05 00:00:00") for n, tenant in enumerate(("bolt", None, "b"))
    ]
    world.fill([*OWN, *foreign])
    results = answers(*requested)
    assert {road: results[road] for road in results if results[road] != own[road]} == {}


class BusyClock(SystemClock):
    """A clock during whose reading something else happens: at the n-th look at the seconds from `arm` on."""

    def __init__(self) -> None:
        self._remaining = 0
        self._act: Callable[[], object] | None = None

    def arm(self, looks: int, act: Callable[[], object]) -> None:
        """Let `act` happen once, `looks` looks from now."""
        self._remaining, self._act = looks, act

    def monotonic(self) -> float:
        """Return the seconds, after what happens meanwhile."""
        self._remaining -= 1
        if self._remaining == 0 and self._act is not None:
            act, self._act = self._act, None
            act()
        return super().monotonic()

    @property
    def is_armed(self) -> bool:
        """Whether it is still to happen."""
        return self._act is not None


@pytest.mark.slow
def test_a_rule_that_comes_at_any_moment_of_a_question_counts_for_the_next_one(tmp_path: Path) -> None:
    clock = BusyClock()
    with tenant_world("sqlite", f"sqlite:///{tmp_path}/shop.db", tmp_path, clock=clock, freshness_s=3_600) as world:
        made = world.virtual("over sales", "SELECT id, tenant FROM sales")
        core, rules = world.user("acme"), world.admin.row_level_security
        own = len([row for row in ROWS if row[1] == "acme"])
        for look in count(1):
            created: list[int] = []
            clock.arm(look, lambda created=created: created.append(rules.create(rule(world)).id))
            query = {"columns": ["id"], "row_limit": 1_000 + look}  # a payload of its own: nothing is remembered of it
            ask(core, query, dataset=made)
            if clock.is_armed:
                break  # the whole question had fewer moments
            assert [ask(core, query, dataset=made).rowcount for _ in range(2)] == [own] * 2, look
            rules.delete(created[0])
        assert look > 5
