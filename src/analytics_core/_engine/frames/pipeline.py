"""Applies post-processing operations to a frame, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import ValidationError

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.registry import FrameWithNotes, Operation
from analytics_core._engine.frames.values import value_types
from analytics_core.errors import LimitError, PostProcessingError, UnknownOperationError
from analytics_core.models.parsing import schema_error

if TYPE_CHECKING:
    import pandas as pd

    from analytics_core.models.postprocessing import OperationOptions


_OBJECTS: Final = (ValueKind.TIME, ValueKind.BYTES, ValueKind.OTHER, ValueKind.UNKNOWN)
"""The kinds that pandas has no dtype for."""

_DAYS: Final = "datetime64[s]"


class RequestedStep(Protocol):
    """One step of a query's post-processing as the payload has it."""

    @property
    def operation(self) -> str:
        """The name of the operation."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An operation with checked options; `place` says for messages where it stands."""

    place: str
    operation: Operation
    options: OperationOptions

    @property
    def unread(self) -> tuple[str, ...]:
        """The names of options that were given and have no effect, sorted."""
        return self.options.unread()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedFrame:
    """A frame after its steps, the parts of the labels that they joined, and what they note."""

    frame: Frame
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_steps(requested: Sequence[RequestedStep], operations: Mapping[str, Operation]) -> tuple[Step, ...]:
    """Return the steps of a query with their options checked; done before any statement runs.

    Raises:
        UnknownOperationError: a step names an operation that is not registered.
        PostProcessingError: an option is missing, of the wrong type or out of bounds.
    """
    return tuple(_read_step(step, position, operations) for position, step in enumerate(requested))


def _read_step(requested: RequestedStep, position: int, operations: Mapping[str, Operation]) -> Step:
    place = f"post_processing[{position}]"
    if requested.operation not in operations:
        raise UnknownOperationError(requested.operation, place=place, known=operations)
    operation = operations[requested.operation]
    place = f"{place} ({requested.operation})"
    return Step(place=place, operation=operation, options=read_options(operation, requested.options, place=place))


def read_options(operation: Operation, options: Mapping[str, Any], *, place: str) -> OperationOptions:
    """Return the options of an operation, checked.

    Raises:
        PostProcessingError: an option is missing, of the wrong type or out of bounds; the message names each.
    """
    try:
        return operation.options.model_validate(dict(options))
    except ValidationError as error:
        found = schema_error(error, shape=place, model=operation.options)
        message = "; ".join(f"{problem.path}: {problem.message}" for problem in found.problems)
        raise PostProcessingError(f"{place}: {message}") from None


def run_steps(frame: Frame, steps: Sequence[Step], *, check: Callable[[], None] = lambda: None) -> ProcessedFrame:
    """Return the frame after all steps, its labels unescaped, and what the steps note.

    `check` is called before each step; it raises to stop. Labels of several levels that are left at the end become one,
    and a named index becomes columns, as `flatten` does.

    Raises:
        PostProcessingError, LimitError: a step cannot run; the message names it.
    """
    if not steps:
        return ProcessedFrame(frame=frame)
    from analytics_core._engine.frames.pandas_frames import from_pandas, to_pandas

    table = _with_days_marked(to_pandas(frame), frame)
    notes: list[str] = []
    for step in steps:
        check()
        noted = run_step(step, table)
        table = noted.frame
        notes += noted.notes
    table = run_step(_last_step(after=steps[-1]), table).frame
    days = [str(dtype) == _DAYS for dtype in table.dtypes]
    parts = _labels_with_parts(table, frame.names)
    return ProcessedFrame(frame=_with_kinds(from_pandas(table), frame, days), parts=parts, notes=tuple(notes))


def _labels_with_parts(table: pd.DataFrame, before: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Unescape the labels of the table, the caller's own, and return the parts of each that was joined.

    A label that holds a name of `before` with the separator in it was not joined there: it has one part.
    """
    from analytics_core._engine.frames.columns import SEPARATOR, label_index, split_label
    from analytics_core._engine.frames.operations.flatten import display_labels

    labels = [str(label) for label in table.columns]
    displayed = display_labels(labels)
    table.columns = label_index(displayed)
    full_labels = [name for name in before if SEPARATOR in name]
    joined = {
        name: split_label(label)
        for name, label in zip(displayed, labels, strict=True)
        if SEPARATOR in label and not any(full_label in label for full_label in full_labels)
    }
    return {name: parts for name, parts in joined.items() if len(parts) > 1}


def _with_days_marked(table: pd.DataFrame, frame: Frame) -> pd.DataFrame:
    """Return the table with its days in whole seconds, as no moments of an engine are: so steps may rename them."""
    for place, column in enumerate(frame.columns):
        if column.kind is ValueKind.DATE and table.dtypes.iloc[place].kind == "M":
            days: Any = table.iloc[:, place].astype(_DAYS)
            table.isetitem(place, days)
    return table


def _with_kinds(after: Frame, before: Frame, days: Sequence[bool]) -> Frame:
    """Return the frame with columns in their own kind where pandas has none: days, and bytes and lists of before."""
    known = {column.name: column for column in before.columns}
    columns = zip(after.columns, days, strict=True)
    return Frame(columns=tuple(_in_kind(column, known.get(column.name), is_days=day) for column, day in columns))


def _in_kind(column: FrameColumn, before: FrameColumn | None, *, is_days: bool) -> FrameColumn:
    if is_days or (before is not None and before.kind is ValueKind.DATE):
        return _as_days(column)
    if before is None:
        return column
    if before.kind in _OBJECTS and value_types(column.to_list()) <= value_types(before.to_list()):
        return replace(column, kind=before.kind)
    return column


def _as_days(column: FrameColumn) -> FrameColumn:
    values = column.to_list()
    if not all(value is None or (isinstance(value, datetime) and value.time() == time.min) for value in values):
        return column
    days = [None if value is None else value.date() for value in values]
    return replace(column, kind=ValueKind.DATE, values=days)


def run_step(step: Step, table: pd.DataFrame) -> FrameWithNotes:
    """Return the table after one step, and its notes with the place of the step before them.

    Raises:
        PostProcessingError, LimitError: the step cannot run; the message names it.
    """
    try:
        answer = step.operation.apply(table, step.options)
    except (PostProcessingError, LimitError) as error:
        message = f"{step.place}: {error.message}"
        raise type(error)(message, error_type=error.error_type, level=error.level, extra=error.extra) from None
    except MemoryError:
        raise LimitError(f"{step.place}: the result does not fit into memory") from None
    except Exception as error:  # the border to pandas, NumPy and plug-ins; their text may hold values of rows
        raise PostProcessingError(
            f"{step.place}: the operation does not work on this frame ({type(error).__name__}); "
            f"its columns are: {_columns_of(table)}"
        ) from None
    if isinstance(answer, FrameWithNotes):
        return FrameWithNotes(frame=answer.frame, notes=tuple(f"{step.place}: {note}" for note in answer.notes))
    return FrameWithNotes(frame=answer, notes=())


def _columns_of(table: pd.DataFrame) -> str:
    from analytics_core._engine.frames.columns import labels, listed

    return listed(labels(table))


def _last_step(*, after: Step) -> Step:
    """Return the step that nobody asks for: flat labels, a named index as columns."""
    from analytics_core.models.postprocessing import OperationOptions

    flatten = Operation(name="flatten", options=OperationOptions, apply=_finished)
    return Step(place=f"after {after.place}", operation=flatten, options=OperationOptions())


def _finished(table: pd.DataFrame, _options: OperationOptions) -> pd.DataFrame:
    from analytics_core._engine.frames.operations.flatten import flattened_for_output

    return flattened_for_output(table)
