"""The states of jobs: which may follow which."""

from __future__ import annotations

from analytics_core._records.shared_state import NEXT_STATES
from analytics_core.models.enums import JobState


def after(state: JobState) -> set[JobState]:
    """Return every state that a job may yet come to."""
    return set(NEXT_STATES[state]).union(*(after(following) for following in NEXT_STATES[state]))


def test_every_state_is_in_the_table_and_can_be_reached() -> None:
    assert set(NEXT_STATES) == set(JobState)
    assert after(JobState.PENDING) == set(JobState) - {JobState.PENDING}


def test_a_job_that_is_over_stays_as_it_is() -> None:
    open_states = {state for state in JobState if not state.is_over}
    assert open_states == {JobState.PENDING, JobState.RUNNING}
    assert all(not after(state) for state in JobState if state.is_over)


def test_what_never_ran_has_neither_a_result_nor_a_time_limit() -> None:
    assert JobState.SUCCESS not in NEXT_STATES[JobState.PENDING]
    assert JobState.TIMED_OUT not in NEXT_STATES[JobState.PENDING]
