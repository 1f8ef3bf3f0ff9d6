"""Frames as Arrow IPC bytes and back; columns that Arrow cannot hold travel as text, value by value."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_columns import is_arrow, list_as_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.json_values import clean_text, json_value
from analytics_core._typed_json import from_typed_json, typed_json
from analytics_core.errors import StoredDataError

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
        array, form = _array(column)
        fields.append(pa.field(clean_text(column.name), array.type, metadata={_KIND: column.kind.value, _FORM: form}))
        arrays.append(array)
    table = pa.table(arrays, schema=pa.schema(fields))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _array(column: FrameColumn) -> tuple[Any, bytes]:
    import pyarrow as pa

    if is_arrow(column.values):
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
    return any(value is not None and value.as_tuple().exponent != -kind.scale for value in values)


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
