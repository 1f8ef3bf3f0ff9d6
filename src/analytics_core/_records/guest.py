"""Guests: what a token says, and what it opens now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

GuestValue = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestRule:
    """A condition on the rows that a guest sees of one dataset, or of all (`dataset_id` None).

    `values` are what `{{ value('name') }}` in the clause stands for; they are bound and never written.
    """

    clause: str
    dataset_id: int | None = None
    values: tuple[tuple[str, GuestValue], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestGrant:
    """What a verified token says.

    Attributes:
        embedded: the uuids of the embedded dashboards that it opens.
        all_rows: the ids of datasets that need no rule; None: no dataset needs one.
        issued_on, expires_on: aware, UTC.
    """

    username: str
    first_name: str
    last_name: str
    attributes: tuple[tuple[str, str], ...]
    embedded: tuple[str, ...]
    rules: tuple[GuestRule, ...]
    all_rows: frozenset[int] | None
    issued_on: datetime
    expires_on: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPass:
    """What a guest may read at this moment; equal passes have equal rights, whichever token they came from."""

    dashboard_ids: frozenset[int]
    chart_ids: frozenset[int]
    dataset_ids: frozenset[int]
    rules: tuple[GuestRule, ...]
    all_rows: frozenset[int] | None

    def needs_rule(self, dataset_id: int) -> bool:
        """Tell whether the guest sees nothing of the dataset unless a rule of the token binds there."""
        return self.all_rows is not None and dataset_id not in self.all_rows
