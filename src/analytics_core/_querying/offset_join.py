"""Joins the result of a shifted range to the main one: same keys, moments moved forward. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from analytics_core._compile.calendar import truncate
from analytics_core._compile.plan import BucketExpr, OthersExpr, Output, OutputRole, QueryPlan
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core.models.enums import TimeGrain

Forward = Callable[[datetime], datetime]
"""Moves a moment of the shifted range to its place in the main range."""

SEPARATOR = "__"


def offset_label(label: str, offset: str) -> str:
    """Return the name of a compared metric: `METRIC__1 year ago`."""
    return f"{label}{SEPARATOR}{offset}"


def join_offset(main: Frame, shifted: Frame, plan: QueryPlan, *, offset: str, forward: Forward) -> Frame:
    """Return the main frame with the metrics of the shifted one on the right, null where a key has no partner.

    Rows of the main frame stay as they are, in number and order; a key that meets twice takes its first partner.
    """
    keys = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.COLUMN]
    metrics = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.METRIC]
    partners = _partners(shifted, plan, keys, forward)
    places = [partners.get(key) for key in _row_keys(main, keys, [_identity] * len(keys))]
    added = tuple(_picked(shifted.columns[i], places, offset) for i in metrics)
    return Frame(columns=(*main.columns, *added))


def _partners(shifted: Frame, plan: QueryPlan, keys: Sequence[int], forward: Forward) -> dict[tuple[Any, ...], int]:
    movers = [_mover(plan.outputs[i], forward) for i in keys]
    partners: dict[tuple[Any, ...], int] = {}
    for place, key in enumerate(_row_keys(shifted, keys, movers)):
        partners.setdefault(key, place)
    return partners


def _row_keys(frame: Frame, keys: Sequence[int], movers: Sequence[Callable[[Any], Any]]) -> list[tuple[Any, ...]]:
    if not keys:
        return [()] * len(frame)
    columns = [
        [mover(_plain(value)) for value in frame.columns[i].to_list()] for i, mover in zip(keys, movers, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _identity(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Return dates and moments as naive UTC datetimes, so that equal moments are equal keys."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else value  # noqa: DTZ001 - naive UTC


def _mover(output: Output, forward: Forward) -> Callable[[Any], Any]:
    if not output.is_temporal:
        return _identity
    grain = _grain(output)

    def move(value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        moved = forward(value)
        return truncate(moved, grain) if grain else moved

    return move


def _grain(output: Output) -> TimeGrain | None:
    expr = output.expr.source if isinstance(output.expr, OthersExpr) else output.expr
    return expr.grain if isinstance(expr, BucketExpr) else None


def _picked(column: FrameColumn, places: Sequence[int | None], offset: str) -> FrameColumn:
    values = column.to_list()
    picked = [None if place is None else values[place] for place in places]
    return FrameColumn(name=offset_label(column.name, offset), kind=column.kind, values=picked)
