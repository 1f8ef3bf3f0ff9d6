"""The rows of one query as Arrow record batches of one schema, read from the database as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.statements import FrameStream
from analytics_core._engine.frames.arrow_frames import to_arrow
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import text_value
from analytics_core._tools.display.blocks import Blocks, HeadingBlock, notes, table
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.text import visible
from analytics_core._tools.forks import forkable_lock, tell_of_forks
from analytics_core.errors import AnalyticsError, DatabaseError, StatementStoppedError

if TYPE_CHECKING:
    import pyarrow as pa


Shape = Callable[[Frame], tuple[Frame, tuple[str, ...]]]
"""Makes of a frame as it was read what an answer shows, with notes."""

FailureMapper = Callable[[DatabaseError], DatabaseError]
"""Says of a failure of the database what the question has to do with it."""

Ended = Callable[[int, AnalyticsError | None], None]
"""Is told once that a stream is over: how many rows it gave, and what stopped it."""


class BatchStream:
    """Record batches of one query, in order: an iterator, and a context manager that gives the connection back.

        with core.charts.batches(payload) as batches:
            for batch in batches:
                writer.write_batch(batch)

    A batch has some 16,000 rows, or as many as take 8 MiB. The connection is given back when the last row was read, at
    the end of the `with` block, after an error, when the time of the request is over, and when nobody holds the stream
    any more. Threads that share it take turns, and each batch goes to one of them. Whoever asks a stream that ended
    before its last row is told so: what was read is not all.

    Attributes:
        schema: of every batch; the first rows settle it (`docs/how-to/stream.md`).
        row_limit: how many rows it gives at the most.
        rows: how many it has given.
        notes: what was assumed or cannot be shown, of the rows so far.
    """

    schema: pa.Schema

    def __init__(
        self,
        frames: FrameStream,
        *,
        shape: Shape,
        error_mapper: FailureMapper,
        row_limit: int,
        declared: Mapping[str, ValueKind],
        notes: tuple[str, ...],
        ended: Ended,
    ) -> None:
        self.row_limit = row_limit
        self.rows: int = 0
        self._frames, self._shape, self._map_failure, self._ended = frames, shape, error_mapper, ended
        self._notes = dict.fromkeys(notes)
        self._is_over = False
        self._stopped_by: AnalyticsError | None = None
        self._turn = forkable_lock()
        try:
            self._first: Frame | None = self._read()
            self._made = BatchSchema(self._first, declared)
        except BaseException:  # Ctrl-C too: goes on upwards
            frames.close()
            raise
        self.schema = self._made.schema
        tell_of_forks(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or cannot be shown, of the rows so far."""
        total = self._frames.fetched
        return (*self._notes, *(note for note in total.notes if note not in self._notes)) if total else (*self._notes,)

    @property
    def was_cut(self) -> bool | None:
        """Whether there were more rows than the limit lets through; None before the last row was read."""
        return None if self._frames.fetched is None else self._frames.fetched.has_more

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        """Return the next batch.

        Raises:
            RequestTimeoutError, StatementTimeoutError: the request is over its time, or the next rows did not come.
            StatementStoppedError: it was cancelled, or closed before its last row.
            DatabaseError: the database failed, or a column holds values of another type than in the first rows.
        """
        with self._turn:
            try:
                batch = self._next()
            except AnalyticsError as error:
                self._end(error)
                raise
            except BaseException:  # the last row was read, or Ctrl-C: goes on upwards
                self._end(None)
                raise
            self.rows += int(batch.num_rows)
            return batch

    def _next(self) -> pa.RecordBatch:
        if not self._is_over:
            batch = self._batch()
            if not self._is_over:  # else another thread closed it meanwhile
                if batch is None:
                    raise StopIteration
                return batch
        self._refuse_rest()
        raise StopIteration

    def _batch(self) -> pa.RecordBatch | None:
        frame, self._first = self._first, None
        try:
            frame = self._read() if frame is None else frame
        except StopIteration:
            return None
        except AnalyticsError:
            if self._is_over:
                return None
            raise
        return self._made.batch(frame) if len(frame) else None

    def reader(self) -> pa.RecordBatchReader:
        """Return the rest as a reader of pyarrow, for libraries that take one."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rest to a library that reads Arrow streams: `polars.DataFrame(stream)`, `pyarrow.table(stream)`.

        Raises:
            AnalyticsError: it ended before its last row.
        """
        self._refuse_rest()
        return self.reader().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Read no more and give the connection back, from any thread; may be called again."""
        self._end(None)

    def stop(self, error: AnalyticsError) -> None:
        """Close it, unless it is over, for a reason that whoever asks for more is told."""
        self._end(error)

    def before_fork(self) -> None:
        """Keep it: the parent goes on reading."""

    def after_fork(self) -> None:
        """End it in the child, where nothing reads; its connection is the parent's."""
        if not self._is_over:
            self._is_over, self._first = True, None
            self._stopped_by = StatementStoppedError(
                "the stream belongs to the process that opened it, not to one forked from it; open one here"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BatchStream, {self.rows} rows so far of {visible(', '.join(self.schema.names))}>"

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        columns = {"column": self.schema.names, "type": [str(kind) for kind in self.schema.types]}
        progress = f"{self.rows:,} rows so far, {self.row_limit:,} at the most"
        return [HeadingBlock(text="Batch stream", detail=progress), *table(columns), *notes(self.notes)]

    def _read(self) -> Frame:
        try:
            frame = next(self._frames)
        except DatabaseError as error:
            raise self._map_failure(error) from None
        shaped, notes = self._shape(frame)
        self._notes |= dict.fromkeys(notes)
        return shaped

    def _end(self, error: AnalyticsError | None) -> None:
        if self._is_over:
            return
        is_complete = self._first is None and self._frames.fetched is not None
        self._stopped_by = error or (None if is_complete else self._closed_early())
        self._is_over = True
        self._first = None
        self._frames.close()
        self._ended(self.rows, error)

    def _refuse_rest(self) -> None:
        if self._stopped_by:
            raise self._stopped_by.with_traceback(None)

    def _closed_early(self) -> StatementStoppedError:
        return StatementStoppedError(
            f"the stream was closed after {self.rows:,} rows, before its last one; read all of it before it is closed "
            "(at the end of its `with` block), or open another"
        )


_DIGITS: Final = (38, 76)
"""How many digits Arrow's two types of decimals hold."""


class BatchSchema:
    """Turns the frames of one result into record batches of one schema.

    Texts and bytes have the types with long offsets. Decimals get as many digits more, before and behind the point, as
    their type has to spare: a later row may need them. A column that is null throughout the first frame, of a kind that
    nobody tells, is text.

    Args:
        first: the first frame.
        declared: kinds of columns by label, for those of which the first frame tells none.
    """

    def __init__(self, first: Frame, declared: Mapping[str, ValueKind]) -> None:
        import pyarrow as pa

        self._kinds = [column.kind for column in first.columns]
        table = to_arrow(_declared(first, declared))
        self.schema: pa.Schema = pa.schema(
            [(name, _settled(field)) for name, field in zip(table.schema.names, table.columns, strict=True)]
        )
        self._rows = 0

    def batch(self, frame: Frame) -> pa.RecordBatch:
        """Return a frame as a record batch.

        Raises:
            DatabaseError: a column holds values of another type than in the first frame.
        """
        import pyarrow as pa

        table = to_arrow(frame)
        arrays = [
            self._array(*item)
            for item in zip(frame.columns, table.columns, self.schema.types, self._kinds, strict=True)
        ]
        self._rows += len(frame)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, column: FrameColumn, data: Any, wanted: pa.DataType, kind: ValueKind) -> Any:
        import pyarrow as pa

        fitting = _brought(data, wanted)
        if fitting is None and _is_text(wanted):
            texts = [None if value is None else text_value(value) for value in column.to_list()]
            fitting = pa.array(texts, wanted)
        if fitting is None:
            raise self._misfit(column, kind)
        return fitting

    def _misfit(self, column: FrameColumn, kind: ValueKind) -> DatabaseError:
        first, last = self._rows + 1, self._rows + len(column)
        return DatabaseError(
            f"column {column.name!r} is {kind.value} in the first rows, and rows {first:,} to {last:,} hold values "
            "that are not, or do not fit; a stream has one type for a column: cast it in a calculated column, or ask "
            "charts.data"
        )


def _declared(frame: Frame, declared: Mapping[str, ValueKind]) -> Frame:
    """Return the frame whose columns without a value have the kinds that were declared."""
    return Frame(
        columns=tuple(
            FrameColumn(name=column.name, kind=declared.get(column.name, column.kind), values=column.values)
            if column.kind is ValueKind.UNKNOWN
            else column
            for column in frame.columns
        )
    )


def _settled(data: Any) -> pa.DataType:
    """Return the type of a column for the whole stream."""
    import pyarrow as pa

    given = data.type
    if pa.types.is_null(given) or _is_text(given):
        return pa.large_string()
    if pa.types.is_binary(given):
        return pa.large_binary()
    return _roomy(data) if pa.types.is_decimal(given) else given


def _roomy(data: Any) -> pa.DataType:
    import pyarrow as pa

    given = data.type
    digits = next((most for most in _DIGITS if given.precision <= most), _DIGITS[-1])
    scale = given.scale + (digits - given.precision) // 2
    return pa.decimal128(digits, scale) if digits == _DIGITS[0] else pa.decimal256(digits, scale)


def _brought(data: Any, wanted: pa.DataType) -> Any | None:
    """Return a column as the wanted type where no value changes; None: its values are of another type."""
    import pyarrow as pa

    given = data.type
    if given == wanted:
        return _flat(data)
    is_same = (
        pa.types.is_null(given)
        or (_is_text(given) and _is_text(wanted))
        or (pa.types.is_binary(given) and pa.types.is_large_binary(wanted))
        or (pa.types.is_decimal(wanted) and (pa.types.is_decimal(given) or pa.types.is_integer(given)))
    )
    try:
        return _flat(data.cast(wanted)) if is_same else None
    except pa.ArrowInvalid:  # decimals of more digits
        return None


def _is_text(given: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(given) or pa.types.is_large_string(given))


def _flat(data: Any) -> Any:
    """Return one array: a record batch has no chunks."""
    import pyarrow as pa

    combined = data.combine_chunks() if hasattr(data, "combine_chunks") else data
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
