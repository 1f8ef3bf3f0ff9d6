"""The rows of one result in the forms people ask for, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from analytics_core._frames.frame import Frame
from analytics_core._frames.values import json_value
from analytics_core._querying.json_records import record_chunks, records

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
            yield self._encoded
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
        return {str(key): _json_tree(held) for key, held in value.items()}
    return [_json_tree(held) for held in value] if isinstance(value, list | tuple) else json_value(value)
