"""Steps in order, their errors, plug-ins, and frames before and after."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.frames import frame_of

from analytics_core import postprocessing
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import frame_from_bytes, frame_to_bytes
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.frames.pandas_frames import to_pandas
from analytics_core._engine.frames.pipeline import read_steps, run_steps
from analytics_core._engine.frames.registry import FrameWithNotes, Operation, Operations
from analytics_core._engine.results.rows import record_chunks, records
from analytics_core.errors import LimitError, PostProcessingError, RequestTimeoutError, UnknownOperationError
from analytics_core.models.postprocessing import ForecastOptions, OperationOptions
from analytics_core.models.query import PostProcessingOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    operation: str
    options: Mapping[str, Any] = field(default_factory=dict)


class FactorOptions(OperationOptions):
    factor: int = 2


def multiply(frame: pd.DataFrame, options: FactorOptions) -> pd.DataFrame:
    return frame * options.factor


def fail(frame: pd.DataFrame, options: OperationOptions) -> pd.DataFrame:
    raise KeyError("a value of a row: s3cret")


def remark(frame: pd.DataFrame, options: OperationOptions) -> FrameWithNotes:
    return FrameWithNotes(frame=frame + 1, notes=("one was added",))


def exhaust(frame: pd.DataFrame, options: OperationOptions) -> pd.DataFrame:
    raise MemoryError


MULTIPLY = Operation(name="multiply", options=FactorOptions, apply=multiply)
OPERATIONS = Operations(
    {
        "multiply": MULTIPLY,
        "fail": Operation(name="fail", options=OperationOptions, apply=fail),
        "remark": Operation(name="remark", options=OperationOptions, apply=remark),
        "exhaust": Operation(name="exhaust", options=OperationOptions, apply=exhaust),
    }
)


def run(frame: Frame, *steps: Requested) -> Frame:
    return run_steps(frame, read_steps(steps, OPERATIONS)).frame


def columns(frame: Frame) -> dict[str, list[Any]]:
    return {column.name: column.to_list() for column in frame.columns}


NUMBERS = frame_of({"x": [1, 2]}, x=ValueKind.INTEGER)


def test_steps_run_in_order() -> None:
    assert columns(
        run(NUMBERS, Requested(operation="rename", options={"columns": {"x": "y"}}), Requested(operation="multiply"))
    ) == {"y": [2, 4]}


def test_notes_of_steps_come_with_the_frame_and_tell_the_step() -> None:
    steps = read_steps(
        (Requested(operation="multiply"), Requested(operation="remark"), Requested(operation="remark")), OPERATIONS
    )
    processed = run_steps(NUMBERS, steps)
    assert columns(processed.frame) == {"x": [4, 6]}
    assert processed.notes == tuple(f"post_processing[{at}] (remark): one was added" for at in (1, 2))
    assert run_steps(NUMBERS, steps[:1]).notes == ()


def test_steps_may_be_stopped_before_each_of_them() -> None:
    requested: list[int] = []

    def check() -> None:
        requested.append(len(requested))
        if len(requested) > 2:
            raise RequestTimeoutError("over")

    with pytest.raises(RequestTimeoutError):
        run_steps(NUMBERS, read_steps((Requested(operation="multiply"),) * 3, OPERATIONS), check=check)
    assert requested == [0, 1, 2]


def test_without_steps_the_frame_is_the_same() -> None:
    assert run(NUMBERS) is NUMBERS


def test_an_unknown_operation_is_told_with_its_place_and_the_nearest_name() -> None:
    with pytest.raises(UnknownOperationError, match=r"^post_processing\[1\] has no operation 'pivto'.*'pivot'"):
        read_steps([Requested(operation="flatten"), Requested(operation="pivto")], OPERATIONS)


def test_a_wrong_option_is_told_with_place_and_operation_before_anything_runs() -> None:
    with pytest.raises(
        PostProcessingError, match=r"^post_processing\[0\] \(multiply\): factor: must be an integer"
    ) as found:
        read_steps([Requested(operation="multiply", options={"factor": "many"})], OPERATIONS)
    assert found.value.status == 400


def test_an_error_of_a_step_is_told_with_place_and_operation() -> None:
    with pytest.raises(PostProcessingError, match=r"^post_processing\[1\] \(sort\): by: there is no column 'z'"):
        run(NUMBERS, Requested(operation="flatten"), Requested(operation="sort", options={"by": "z"}))


def test_what_an_operation_did_not_foresee_is_told_without_its_text() -> None:
    with pytest.raises(
        PostProcessingError, match=r"^post_processing\[0\] \(fail\): .*KeyError.*columns are: x$"
    ) as found:
        run(NUMBERS, Requested(operation="fail"))
    assert "s3cret" not in str(found.value)
    assert found.value.__suppress_context__


def test_a_result_beyond_memory_is_a_limit() -> None:
    with pytest.raises(LimitError, match=r"^post_processing\[0\] \(exhaust\): the result does not fit into memory"):
        run(NUMBERS, Requested(operation="exhaust"))


def test_options_that_nobody_reads_are_kept_and_reported() -> None:
    (step,) = read_steps([PostProcessingOperation(operation="multiply", options={"color": 1, "factor": 3})], OPERATIONS)
    assert step.unread == ("color",)


def test_the_older_name_of_forecast_is_understood() -> None:
    assert OPERATIONS["prophet"].options is ForecastOptions
    assert "prophet" in OPERATIONS
    assert "prophet" not in list(OPERATIONS)


def test_every_operation_bears_the_name_it_is_found_by() -> None:
    assert {name: OPERATIONS[name].name for name in OPERATIONS} == {name: name for name in OPERATIONS}
    assert len(OPERATIONS) == len(list(OPERATIONS))


def test_an_installed_package_adds_an_operation(tmp_path: Path) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[analytics_core.operations]\ntwice = plugin:TWICE\n")
    (tmp_path / "plugin.py").write_text(
        "from analytics_core._engine.frames.registry import Operation\n"
        "from analytics_core.models.postprocessing import OperationOptions\n"
        "TWICE = Operation(name='twice', options=OperationOptions, apply=lambda frame, options: frame * 2)\n"
    )
    code = """
from importlib.metadata import entry_points
from analytics_core._engine.frames import ENTRY_POINTS
from analytics_core._engine.frames.registry import installed_operations
found = installed_operations(entry_points(group=ENTRY_POINTS))
print(found['twice'].name, len(found))
"""
    done = _python(code, tmp_path)
    assert done.stdout.split() == ["twice", str(len(Operations()) + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["nothing_there:X", "os:sep"])
def test_an_entry_point_that_is_no_operation_stops_the_start(tmp_path: Path, target: str) -> None:
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[analytics_core.operations]\nbroken = {target}\n")
    done = _python("import analytics_core; analytics_core.connect('sqlite://')", tmp_path)
    assert "SettingsError: the entry point 'broken' of analytics_core.operations" in done.stderr


@pytest.mark.slow
def test_a_core_without_steps_loads_no_pandas() -> None:
    code = "import sys, analytics_core; analytics_core.connect('sqlite://'); print('pandas' in sys.modules)"
    assert _python(code).stdout.strip() == "False"


def _python(code: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(path)} if path else {}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


# ------------------------------------------------------------------------------------------- what a frame comes out as
def test_values_that_no_step_touches_stay_as_they_are() -> None:
    frame = frame_of(
        {
            "n": [2**60 + 1, None],
            "d": [Decimal("1.10"), None],
            "day": [date(2024, 1, 2), None],
            "at": [datetime(2024, 1, 2, 3), None],
            "t": ["a", None],
            "b": [True, None],
            "raw": [b"x", None],
        },
        n=ValueKind.INTEGER,
        d=ValueKind.DECIMAL,
        day=ValueKind.DATE,
        at=ValueKind.TIMESTAMP,
        t=ValueKind.TEXT,
        b=ValueKind.BOOLEAN,
        raw=ValueKind.BYTES,
    )
    result = run(frame, Requested(operation="sort", options={"by": "n"}))
    assert columns(result) == columns(frame)
    kinds = [column.kind for column in result.columns]
    assert kinds[:6] == [column.kind for column in frame.columns][:6]


def test_infinities_become_null() -> None:
    frame = frame_of({"x": [1.0, -1.0]}, x=ValueKind.FLOAT)
    assert columns(run(frame, Requested(operation="contribution"))) == {"x": [None, None]}


def test_a_pivot_that_nobody_flattens_comes_out_flat_with_its_index() -> None:
    frame = frame_of({"k": ["a", "b"], "c": ["x, y", "z"], "n": [1, 2]}, n=ValueKind.INTEGER)
    pivot = Requested(
        operation="pivot", options={"index": ["k"], "columns": ["c"], "aggregates": {"n": {"operator": "sum"}}}
    )
    assert columns(run(frame, pivot)) == {"k": ["a", "b"], "n, x, y": [1.0, None], "n, z": [None, 2.0]}


def test_labels_that_only_their_escapes_tell_apart_keep_them() -> None:
    frame = frame_of({"k": [1], "a, b": [2], "a\\, b": [3]})
    assert columns(run(frame, Requested(operation="flatten"))) == {"k": [1], "a, b": [2], "a\\, b": [3]}


def test_totals_below_moments_keep_moments_moments() -> None:
    frame = frame_of({"day": [datetime(2024, 1, 1)], "n": [1]}, day=ValueKind.TIMESTAMP, n=ValueKind.INTEGER)
    options = {"index": "day", "aggregates": {"n": {"operator": "sum"}}, "marginal_distributions": True}
    result = run(frame, Requested(operation="pivot", options=options))
    assert columns(result) == {"day": [datetime(2024, 1, 1), "All"], "n": [1, 1]}
    assert type(columns(result)["day"][0]) is datetime


def test_totals_below_moments_are_written_alike_from_a_cache() -> None:
    frame = frame_of({"day": [date(2024, 1, 1)], "n": [1]}, day=ValueKind.DATE, n=ValueKind.INTEGER)
    options = {"index": "day", "aggregates": {"n": {"operator": "sum"}}, "marginal_distributions": True}
    result = run(frame, Requested(operation="pivot", options=options))
    cached = frame_from_bytes(frame_to_bytes(result))
    assert columns(cached) == columns(result)
    assert records(cached) == records(result)


def test_lists_of_numbers_that_a_step_made_are_arrays_in_an_answer() -> None:
    frame = frame_of({"k": ["a"] * 9, "x": [1, 1, 1, 1, 1, 1, 1, 1, 99]}, x=ValueKind.INTEGER)
    boxes = Requested(operation="boxplot", options={"whisker_type": "tukey", "groupby": ["k"], "metrics": ["x"]})
    result = run(frame, boxes)
    assert records(result)[0]["x__outliers"] == [99]
    assert orjson.loads(b"".join(record_chunks(result, small_rows=0))) == records(result)
    assert records(frame_from_bytes(frame_to_bytes(result))) == records(result)


def test_lists_of_an_engine_stay_what_they_are() -> None:
    frame = frame_of({"x": [1], "retained": [[1, 2]]}, x=ValueKind.INTEGER, retained=ValueKind.OTHER)
    assert records(run(frame, Requested(operation="sort", options={"by": "x"}))) == records(frame)


def test_the_aggregates_of_sort_are_accepted_and_reported() -> None:
    options = {"by": "x", "aggregates": {"x": {"operator": "sum"}}}
    (step,) = read_steps([Requested(operation="sort", options=options)], OPERATIONS)
    assert step.unread == ("aggregates",)
    assert columns(run(NUMBERS, Requested(operation="sort", options=options))) == {"x": [1, 2]}


@pytest.mark.parametrize(
    ("options", "unread"),
    [
        ({"columns": {"x": True}}, ()),
        ({"by": "x", "columns": {"x": False}}, ("columns",)),
        ({"is_sort_index": True, "by": "x", "columns": {"x": False}}, ("by", "columns")),
    ],
)
def test_orders_that_another_order_goes_before_are_reported(options: dict[str, Any], unread: tuple[str, ...]) -> None:
    (step,) = read_steps([Requested(operation="sort", options=options)], OPERATIONS)
    assert step.unread == unread


def test_a_function_tells_what_it_does_not_read() -> None:
    table = pd.DataFrame({"x": [2, 1]})
    result = postprocessing.sort(table, by="x", aggregates={"x": {"operator": "sum"}})
    assert result["x"].tolist() == [1, 2]
    assert result.attrs["notes"] == ("sort: kept but not read: aggregates",)
    assert not table.attrs


@pytest.mark.parametrize(
    "step",
    [
        Requested(operation="select", options={"columns": ["day"], "rename": {"day": "d"}}),
        Requested(operation="rename", options={"columns": {"day": "d"}}),
        Requested(operation="aggregate", options={"aggregates": {"d": {"column": "day", "operator": "max"}}}),
    ],
)
def test_days_stay_days_under_another_name(step: Requested) -> None:
    frame = frame_of({"day": [date(2024, 1, 2)]}, day=ValueKind.DATE)
    (column,) = run(frame, step).columns
    assert (column.name, column.kind, column.to_list()) == ("d", ValueKind.DATE, [date(2024, 1, 2)])


def test_midnights_of_moments_stay_moments() -> None:
    frame = frame_of({"at": [datetime(2024, 1, 2)]}, at=ValueKind.TIMESTAMP)
    (column,) = run(frame, Requested(operation="rename", options={"columns": {"at": "d"}})).columns
    assert column.kind is ValueKind.TIMESTAMP


def test_an_index_that_cannot_become_a_column_is_told_with_the_step_before() -> None:
    options = {"index": "x", "aggregates": {"x": {"operator": "sum"}}}
    with pytest.raises(
        PostProcessingError, match=r"^after post_processing\[0\] \(pivot\): .*called 'x' like the index"
    ):
        run(NUMBERS, Requested(operation="pivot", options=options))


def test_new_names_of_columns_that_select_leaves_out_are_reported() -> None:
    options = {"columns": ["x", "y"], "exclude": ["y"], "rename": {"x": "a", "y": "b", "z": "c"}}
    (step,) = read_steps([Requested(operation="select", options=options)], OPERATIONS)
    assert step.unread == ("rename.y", "rename.z")


def test_the_parts_of_joined_labels_are_told_with_the_commas_that_they_hold() -> None:
    sales = {"day": [1, 1], "place": ["Rome, north", "Oslo"], "kind": ["a", "b"], "paid": [5, 7]}
    spread = {"index": "day", "columns": ["place", "kind"], "aggregates": {"paid": {"operator": "sum"}}}
    steps = (Requested(operation="pivot", options=spread), Requested(operation="flatten"))
    processed = run_steps(frame_of(sales), read_steps(steps, OPERATIONS))
    assert processed.parts == {
        "paid, Oslo, b": ("paid", "Oslo", "b"),
        "paid, Rome, north, a": ("paid", "Rome, north", "a"),
    }


def test_texts_of_arrow_are_the_texts_that_python_values_make() -> None:
    texts = ["a", None, ""]
    ready, made = (
        to_pandas(frame_of({"x": values}, x=ValueKind.TEXT))["x"]
        for values in (pa.array(texts, pa.large_string()), texts)
    )
    pd.testing.assert_series_equal(ready, made)
    assert ready.isna().tolist() == [False, True, False]
