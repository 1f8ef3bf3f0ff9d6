"""A stream of batches over frames that are given: its notes, its failures, and one type for each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.support.cases import for_each

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.fetching import FetchedResult
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.results.batch_stream import BatchStream
from analytics_core.errors import AnalyticsError, DatabaseError

Given = Frame | DatabaseError


class GivenFrames:
    """Gives frames as a statement does, or its failure; what is known of the whole comes behind the last one.

    Attributes:
        fetched: what is known of the whole, None before the end.
    """

    def __init__(self, *given: Given, notes: tuple[str, ...] = ()) -> None:
        self.fetched: FetchedResult | None = None
        self._given, self._notes = iter(given), notes

    def __next__(self) -> Frame:
        given = next(self._given, None)
        if given is None:
            self.fetched = FetchedResult(frame=Frame(columns=()), has_more=False, fetched_bytes=0, notes=self._notes)
            raise StopIteration
        if isinstance(given, DatabaseError):
            raise given
        return given

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Ends:
    """Keeps what is told of the end of a stream."""

    reported: list[tuple[int, AnalyticsError | None]]

    def __call__(self, rows: int, error: AnalyticsError | None) -> None:
        self.reported.append((rows, error))


def numbers(*values: int | None) -> Frame:
    return frame(K.INTEGER, values)


def frame(kind: K, values: Sequence[Any]) -> Frame:
    return Frame(columns=(FrameColumn(name="n", kind=kind, values=list(values)),))


def with_a_note(given: Frame) -> tuple[Frame, tuple[str, ...]]:
    """Shape a frame with a note on its first value, and one that is always the same."""
    return given, ("each time", f"begins with {given.columns[0].to_list()[0]}")


def of_the_question(error: DatabaseError) -> DatabaseError:
    return DatabaseError(f"the column that you asked for: {error}")


def stream(frames: GivenFrames, *, ended: Ends) -> BatchStream:
    unread: Any = frames
    return BatchStream(
        unread,
        shape=with_a_note,
        error_mapper=of_the_question,
        row_limit=100,
        declared={},
        notes=("assumed",),
        ended=ended,
    )


@pytest.fixture
def ends() -> Ends:
    return Ends([])


def test_notes_are_those_of_the_question_of_the_rows_so_far_and_in_the_end_of_the_whole(ends: Ends) -> None:
    batches = stream(GivenFrames(numbers(1), numbers(2), notes=("each time", "cut")), ended=ends)
    assert batches.notes == ("assumed", "each time", "begins with 1")
    rest: Iterator[pa.RecordBatch] = iter(batches)
    assert [next(rest).num_rows, next(rest).num_rows] == [1, 1]
    assert batches.notes == ("assumed", "each time", "begins with 1", "begins with 2")
    assert list(rest) == []
    assert batches.notes == ("assumed", "each time", "begins with 1", "begins with 2", "cut")
    assert ends.reported == [(2, None)]


def test_a_failure_of_the_database_is_told_in_the_words_of_the_question(ends: Ends) -> None:
    batches = stream(GivenFrames(numbers(1), DatabaseError("n is no number")), ended=ends)
    assert next(batches).num_rows == 1
    with pytest.raises(DatabaseError, match=r"^the column that you asked for: n is no number$") as caught:
        next(batches)
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)
    assert ends.reported == [(1, caught.value)]


def test_a_failure_before_the_first_rows_is_told_so_too(ends: Ends) -> None:
    with pytest.raises(DatabaseError, match=r"^the column that you asked for: gone$"):
        stream(GivenFrames(DatabaseError("gone")), ended=ends)


LATER = {
    "whole numbers": (frame(K.INTEGER, [2, None]), ["2", None]),
    "decimals": (frame(K.DECIMAL, [Decimal("2.50"), None]), ["2.5", None]),
    "days": (frame(K.DATE, [date(2024, 2, 29), None]), ["2024-02-29", None]),
    "Booleans": (frame(K.BOOLEAN, [True, None]), ["True", None]),
    "nulls": (frame(K.UNKNOWN, [None, None]), [None, None]),
}


@for_each("kind", LATER)
def test_later_values_of_a_text_column_are_texts_whatever_they_are(ends: Ends, kind: str) -> None:
    later, expected = LATER[kind]
    batches = list(stream(GivenFrames(frame(K.TEXT, ["a"]), later), ended=ends))
    assert [batch.schema.field("n").type for batch in batches] == [pa.large_string()] * 2
    assert batches[1].to_pydict() == {"n": expected}


def test_later_texts_of_a_column_of_numbers_are_refused_with_their_rows(ends: Ends) -> None:
    batches = stream(GivenFrames(numbers(1, 2), frame(K.TEXT, ["3", "x"])), ended=ends)
    assert next(batches).num_rows == 2
    with pytest.raises(DatabaseError, match="column 'n' is integer in the first rows, and rows 3 to 4 hold values"):
        next(batches)
