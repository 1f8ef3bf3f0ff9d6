"""Shapes of `core.jobs`, which go beyond the contract."""

from __future__ import annotations

from datetime import datetime

from analytics_core.models.base import Answer


class JobItem(Answer):
    """A job in a list: what it does, whose it is, where it stands, and when."""

    job_id: str
    kind: str
    state: str
    user_id: str
    created_on: datetime | None
    started_on: datetime | None
    ended_on: datetime | None
    expires_on: datetime | None


class JobPage(Answer):
    """A page of jobs, and how many there are in all."""

    count: int
    result: tuple[JobItem, ...]
