"""Locks: who may do a thing that one at a time may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from analytics_core._records.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lock that is held: `owner` gives it back, and nobody else knows it.

    Of two leases of one name the later one has the higher `fencing_number`. What is written under a lock can keep that
    number, and refuse a lower one: it comes from a holder whose time was over without their noticing.
    """

    name: str
    owner: str = field(repr=False)
    fencing_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRecord:
    """A lock in the metadata store: `owner` holds it until `ends_on`, by the store's own time (`UnitOfWork.now`).

    Its id is the fencing number: a name that is held anew is a new record, and no id is given twice.
    """

    id: int = 0
    name: str
    owner: str
    ends_on: datetime
    audit: Audit = field(default_factory=Audit)
