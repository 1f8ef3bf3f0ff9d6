"""Rows off a driver's cursor in batches, under a row limit and a byte budget, into a frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from operator import attrgetter
from sys import getsizeof
from typing import Any, Final
from uuid import UUID

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.conversion import value_types, values_by_kind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core.errors import ResultTooLargeError

SMALL_RESULT_ROWS = 2_000
"""Up to this many rows a result stays in plain lists: Arrow would cost more than it saves."""

_FIRST_BATCH_ROWS: Final = 64
_LARGEST_BATCH_ROWS: Final = 2_048
"""Larger batches fall out of the processor's caches: 10,000 rows cost half as much again."""
ROWS_UNWEIGHED: Final = 48
"""At most so many rows are read before they are weighed, of a result that was small until then.

With what a driver holds of the next ones, texts that suddenly have a megabyte cost 64 MB beyond the budget.
"""

_FIRST_ROWS_UNWEIGHED: Final = 8
_SMALL_BYTES: Final = 64 * 1024

_SAMPLE_ROWS: Final = 100
_BATCH_BYTES: Final = 8 * 1024 * 1024
_LARGEST: Final = 1 << 70
_SMALL_TYPES: Final = frozenset({type(None), bool, date, datetime, time, timedelta, UUID})
_SMALL_VALUE_BYTES: Final = 56
"""What a number, a moment and a null take at most."""

_TEXT_BYTES: Final = getsizeof("")
_PLACE_BYTES: Final = 8
"""What a value takes in a list, beyond itself."""

_PART_ROWS: Final = 16_384
"""A part of a result that is given away has so many rows, fewer where `_BATCH_BYTES` hold fewer."""

Give = Callable[[Frame], bool]
"""Takes a part of a result that is read in parts; False says that nobody wants more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How much one statement may give: rows, bytes while fetching, and seconds.

    One row more than `max_rows` is fetched, to know that the result was cut. Where a result is given away in parts,
    the bytes are those of one part, and `answer_s` is the longest wait for the server meanwhile (None: `timeout_s`).
    Where a result `ends_at_rows`, more of them are an error.
    """

    max_rows: int
    max_bytes: int
    timeout_s: float
    answer_s: float | None = None
    ends_at_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedResult:
    """The outcome of a statement; of one whose rows were given away in parts, what came after the last of them.

    Attributes:
        has_more: whether rows beyond the limit existed.
        fetched_bytes: what the rows took while they were fetched.
        notes: which values cannot be shown.
        duration_s: from the first contact with the pool to the last row; 0 until the statement is over.
        tracking_url: the page on which the server shows the statement, where the driver names one.
    """

    frame: Frame
    has_more: bool
    fetched_bytes: int
    notes: tuple[str, ...] = ()
    duration_s: float = 0.0
    tracking_url: str | None = None


def too_large(limits: FetchLimits, rows: int) -> ResultTooLargeError:
    """Return the error for a result that crossed its byte budget after `rows` rows."""
    return ResultTooLargeError(
        f"the result is larger than {limits.max_bytes:,} bytes (crossed within the first {rows:,} rows); "
        "ask for fewer rows or columns",
        extra={"max_bytes": limits.max_bytes, "rows": rows},
    )


def _is_cut(limits: FetchLimits, rows: int) -> bool:
    """Tell whether there are more rows than may be shown; ResultTooLargeError where those end the result."""
    if rows > limits.max_rows and limits.ends_at_rows:
        message = f"the result has more than {limits.max_rows:,} rows; ask for fewer"
        raise ResultTooLargeError(message, extra={"max_rows": limits.max_rows})
    return rows > limits.max_rows


def fetch_rows(
    rows: Iterable[tuple[Any, ...]],
    *,
    labels: Sequence[str],
    kinds: Sequence[ValueKind],
    limits: FetchLimits,
    check: Callable[[], None],
    give: Give | None = None,
    fixed: Collection[int] = (),
) -> FetchedResult:
    """Read tuples until there are no more, or one more than the limit; they are weighed a few at a time.

    Args:
        rows: gives one row after another, and should hold few itself.
        labels: the column names, in the order of the result.
        kinds: what the plan says about each column.
        limits: rows and bytes.
        check: called after each batch; raises to stop the reading.
        give: takes what was read, part by part; columns keep the kinds of the first part.
        fixed: the places of columns whose values all take the same few bytes, as the server says.

    Raises:
        ResultTooLargeError: the byte budget is crossed, or more rows come where those end the result.
    """
    columns = [_ColumnCollector(label, kind) for label, kind in zip(labels, kinds, strict=True)]
    weighed, lost = WeighedRows(rows, kinds=kinds, fixed=fixed), dict[str, int]()
    read, buffered, given, has_more = 0, 0, 0, False
    size = _FIRST_BATCH_ROWS if give is None else _LARGEST_BATCH_ROWS
    while not has_more:
        most, room = min(size, limits.max_rows + 1 - read), limits.max_bytes - buffered
        batch, weight = weighed.read(most, most_bytes=min(room, _BATCH_BYTES))
        if not batch:
            break
        if weight > room:
            raise too_large(limits, read + len(batch[0]))
        has_more = _is_cut(limits, read + len(batch[0]))
        read += (rows_read := min(len(batch[0]), limits.max_rows - read))
        for column, values in zip(columns, batch, strict=True):
            column.add(values[:rows_read] if has_more else values)
        buffered = sum(map(_STORED_BYTES, columns)) or buffered + weight + _PLACE_BYTES * rows_read * len(columns)
        if buffered > limits.max_bytes:
            raise too_large(limits, read)
        check()
        size = min(size * 8, _LARGEST_BATCH_ROWS)
        if give is not None and not has_more and is_full(read - given, buffered):
            part, given, buffered = _finished(columns, lost), read, 0
            columns = [_ColumnCollector(column.name, column.kind) for column in part.columns]
            has_more = not give(part)
    frame = _finished(columns, lost)
    return FetchedResult(frame=frame, has_more=has_more, fetched_bytes=buffered, notes=notes_of_lost(lost))


def _finished(columns: Sequence[_ColumnCollector], lost: dict[str, int]) -> Frame:
    frame = Frame(columns=tuple([column.finish() for column in columns]))
    count_lost(lost, frame, [column.nulls for column in columns])
    return frame


def is_full(rows: int, buffered_bytes: int) -> bool:
    """Tell whether so much is enough for a part of a result."""
    return rows >= _PART_ROWS or buffered_bytes >= _BATCH_BYTES


class WeighedRows:
    """Rows that are read as long as they weigh less than somebody may hold.

    Few are read before they are weighed, and more of them once those before them were small.

    Args:
        rows: gives one row after another.
        kinds: of the columns; those that are not known may hold lists.
        fixed: the places of columns whose values all take the same few bytes.
    """

    def __init__(
        self, rows: Iterable[tuple[Any, ...]], *, kinds: Sequence[ValueKind] = (), fixed: Collection[int] = ()
    ) -> None:
        self._source = iter(rows)
        self._nested = frozenset(place for place, kind in enumerate(kinds) if kind in _MAY_NEST)
        self._fixed = frozenset(fixed)
        self._few = _FIRST_ROWS_UNWEIGHED

    def read(self, most_rows: int, *, most_bytes: int) -> tuple[list[list[Any]], int]:
        """Return the columns of at most so many rows, until they weigh more than `most_bytes`, and their weight.

        No columns: there is no row.
        """
        columns: list[list[Any]] = []
        weight = rows = 0
        while weight <= most_bytes and (few := list(islice(self._source, min(self._few, most_rows - rows)))):
            rows += len(few)
            added = _SMALL_VALUE_BYTES * len(few) * len(self._fixed)
            columns = columns or [[] for _ in few[0]]
            for place, values in enumerate(zip(*few, strict=True)):
                columns[place] += values
                if place not in self._fixed:
                    added += _quick_weight(values, may_nest=place in self._nested)
            weight += added
            self._few = ROWS_UNWEIGHED if added <= _SMALL_BYTES else _FIRST_ROWS_UNWEIGHED
        return columns, weight


def _quick_weight(values: Sequence[Any], *, may_nest: bool) -> int:
    """Return the bytes that values take; texts, numbers and moments that are alike are not weighed one by one.

    What is not alike raises TypeError, or gives a sum of another type: then each value is weighed. Nulls and whatever
    else is false are small.
    """
    kind = type(values[0])
    if values[0] is None:
        kind = next((type(value) for value in values if value is not None), kind)
    try:
        letters = sum(map(len, filter(None, values))) if kind is str else None
        if letters is not None and letters <= _SMALL_BYTES:  # of many, some may take four bytes each
            return _TEXT_BYTES * len(values) + letters
        total = sum(filter(None, values)) if kind is int or kind is float else None
    except (TypeError, OverflowError):
        total = None
    are_numbers = type(total) is float or (type(total) is int and -_LARGEST < total < _LARGEST)
    if are_numbers or (kind in _SMALL_TYPES and _SMALL_TYPES.issuperset(map(type, values))):
        return _SMALL_VALUE_BYTES * len(values)
    return sum(map(getsizeof, values)) + (sum(map(_members_weight, values)) if may_nest else 0)


def count_lost(lost: dict[str, int], frame: Frame, before: Sequence[int]) -> None:
    """Add to `lost`, by column, the nulls of a frame that were none before: values that no answer can show."""
    for column, nulls in zip(frame.columns, before, strict=True):
        if (more := column.null_count - nulls) > 0:
            lost[column.name] = lost.get(column.name, 0) + more


def notes_of_lost(lost: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note on each column with values that no answer can show."""
    if not lost:
        return ()
    notes = [
        f"column {name!r}: {count} values cannot be shown and are null here: they are infinite or not a number, "
        "or no day of the years 1 to 9999"
        for name, count in lost.items()
    ]
    return tuple(notes)


def fetch_arrow(
    next_batch: Callable[[], Any | None],
    *,
    schema: Any,
    labels: Sequence[str],
    kinds: Sequence[ValueKind],
    limits: FetchLimits,
    check: Callable[[], None],
    give: Give | None = None,
) -> FetchedResult:
    """Read Arrow record batches; like `fetch_rows`, but the columns stay in Arrow.

    Raises:
        ResultTooLargeError: the byte budget is crossed, or there are more rows where those end the result.
    """
    part = _ArrowPart(schema, labels, kinds)
    rows, has_more = 0, False
    while not has_more and (batch := next_batch()) is not None:
        has_more = _is_cut(limits, rows + batch.num_rows)
        if has_more:
            batch = batch.slice(0, limits.max_rows - rows)
        rows += batch.num_rows
        part.add(batch)
        if part.stored_bytes > limits.max_bytes:
            raise too_large(limits, rows)
        check()
        if give is not None and not has_more and is_full(part.rows, part.stored_bytes):
            has_more = not give(part.finish())
    spent = part.stored_bytes
    frame = part.finish()
    notes = (*notes_of_lost(part.lost), *part.cut)
    return FetchedResult(frame=frame, has_more=has_more, fetched_bytes=spent, notes=notes)


class _ArrowPart:
    """Gathers Arrow batches until they make a frame; `cut` are notes on moments that lost digits."""

    def __init__(self, schema: Any, labels: Sequence[str], kinds: Sequence[ValueKind]) -> None:
        self._schema, self._labels, self._kinds = schema, labels, kinds
        self.lost: dict[str, int] = {}
        self.cut: dict[str, None] = {}
        self._begin()

    def _begin(self) -> None:
        self._batches: list[Any] = []
        self.rows, self.stored_bytes = 0, 0

    def add(self, batch: Any) -> None:
        """Take a batch."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.stored_bytes += batch.nbytes

    def finish(self) -> Frame:
        """Return the frame, and begin with the next one."""
        import pyarrow as pa

        from analytics_core._engine.execution.arrow_columns import column_of_arrow, notes_of_cut_moments

        table = pa.Table.from_batches(self._batches, self._schema)
        columns = (column_of_arrow(*item) for item in zip(self._labels, self._kinds, table.columns, strict=True))
        frame = Frame(columns=tuple(columns))
        count_lost(self.lost, frame, [data.null_count for data in table.columns])
        self.cut |= dict.fromkeys(notes_of_cut_moments(self._labels, table.columns))
        self._begin()
        return frame


_STORED_BYTES: Final = attrgetter("stored_bytes")
_MAY_NEST: Final = frozenset({ValueKind.UNKNOWN, ValueKind.OTHER})
"""Kinds whose values may be lists: arrays of PostgreSQL."""


class _ColumnCollector:
    """Gathers one column: first as Python values, then as Arrow chunks, back to Python values when a batch misfits.

    `stored_bytes` is what the column takes in memory by now; 0 as long as it is small: whoever reads weighs its rows.
    """

    def __init__(self, name: str, kind: ValueKind) -> None:
        self._name = name
        self._kind = kind
        self._values: list[Any] | None = []
        self._chunks: list[Any] = []
        self._stays_plain = kind is ValueKind.OTHER
        self.nulls = 0
        self.stored_bytes = 0

    def add(self, values: list[Any]) -> None:
        """Take one batch."""
        self.nulls += values.count(None)
        if self._values is None:
            self._add_chunk(values)
            return
        self._values.extend(values)
        if len(self._values) <= SMALL_RESULT_ROWS:
            return
        if not self._stays_plain and self._can_settle(values):
            self._move_to_arrow()
        else:
            self.stored_bytes += _weight(values if self.stored_bytes else self._values, self._kind)

    def _can_settle(self, values: list[Any]) -> bool:
        """Whether the kind is known, or this batch shows it: nulls alone do not."""
        return self._kind is not ValueKind.UNKNOWN or bool(value_types(values))

    def _move_to_arrow(self) -> None:
        values, self._values = self._values or [], None
        # Values may have another kind than planned (SQLite); a sample tells, unless the plan said nothing.
        sample = values if self._kind is ValueKind.UNKNOWN else values[:_SAMPLE_ROWS]
        self._kind, _ = values_by_kind(self._kind, sample)
        self.stored_bytes = 0
        self._add_chunk(values)

    def _add_chunk(self, values: Sequence[Any]) -> None:
        from analytics_core._engine.execution.arrow_columns import array_of_values

        array = array_of_values(self._kind, values)
        if array is None:
            self._values = [value for chunk in self._chunks for value in chunk.to_pylist()]
            self._values.extend(values)
            self._chunks, self._stays_plain = [], True
            self.stored_bytes = _weight(self._values, self._kind)
            return
        self._chunks.append(array)
        self.stored_bytes += int(array.nbytes)

    def finish(self) -> FrameColumn:
        """Return the column."""
        if self._values is not None:
            kind, values = values_by_kind(self._kind, self._values)
            return FrameColumn(name=self._name, kind=kind, values=values)
        from analytics_core._engine.execution.arrow_columns import joined

        return FrameColumn(name=self._name, kind=self._kind, values=joined(self._chunks, self._kind))


def _weight(values: Sequence[Any], kind: ValueKind) -> int:
    """Return the bytes that Python values of a column take in a list."""
    weight = sum(map(getsizeof, values)) + _PLACE_BYTES * len(values)
    return weight + sum(map(_members_weight, values)) if kind in _MAY_NEST else weight


def _members_weight(value: Any) -> int:
    """Return the bytes of all that a list or map holds, at any depth; 0 for any other value."""
    weight, waiting = 0, [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            node = [*node, *node.values()]
        if isinstance(node, list | tuple):
            weight += sum(map(getsizeof, node))
            waiting.extend(node)
    return weight
