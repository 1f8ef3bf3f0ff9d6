"""The rows of one query as Arrow record batches, read from the database as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Self

from analytics_core._engines.types import ValueKind
from analytics_core._execution.frame_streams import FrameStream
from analytics_core._frames.frame import Frame
from analytics_core._results.batch_schema import BatchSchema
from analytics_core.errors import AnalyticsError, DatabaseError

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

Shape = Callable[[Frame], tuple[Frame, tuple[str, ...]]]
"""Makes of a frame as it was read what an answer shows, with notes."""

Told = Callable[[DatabaseError], DatabaseError]
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
    any more. One thread at a time may use it.

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
        told: Told,
        row_limit: int,
        declared: Mapping[str, ValueKind],
        notes: tuple[str, ...],
        ended: Ended,
    ) -> None:
        self.row_limit = row_limit
        self.rows: int = 0
        self._frames, self._shape, self._told, self._ended = frames, shape, told, ended
        self._notes = dict.fromkeys(notes)
        self._is_over = False
        try:
            self._first: Frame | None = self._read()
            self._made = BatchSchema(self._first, declared)
        except BaseException:  # Ctrl-C too: goes on upwards
            frames.close()
            raise
        self.schema = self._made.schema

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or cannot be shown, of the rows so far."""
        whole = self._frames.fetched
        return (*self._notes, *(note for note in whole.notes if note not in self._notes)) if whole else (*self._notes,)

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
            StatementStoppedError: it was cancelled.
            DatabaseError: the database failed, or a column holds values of another type than in the first rows.
        """
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
        if self._is_over:
            raise StopIteration
        frame, self._first = self._first, None
        if frame is None:
            frame = self._read()
        if not len(frame):
            raise StopIteration
        return self._made.batch(frame)

    def reader(self) -> pa.RecordBatchReader:
        """Return the rest as a reader of pyarrow, for libraries that take one."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rest to a library that reads Arrow streams: `polars.DataFrame(stream)`, `pyarrow.table(stream)`."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Read no more and give the connection back; may be called again."""
        self._end(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BatchStream, {self.rows} rows so far of {', '.join(self.schema.names)}>"

    def _read(self) -> Frame:
        try:
            frame = next(self._frames)
        except DatabaseError as error:
            raise self._told(error) from None
        shown, notes = self._shape(frame)
        self._notes |= dict.fromkeys(notes)
        return shown

    def _end(self, error: AnalyticsError | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._first = None
        self._frames.close()
        self._ended(self.rows, error)
