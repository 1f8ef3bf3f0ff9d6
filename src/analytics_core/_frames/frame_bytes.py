"""Frames as Arrow IPC bytes and back; columns that Arrow cannot hold travel as text, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_columns import is_arrow, list_as_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.json_values import clean_text, nested_value
from analytics_core.errors import StoredDataError

_KIND: Final = b"kind"
_FORM: Final = b"form"
_ARROW: Final = b"arrow"
_JSON: Final = b"json"

_MARKS: Final[Mapping[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]]] = {
    datetime: ("M", datetime.isoformat, datetime.fromisoformat),
    date: ("D", date.isoformat, date.fromisoformat),
    time: ("T", time.isoformat, time.fromisoformat),
    Decimal: ("N", str, Decimal),
    int: ("I", str, int),
    bytes: ("B", bytes.hex, bytes.fromhex),
}
"""What JSON has no value for: a mark that no JSON text begins with, how the text behind it is written, and read."""

_READERS: Final[Mapping[str, Callable[[str], Any]]] = {mark: read for mark, _, read in _MARKS.values()}


def frame_to_bytes(frame: Frame) -> memoryview:
    """Return the frame as one Arrow IPC stream; lists and objects come back as their JSON values, all else as it is."""
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
    if array is not None:
        return array, _ARROW
    texts = [None if value is None else _written(value) for value in values]
    return pa.array(texts, pa.large_string()), _JSON


def _written(value: Any) -> str:
    """Return JSON text; of what JSON has no value for, a marked text."""
    import orjson

    is_moment = isinstance(value, datetime) and value == value  # noqa: PLR0124 - only NaT differs from itself
    marked = _MARKS.get(datetime if is_moment else type(value))
    if marked is not None:
        mark, write, _ = marked
        return mark + write(value)
    return orjson.dumps(nested_value(value)).decode()


def _read(text: str) -> Any:
    import orjson

    read = _READERS.get(text[:1])
    return orjson.loads(text) if read is None else read(text[1:])


def frame_from_bytes(data: bytes | memoryview) -> Frame:
    """Return the frame that `frame_to_bytes` wrote; its Arrow columns share the memory of `data`.

    Raises:
        StoredDataError: the bytes are no such stream.
    """
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)  # offsets that lie would read the memory of this process
        return Frame(columns=tuple(map(_column, table.schema, table.columns)))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        raise StoredDataError("the stored bytes of a result hold no frame; ask again with force") from None


def _column(field: Any, values: Any) -> FrameColumn:
    kind = ValueKind(field.metadata[_KIND].decode())
    if field.metadata[_FORM] == _JSON:
        values = [None if text is None else _read(text) for text in values.to_pylist()]
    return FrameColumn(name=field.name, kind=kind, values=values)
