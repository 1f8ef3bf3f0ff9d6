"""Dashboards and pictures in the background: what they give is what is given at once, to who may see it by then."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.test_jobs_road import SLOW_SQL
from tests.support.cases import for_each
from tests.support.filtered_dashboard import (
    ALL_TIME,
    FILTERS,
    FilteredDashboard,
    filtered_dashboard,
    native,
)
from tests.support.guests import chart, dashboard

from analytics_core import errors
from analytics_core._content.dashboards.answers import DashboardQuestions, DashboardRequest
from analytics_core._content.jobs.handlers import new_job_id
from analytics_core._content.questions.acting_filters import given_state
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._records.shared_state import JobRecord
from analytics_core.testing import FakeRenderer

HARD_STOP_S = 20.0
FIRST = native("first", "filter_select", column="city", dataset=1, controlValues={"defaultToFirstItem": True})
"""A filter of dataset 1, which acts on no chart and shows the first city of its rows."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    """A world that tests ask and leave as it is; its reader may not read the chart `elsewhere`."""
    with world_in(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[FilteredDashboard]:
    """A world of its own."""
    with world_in(tmp_path) as made:
        yield made


def world_in(folder: Path) -> Any:
    return filtered_dashboard(f"sqlite:///{folder}/shop.db", renderer=FakeRenderer())


def content_of(data: Any) -> Any:
    """Return all that an answer tells, its values as Python has them."""
    rows = [[result.rows() if result.error is None else None for result in one.answer or ()] for one in data]
    failures = [(type(one.failure), one.error) for one in data]
    return data.to_payload(), data.filters, rows, failures


# ------------------------------------------------------------------------------------------------------------- answers
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "region": st.sampled_from([["north"], ("south", None), {"north"}, None, "south"]),
        "without": st.sampled_from([["Kiel", "Oslo"], frozenset({"Ulm"}), []]),
        "amount": st.sampled_from([[20, 200], (None, 30), [Decimal("20.5"), None]]),
        "time": st.sampled_from([ALL_TIME, "2024-02-01 : 2024-04-01"]),
        "grain": st.sampled_from(["P1M", "P1Y"]),
        "city": st.sampled_from([["Ulm", date(2024, 1, 1)], ["Kiel"], {"extraFormData": {"filters": []}}]),
    },
)
MORE = st.fixed_dictionaries(
    {},
    optional={
        "tabs": st.sampled_from([["Cities"], ("All", "Cities"), []]),
        "extra_filters": st.sampled_from([[{"col": "amount", "op": ">", "val": 10}], "[]"]),
        "url_params": st.just({"region": "north"}),
        "parallel": st.sampled_from([1, 3]),
    },
)


@settings(max_examples=settings().max_examples // 2)
@given(values=VALUES, more=MORE, who=st.sampled_from(["owner", "reader", "guest"]))
def test_a_job_tells_what_the_dashboard_tells_at_once(
    shared: FilteredDashboard, values: dict[str, Any], more: dict[str, Any], who: str
) -> None:
    core, _ = shared.actors()[who]
    if who == "guest":
        values = {name: value for name, value in values.items() if not isinstance(value, dict)}
        more = {name: value for name, value in more.items() if name in ("tabs", "parallel")}
    core.dashboards.data(1, filters=values, **more)  # into the cache: moments of keeping are in answers
    found = core.dashboards.submit(1, filters=values, **more).result(HARD_STOP_S)
    assert content_of(found) == content_of(core.dashboards.data(1, filters=values, **more))


def test_picks_a_permalink_and_a_chart_that_fails_are_as_they_are_at_once(own: FilteredDashboard) -> None:
    core = own.world.admin
    broken = chart("cities", own.dataset, {"columns": ["nope"]})["query_context"]
    core.charts.update(own.charts["cities"], {"query_context": broken})
    masks = {"region": {"extraFormData": {}, "filterState": {"value": ["north"]}}}
    key = core.permalinks.create_for_dashboard(1, {"dataMask": masks}).key
    options: dict[str, Any] = {"permalink": key, "cross_filters": {own.charts["total"]: {"region": ["north"]}}}
    core.dashboards.data(1, **options)
    job = core.dashboards.submit(1, **options)
    data = job.result(HARD_STOP_S)
    assert content_of(data) == content_of(core.dashboards.data(1, **options))
    assert (job.state, [one.name for one in data if one.error]) == ("success", ["cities"])
    with pytest.raises(errors.UnknownColumnError):
        data.chart("cities")


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"filters": {"Regoin": ["north"]}}, errors.UnknownNameError),
        ({"filters": {"grain": "fortnight"}}, errors.PayloadSchemaError),
        ({"filters": ["region"]}, errors.PayloadSchemaError),
        ({"tabs": ["Sum"]}, errors.UnknownNameError),
        ({"parallel": 0}, errors.PayloadSchemaError),
        ({"permalink": "no such key"}, errors.NotFoundError),
        ({"extra_filters": "{"}, errors.PayloadError),
        ({"url_params": {"q": object()}}, errors.PayloadSchemaError),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(
    shared: FilteredDashboard, options: dict[str, Any], refusal: type[Exception]
) -> None:
    before = shared.world.admin.jobs.list().count
    with pytest.raises(refusal):
        shared.world.admin.dashboards.submit(1, **options)
    assert shared.world.admin.jobs.list().count == before


# ------------------------------------------------------------------------------------------------------------ pictures
@pytest.mark.parametrize("options", [{}, {"format": "svg", "theme": "dark", "width_px": 300, "scale": 2}])
def test_a_picture_of_a_job_is_the_one_that_is_drawn_at_once(
    shared: FilteredDashboard, options: dict[str, Any]
) -> None:
    for core, _ in (shared.actors()["owner"], shared.actors()["reader"]):
        question = {"datasource": {"id": 3, "type": "table"}, "queries": [{"columns": ["city"], "metrics": ["count"]}]}
        for one in (shared.charts["cities"], "months", question):
            found = core.charts.submit_picture(one, **options).result(HARD_STOP_S)
            assert found == core.charts.picture(one, **options)
            assert found.specification is not None
        view = {**options, "width_px": 700, "filters": {"region": ["north"]}, "tabs": ["Cities"]}
        found = core.dashboards.submit_picture(1, **view).result(HARD_STOP_S)
        assert found == core.dashboards.picture(1, **view)


def test_a_picture_of_a_query_that_fails_has_its_error(shared: FilteredDashboard) -> None:
    question = {"datasource": {"id": 3, "type": "table"}, "queries": [{"columns": ["nope"]}]}
    found = shared.world.admin.charts.submit_picture(question).result(HARD_STOP_S)
    assert isinstance(found.failure, errors.UnknownColumnError)
    assert found == shared.world.admin.charts.picture(question)


@for_each("name", ["url_params", "cross_filters"])
def test_values_too_deep_for_a_job_are_a_typed_refusal(shared: FilteredDashboard, name: str) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    options: dict[str, Any] = {name: {shared.charts["ids"]: {"region": deep}}}
    with pytest.raises(errors.PayloadSchemaError, match="nested too deep"):
        shared.world.admin.dashboards.submit(1, **options)


def test_a_look_that_cannot_be_is_refused_at_once(shared: FilteredDashboard) -> None:
    core: Any = shared.world.admin
    before = core.jobs.list().count
    with pytest.raises(errors.UnknownNameError, match="format"):
        core.charts.submit_picture(1, format="gif")
    with pytest.raises(errors.UnknownNameError, match="thene"):
        core.dashboards.submit_picture(1, thene="dark")
    with pytest.raises(errors.QueryError):
        core.dashboards.submit_picture(1, scale=9)
    assert core.jobs.list().count == before


# -------------------------------------------------------------------------------------------------------------- rights
def _rule(own: FilteredDashboard) -> None:
    rule = {"name": "base", "clause": "city <> 'Kiel'", "filter_type": "Base", "roles": [], "tables": [own.dataset]}
    own.world.admin.row_level_security.create(rule)


def _revoke(own: FilteredDashboard) -> None:
    own.world.admin.roles.revoke(_role(own), on=("dataset", own.dataset))


def _role(own: FilteredDashboard) -> Any:
    return next(role for role in own.world.admin.roles.list() if role.name == "analysts")


def _deactivate(own: FilteredDashboard) -> None:
    user = next(user for user in own.world.admin.users.list() if user.username == "reader")
    own.world.admin.users.update(user.id, {"active": False})


CHANGES: dict[str, Callable[[FilteredDashboard], None]] = {
    "another rule": _rule,
    "a lost grant": _revoke,
    "a lost person": _deactivate,
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_results_are_refused_to_an_owner_who_may_not_see_all_of_it_any_more(
    own: FilteredDashboard, change: str
) -> None:
    jobs: list[Any] = [
        own.reader.dashboards.submit(1),
        own.reader.dashboards.submit_picture(1),
        own.reader.charts.submit_picture(own.charts["cities"]),
    ]
    for job in jobs:
        job.result(HARD_STOP_S)
    CHANGES[change](own)
    for job in jobs:
        with pytest.raises((errors.JobNotFoundError, errors.AccessError, errors.ActorRequiredError)):
            job.result()


def test_a_first_item_is_refused_when_another_one_is_first(own: FilteredDashboard) -> None:
    admin, role = own.world.admin, _role(own)
    own.store(*FILTERS, {**FIRST, "chartsInScope": []})
    admin.roles.grant(role, on=("dataset", 1))
    job = own.reader.dashboards.submit(1, tabs=["All"])
    assert [state.value for state in job.result(HARD_STOP_S).filters if state.set_by] == [["Bonn"]]
    assert own.reader.dashboards.job(job.job_id).result().dashboard_id == 1
    rule = {"name": "no Bonn", "clause": "city <> 'Bonn'", "filter_type": "Base", "roles": [], "tables": [1]}
    admin.row_level_security.create(rule)
    with pytest.raises(errors.JobNotFoundError):
        own.reader.dashboards.job(job.job_id)
    with pytest.raises(errors.JobNotFoundError):
        job.result()


def test_jobs_are_found_by_their_owner_alone_and_by_what_they_are(shared: FilteredDashboard) -> None:
    admin, reader = shared.world.admin, shared.reader
    data, picture = reader.dashboards.submit(1), reader.charts.submit_picture(shared.charts["ids"])
    assert reader.dashboards.job(data.job_id).result(HARD_STOP_S).dashboard_id == 1
    assert reader.jobs.get(picture.job_id).result(HARD_STOP_S) == picture.result()
    finds: list[Callable[[str], object]] = [admin.dashboards.job, admin.jobs.get, shared.world.guest().dashboards.job]
    for find in (*finds, reader.charts.job):
        with pytest.raises(errors.JobNotFoundError):
            find(data.job_id)
    with pytest.raises(errors.JobNotFoundError):
        reader.dashboards.job(picture.job_id)
    kinds = {item.job_id: item.kind for item in reader.jobs.list()}
    assert (kinds[data.job_id], kinds[picture.job_id]) == ("dashboard-data", "picture")


def test_a_chart_of_which_nobody_knows_what_binds_has_no_answer_in_a_job(shared: FilteredDashboard) -> None:
    class Unbound(ChartQueries):
        def bound_by(self, request: ChartRequest) -> str:
            raise errors.RowRuleError("7", detail="it is mended a moment later")

    runtime, actor = shared.world.admin._runtime.content, shared.world.admin.dashboards._actor
    with runtime.store.unit_of_work() as unit:
        record = unit.dashboards.get(1)
    requested = DashboardRequest(dashboard_id=1)
    questions = DashboardQuestions(Unbound(runtime, actor), record, given_state(), requested)
    answered, _ = questions.answered_in_job()
    assert {type(one.failure) for one in answered.data} == {errors.RowRuleError}
    assert [one.answer for one in answered.data] == [None] * 5


@for_each("kind", ["dashboard-data", "picture"])
@for_each("payload", ["{}", "[]", '{"chart": {"of": "a later version"}}', '{"dashboard": {"later": 1}, "look": null}'])
def test_a_payload_of_another_version_ends_its_job(shared: FilteredDashboard, kind: str, payload: str) -> None:
    runtime = shared.world.host._runtime.content
    record = JobRecord(job_id=new_job_id(), kind=kind, payload=payload, user_id=1)
    runtime.job_registry.submit(record)
    job = shared.world.admin.jobs.get(record.job_id)
    with pytest.raises(errors.StoredDataError, match="none that this version reads"):
        job.result(HARD_STOP_S)
    assert job.state == "failed"


# -------------------------------------------------------------------------------------------------------------- guests
def test_what_a_guest_may_not_set_they_may_not_submit(shared: FilteredDashboard) -> None:
    guest: Any = shared.world.guest()
    before = shared.world.admin.jobs.list().count
    for key, values in ((2, None), (99, None), (1, {"tenant": ["globex"]}), (1, {"city": {"extraFormData": {}}})):
        refusals = []
        for ask in (guest.dashboards.data, guest.dashboards.submit):
            with pytest.raises(errors.AnalyticsError) as refusal:
                ask(key, filters=values)
            refusals.append((type(refusal.value), refusal.value.message))
        assert refusals[0] == refusals[1]
    for call in (guest.dashboards.submit_picture, guest.charts.submit_picture):
        with pytest.raises(errors.GuestAccessError):
            call(1)
    assert shared.world.admin.jobs.list().count == before


@pytest.mark.slow
def test_a_guest_reads_their_dashboard_while_its_charts_are_theirs(own: FilteredDashboard) -> None:
    guest = own.world.guest()
    job = guest.dashboards.submit(1, filters={"region": ["north"]})
    assert all(result.query == "" for one in job.result(HARD_STOP_S) for result in one.answer or ())
    assert own.world.guest().dashboards.job(job.job_id).result().charts[0].answer is not None
    for other in (own.world.guest("globex"), own.world.guest(username="bert")):
        with pytest.raises(errors.JobNotFoundError):
            other.dashboards.job(job.job_id)
    changed = json.dumps({"datasource": {"id": 3, "type": "table"}, "queries": [{"columns": ["region"]}]})
    own.world.admin.charts.update(own.charts["cities"], {"query_context": changed})
    with pytest.raises(errors.JobNotFoundError):
        job.result()
    again = guest.dashboards.submit(1)
    again.result(HARD_STOP_S)
    own.world.admin.dashboards.update(1, {"position_json": dashboard("x", own.charts["ids"])["position_json"]})
    with pytest.raises(errors.JobNotFoundError):
        again.result()
    own.world.admin.embedded.delete(1)
    with pytest.raises(errors.GuestTokenError):
        again.result()


# ------------------------------------------------------------------------------------------------------------- stopped
def slow(own: FilteredDashboard) -> int:
    """Place a chart on dashboard 1 that takes minutes, and return the id of its dataset."""
    admin = own.world.admin
    dataset = admin.datasets.create({"database": 1, "table_name": "slow", "sql": SLOW_SQL["sqlite"]}).id
    made = admin.charts.create(chart("slow", dataset, {"metrics": ["count"]})).id
    admin.dashboards.update(1, {"position_json": dashboard("x", made)["position_json"]})
    return int(dataset)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["chart", "filter", "picture"])
def test_cancel_stops_the_statement(own: FilteredDashboard, where: str) -> None:
    dataset, admin = slow(own), own.world.admin
    if where == "filter":
        admin.dashboards.update(1, {"position_json": dashboard("x", own.charts["ids"])["position_json"]})
        own.store({**FIRST, "targets": [{"datasetId": dataset, "column": {"name": "x"}}]})
    job: Any = admin.dashboards.submit(1) if where != "picture" else admin.dashboards.submit_picture(1)
    end = time.monotonic() + HARD_STOP_S
    while job.state == "pending" and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)  # let the statement reach the database
    assert job.state == "running"
    job.cancel()
    assert job.wait(HARD_STOP_S)
    assert job.state == "stopped"
    with pytest.raises(errors.StatementStoppedError):
        job.result()
