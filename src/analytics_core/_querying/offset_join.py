"""Joins the result of a shifted range to the main one: each main row finds the row of its compared bucket. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from analytics_core._compile.plan import BucketExpr, OthersExpr, Output, OutputRole, QueryPlan
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core.models.enums import TimeGrain

ComparedBucket = Callable[[datetime, TimeGrain | None], datetime]
"""The label of the compared bucket that goes with a main one, both naive UTC."""

SEPARATOR = "__"


def offset_label(label: str, offset: str) -> str:
    """Return the name of a compared metric: `METRIC__1 year ago`."""
    return f"{label}{SEPARATOR}{offset}"


def join_offset(main: Frame, shifted: Frame, plan: QueryPlan, *, offset: str, compared: ComparedBucket) -> Frame:
    """Return the main frame with the metrics of the shifted one on the right, null where a key has no partner.

    Rows of the main frame stay as they are, in number and order.
    """
    keys = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.COLUMN]
    metrics = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.METRIC]
    partners = {key: place for place, key in enumerate(_row_keys(shifted, keys, [_same] * len(keys)))}
    back = [_mover(plan.outputs[i], compared) for i in keys]
    places = [partners.get(key) for key in _row_keys(main, keys, back)]
    added = tuple(_picked(shifted.columns[i], places, offset) for i in metrics)
    return Frame(columns=(*main.columns, *added))


def _row_keys(frame: Frame, keys: Sequence[int], movers: Sequence[Callable[[Any], Any]]) -> list[tuple[Any, ...]]:
    if not keys:
        return [()] * len(frame)
    columns = [
        [mover(_plain(value)) for value in frame.columns[i].to_list()] for i, mover in zip(keys, movers, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Return dates and moments as naive UTC datetimes, so that equal moments are equal keys; lists as tuples."""
    match value:
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case date():
            return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive UTC
        case list() | tuple():
            return tuple(map(_plain, value))
        case dict():
            return tuple((_plain(name), _plain(held)) for name, held in value.items())
    return value


def _mover(output: Output, compared: ComparedBucket) -> Callable[[Any], Any]:
    if not output.is_temporal:
        return _same
    grain = _grain(output)
    return lambda value: compared(value, grain) if isinstance(value, datetime) else value


def _grain(output: Output) -> TimeGrain | None:
    expr = output.expr.source if isinstance(output.expr, OthersExpr) else output.expr
    return expr.grain if isinstance(expr, BucketExpr) else None


def _picked(column: FrameColumn, places: Sequence[int | None], offset: str) -> FrameColumn:
    values = column.to_list()
    picked = [None if place is None else values[place] for place in places]
    return FrameColumn(name=offset_label(column.name, offset), kind=column.kind, values=picked)
