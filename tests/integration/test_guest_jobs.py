"""Guests ask their charts in the background: whose a job is, what it may read, and who reads its answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import KEY, QUERY, RULE, GuestWorld, context, dashboard, guest_world, later, requested
from tests.support.job_worker import QueueOfOthers

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._records.repositories import ListQuery

HARD_STOP_S = 20
CITIES = [{"city": "Bonn", "revenue": 40}, {"city": "Kiel", "revenue": 20}]
OTHER_KEY = "an0ther-k3y-of-the-embedding-host-01"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=f"sqlite:///{tmp_path}/meta.db") as world:
        yield world


@pytest.fixture
def elsewhere(world: GuestWorld, tmp_path: Path) -> Iterator[AnalyticsCore]:
    """A core of another process on the same store: what it submits waits until a worker runs it."""
    with another_core(world, tmp_path) as core:
        yield core


def another_core(world: GuestWorld, folder: Path, **choices: Any) -> AnalyticsCore:
    settings = Settings(**{"secret_key": KEY, "metadata_freshness_s": 0, "data_roots": (folder,), **choices})
    url = f"sqlite:///{folder}/meta.db"
    return AnalyticsCore(settings, metadata_url=url, clock=world.clock, jobs=QueueOfOthers())


def rows_of(job: Any) -> Any:
    return job.result(timeout_s=HARD_STOP_S).raise_for_error().results[0].data


@pytest.mark.slow
def test_a_job_of_a_guest_gives_the_answer_that_asking_gives(world: GuestWorld) -> None:
    guest = world.guest()
    bonn = requested(filters=[{"col": "city", "op": "IN", "val": ["Bonn"]}])
    assert rows_of(guest.charts.submit(1)) == CITIES
    assert rows_of(guest.charts.submit(bonn)) == guest.charts.data(bonn).results[0].data == CITIES[:1]
    answer = guest.charts.submit(bonn).result(timeout_s=HARD_STOP_S)
    assert [result.query for result in answer.results] == [""]


@pytest.mark.slow
def test_what_a_guest_may_not_ask_they_may_not_submit(world: GuestWorld, elsewhere: AnalyticsCore) -> None:
    guest = elsewhere.as_guest(world.token("acme"))
    foreign = requested(filters=[{"col": "tenant", "op": "IN", "val": ["globex"]}])
    for question in (
        3,
        99,
        True,
        requested(3),
        foreign,
        requested(columns=["tenant"]),
        context(QUERY),
        {"queries": "all"},
    ):
        refusals = []
        for ask in (guest.charts.data, guest.charts.submit):
            with pytest.raises(errors.AnalyticsError) as refusal:
                ask(question)
            refusals.append((type(refusal.value), refusal.value.message))
        assert refusals[0] == refusals[1]
    with pytest.raises(errors.GuestAccessError, match="force"):
        guest.charts.submit(1, force=True)
    assert world.admin.jobs.list().count == 0


@pytest.mark.slow
def test_a_job_is_found_by_the_same_guest_and_nobody_else(world: GuestWorld, elsewhere: AnalyticsCore) -> None:
    job = elsewhere.as_guest(world.token("acme", username="anna")).charts.submit(requested())
    assert job.status == "pending"
    world.host.run_job(job.job_id)
    later(world, 1)
    renewed = world.guest("acme", username="anna").charts.job(job.job_id)
    assert (rows_of(renewed), renewed.to_payload()) == (CITIES, job.to_payload())
    more = {"clause": "city = 'Bonn'"}
    narrower = world.admin.embedded.guest_token(world.request({**RULE}, more, username="anna"))
    others: list[Any] = [
        world.guest("globex", username="anna"),
        world.guest(None, username="anna"),
        world.guest("acme", username="bert"),
        world.guest("acme", username="anna", attributes={"team": "one"}),
        world.host.as_guest(narrower),
        world.admin,
    ]
    for other in others:
        with pytest.raises(errors.JobNotFoundError):
            other.charts.job(job.job_id)
    with pytest.raises(errors.JobNotFoundError):
        world.admin.jobs.get(job.job_id)
    with world.host._runtime.content.store.unit_of_work() as unit:
        unit.jobs.delete(job._record.id)
    for guest, is_gone in ((world.guest("acme", username="anna"), True), *((other, False) for other in others)):
        with pytest.raises(errors.JobNotFoundError) as refusal:
            guest.charts.job(job.job_id)
        assert isinstance(refusal.value, errors.JobGoneError) is is_gone
    with pytest.raises(errors.GuestAccessError):
        world.guest("acme", username="anna").jobs  # noqa: B018 - reading it is the act


def test_a_guest_has_no_id_and_a_channel_of_their_own(world: GuestWorld, elsewhere: AnalyticsCore) -> None:
    mine, again = (elsewhere.as_guest(world.token("acme")).charts.submit(1).to_payload() for _ in range(2))
    theirs = elsewhere.as_guest(world.token("globex")).charts.submit(1).to_payload()
    assert {payload["user_id"] for payload in (mine, again, theirs)} == {None}
    channels = [payload["channel_id"] for payload in (mine, again, theirs)]
    assert channels[0] == channels[1] != channels[2]
    with world.host._runtime.content.store.unit_of_work() as unit:
        authors = {job.audit.created_by for job in unit.jobs.list(ListQuery())[1]}
    assert authors == {None}


def test_administrators_list_and_stop_the_jobs_of_guests(world: GuestWorld, elsewhere: AnalyticsCore) -> None:
    job = elsewhere.as_guest(world.token("acme")).charts.submit(1)
    assert [(item.job_id, item.user_id) for item in world.admin.jobs.list().result] == [(job.job_id, None)]
    world.admin.jobs.cancel(job.job_id)
    world.host.run_job(job.job_id)
    assert job.state == "stopped"


TAKEN_AWAY: dict[str, tuple[Callable[[GuestWorld], object], type[errors.AnalyticsError]]] = {
    "the token expires": (lambda world: later(world, 400), errors.GuestTokenError),
    "the guest is revoked": (
        lambda world: world.admin.embedded.revoke_guest_tokens(subject="guest"),
        errors.GuestTokenError,
    ),
    "the dashboard is revoked": (
        lambda world: world.admin.embedded.revoke_guest_tokens(dashboard_id=1),
        errors.GuestTokenError,
    ),
    "the dashboard is embedded no more": (lambda world: world.admin.embedded.delete(1), errors.GuestTokenError),
    "another page alone may show it": (
        lambda world: world.admin.embedded.update(1, {"allowed_domains": ["https://else.example"]}),
        errors.GuestAccessError,
    ),
    "the chart leaves the dashboard": (
        lambda world: world.admin.dashboards.update(1, {"position_json": dashboard("x", 2)["position_json"]}),
        errors.ChartAccessError,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", TAKEN_AWAY)
def test_jobs_of_a_guest_who_may_not_ask_any_more_neither_run_nor_are_read(
    world: GuestWorld, elsewhere: AnalyticsCore, how: str
) -> None:
    take_away, refusal = TAKEN_AWAY[how]
    guest = elsewhere.as_guest(world.token("acme"), origin="https://shop.example")
    finished, waiting = guest.charts.submit(1), guest.charts.submit(requested())
    world.host.run_job(finished.job_id)
    assert rows_of(finished) == CITIES
    take_away(world)
    world.host.run_job(waiting.job_id)
    assert waiting.state == "failed"
    with world.host._runtime.content.store.unit_of_work() as unit:
        stored = unit.jobs.find(job_id=waiting.job_id)
        assert stored is not None
        assert stored.error is not None
        assert refusal.__name__ in stored.error
        assert stored.result_bytes is None
    for read in (waiting.result, finished.result, lambda: guest.charts.job(finished.job_id)):
        with pytest.raises(refusal):
            read()


def _bind_everybody(world: GuestWorld) -> None:
    rule = {"name": "base", "clause": "city <> 'Kiel'", "filter_type": "Base", "roles": [], "tables": [1]}
    world.admin.row_level_security.create(rule)


def _change_the_chart(world: GuestWorld) -> None:
    world.admin.charts.update(1, {"query_context": json.dumps(context({**QUERY, "columns": ["day"]}))})


@pytest.mark.slow
@pytest.mark.parametrize("change", [_bind_everybody, _change_the_chart])
def test_a_finished_job_is_gone_when_other_rules_bind_or_its_chart_asks_something_else(
    world: GuestWorld, change: Callable[[GuestWorld], None]
) -> None:
    guest = world.guest("acme")
    job = guest.charts.submit(1)
    assert rows_of(job) == CITIES
    change(world)
    for read in (job.result, lambda: guest.charts.job(job.job_id)):
        with pytest.raises(errors.JobNotFoundError):
            read()
    assert rows_of(guest.charts.submit(1)) != CITIES


@pytest.mark.slow
def test_a_renewed_token_reads_a_job_whose_own_token_is_over(world: GuestWorld) -> None:
    job = world.guest("acme").charts.submit(1)
    assert rows_of(job) == CITIES
    later(world, 400)
    with pytest.raises(errors.GuestTokenError):
        job.result()
    assert rows_of(world.guest("acme").charts.job(job.job_id)) == CITIES


def stored_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("meta.db*"))


@pytest.mark.slow
def test_what_a_token_says_is_nowhere_in_the_bytes_of_the_store(
    world: GuestWorld, elsewhere: AnalyticsCore, tmp_path: Path
) -> None:
    rule = {"clause": "tenant = {{ value('sealed-name') }} OR 1 = 2", "values": {"sealed-name": "acme"}}
    request = world.request(rule, attributes={"sealed-team": "sealed-word"})
    job = elsewhere.as_guest(world.admin.embedded.guest_token(request)).charts.submit(requested())
    waiting = stored_bytes(tmp_path)
    world.host.run_job(job.job_id)
    assert rows_of(job) == CITIES
    for content in (waiting, stored_bytes(tmp_path)):
        assert job.job_id.encode() in content
        for word in (b"sealed-name", b"sealed-team", b"sealed-word", b"acme", b"1 = 2"):
            assert word not in content


def test_claims_open_for_their_own_job_alone(world: GuestWorld, elsewhere: AnalyticsCore, tmp_path: Path) -> None:
    mine = elsewhere.as_guest(world.token("acme")).charts.submit(1)
    theirs = elsewhere.as_guest(world.token("globex")).charts.submit(1)
    with closing(sqlite3.connect(tmp_path / "meta.db")) as store, store:
        taken = "(SELECT claims FROM ac_jobs WHERE job_id = ?)"
        store.execute(f"UPDATE ac_jobs SET claims = {taken} WHERE job_id = ?", (theirs.job_id, mine.job_id))
    world.host.run_job(mine.job_id)
    assert mine.state == "failed"
    with pytest.raises(errors.JobNotFoundError):  # whose it is cannot be told any more
        world.guest("acme").charts.job(mine.job_id)


@pytest.mark.slow
def test_a_job_that_waits_outlives_the_key_that_sealed_it(world: GuestWorld, tmp_path: Path) -> None:
    with another_core(world, tmp_path) as before:
        job_id = before.as_guest(world.token("acme")).charts.submit(requested()).job_id
    with another_core(world, tmp_path, secret_key=OTHER_KEY, previous_secret_keys=(KEY,)) as between:
        assert between.reseal_secrets() == 2  # the database and the job
    with another_core(world, tmp_path, secret_key=OTHER_KEY) as after:
        after.run_job(job_id)
        token = after.as_user("admin").embedded.guest_token(world.request(RULE))
        assert rows_of(after.as_guest(token).charts.job(job_id)) == CITIES


def test_without_resealing_a_waiting_job_fails_when_its_key_is_dropped(world: GuestWorld, tmp_path: Path) -> None:
    with another_core(world, tmp_path) as before:
        job_id = before.as_guest(world.token("acme")).charts.submit(1).job_id
    with another_core(world, tmp_path, secret_key=OTHER_KEY) as after:
        after.run_job(job_id)
        assert [item.state for item in after.as_user("admin").jobs.list().result] == ["failed"]


@pytest.mark.slow
def test_what_counts_as_now_for_a_guests_job_is_when_it_was_submitted(world: GuestWorld, tmp_path: Path) -> None:
    recent = context({"columns": ["city"], "metrics": ["count"], "granularity": "day", "time_range": "Last month"})
    world.admin.charts.update(2, {"query_context": json.dumps(recent)})
    with another_core(world, tmp_path) as core:
        guest = core.as_guest(world.token("acme")).as_of(datetime(2024, 2, 15, tzinfo=UTC))
        job = guest.charts.submit(2)
        world.host.run_job(job.job_id)
        assert rows_of(job) == guest.charts.data(2).results[0].data == [{"city": "Kiel", "count": 1}]
        assert rows_of(core.as_guest(world.token("acme")).charts.job(job.job_id)) == [{"city": "Kiel", "count": 1}]


@pytest.mark.slow
def test_jobs_of_guests_take_half_of_the_places(world: GuestWorld, tmp_path: Path) -> None:
    with another_core(world, tmp_path, max_jobs=3) as core:
        guest = core.as_guest(world.token("acme"))
        jobs = [guest.charts.submit(1) for _ in range(2)]
        with pytest.raises(errors.JobError, match="2 jobs of guests") as refusal:
            core.as_guest(world.token("globex")).charts.submit(1)
        assert refusal.value.retryable
        assert core.as_user("admin").charts.submit(1).state == "pending"
        jobs[0].cancel()
        assert guest.charts.submit(1).state == "pending"


@pytest.mark.slow
def test_values_of_rules_of_every_kind_come_back_as_they_were(world: GuestWorld, elsewhere: AnalyticsCore) -> None:
    clause = "tenant IN ({{ value('tenants') }}) AND amount >= {{ value('whole') }} AND amount > {{ value('part') }}"

    def token(amount: float) -> str:
        values = {"tenants": ["acme", "nobody"], "whole": amount, "part": 10.5}
        return world.admin.embedded.guest_token(world.request({"clause": clause, "values": values, "dataset": 1}))

    job = elsewhere.as_guest(token(1)).charts.submit(1)
    world.host.run_job(job.job_id)
    wanted = [{"city": "Bonn", "revenue": 30}, {"city": "Kiel", "revenue": 20}]
    assert rows_of(world.host.as_guest(token(1)).charts.job(job.job_id)) == wanted
    with pytest.raises(errors.JobNotFoundError):  # as texts, 1 and 1.0 name different rows
        world.host.as_guest(token(1.0)).charts.job(job.job_id)
