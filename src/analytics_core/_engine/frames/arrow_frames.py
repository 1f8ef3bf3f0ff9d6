"""Frames and their columns in Arrow: as tables, and as IPC bytes and back; pyarrow is loaded when one is called.

In the bytes, columns that Arrow cannot hold travel as text, value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import (
    LARGEST_NUMBER,
    SURE_DIGITS,
    clean_text,
    json_value,
    text_value,
    value_types,
)
from analytics_core._tools.typed_json import from_typed_json, typed_json
from analytics_core.errors import StoredDataError

if TYPE_CHECKING:
    import pyarrow as pa


def is_arrow(values: Any) -> bool:
    """Say whether `values` is a pyarrow Array or ChunkedArray (without importing pyarrow)."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def arrow_bytes(frame: Frame) -> int:
    """Return the bytes that the columns take which lie in Arrow."""
    stored: list[Any] = [column.values for column in frame.columns if is_arrow(column.values)]
    return sum(values.nbytes for values in stored)


def arrow_part(values: Any, start: int, rows: int) -> Any:
    """Return `rows` values from `start` on as one pyarrow Array, without copying where they lie in one chunk."""
    part = values.slice(start, rows)
    return part.combine_chunks() if hasattr(part, "combine_chunks") else part


def long_decimals(array: Any) -> Any:
    """Return the decimals of an Arrow column that have more digits than a double surely holds."""
    import pyarrow.compute as pc

    if array.type.precision <= SURE_DIGITS:
        return array.slice(0, 0)
    digits = pc.utf8_rtrim(pc.ascii_ltrim(array.cast("string"), "-0."), "0")
    return array.filter(pc.greater(pc.utf8_length(digits), SURE_DIGITS))


def list_as_arrow(values: list[Any]) -> Any | None:
    """Return the pyarrow Array that holds exactly `values`, or None: mixed types, numbers beyond 64 bits ...

    Moments become UTC; a column that has a moment with a time zone carries one.
    """
    import pyarrow as pa

    types = value_types(values)
    if not types:
        return pa.nulls(len(values))
    if len(types) > 1:
        return None
    (only,) = types
    try:
        return _typed_array(values, only)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None


def _typed_array(values: list[Any], only: type) -> Any | None:
    import pyarrow as pa

    if only is time and any(value is not None and value.tzinfo is not None for value in values):
        return None  # Arrow's times have no zone
    if only is datetime:
        zones = {value.tzinfo is None for value in values if value is not None}
        return None if len(zones) > 1 else pa.array(values, pa.timestamp("us", None if True in zones else "UTC"))
    plain = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.large_string(),
        bytes: pa.large_binary(),
        date: pa.date32(),
        time: pa.time64("us"),
    }
    if only is Decimal:
        return decimals_as_arrow(values)
    # pyarrow reads NaN in a list as a value, which is what it is; `from_pandas` would make it null.
    return pa.array(values, plain[only]) if only in plain else None


def decimals_as_arrow(values: Sequence[Decimal | None]) -> Any | None:
    """Return decimals as an Array, or None: Arrow's have neither NaN nor infinity.

    Where all have the same number of places their type is told, which Arrow would find by asking each of them.

    Raises:
        pyarrow.ArrowInvalid: together they need more than 76 digits.
    """
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if not all(map(Decimal.is_finite, present)):
        return None
    if present and all(map(present[0].same_quantum, present)):
        places = -int(present[0].as_tuple().exponent)
        digits = max(places + max(max(present).adjusted(), min(present).adjusted()) + 1, places, 1)
        if places >= 0 and digits <= _DIGITS[0]:
            return pa.array(values, pa.decimal128(digits, places))
    return pa.array(values)


_DIGITS: Final = (38, 76)
"""How many digits Arrow's two types of decimals hold."""


def to_arrow(frame: Frame) -> pa.Table:
    """Return the frame as an Arrow table, every number exact: integers beyond 64 bits are decimals.

    A column of values that Arrow has no one type for (lists, objects, text among numbers) is text.
    """
    import pyarrow as pa

    return pa.table([_array(column) for column in frame.columns], names=[clean_text(name) for name in frame.names])


def _array(column: FrameColumn) -> Any:
    import pyarrow as pa

    if is_arrow(column.values):
        return column.values
    values = column.to_list()
    types = value_types(values)
    if not types:
        return pa.nulls(len(values), _type_of_nulls(column.kind))
    if column.kind is ValueKind.NUMBERS:
        return pa.array(values, pa.list_(pa.float64()))
    array = _numbers(values, types) if types <= {int, float, Decimal} and types != {float} else None
    array = list_as_arrow(values) if array is None else array
    texts = None if array is not None else [None if value is None else text_value(value) for value in values]
    return array if texts is None else pa.array(texts, pa.large_string())


def _numbers(values: list[Any], types: frozenset[type]) -> Any | None:
    """Return whole numbers that pass 64 bits, or numbers of several types, as one type that holds them exactly."""
    import pyarrow as pa

    if float in types:
        exact = Decimal not in types and all(isinstance(v, float) or abs(v or 0) <= LARGEST_NUMBER for v in values)
        return pa.array([None if v is None else float(v) for v in values], pa.float64()) if exact else None
    integers = [v for v in values if type(v) is int]
    if types == {int} and max(integers) < 2**63 and min(integers) >= -(2**63):
        return None
    decimals = [None if value is None else Decimal(value) for value in values]
    if types != {int}:
        return list_as_arrow(decimals)
    digits = max(len(str(abs(value))) for value in integers)
    if digits > _DIGITS[1]:
        return None
    return pa.array(decimals, pa.decimal128(_DIGITS[0]) if digits <= _DIGITS[0] else pa.decimal256(_DIGITS[1]))


def _type_of_nulls(kind: ValueKind) -> Any:
    """Return the type of a column that has no value."""
    import pyarrow as pa

    types = {
        ValueKind.INTEGER: pa.int64(),
        ValueKind.FLOAT: pa.float64(),
        ValueKind.DECIMAL: pa.decimal128(_DIGITS[0], 9),
        ValueKind.BOOLEAN: pa.bool_(),
        ValueKind.TEXT: pa.large_string(),
        ValueKind.DATE: pa.date32(),
        ValueKind.TIME: pa.time64("us"),
        ValueKind.TIMESTAMP: pa.timestamp("us"),
        ValueKind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
        ValueKind.BYTES: pa.large_binary(),
        ValueKind.NUMBERS: pa.list_(pa.float64()),
    }
    return types.get(kind, pa.null())


_KIND: Final = b"kind"
_FORM: Final = b"form"
_ARROW: Final = b"arrow"
_JSON: Final = b"json"
_UNPICKLED: Final = b"arrow.py_extension_type"
"""What the schema of a stream names for PyArrow before 21 to make of a pickle."""


def frame_to_bytes(frame: Frame) -> memoryview:
    """Return the frame as one Arrow IPC stream; what neither Arrow nor `_typed_json` holds comes back as its text."""
    import pyarrow as pa

    fields, arrays = [], []
    for column in frame.columns:
        array, form = _array_to_write(column)
        fields.append(pa.field(clean_text(column.name), array.type, metadata={_KIND: column.kind.value, _FORM: form}))
        arrays.append(array)
    table = pa.table(arrays, schema=pa.schema(fields))
    sink = pa.BufferOutputStream()
    with pa.RecordBatchStreamWriter(sink, table.schema, options=pa.ipc.IpcWriteOptions()) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _array_to_write(column: FrameColumn) -> tuple[Any, bytes]:
    import pyarrow as pa

    if not isinstance(column.values, list) and is_arrow(column.values):
        return column.values, _ARROW
    values = column.to_list()
    array = list_as_arrow(values)
    if array is not None and not _is_rescaled(values, array.type):
        return array, _ARROW
    texts = [None if value is None else _written(value) for value in values]
    return pa.array(texts, pa.large_string()), _JSON


def _is_rescaled(values: list[Any], kind: Any) -> bool:
    """Tell whether Arrow would write decimals with other numbers of decimal places, which spreadsheets show."""
    import pyarrow.types as kinds

    if not kinds.is_decimal(kind):
        return False
    unit = Decimal(1).scaleb(-kind.scale)
    return not all(value is None or unit.same_quantum(value) for value in values)


def _written(value: Any) -> str:
    import orjson

    return orjson.dumps(typed_json(value, other=_other)).decode()


def _other(value: Any) -> Any:
    """Write a value of a type of its own: a moment that is no plain one, else what stands for it in an answer."""
    is_moment = isinstance(value, datetime) and value == value  # noqa: PLR0124 - only NaT differs from itself
    return ["datetime", value.isoformat()] if is_moment else json_value(value)


def _read(text: str) -> Any:
    import orjson

    return from_typed_json(orjson.loads(text))


def frame_from_bytes(data: bytes | memoryview) -> Frame:
    """Return the frame that `frame_to_bytes` wrote; its Arrow columns share the memory of `data`.

    Raises:
        StoredDataError: the bytes are no such stream.
    """
    import pyarrow as pa

    try:
        if _UNPICKLED in pa.ipc.read_message(pa.py_buffer(data)).metadata.to_pybytes():
            raise TypeError("a type of Python")
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)  # offsets that lie would read the memory of this process
        return Frame(columns=tuple(map(_column, table.schema, table.columns)))
    except (pa.ArrowException, ArithmeticError, EOFError, OSError, KeyError, TypeError, ValueError):
        raise StoredDataError("the stored bytes of a result hold no frame; ask again with force") from None


def _column(field: Any, values: Any) -> FrameColumn:
    kind = ValueKind(field.metadata[_KIND].decode())
    if field.metadata[_FORM] == _JSON:
        values = [None if text is None else _read(text) for text in values.to_pylist()]
    elif str(values.type) == "null":
        values = values.to_pylist()  # so that the kind says the type of the column, as it did before
    return FrameColumn(name=field.name, kind=kind, values=values)
