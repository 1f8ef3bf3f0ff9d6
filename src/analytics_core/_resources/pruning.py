"""How old is old, where records that pile up are removed on request."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from analytics_core.errors import PayloadSchemaError, Problem

_DAYS = range(1, 36_501)


def oldest_kept(older_than_days: Any, *, now: datetime, shape: str) -> datetime:
    """Return the moment before which things are old; PayloadSchemaError unless it is from 1 to 36,500 days ago."""
    if type(older_than_days) is not int or older_than_days not in _DAYS:
        message = f"must be a whole number from {_DAYS.start} to {_DAYS.stop - 1}"
        raise PayloadSchemaError(shape=shape, problems=[Problem(path="older_than_days", message=message)])
    return now - timedelta(days=older_than_days)
