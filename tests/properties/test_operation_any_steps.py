"""Any steps in a row on the rows of any query give a frame whose answer can be written, or a typed error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_options import WITHOUT_FORECAST, options_of

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import frame_from_bytes, frame_to_bytes
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.pipeline import read_steps, run_steps
from analytics_core._engine.frames.registry import Operations
from analytics_core._engine.results.rows import record_chunks, records
from analytics_core.errors import LimitError, PostProcessingError

OPERATIONS = Operations()
OF_KIND: dict[ValueKind, list[Any]] = {
    ValueKind.INTEGER: [0, 1, -3, 2**63 - 1, 2**70],
    ValueKind.FLOAT: [0.0, -1.5, 1e308],
    ValueKind.DECIMAL: [Decimal("1.10"), Decimal(-2)],
    ValueKind.BOOLEAN: [True, False],
    ValueKind.TEXT: ["a", "b, c", "", "52.5, 13.4", "u33d"],
    ValueKind.DATE: [date(2024, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    ValueKind.TIMESTAMP: [datetime(2024, 1, 1), datetime(2024, 1, 2, 3), datetime(9999, 12, 31)],
    ValueKind.TIMESTAMPTZ: [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)],
    ValueKind.TIME: [time(1, 2), time(3)],
    ValueKind.BYTES: [b"a", b""],
    ValueKind.OTHER: [[1, 2], {"a": 1}, "text", 3],
    ValueKind.UNKNOWN: [None, 1, "a", 2.5],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    operation: str
    options: Mapping[str, Any]


@st.composite
def frames_of_queries(draw: st.DrawFn) -> Frame:
    """Return what a query may answer: different labels, values of the kind of their column, nulls."""
    rows = draw(st.integers(0, 5))
    names = draw(st.sampled_from([("k", "x", "y"), ("day", "k", "x", "y"), ("x",)]))
    return Frame(columns=tuple(draw(_columns(name, rows)) for name in names))


@st.composite
def _columns(draw: st.DrawFn, name: str, rows: int) -> FrameColumn:
    kinds = [ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL] if name in "xy" else list(OF_KIND)
    kind = draw(st.sampled_from(kinds))
    values = draw(st.lists(st.sampled_from([*OF_KIND[kind], None]), min_size=rows, max_size=rows))
    return FrameColumn(name=name, kind=kind, values=values)


@st.composite
def requested_steps(draw: st.DrawFn) -> list[Requested]:
    names = draw(st.lists(st.sampled_from(WITHOUT_FORECAST), min_size=1, max_size=3))
    return [Requested(operation=name, options=draw(options_of(name))) for name in names]


@settings(suppress_health_check=list(HealthCheck))
@given(frame=frames_of_queries(), steps=requested_steps())
def test_any_steps_give_an_answer_or_a_typed_error(frame: Frame, steps: list[Requested]) -> None:
    before = repr([(column.name, column.to_list()) for column in frame.columns])
    try:
        result = run_steps(frame, read_steps(steps, OPERATIONS)).frame
    except (PostProcessingError, LimitError) as error:
        message = error.message
    else:
        message = ""
        assert orjson.loads(b"".join(record_chunks(result, small_rows=0))) is not None
        assert repr(records(frame_from_bytes(frame_to_bytes(result)))) == repr(records(result))
    # What no operation foresaw would be told in these words.
    assert "does not work on this frame" not in message
    assert repr([(column.name, column.to_list()) for column in frame.columns]) == before
