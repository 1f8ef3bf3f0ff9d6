"""Frames to pandas and back: nothing changes, whether the columns are lists or Arrow arrays."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import list_as_arrow
from analytics_core._engine.frames.pandas_frames import from_pandas, to_pandas

VALUES: dict[ValueKind, st.SearchStrategy[Any]] = {
    ValueKind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    ValueKind.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    ValueKind.TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    ValueKind.BOOLEAN: st.booleans(),
    ValueKind.TIMESTAMP: st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    ValueKind.DECIMAL: st.decimals(-(10**9), 10**9, places=3),
    ValueKind.BYTES: st.binary(max_size=5),
}


@pytest.mark.slow
@for_each("kind", VALUES)
@given(data=st.data())
def test_values_come_back_as_they_were(kind: ValueKind, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=8))
    back = from_pandas(to_pandas(frame_of({"c": values}, c=kind)))
    assert back.columns[0].to_list() == values
    assert list(map(type, back.columns[0].to_list())) == list(map(type, values))


@pytest.mark.slow
@for_each("kind", VALUES)
@given(data=st.data())
def test_arrow_columns_give_the_same_as_lists(kind: ValueKind, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=8))
    array = list_as_arrow(values)
    assert array is not None
    ours, theirs = to_pandas(frame_of({"c": array}, c=kind)), to_pandas(frame_of({"c": values}, c=kind))
    pd.testing.assert_frame_equal(ours, theirs)
