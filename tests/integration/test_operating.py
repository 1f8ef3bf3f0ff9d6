"""`core.health` tells how the parts of a core are and raises for none; `core.prune` removes what is over, in bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, GuestWorld, context, guest_world
from tests.support.small_core import small_core

from analytics_core import errors
from analytics_core._content.storage.migrate import HEAD
from analytics_core._core import operating
from analytics_core._records.audit import LogEntry
from analytics_core._records.repositories import ListQuery
from analytics_core._records.shared_state import JobWorker, KeyValue, Lease, LockRecord
from analytics_core.models.enums import JobState
from analytics_core.testing.store.records import a_job

DAY = timedelta(days=1)


STORES = [
    "file",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
]


@pytest.fixture(params=["file"])
def world(request: pytest.FixtureRequest, tmp_path: Path, reused_store: Callable[[str], str]) -> Iterator[GuestWorld]:
    store = f"sqlite:///{tmp_path}/meta.db" if request.param == "file" else reused_store(request.param)
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=store) as made:
        yield made


@for_each(
    ("act", "ask"),
    [
        ("ask how a core is", lambda core: core.health()),
        ("prune", lambda core: core.prune()),
        ("seal secrets anew", lambda core: core.reseal_secrets()),
        ("run what is due", lambda core: core.scheduler.tick()),
        ("run jobs", lambda core: core.run_job("of nobody")),
    ],
)
def test_it_needs_no_actor_and_takes_administrators_alone(
    world: GuestWorld, act: str, ask: Callable[[Any], Any]
) -> None:
    reader = world.host.as_user(world.admin.users.create({"username": act}).id)
    for core in (world.host, world.admin):
        with suppress(errors.JobNotFoundError):
            ask(core)
    for rejected in (reader, world.guest()):
        with pytest.raises(errors.AccessError, match=rf"only an administrator may {act}$|guests"):
            ask(rejected)


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_a_core_that_is_well(world: GuestWorld) -> None:
    with world.host._runtime.content.store.unit_of_work() as unit:
        for name, state in {"a": "pending", "b": "pending", "c": "running", "d": "lost", "e": "success"}.items():
            unit.jobs.append(a_job(name, state=JobState(state)), actor_id=1)
        for token, lease in {"alive": DAY, "dead": -DAY}.items():
            unit.job_workers.append(JobWorker(token=token, lease_until=unit.now() + lease), actor_id=None)
    health = world.host.health()
    assert health.is_ready
    assert (health.store.is_up, health.cache.is_up, health.revision, health.runs_jobs_here) == (True, True, HEAD, True)
    assert health.jobs == operating.JobsHealth(waiting=2, running=1, lost=1, workers_alive=1)
    assert health.store.ms > 0


def test_parts_that_are_away_are_told(tmp_path: Path) -> None:
    class Away:
        def __getattr__(self, name: str) -> Any:
            raise ConnectionError("redis://:hunter2@host")

    with small_core(tmp_path, ports={"cache": Away()}) as small:
        health = small.core.health()
        assert (health.is_ready, health.cache.is_up) == (True, False)
        assert "hunter2" not in repr(health)
        host = small.core._sibling(small.core._runtime, None)
    closed = host.health()
    assert (closed.is_ready, closed.jobs, closed.revision) == (False, None, None)
    assert closed.store.problem == "the metadata store is closed"


def fill(world: GuestWorld, name: str, *, is_over: bool) -> None:
    """Store a record of each kind that ends."""
    clocks = world.clock.now()
    with world.host._runtime.content.store.unit_of_work() as unit:
        end, own_end = (unit.now(), clocks)
        away = -2 * DAY if is_over else DAY
        unit.jobs.append(a_job(name, state=JobState.SUCCESS, expires_on=end + away), actor_id=1)
        unit.job_workers.append(JobWorker(token=name, lease_until=end + away), actor_id=None)
        unit.locks.append(LockRecord(name=name, owner="o", ends_on=end + away), actor_id=None)
        unit.key_values.append(KeyValue(kind="form_data", key=name, value="{}", expires_on=own_end + away), actor_id=1)
        unit.logs.append(LogEntry(action=name, dttm=own_end - (40 * DAY if is_over else DAY)), actor_id=1)


def retained(world: GuestWorld) -> dict[str, int]:
    kinds = ("jobs", "job_workers", "locks", "key_values")
    with world.host._runtime.content.store.unit_of_work() as unit:
        return {kind: getattr(unit, kind).list(ListQuery())[0] for kind in kinds}


@pytest.mark.parametrize("world", STORES, indirect=True)
def test_what_is_over_goes_and_nothing_else(world: GuestWorld) -> None:
    fill(world, "stays", is_over=False)
    before = retained(world)
    fill(world, "goes", is_over=True)
    counts = world.host.prune(logs_older_than_days=30)
    assert counts == operating.PruneCounts(jobs=1, job_workers=1, key_values=1, locks=1, logs=1, guest_cut_offs=0)
    assert retained(world) == before
    assert world.host.prune(logs_older_than_days=30) == operating.PruneCounts()
    with pytest.raises(errors.PayloadSchemaError):
        world.host.prune(logs_older_than_days=0)


@pytest.mark.slow
def test_logs_stay_unless_they_are_named(world: GuestWorld) -> None:
    fill(world, "old", is_over=True)
    assert world.host.prune().logs == 0


def test_a_revoked_guest_token_stays_revoked(world: GuestWorld) -> None:
    token = world.token()
    world.admin.embedded.revoke_guest_tokens(dashboard_id=1)
    assert world.host.prune().guest_cut_offs == 0
    with pytest.raises(errors.GuestTokenError):
        world.host.as_guest(token)
    world.clock.advance(timedelta(days=400))
    assert world.host.prune().guest_cut_offs == 1
    with pytest.raises(errors.GuestTokenError):
        world.host.as_guest(token)


@pytest.mark.slow
def test_one_call_is_bounded_and_the_next_goes_on(world: GuestWorld) -> None:
    with world.host._runtime.content.store.unit_of_work() as unit:
        ended = LockRecord(name="", owner="o", ends_on=unit.now() - DAY)
        unit.locks.append_all([replace(ended, name=str(number)) for number in range(10_101)], actor_id=None)
    first, second = world.host.prune(), world.host.prune()
    assert (first.locks, first.is_complete) == (10_000, False)
    assert (second.locks, second.is_complete) == (101, True)


@pytest.mark.slow
class LosingLock:
    """Gives leases, and is away when they are given back."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease:
        return Lease(name=name, owner="us", fencing_number=1)

    def release(self, lease: Lease) -> bool:
        raise errors.StoreUnavailableError("Redis does not serve a lock")


def test_what_was_pruned_is_told_although_the_lock_is_away_by_then(tmp_path: Path) -> None:
    with small_core(tmp_path, ports={"lock": LosingLock()}) as small:
        assert small.core.prune() == operating.PruneCounts()


def test_one_process_at_a_time_prunes(world: GuestWorld) -> None:
    fill(world, "goes", is_over=True)
    lock = world.host._runtime.parts.lock
    lease = lock.acquire(operating.PRUNE_LOCK, ttl_s=60)
    assert lease is not None
    assert world.host.prune() == operating.PruneCounts(is_complete=False)
    assert lock.release(lease)
    assert world.host.prune().jobs == 1
    assert world.admin.charts.data(context(QUERY)).raise_for_error()
