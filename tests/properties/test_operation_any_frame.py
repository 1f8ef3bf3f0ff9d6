"""Any frame and any options give every operation a frame or a typed error: never a crash, a warning, a changed input.

The operations are called without the net that `run_step` spans under them (it turns what nobody foresaw into an error
that can say little), so that a crash is seen as one.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_frames import COLUMN_KINDS, any_frames, columns_of_any_dtype, frames_of_k_x_y, picture
from tests.support.any_options import JUNK_OR_NONE, OPTIONS, WITHOUT_FORECAST, options_of
from tests.support.cases import for_each

from analytics_core._engine.frames.operations.flatten import flattened_for_output
from analytics_core._engine.frames.pandas_frames import from_pandas
from analytics_core._engine.frames.pipeline import read_options
from analytics_core._engine.frames.registry import FrameWithNotes, Operations
from analytics_core.errors import LimitError, PostProcessingError

OPERATIONS = Operations()


def test_the_options_of_every_operation_are_tried() -> None:
    tried = {name: {*options} for name, options in OPTIONS.items()}
    known = {name: {*OPERATIONS[name].options.model_fields} for name in OPERATIONS}
    known["sort"].remove("aggregates")
    assert tried == known


@pytest.mark.slow
@for_each("name", OPTIONS)
def test_any_frame_and_any_options_give_a_frame_or_a_typed_error(name: str) -> None:
    @settings(suppress_health_check=list(HealthCheck))
    @given(
        table=st.one_of(any_frames(), frames_of_k_x_y()),
        options=options_of(name),
        junk=JUNK_OR_NONE,
        data=st.data(),
    )
    def holds(table: pd.DataFrame, options: dict[str, Any], junk: Any, data: st.DataObject) -> None:
        if junk is not None and options:
            options[data.draw(st.sampled_from(sorted(options)))] = junk
        check(name, table, options)

    holds()


@pytest.mark.long
@pytest.mark.slow
@for_each("kind", COLUMN_KINDS)
def test_a_column_of_any_dtype_gives_a_frame_or_a_typed_error_in_every_operation(kind: str) -> None:
    """The columns that options name are there, so that the operations get to look at the values."""

    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    @given(data=st.data(), rows=st.integers(0, 6), name=st.sampled_from(WITHOUT_FORECAST))
    def holds(data: st.DataObject, rows: int, name: str) -> None:
        table = pd.DataFrame(
            {label: data.draw(columns_of_any_dtype(rows, kind)) for label in ("k", "x", "y")}, index=range(rows)
        )
        check(name, table, data.draw(options_of(name)))

    holds()


def check(name: str, table: pd.DataFrame, options: dict[str, Any]) -> bool:
    """Check that the operation keeps its promises and return whether it gave a frame; warnings are errors here."""
    before = picture(table)
    try:
        read = read_options(OPERATIONS[name], options, place=name)
        applied = OPERATIONS[name].apply(table, read)
        result = applied.frame if isinstance(applied, FrameWithNotes) else applied
        flat = flattened_for_output(result)
    except (PostProcessingError, LimitError) as error:
        made, message = False, error.message
    else:
        made, message = True, name
        assert isinstance(result, pd.DataFrame)
        assert len(flat) == len(result)
        assert len(from_pandas(flat).columns) == len(flat.columns)
    assert message
    assert picture(table) == before
    return made
