"""Answers as those who draw them take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analytics_core._pictures.data import PictureData
from analytics_core.errors import AnalyticsError

if TYPE_CHECKING:
    from analytics_core._results.answer import ChartData, LimitEntry, QueryResult


def picture_data(answer: ChartData) -> tuple[PictureData, ...]:
    """Return the results of an answer as those who draw them take them; one that failed says why."""
    return tuple(map(_data_of, answer.results))


def _data_of(result: QueryResult) -> PictureData:
    try:
        frame = result.frame
    except AnalyticsError as error:
        return PictureData(error=error.message)
    columns = {column.name: column.to_list() for column in frame.columns}
    return PictureData(
        columns=columns,
        labels={name: verbose for name, verbose in result.verbose_names.items() if verbose},
        temporal=frozenset(column.name for column in frame.columns if column.kind.is_temporal),
        notes=tuple(_limit_note(limit) for limit in result.limits if limit.cut),
        annotations={
            layer.name: {
                "annotation_type": layer.annotation_type,
                "source_type": layer.source_type,
                "columns": list(layer.columns),
                "records": [dict(record) for record in layer.records],
            }
            for layer in result.annotations
        },
    )


def _limit_note(limit: LimitEntry) -> str:
    if limit.rows is None:
        return f"The answer was cut by {limit.limit}."
    return f"Only the first {limit.rows:,} {'row' if limit.rows == 1 else 'rows'} are shown ({limit.limit})."
