"""The rows of a result, and of its annotation layers, as JSON values and as JSON text; the codes of its columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import is_arrow
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import clean_text, json_value, json_values, value_types
from analytics_core.models.enums import GenericType

Chunk = bytes | memoryview


class ResultRows:
    """A frame, its records and their JSON text; a cache hit brings the text and loads the frame only when needed.

    Each form is made once and kept, but for the JSON text, which is as large as the rest and is made anew.

    Args:
        frame: the rows, or a function that loads them (it is called once).
        encoded: the JSON text of the records, when it is known already.
    """

    __slots__ = ("_encoded", "_frame", "_load", "_records")

    def __init__(self, frame: Frame | Callable[[], Frame], *, encoded: Chunk | None = None) -> None:
        self._frame = frame if isinstance(frame, Frame) else None
        self._load = None if isinstance(frame, Frame) else frame
        self._encoded = encoded
        self._records: list[dict[str, Any]] | None = None

    @property
    def frame(self) -> Frame:
        """The typed columns."""
        if self._frame is None:
            assert self._load is not None  # noqa: S101 - one of the two is given; tells the type checker
            self._frame = self._load()
        return self._frame

    def data(self) -> list[dict[str, Any]]:
        """Return the rows as dicts of JSON values."""
        import orjson

        if self._records is None:
            known = self._encoded
            self._records = records(self.frame) if known is None else orjson.loads(known)
        return self._records

    def remember_json(self, encoded: Chunk) -> None:
        """Keep the JSON text that was written from these rows, so that it is not written again."""
        self._encoded = encoded

    def json_chunks(self) -> Iterator[Chunk]:
        """Yield the JSON text of `data` in parts."""
        if self._encoded is not None:
            for start in range(0, len(self._encoded), _CHUNK_BYTES):
                yield self._encoded[start : start + _CHUNK_BYTES]
        else:
            yield from record_chunks(self.frame)


class PlainRows:
    """Data that is no table of a statement: lists of facts (`columns`, `timegrains`) and `post_processed` maps.

    Args:
        value: what stands in `data`; its leaves are made JSON values.
        frame: the same as a table, for CSV, XLSX and pandas.
    """

    __slots__ = ("_value", "frame")

    def __init__(self, value: Any, *, frame: Frame) -> None:
        self._value = _json_tree(value)
        self.frame = frame

    def data(self) -> Any:
        """Return what stands in `data`."""
        return self._value

    def json_chunks(self) -> Iterator[Chunk]:
        """Yield the JSON text of `data`."""
        import orjson

        yield orjson.dumps(self._value)


def _json_tree(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_tree(member) for key, member in value.items()}
    return [_json_tree(member) for member in value] if isinstance(value, list | tuple) else json_value(value)


_VALUES: Final = attrgetter("values")

SMALL_ROWS: Final = 1_000
"""Lists of up to this many rows are written through dicts, so that small answers never load pyarrow."""

SMALL_ARROW_ROWS: Final = 50
"""Arrow columns of up to this many rows are written through dicts: faster there."""

_CHUNK_BYTES: Final = 4 * 1024 * 1024
SLICE_ROWS: Final = 50_000
"""Rows that are written at a time; it bounds the memory beside the answer itself."""


def records(frame: Frame) -> list[dict[str, Any]]:
    """Return the rows as dicts of JSON values (`_engine/frames/values.py` has the rules)."""
    names = list(map(clean_text, frame.names))
    columns = list(map(_json_column, frame.columns))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _json_column(column: FrameColumn) -> list[Any]:
    if column.kind is ValueKind.NUMBERS:
        return [None if value is None else json_values(value) for value in column.to_list()]
    return json_values(column.to_list())


def record_chunks(
    frame: Frame, *, small_rows: int | None = None, slice_rows: int = SLICE_ROWS
) -> Iterator[bytes | memoryview]:
    """Yield the JSON array of objects in parts, so that a large one need not lie in memory twice.

    Args:
        frame: the rows.
        small_rows: up to how many rows dicts are used; None: as many as pay.
        slice_rows: rows written at a time.
    """
    if len(frame) <= (_rows_for_dicts(frame) if small_rows is None else small_rows):
        import orjson

        yield orjson.dumps(records(frame))
        return
    from analytics_core._engine.frames.json_cells import record_slice

    yield b"["
    for start in range(0, len(frame), slice_rows):
        yield record_slice(frame, start, min(slice_rows, len(frame) - start), is_first=start == 0)
    yield b"]"


def _rows_for_dicts(frame: Frame) -> int:
    return SMALL_ARROW_ROWS if any(map(is_arrow, map(_VALUES, frame.columns))) else SMALL_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationData:
    """The data of one annotation layer: its name, its columns, and one record of JSON values for each annotation.

    `annotation_type` is EVENT, INTERVAL or TIME_SERIES (None: the layer did not say), `source_type` is NATIVE, line or
    table. Moments are milliseconds since 1970 in UTC, as in the rows of the answer.
    """

    name: str
    annotation_type: str | None
    source_type: str
    columns: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]

    def to_payload(self) -> dict[str, str]:
        """Return `{name: JSON text of {columns, records}}`, one item of the contract's `annotation_data`."""
        import orjson

        content = {"columns": list(self.columns), "records": list(self.records)}
        return {self.name: orjson.dumps(content).decode()}


def coltypes(
    frame: Frame, *, declared: Mapping[str, ValueKind] | None = None, temporal: Collection[str] = ()
) -> tuple[int, ...]:
    """Return the code of each column of `frame` (contract, ChartDataResponseResult): the first rule that matches.

    1. A column whose output is flagged temporal is 2, whatever it holds.
    2. A column with at least one value is what its values are: whole numbers, floats and decimals (also mixed) 0,
       Booleans 3, days and moments 2, everything else and every other mixture 1.
    3. A column without a value is what was declared for its label: the kind of the query's own output or of the
       dataset's column of that name. `count__1 year ago` is no such label.
    4. Otherwise (a column that only time comparison or post-processing made, with nothing in it) it is 1.

    Args:
        frame: the result, after time comparison and post-processing.
        declared: the kinds of the query's outputs (and of the dataset's columns) by label.
        temporal: the labels of outputs that are flagged temporal.
    """
    return tuple([int(_code(column, declared or {}, temporal)) for column in frame.columns])


def _code(column: FrameColumn, declared: Mapping[str, ValueKind], temporal: Collection[str]) -> GenericType:
    if column.name in temporal:
        return GenericType.TEMPORAL
    values = column.values
    is_list = isinstance(values, list) or not is_arrow(values)
    found = _list_code(column.to_list()) if is_list else _arrow_code(values)
    if found is None:
        found = declared.get(column.name, ValueKind.UNKNOWN).generic
    return GenericType.STRING if found is None else found


def _list_code(values: list[Any]) -> GenericType | None:
    """Return the code of the values, None when there are none."""
    codes = set(map(_type_code, value_types(values)))
    if len(codes) > 1:
        return GenericType.STRING
    return codes.pop() if codes else None


def _type_code(kind: type) -> GenericType:
    if issubclass(kind, bool):
        return GenericType.BOOLEAN
    if issubclass(kind, int | float | Decimal):
        return GenericType.NUMERIC
    return GenericType.TEMPORAL if issubclass(kind, date) else GenericType.STRING


def _arrow_code(values: Any) -> GenericType | None:
    import pyarrow.types as kinds

    if values.null_count == len(values):
        return None
    kind = values.type
    if kinds.is_boolean(kind):
        return GenericType.BOOLEAN
    if kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind):
        return GenericType.NUMERIC
    return GenericType.TEMPORAL if kinds.is_timestamp(kind) or kinds.is_date(kind) else GenericType.STRING
