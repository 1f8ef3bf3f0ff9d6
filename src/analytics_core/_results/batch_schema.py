"""One Arrow schema for the frames of a stream: the first frame settles it, the others are brought to it or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_frames import to_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.values import text_value
from analytics_core.errors import DatabaseError

if TYPE_CHECKING:
    import pyarrow as pa

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
        fitting = _brought(data, wanted)
        if fitting is None and _is_text(wanted):
            texts = [None if value is None else text_value(value) for value in column.to_list()]
            fitting = _flat(_texts(texts))
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


def _texts(texts: Sequence[str | None]) -> Any:
    import pyarrow as pa

    return pa.array(texts, pa.large_string())


def _flat(data: Any) -> Any:
    """Return one array: a record batch has no chunks."""
    import pyarrow as pa

    whole = data.combine_chunks() if hasattr(data, "combine_chunks") else data
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
