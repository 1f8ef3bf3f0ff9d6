"""What fetched rows need before post-processing: stored moments are read, the rest of a series limit gets a name.

Moments are read out of columns that store them as numbers or text, and moved by the dataset's offset. It is done on
what was fetched: a value that is no moment spoils its cell alone, never the statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import compress
from operator import attrgetter, not_
from types import MappingProxyType
from typing import Any, Final

from analytics_core._engine.compile.plan import BucketExpr, ColumnExpr, InOthersExpr, QueryPlan, StoredMoment
from analytics_core._engine.compile.series_limit import OTHERS
from analytics_core._engine.engines.meanings import BAD_TIME, BAD_VALUE
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind, parse_format
from analytics_core._engine.execution.conversion import moment_of_text
from analytics_core._engine.execution.fetching import FetchedResult
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.pipeline import ProcessedFrame
from analytics_core._engine.frames.values import text_value
from analytics_core.errors import DatabaseError, UnsupportedByEngineError

Read = Callable[[Any], datetime]
"""A stored value -> the moment it means; raises one of `_MISFITS` when it means none."""

_FORMATS: Final = {TimeEncoding.EPOCH_S: "epoch_s", TimeEncoding.EPOCH_MS: "epoch_ms"}
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - naive moments are UTC
_STORED: Final = attrgetter("stored")
_MISFITS: Final = (ValueError, TypeError, ArithmeticError, re.error)
"""The last of `strptime`, for a format that names something twice."""

_MICROSECONDS: Final[Mapping[TimeEncoding, int]] = MappingProxyType(
    {TimeEncoding.EPOCH_S: 1_000_000, TimeEncoding.EPOCH_MS: 1_000}
)


def naming_formats(error: DatabaseError, plan: QueryPlan) -> DatabaseError:
    """Return the error of a value that is no moment with the columns that the statement reads by a format named.

    Other errors are returned as they are.
    """
    found = sorted(set(_read_by_format(plan)))
    if not found or error.message not in {BAD_VALUE.template, BAD_TIME.template}:
        return error
    listed = ", ".join(f"{name!r} by {by}" for name, by in found)
    message = f"{error.message}; it reads moments from {listed}: values that are none must be null"
    return DatabaseError(message, error_type=error.error_type, engine=error.engine, extra=error.extra)


def _read_by_format(plan: QueryPlan) -> Iterator[tuple[str, str]]:
    """Yield the columns whose texts or numbers a statement turns into moments, and by which format."""
    compared = (getattr(clause.predicate, "left", None) for clause in plan.where)
    for expr in (*(output.expr for output in plan.outputs if output.stored is None), *compared):
        source = expr.source if isinstance(expr, BucketExpr) else expr
        if isinstance(source, ColumnExpr) and source.time is not None and not source.time.is_native:
            yield source.name, source.time.strftime or _FORMATS.get(source.time.encoding, "ISO 8601")


def with_moments(frame: Frame, plan: QueryPlan) -> tuple[Frame, tuple[str, ...]]:
    """Return the frame of a plan's statement with moments where outputs store them otherwise, and notes on misfits."""
    if plan.count_rows or not any(map(_STORED, plan.outputs)):
        return frame, ()
    columns, notes = [], []
    for column, output in zip(frame.columns, plan.outputs, strict=True):
        moments, misfits = (column, 0) if output.stored is None else _with_moments(column, output.stored)
        columns.append(moments)
        if misfits:
            notes.append(_note(moments, misfits, is_text=moments.kind is ValueKind.TEXT))
    return Frame(columns=tuple(columns)), tuple(notes)


def notes_of_order(frame: Frame, plan: QueryPlan) -> tuple[str, ...]:
    """Tell that rows do not come in the order of their moments, where an engine sorts the texts of a column."""
    first = plan.order[0] if plan.order and not (plan.grouped or plan.count_rows) else None
    if first is None or not isinstance(first.expr, ColumnExpr):
        return ()
    for column, output in zip(frame.columns, plan.outputs, strict=True):
        if output.expr == first.expr and output.is_temporal:
            moments = [value for value in column.to_list() if isinstance(value, datetime)]
            if moments != sorted(moments, reverse=first.descending):
                return (
                    f"column {column.name!r}: the rows come in the order of its texts, which is not that of its "
                    "moments; they have zones or are written in several ways",
                )
    return ()


def _note(column: FrameColumn, misfits: int, *, is_text: bool) -> str:
    outcome = "the column is shown as it is stored" if is_text else "shown as null"
    return f"column {column.name!r}: {misfits} values are no moments in the column's format; {outcome}"


def _with_moments(column: FrameColumn, stored: StoredMoment) -> tuple[FrameColumn, int]:
    values = column.to_list()
    read = _reader(stored.time)
    known: dict[Any, datetime | None] = {None: None}
    misfits = 0
    moments: list[datetime | None] = []
    for value in values:
        if value not in known:
            known[value] = _moment(value, read, stored.hours)
        moment = known[value]
        misfits += moment is None and value is not None
        moments.append(moment)
    if misfits and stored.time.encoding is TimeEncoding.ISO_TEXT:
        return column, misfits
    return replace(column, kind=stored.display_kind, values=moments), misfits


def _moment(value: Any, read: Read, hours: int) -> datetime | None:
    try:
        return read(value) + timedelta(hours=hours)
    except _MISFITS:
        return None


def _reader(stored: TimeFormat) -> Read:
    if stored.encoding in _MICROSECONDS:
        size = _MICROSECONDS[stored.encoding]
        return lambda value: _EPOCH + timedelta(microseconds=round(_exact(value) * size))
    if stored.encoding is TimeEncoding.TEXT:
        return _reader_of_format(stored.strftime or "")
    return _read_iso if stored.encoding is TimeEncoding.ISO_TEXT else _read_native


def _exact(value: Any) -> int | Decimal:
    """Return the number; of a double the shortest decimal that means it."""
    return value if isinstance(value, int) else Decimal(str(value))


def _read_native(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time.min)
    raise TypeError


def _read_iso(value: Any) -> datetime:
    moment = moment_of_text(value.strip()) if isinstance(value, str) else _read_native(value)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _reader_of_format(source: str) -> Read:
    """Read a format as it is written: of digits of fixed width all of them, since a filter on the moment names all."""
    try:
        parsed = parse_format(source)
    except UnsupportedByEngineError:
        parsed = None

    def read(value: Any) -> datetime:
        text = value if isinstance(value, str) else str(int(value))
        moment = datetime.strptime(text, source)  # noqa: DTZ007 - naive moments are UTC
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        if parsed is not None and parsed.is_fixed_width and parsed.write(moment) != text:
            raise ValueError
        return moment

    return read


def hides_series(fetched: FetchedResult, plan: QueryPlan) -> bool:
    """Tell whether rows name the rest of a series limit, and may hide series of which one is called as the rest is."""
    limit = plan.series_limit
    if limit is None or not limit.group_others or plan.count_rows:
        return False
    is_part = fetched.has_more or plan.having or plan.limit.offset
    return bool(is_part) and any(fetched.frame.columns[_place_of_rest(plan)].to_list())


def with_others_named(frame: Frame, plan: QueryPlan, *, series: Frame | None = None) -> ProcessedFrame:
    """Return the frame of a plan with its series as text and the rest as 'Others', without the column that tells them.

    A series that is called so itself keeps its name: the rest then gets another one, and a note tells it. `series` are
    those that the limit keeps, where the rows may hide some: the rest is called alike on every page.
    """
    limit = plan.series_limit
    if limit is None or not limit.group_others or plan.count_rows:
        return ProcessedFrame(frame=frame)
    place = _place_of_rest(plan)
    in_others = frame.columns[place].to_list()
    texts = {i: list(map(_text, frame.columns[i].to_list())) for i in limit.columns}
    labels = [set(compress(column, map(not_, in_others))) for column in texts.values()]
    name = _free_name(labels if series is None else [set(map(_text, column.to_list())) for column in series.columns])
    columns = [
        _named(column, texts[i], in_others, name) if i in texts else column
        for i, column in enumerate(frame.columns)
        if i != place
    ]
    note = (f"a series is called {OTHERS!r}, so the rest is called {name!r}",)
    notes = note if name != OTHERS and any(in_others) else ()
    return ProcessedFrame(frame=Frame(columns=tuple(columns)), notes=notes)


def _place_of_rest(plan: QueryPlan) -> int:
    return next(i for i, output in enumerate(plan.outputs) if isinstance(output.expr, InOthersExpr))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return text_value(value + 0.0 if isinstance(value, float) else value)  # engines differ in the sign of zero


def _free_name(taken: Sequence[set[str | None]]) -> str:
    name = OTHERS
    while any(name in texts for texts in taken):
        name += " (rest)"
    return name


def _named(column: FrameColumn, texts: Sequence[str | None], in_others: Sequence[int], name: str) -> FrameColumn:
    values = [name if other else text for text, other in zip(texts, in_others, strict=True)]
    return replace(column, kind=ValueKind.TEXT, values=values)
