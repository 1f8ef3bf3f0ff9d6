"""Answers as those who draw them take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analytics_core._pictures.data import PictureData
from analytics_core.errors import AnalyticsError

if TYPE_CHECKING:
    from analytics_core._engine.results.answer import ChartData, LimitEntry, QueryResult


def picture_data(answer: ChartData, form: Mapping[str, Any] | None = None) -> tuple[PictureData, ...]:
    """Return the results of an answer as those who draw them take them; one that failed says why.

    A limit that cut is a note, but where the form data ask for just so many groups: the rest was not wanted.
    """
    return tuple(_data_of(result, form or {}) for result in answer.results)


def failure_of(answer: ChartData) -> AnalyticsError | None:
    """Return why the first query without an answer has none; None where all have one."""
    for result in answer.results:
        try:
            result.frame  # noqa: B018 - reading it raises what failed
        except AnalyticsError as error:
            return error
    return None


def _data_of(result: QueryResult, form: Mapping[str, Any]) -> PictureData:
    try:
        frame = result.frame
    except AnalyticsError as error:
        return PictureData(error=error.message)
    columns = {column.name: column.to_list() for column in frame.columns}
    return PictureData(
        columns=columns,
        labels={name: verbose for name, verbose in result.verbose_names.items() if verbose},
        temporal=frozenset(column.name for column in frame.columns if column.kind.is_temporal),
        notes=(
            *(_limit_note(limit) for limit in result.limits if limit.cut and not _is_wanted(limit, form)),
            *(f"{caveat[:1].upper()}{caveat[1:]}." for caveat in result.caveats),
        ),
        is_cut=any(limit.cut for limit in result.limits),
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
    return f"The first {limit.rows:,} {'row' if limit.rows == 1 else 'rows'}; there are more ({limit.limit})."


def _is_wanted(limit: LimitEntry, form: Mapping[str, Any]) -> bool:
    """Tell whether form data ask for the first groups by an order, and no more: forms order groups, but not rows."""
    is_requested = limit.limit == "row_limit" and str(form.get("row_limit")) == str(limit.rows)
    if not is_requested or form.get("time_grain_sqla"):
        return False
    return form.get("query_mode") != "raw" or bool(form.get("order_by_cols"))
