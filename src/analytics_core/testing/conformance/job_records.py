"""What every `MetadataStore` must keep of jobs and their results, and the time by which jobs are held."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import JobResultPart, JobState
from analytics_core.errors import AlreadyExistsError, NotFoundError, PayloadSchemaError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import START, StoreSuite, a_job, a_user

_FIVE_MEGABYTES = bytes(range(256)) * 20_480
_PAUSE_S = 0.02


class JobRecordConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    # ----------------------------------------------------------------------------------------------- the store's time
    def test_the_time_of_the_store_is_not_the_clock_of_the_process(
        self, store: MetadataStore, clock: FixedClock
    ) -> None:
        """It is aware, in UTC, goes on inside a unit, and is no clock that a host may set."""
        with store.unit_of_work() as unit:
            first = unit.now()
            unit.jobs.append(a_job(), actor_id=None)
            clock.advance(timedelta(days=400))
            time.sleep(_PAUSE_S)
            second = unit.now()
        with store.unit_of_work() as unit:
            third = unit.now()
        assert first.utcoffset() == timedelta(0)
        assert timedelta(seconds=_PAUSE_S / 2) <= second - first < timedelta(minutes=10)
        assert second <= third < second + timedelta(minutes=10)

    def test_a_lease_by_the_store_s_time_is_found_when_it_is_over(self, store: MetadataStore) -> None:
        """Moments that the store tells are kept as they are and compare with each other."""
        with store.unit_of_work() as unit:
            now = unit.now()
            for name, lease in (("over", -1), ("held", 3_600)):
                until = now + timedelta(seconds=lease)
                unit.jobs.append(a_job(name, state=JobState.RUNNING, lease_until=until), actor_id=1)
            unit.jobs.append(a_job("waits"), actor_id=1)
        with store.unit_of_work() as unit:
            running = ListFilter(col="state", op="eq", val=JobState.RUNNING)
            assert unit.jobs.list(ListQuery(filters=(running,)))[0] == 2
            over = ListFilter(col="lease_until", op="lt", val=unit.now())
            _, found = unit.jobs.list(ListQuery(filters=(running, over)))
        assert [(job.job_id, job.lease_until) for job in found] == [("over", now - timedelta(seconds=1))]

    # --------------------------------------------------------------------------------------------------------- claims
    def test_a_job_is_claimed_by_one_of_many(self, store: MetadataStore) -> None:
        """Eight read the same job and store it as their own: one is let, the others learn that they were late."""
        with store.unit_of_work() as unit:
            job = unit.jobs.add(a_job(), actor_id=1)

        def claim(worker: str) -> str | None:
            try:
                with store.unit_of_work() as unit:
                    unit.jobs.update(replace(job, state=JobState.RUNNING, worker=worker), actor_id=1)
            except StaleVersionError:
                return None
            return worker

        with ThreadPoolExecutor(8) as pool:
            claimed = [worker for worker in pool.map(claim, map(str, range(8))) if worker is not None]
        with store.unit_of_work() as unit:
            held = unit.jobs.find(job_id="first")
        assert held is not None
        assert (claimed, held.state, held.audit.version) == ([held.worker], JobState.RUNNING, 2)

    def test_a_job_s_id_is_given_once(self, unit: UnitOfWork) -> None:
        """The second one is refused by name."""
        unit.jobs.append(a_job(), actor_id=1)
        with pytest.raises(AlreadyExistsError, match="job_id"):
            unit.jobs.append(a_job(), actor_id=2)

    # -------------------------------------------------------------------------------------------------------- results
    @pytest.mark.parametrize("data", [b"", bytes(range(256)), b"\\'\"\x00\x1a%s:x?", _FIVE_MEGABYTES])
    def test_a_part_comes_back_byte_for_byte(self, store: MetadataStore, data: bytes) -> None:
        """Nothing, every byte there is, what drivers escape, and five megabytes."""
        with store.unit_of_work() as unit:
            job = unit.jobs.append(a_job(), actor_id=1)
            part = unit.job_results.append(JobResultPart(job_record_id=job, position=0, data=data), actor_id=1)
        with store.unit_of_work() as unit:
            stored = unit.job_results.get(part).data
        assert type(stored) is bytes
        assert stored == data

    def test_parts_come_in_order_and_have_one_place_each(self, unit: UnitOfWork) -> None:
        """Whichever was written first; another part for a place is refused."""
        jobs = [unit.jobs.append(a_job(name), actor_id=1) for name in ("a", "b")]
        for job, position, data in ((0, 1, b"2"), (1, 0, b"x"), (0, 0, b"1")):
            part = JobResultPart(job_record_id=jobs[job], position=position, data=data)
            unit.job_results.append(part, actor_id=1)
        with pytest.raises(AlreadyExistsError):
            unit.job_results.append(JobResultPart(job_record_id=jobs[0], position=1, data=b"3"), actor_id=1)
        of_first = ListFilter(col="job_record_id", op="eq", val=jobs[0])
        count, parts = unit.job_results.list(ListQuery(filters=(of_first,), order_by=(("position", False),)))
        assert (count, [part.data for part in parts]) == (2, [b"1", b"2"])

    def test_a_part_that_one_statement_cannot_carry_everywhere_is_refused_everywhere(
        self, store: MetadataStore
    ) -> None:
        """By name, and the job stays as it was; so is a part of no job."""
        with store.unit_of_work() as unit:
            job = unit.jobs.append(a_job(), actor_id=1)
            with pytest.raises(PayloadSchemaError, match="data"):
                unit.job_results.append(JobResultPart(job_record_id=job, position=0, data=bytes(8_000_001)), actor_id=1)
            with pytest.raises(NotFoundError, match="job"):
                unit.job_results.append(JobResultPart(job_record_id=job + 1, position=0, data=b""), actor_id=1)
        with store.unit_of_work() as unit:
            assert unit.job_results.list(ListQuery()) == (0, ())

    # --------------------------------------------------------------------------------------------------------- endings
    @pytest.mark.parametrize("how", ["delete", "delete_matching", "user"])
    def test_what_goes_with_a_job_goes_and_nothing_else(self, store: MetadataStore, how: str) -> None:
        """One that is deleted, those that are over, those of a deleted user: with their results."""
        with store.unit_of_work() as unit:
            user = unit.users.append(a_user(), actor_id=None)
            ends = {"gone": START, "stays": START + timedelta(days=2), "for ever": None}
            owners = {"gone": user, "stays": user + 1, "for ever": user + 2}
            ids = {
                name: unit.jobs.append(a_job(name, user_id=owners[name], expires_on=end), actor_id=owners[name])
                for name, end in ends.items()
            }
            for job in ids.values():
                for position in range(2):
                    part = JobResultPart(job_record_id=job, position=position, data=b"x")
                    unit.job_results.append(part, actor_id=user)
        with store.unit_of_work() as unit:
            if how == "delete":
                unit.jobs.delete(ids["gone"])
            elif how == "user":
                unit.users.delete(user)
            else:
                over = ListFilter(col="expires_on", op="lt", val=START + timedelta(days=1))
                assert unit.jobs.delete_matching([over]) == 1
        with store.unit_of_work() as unit:
            left = [job.job_id for job in unit.jobs.list(ListQuery())[1]]
            parts = [part.job_record_id for part in unit.job_results.list(ListQuery())[1]]
        assert left == ["stays", "for ever"]
        assert parts == [ids["stays"]] * 2 + [ids["for ever"]] * 2
