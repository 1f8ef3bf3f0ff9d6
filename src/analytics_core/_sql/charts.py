"""Pictures of the rows of a statement: which of its columns are an axis, what tells series apart, what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from analytics_core._content.pictures.drawing import PictureDrawer, chart_look
from analytics_core._content.pictures.picture import Picture
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.pipeline import read_steps, run_steps
from analytics_core._engine.frames.registry import Operations
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.rows import ResultRows
from analytics_core._notebook.builder.charts import check_fields
from analytics_core._notebook.builder.forms import SHAPES, TABLE, ChartLayout, ChartShape
from analytics_core._superset.field_names import QUERY_WORDS
from analytics_core.errors import QueryError, UnknownNameError
from analytics_core.models.query import PostProcessingOperation

if TYPE_CHECKING:
    from analytics_core._content.runtime import ContentRuntime
    from analytics_core._engine.results.answer import QueryResult

_LOOK: Final[Mapping[str, Any]] = {"format": "png", "theme": "light", "width_px": None, "height_px": None, "scale": 1.0}
_BINS: Final = 20
_CHOOSING: Final = ("x_axis", "metric", "metrics", "groupby")


@dataclass(frozen=True, slots=True)
class ColumnUses:
    """What the columns of rows are for: the axis, what tells series apart, and what is measured."""

    axis: str | None
    groups: tuple[str, ...]
    metrics: tuple[str, ...]
    is_time: bool


def draw(result: QueryResult, kind: str, options: Mapping[str, Any], runtime: ContentRuntime | None) -> Picture:
    """Return the picture of a result.

    Raises:
        UnknownNameError: no such kind, or no such field of a form.
        QueryError: rows that such a chart cannot show, or no number for an option.
        MissingExtraError: nothing here draws.
    """
    assert runtime is not None  # noqa: S101 - results of statements have one; tells the type checker
    if kind != TABLE and kind not in SHAPES:
        raise UnknownNameError(str(kind), place=".chart", known=(TABLE, *SHAPES))
    look = chart_look(**{name: options.get(name, usual) for name, usual in _LOOK.items()})
    fields = {name: value for name, value in options.items() if name not in _LOOK and name != "title"}
    check_fields(kind, fields)
    chosen: dict[str, Any] = {name: fields.pop(name) for name in _CHOOSING if name in fields}
    if strange := next((name for name in fields if name in QUERY_WORDS), None):
        raise QueryError(
            f"the rows are there, and {strange} would ask for others; columns are chosen by x_axis, metrics, groupby"
        )
    drawn_kind = kind if len(result) else TABLE  # of no rows nobody knows which are numbers: "No data"
    uses = _uses(result, _checked(chosen, result))
    form, steps = _form(drawn_kind, uses, result.colnames)
    answer = ChartData(results=(result if drawn_kind == TABLE else _after(result, uses, steps),))
    return PictureDrawer(runtime).of_answer(answer, {**form, **fields}, look, title=str(options.get("title", "")))


def _checked(chosen: Mapping[str, Any], result: QueryResult) -> dict[str, tuple[str, ...]]:
    """Return the columns that somebody chose, by field; UnknownNameError for one that there is not."""
    named = {name: (value,) if isinstance(value, str) else tuple(value or ()) for name, value in chosen.items()}
    for column in (one for names in named.values() for one in names):
        if column not in result.colnames:
            raise UnknownNameError(str(column), place="the columns of the rows", known=result.colnames)
    return named


def _uses(result: QueryResult, chosen: Mapping[str, tuple[str, ...]]) -> ColumnUses:
    """Return what the columns are for: what was chosen, and of the others as follows.

    The axis is the first column of times, or else the first that is no number; the numbers are measured.
    """
    axis = next(iter(chosen.get("x_axis", ())), None)
    metrics = chosen.get("metrics") or chosen.get("metric") or ()
    taken = {axis, *metrics, *chosen.get("groupby", ())}
    free = [column for column in result.frame.columns if column.name not in taken]
    numbers = [column.name for column in free if column.kind.is_numeric or _is_nothing(column)]
    others = [column.name for column in free if column.name not in numbers]
    if axis is None:
        if not others and (metrics or len(numbers) > 1):
            others = numbers[:1]  # a year, a week: two numbers are an axis and a measure
            numbers = numbers[1:]
        times = (column.name for column in free if column.kind.is_temporal)
        axis = next(times, next(iter(others), None))
    kinds = {column.name: column.kind for column in result.frame.columns}
    return ColumnUses(
        axis=axis,
        groups=chosen.get("groupby", tuple(name for name in others if name != axis)),
        metrics=metrics or tuple(numbers),
        is_time=axis is not None and kinds[axis].is_temporal,
    )


def _is_nothing(column: FrameColumn) -> bool:
    """Tell whether a column has rows, and no value in them: nobody knows what it would hold."""
    return len(column.values) > 0 and column.null_count == len(column.values)


def _form(kind: str, uses: ColumnUses, names: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the form of a chart of these columns, and the steps that make the rows what such a chart takes."""
    if kind == TABLE:
        return {"viz_type": TABLE, "query_mode": "raw", "all_columns": list(names)}, []
    shape = SHAPES[kind]
    if not uses.metrics:
        raise QueryError(f"a {kind} chart needs a column of numbers, and the statement gave {', '.join(names)}")
    if shape.metrics == "metric" and len(uses.metrics) > 1:
        raise QueryError(
            f"a {kind} chart shows one column of numbers, and the statement gave {', '.join(uses.metrics)}; select one"
        )
    first = uses.metrics[0]
    measured: Any = first if shape.metrics == "metric" else list(uses.metrics)
    form: dict[str, Any] = {"viz_type": shape.viz_type, shape.metrics: measured}
    if shape.layout is ChartLayout.NUMBER:
        return _number(form, kind, uses), []
    if shape.layout is ChartLayout.DISTRIBUTION:
        options = {"column": first, "groupby": list(uses.groups), "bins": _BINS}
        return {"viz_type": shape.viz_type, **options}, [{"operation": "histogram", "options": options}]
    if uses.axis is None:
        raise QueryError(f"a {kind} chart needs a column of times or texts beside the numbers; select one")
    return _along(form, kind, shape, uses, uses.axis)


def _number(form: dict[str, Any], kind: str, uses: ColumnUses) -> dict[str, Any]:
    if uses.groups or (uses.axis is not None and not uses.is_time):
        raise QueryError(f"a {kind} chart shows one number, or one along time; select no other column")
    return {**form, "x_axis": uses.axis} if uses.axis is not None else {**form, "viz_type": "big_number_total"}


def _along(
    form: dict[str, Any], kind: str, shape: ChartShape, uses: ColumnUses, axis: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match shape.layout:
        case ChartLayout.SERIES:
            fields = {**form, "x_axis": axis, "groupby": list(uses.groups)}
            if not uses.groups:
                return fields, []
            sums = {name: {"operator": "sum"} for name in uses.metrics}
            pivot = {"index": [axis], "columns": list(uses.groups), "aggregates": sums, "drop_missing_columns": False}
            return fields, [{"operation": "pivot", "options": pivot}, {"operation": "flatten", "options": {}}]
        case ChartLayout.GRID:
            if len(uses.groups) != 1:
                raise QueryError(f"a {kind} chart needs two columns beside the number; select as many")
            return {**form, "x_axis": axis, "groupby": uses.groups[0]}, []
        case ChartLayout.PIVOT:
            return {**form, "groupbyRows": [axis, *uses.groups], "groupbyColumns": []}, []
    return {**form, shape.dimensions: [axis, *uses.groups]}, []


def _after(result: QueryResult, uses: ColumnUses, steps: Sequence[Mapping[str, Any]]) -> QueryResult:
    """Return the result with the columns that are drawn, after the steps."""
    drawn = {uses.axis, *uses.groups, *uses.metrics}
    frame = Frame(columns=tuple(column for column in result.frame.columns if column.name in drawn))
    operations = [PostProcessingOperation.model_validate(step) for step in steps]
    frame = run_steps(frame, read_steps(operations, Operations({}))).frame
    return replace(result, colnames=frame.names, rowcount=len(frame), row_set=ResultRows(frame))
