"""Values that nobody means, for any argument of the facade, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from analytics_core.errors import AnalyticsError


class Subclass(int):
    """An integer that is none to whoever asks for the exact type: a range would count through to it."""


class NoOffset(tzinfo):
    """A zone that does not tell its offset, which makes a moment in it naive."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None

    dst = utcoffset

    def tzname(self, moment: datetime | None) -> str | None:
        return None


def nested(levels: int) -> Any:
    """Return lists inside lists."""
    deepest: list[Any] = []
    for _ in range(levels):
        deepest = [deepest]
    return deepest


HOSTILE: dict[str, Any] = {
    "null": None,
    "true": True,
    "negative": -1,
    "zero": 0,
    "beyond 32 bits": 2**31,
    "beyond 64 bits": 2**70,
    "many digits": 10**5_000,
    "fraction": 1.5,
    "nan": float("nan"),
    "text": "x",
    "no text": "",
    "nul": "\x00",
    "half a pair": "\ud800",
    "bytes": b"x",
    "list": ["x"],
    "no list": [],
    "object": {"a": 1},
    "no object": {},
    "something": object(),
    "deep": nested(3_000),
    "long": "x" * 100_000,
    "other digits": "1\u0661",
    "first moment": datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    "last moment": "9999-12-31T23:59:59-14:00",
    "subclass of int": Subclass(2**40),
    "moment without an offset": datetime(2024, 1, 1, tzinfo=NoOffset()),
    "texts as keys": {"1": 2},
    "ids of nothing": {1: None},
}


def rejection(ask: Callable[[], Any]) -> str:
    """Return the message of a typed refusal, and the empty text for an answer."""
    try:
        ask()
    except AnalyticsError as rejected:
        return rejected.message
    except Exception as error:
        return f"raw {type(error).__name__}"
    return ""
