"""Which columns of a chart's answer an annotation layer shows; pure."""

from __future__ import annotations

from collections.abc import Iterator

from analytics_core._frames.frame import Frame
from analytics_core.errors import ErrorType, UnknownNameError
from analytics_core.models.query import AnnotationLayer, AnnotationType

_MARKS = frozenset({AnnotationType.EVENT, AnnotationType.INTERVAL})


class UnknownAnnotationColumnError(UnknownNameError):
    """An annotation layer names a column that the answer of its chart does not have."""

    noun = "column"
    default_type = ErrorType.COLUMN_DOES_NOT_EXIST_ERROR


def shown_columns(frame: Frame, layer: AnnotationLayer, *, chart_id: int) -> Frame:
    """Return the columns that the layer shows, in the order time, end, title, descriptions.

    Series show all columns, and so do events and intervals that name no description columns or no time column.

    Raises:
        UnknownAnnotationColumnError: the layer names a column that is not there.
    """
    if layer.annotation_type not in _MARKS or not len(frame):  # an empty answer may lack columns that steps would add
        return frame
    columns = {column.name: column for column in frame.columns}
    named = list(_named(layer))
    for place, name in named:
        if name not in columns:
            raise UnknownAnnotationColumnError(name, place=f"{place}: the answer of chart {chart_id}", known=columns)
    if not layer.description_columns or not layer.time_column:
        return frame
    return Frame(columns=tuple(columns[name] for name in dict.fromkeys(name for _, name in named)))


def _named(layer: AnnotationLayer) -> Iterator[tuple[str, str]]:
    """Yield the columns that a layer names, each with the field that names it."""
    if layer.time_column:
        yield "timeColumn", layer.time_column
    if layer.interval_end_column and layer.annotation_type is AnnotationType.INTERVAL:
        yield "intervalEndColumn", layer.interval_end_column
    if layer.title_column:
        yield "titleColumn", layer.title_column
    for name in layer.description_columns or ():
        yield "descriptionColumns", name
