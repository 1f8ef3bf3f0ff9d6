"""Compares the answers of cores with the reference, query by query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from tests.differential.generate import Requested, make
from tests.differential.reference import NOW, Expected, answer
from tests.differential.world import ADMIN, READER, SAVED_METRICS, Row, seen

from analytics_core.errors import AnalyticsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An answer that is not the reference's."""

    requested: Requested
    engine: str
    what: str

    def __str__(self) -> str:
        requested = self.requested
        whose = f"dataset {requested.dataset.id} by {requested.who}"
        return f"{requested.number} on {self.engine}: {self.what}\n  {whose}: {requested.query}"


def differences(cores: Mapping[str, Any], rows: Sequence[Row], numbers: Sequence[str]) -> Iterator[Difference]:
    """Ask the query of each number on each engine, and return what differs from the reference."""
    people = (ADMIN, READER)
    pinned = {(engine, who): core.as_user(who).as_of(NOW) for engine, core in cores.items() for who in people}
    for number in numbers:
        requested = make(number, rows)
        expected = answer(
            requested.query, requested.dataset, seen(rows, requested.dataset, requested.who), saved=SAVED_METRICS
        )
        for engine in requested.engines:
            if engine in cores:
                what = _difference(pinned[engine, requested.who], requested, expected, engine)
                if what:
                    yield Difference(requested=requested, engine=engine, what=what)


WITHOUT_KEYS = ("clickhouse",)
"""Engines that hold to no key: rows that the order of a query leaves open come in no order that the reference knows."""


def _difference(core: Any, requested: Requested, expected: Expected, engine: str) -> str | None:
    context = {"datasource": {"id": requested.dataset.id, "type": "table"}, "queries": [requested.query], "force": True}
    try:
        data = core.charts.data(context)
        data.raise_for_error()
    except AnalyticsError as error:
        return f"{type(error).__name__}: {error}"
    ours = [tuple(_comparable(value) for value in row) for row in data.results[0].frame.rows()]
    wanted = [tuple(_comparable(value) for value in row) for row in expected.rows]
    if engine in WITHOUT_KEYS and expected.is_ordered and _has_open_order(requested.query):
        is_cut = requested.query.get("row_limit") or requested.query.get("row_offset")
        return _unordered_difference(ours, ours if is_cut else wanted, len(wanted))
    return (
        _ordered_difference(ours, wanted) if expected.is_ordered else _unordered_difference(ours, wanted, expected.size)
    )


def _has_open_order(query: Mapping[str, Any]) -> bool:
    return not query.get("metrics") and not query.get("is_rowcount")


def _ordered_difference(ours: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> str | None:
    if len(ours) != len(wanted):
        return f"{len(ours)} rows, not {len(wanted)}; ours {ours[:3]}, wanted {wanted[:3]}"
    for place, (left, right) in enumerate(zip(ours, wanted, strict=True)):
        if len(left) != len(right) or not all(map(_close, left, right)):
            return f"row {place} is {left}, not {right}"
    return None


def _unordered_difference(ours: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], size: int) -> str | None:
    if len(ours) != size:
        return f"{len(ours)} rows, not {size}"
    surplus = Counter(map(_hashable, ours)) - Counter(map(_hashable, wanted))
    return f"row {next(iter(surplus))} is none of {len(wanted)} such as {wanted[:1]}" if surplus else None


def _comparable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    return int(value) if isinstance(value, bool) else value


def _hashable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_rounded(value) if isinstance(value, float | Decimal) else value for value in row)


def _rounded(number: float | Decimal) -> float | Decimal:
    """Return a number as sets hold it: a decimal of many digits as it is, others to nine digits."""
    if isinstance(number, Decimal) and len(number.normalize().as_tuple().digits) > 15:
        return number.normalize()
    return float(f"{number:.9g}")


def _close(left: Any, right: Any) -> bool:
    """Whether two values are the same; only doubles may differ, in their last digits."""
    if isinstance(left, float) or isinstance(right, float):
        numbers = (int, float, Decimal)
        if not isinstance(left, numbers) or not isinstance(right, numbers):
            return False
        return math.isclose(float(left), float(right), rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)
