"""Rows off a driver's cursor in batches, under a row limit and a byte budget, into a frame (SECURITY.md 3.16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analytics_core._engines.types import ValueKind
from analytics_core._execution.conversion import value_types, values_by_kind
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core.errors import ResultTooLargeError

SMALL_RESULT_ROWS = 2_000
"""Up to this many rows a result stays in plain lists: Arrow would cost more than it saves."""

_FIRST_BATCH_ROWS = 64
_LARGEST_BATCH_ROWS = 2_048
"""Larger batches fall out of the processor's caches: 10,000 rows cost half as much again."""
_SAMPLE_ROWS = 100
_BATCH_BYTES = 8 * 1024 * 1024
_VALUE_BYTES = 16
"""What a small value costs in a list, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How much one statement may give: rows, bytes while fetching, and seconds.

    One row more than `max_rows` is fetched, to know that the result was cut.
    """

    max_rows: int
    max_bytes: int
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was read: `has_more` says that rows beyond the limit existed, `notes` which values cannot be shown."""

    frame: Frame
    has_more: bool
    fetched_bytes: int
    notes: tuple[str, ...] = ()


def too_large(limits: FetchLimits, rows: int) -> ResultTooLargeError:
    """Return the error for a result that crossed its byte budget after `rows` rows."""
    return ResultTooLargeError(
        f"the result is larger than {limits.max_bytes:,} bytes (crossed within the first {rows:,} rows); "
        "ask for fewer rows or columns",
        extra={"max_bytes": limits.max_bytes, "rows": rows},
    )


def fetch_rows(
    fetch: Callable[[int], Sequence[tuple[Any, ...]]],
    *,
    labels: Sequence[str],
    kinds: Sequence[ValueKind],
    limits: FetchLimits,
    check: Callable[[], None],
) -> Fetched:
    """Read tuples batch by batch until there are no more, or one row more than the limit.

    Args:
        fetch: gives up to so many rows; none when all are read.
        labels: the column names, in the order of the result.
        kinds: what the plan says about each column.
        limits: rows and bytes.
        check: called after each batch; raises to stop the reading.

    Raises:
        ResultTooLargeError: the byte budget is crossed.
    """
    columns = [_ColumnCollector(label, kind) for label, kind in zip(labels, kinds, strict=True)]
    rows, spent, size = 0, 0, _FIRST_BATCH_ROWS
    has_more = False
    while not has_more:
        batch = fetch(min(size, limits.max_rows + 1 - rows))
        if not batch:
            break
        has_more = rows + len(batch) > limits.max_rows
        if has_more:
            batch = batch[: limits.max_rows - rows]
        rows += len(batch)
        spent += sum(map(_ColumnCollector.add, columns, zip(*batch, strict=True)))
        if spent > limits.max_bytes:
            raise too_large(limits, rows)
        size = _next_size(size, rows=rows, spent=spent, limits=limits)
        check()
    frame = Frame(columns=tuple(column.finish() for column in columns))
    notes = notes_of_nulls(frame, [column.nulls for column in columns])
    return Fetched(frame=frame, has_more=has_more, fetched_bytes=spent, notes=notes)


def notes_of_nulls(frame: Frame, before: Sequence[int]) -> tuple[str, ...]:
    """Return a note on each column that has more nulls than came: for values that no answer can show."""
    lost = {
        column.name: column.null_count - nulls
        for column, nulls in zip(frame.columns, before, strict=True)
        if column.null_count > nulls
    }
    return tuple(
        f"column {name!r}: {count} values cannot be shown and are null here: they are infinite or not a number, "
        "or no day of the years 1 to 9999"
        for name, count in lost.items()
    )


def _next_size(size: int, *, rows: int, spent: int, limits: FetchLimits) -> int:
    """Grow the batch, but keep it within a few megabytes and near what is left of the budget."""
    row_bytes = max(1, spent // max(1, rows))
    room = min(_BATCH_BYTES, limits.max_bytes - spent) // row_bytes + 1
    return max(1, min(size * 8, _LARGEST_BATCH_ROWS, room))


def fetch_arrow(
    next_batch: Callable[[], Any | None],
    *,
    schema: Any,
    labels: Sequence[str],
    kinds: Sequence[ValueKind],
    limits: FetchLimits,
    check: Callable[[], None],
) -> Fetched:
    """Read Arrow record batches; like `fetch_rows`, but the columns stay in Arrow.

    Raises:
        ResultTooLargeError: the byte budget is crossed.
    """
    import pyarrow as pa

    from analytics_core._execution.arrow_columns import column_of_arrow, notes_of_cut_moments

    batches: list[Any] = []
    rows, spent, has_more = 0, 0, False
    while not has_more and (batch := next_batch()) is not None:
        has_more = rows + batch.num_rows > limits.max_rows
        if has_more:
            batch = batch.slice(0, limits.max_rows - rows)
        rows += batch.num_rows
        spent += batch.nbytes
        if spent > limits.max_bytes:
            raise too_large(limits, rows)
        batches.append(batch)
        check()
    table = pa.Table.from_batches(batches, schema)
    columns = (column_of_arrow(*item) for item in zip(labels, kinds, table.columns, strict=True))
    frame = Frame(columns=tuple(columns))
    notes = (
        *notes_of_nulls(frame, [data.null_count for data in table.columns]),
        *notes_of_cut_moments(labels, table.columns),
    )
    return Fetched(frame=frame, has_more=has_more, fetched_bytes=spent, notes=notes)


class _ColumnCollector:
    """Gathers one column: first as Python values, then as Arrow chunks, back to Python values when a batch misfits."""

    def __init__(self, name: str, kind: ValueKind) -> None:
        self._name = name
        self._kind = kind
        self._values: list[Any] | None = []
        self._chunks: list[Any] = []
        self._stays_plain = kind is ValueKind.OTHER
        self.nulls = 0

    def add(self, values: tuple[Any, ...]) -> int:
        """Take one batch and return the bytes that it needs."""
        self.nulls += values.count(None)
        if self._values is not None:
            weight = _weight(values)
            self._values.extend(values)
            if len(self._values) > SMALL_RESULT_ROWS and not self._stays_plain and self._can_settle(values):
                self._move_to_arrow()
            return weight
        return self._add_chunk(values)

    def _can_settle(self, values: tuple[Any, ...]) -> bool:
        """Whether the kind is known, or this batch shows it: nulls alone do not."""
        return self._kind is not ValueKind.UNKNOWN or bool(value_types(values))

    def _move_to_arrow(self) -> None:
        values, self._values = self._values or [], None
        # Values may have another kind than planned (SQLite); a sample tells, unless the plan said nothing.
        sample = values if self._kind is ValueKind.UNKNOWN else values[:_SAMPLE_ROWS]
        self._kind, _ = values_by_kind(self._kind, sample)
        self._add_chunk(values)

    def _add_chunk(self, values: Sequence[Any]) -> int:
        from analytics_core._execution.arrow_columns import array_of_values

        array = array_of_values(self._kind, values)
        if array is None:
            self._values = [value for chunk in self._chunks for value in chunk.to_pylist()]
            self._values.extend(values)
            self._chunks, self._stays_plain = [], True
            return _weight(values)
        self._chunks.append(array)
        return int(array.nbytes)

    def finish(self) -> FrameColumn:
        """Return the column."""
        if self._values is not None:
            kind, values = values_by_kind(self._kind, self._values)
            return FrameColumn(name=self._name, kind=kind, values=values)
        from analytics_core._execution.arrow_columns import joined

        return FrameColumn(name=self._name, kind=self._kind, values=joined(self._chunks, self._kind))


def _weight(values: Sequence[Any]) -> int:
    """Estimate the bytes of Python values: the length of texts and blobs, a flat price for all else."""
    long_ones = (value for value in values if value.__class__ in (str, bytes, bytearray, memoryview, dict, list))
    return len(values) * _VALUE_BYTES + sum(
        len(value) if not isinstance(value, dict | list) else len(repr(value)) for value in long_ones
    )
