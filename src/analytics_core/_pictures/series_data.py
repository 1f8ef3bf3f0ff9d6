"""Series along an axis, read from the columns of an answer: one column a series, or one row a point."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.drawing import CannotDrawError
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.table import Table
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.display.text import distinct_texts

_TIME: Final = "__timestamp"
_MOST_SERIES: Final = 100
MOST_READABLE: Final = 25
"""More series than this are a tangle that no legend explains."""

_OTHERS: Final = "Other series"
MOST_POINTS: Final = 4_000
"""Bands, labels and lone points come on top, up to 5,000 marks in all."""

_EXPECTED, _LOWER, _UPPER = "__yhat", "__yhat_lower", "__yhat_upper"
_NO_VALUE: Final = -math.inf


class AxisKind(StrEnum):
    """What the places of an axis are."""

    TIME = "time"
    NUMBER = "number"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedSeries:
    """One series: its values, one for each place of the axis.

    Args:
        label: what the legend says.
        values: None where there is none.
        period: the period that the series is compared with; None for the series of the chart's own time.
        base: the label of the series that this one is compared with, or that it goes on with.
        lower: the lower end of a forecast.
        upper: the upper end of it.
        is_forecast: whether the values are expected ones.
    """

    label: str
    values: Sequence[float | None]
    period: str | None = None
    base: str | None = None
    lower: Sequence[float | None] = ()
    upper: Sequence[float | None] = ()
    is_forecast: bool = False

    def known(self) -> list[float]:
        """Return the values without the missing ones."""
        return [value for value in self.values if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesData:
    """Series and the places that they share.

    Args:
        axis: what the axis is called.
        kind: what the places are.
        places: milliseconds, numbers or labels; each once.
        series: in the order of the legend.
        notes: what was left out.
        left_out: how many series were left out when they were read.
    """

    axis: str
    kind: AxisKind
    places: Sequence[Any]
    series: Sequence[PlottedSeries]
    notes: tuple[str, ...] = ()
    omitted: int = 0

    @property
    def marks(self) -> int:
        """How many points there are."""
        return len(self.places) * len(self.series)


def read_series(table: Table, form: FormFields, *, is_bar: bool, suffix: str = "") -> SeriesData:
    """Return the series of an answer.

    Args:
        table: the answer.
        form: the fields of the chart.
        is_bar: whether numbers on the axis are categories, as bars have it.
        suffix: ends the names of the fields of a second query.

    Raises:
        CannotDrawError: there is no column of numbers.
    """
    axis = _axis_column(table, form)
    metrics = form.metrics(f"metrics{suffix}", f"metric{suffix}")
    dimensions = [name for name in table.names if name != axis and not _is_measured(table, name, metrics)]
    measured = [name for name in table.names if name != axis and name not in dimensions]
    if len(measured) > 1:
        measured = [name for name in measured if not _only_sorts(form, metrics, name)]
    if not measured:
        raise CannotDrawError("the answer has no column of numbers.")
    kind = _axis_kind(table, form, axis, is_bar=is_bar)
    found = _long(table, axis, dimensions, measured) if dimensions and axis else _wide(table, axis, measured)
    found = _placed(found, table, axis, kind)
    series = _without_metric(_distinct(found.series), metrics)
    found = replace(found, series=tuple(_with_roles(series, form.items(f"time_compare{suffix}"))))
    return sorted_series(found, form)


def _axis_column(table: Table, form: FormFields) -> str | None:
    form_names = form.columns("x_axis")
    for name in (*form_names[:1], _TIME, *form.columns("granularity_sqla")):
        if name in table.names:
            return name
    temporal = [name for name in table.names if table.is_temporal(name)]
    others = [name for name in table.names if not table.is_numeric(name)]
    return next(iter((*temporal, *others)), table.names[0] if len(table.names) > 1 else None)


def _is_measured(table: Table, name: str, metrics: Sequence[str]) -> bool:
    if table.is_numeric(name) or name in metrics:
        return True
    return all(cells.plain(value) is None for value in table.values(name))


def _only_sorts(form: FormFields, metrics: Sequence[str], name: str) -> bool:
    return name == form.get("x_axis_sort") and bool(metrics) and name not in metrics


def _axis_kind(table: Table, form: FormFields, axis: str | None, *, is_bar: bool) -> AxisKind:
    if axis is None or form.flag("xAxisForceCategorical"):
        return AxisKind.CATEGORY
    if table.is_temporal(axis):
        return AxisKind.TIME
    return AxisKind.NUMBER if table.is_numeric(axis) and not is_bar else AxisKind.CATEGORY


def _wide(table: Table, axis: str | None, measured: Sequence[str]) -> SeriesData:
    series = [PlottedSeries(label=table.label(name), values=table.numbers(name)) for name in measured]
    places = list(range(table.rows))
    return SeriesData(axis=table.label(axis) if axis else "", kind=AxisKind.CATEGORY, places=places, series=series)


def _long(table: Table, axis: str, dimensions: Sequence[str], measured: Sequence[str]) -> SeriesData:
    """Return a series for each combination of the dimensions; of rows with one place the last counts."""
    groups = list(zip(*(table.texts(name) for name in dimensions), strict=True))
    keys = [_key(value) for value in table.values(axis)]
    first = {key: row for row, key in reversed(list(enumerate(keys)))}
    rows = sorted(first.values())
    place_of = {keys[row]: place for place, row in enumerate(rows)}
    found: dict[str, dict[int, float]] = {}
    for name in measured:
        head = [table.label(name)] if len(measured) > 1 else []
        for group, key, value in zip(groups, keys, table.numbers(name), strict=True):
            points = found.setdefault(", ".join([*head, *group]), {})
            if value is not None:
                points[place_of[key]] = value
    largest = _largest({label: list(points.values()) for label, points in found.items()}, _MOST_SERIES)
    series = [
        PlottedSeries(label=cells.shortened(label), values=[found[label].get(place) for place in range(len(rows))])
        for label in largest
    ]
    remaining = len(found) - len(largest)
    return SeriesData(axis=table.label(axis), kind=AxisKind.CATEGORY, places=rows, series=series, omitted=remaining)


def _largest(values: Mapping[str, Sequence[float]], most: int) -> list[str]:
    """Return the labels of the series with the largest sums, in their order."""
    if len(values) <= most:
        return list(values)
    sums = {label: math.fsum(abs(value) for value in own) for label, own in values.items()}
    labels = set(sorted(sums, key=lambda label: -sums[label])[:most])
    return [label for label in values if label in labels]


def _key(value: Any) -> str:
    return f"{type(value).__name__} {cells.text(value)}"


def _placed(data: SeriesData, table: Table, axis: str | None, kind: AxisKind) -> SeriesData:
    """Return series whose places are values of the axis instead of numbers of rows."""
    rows = list(data.places)
    if axis is None:
        return replace(data, kind=kind, places=cells.made_distinct("" for _ in rows) if len(rows) > 1 else ["all"])
    if kind is AxisKind.CATEGORY:
        texts = table.texts(axis)
        return replace(data, kind=kind, places=cells.made_distinct(texts[row] for row in rows))
    values: Sequence[float | None] = table.moments(axis) if kind is AxisKind.TIME else table.numbers(axis)
    known = [place for place, row in enumerate(rows) if values[row] is not None]
    if not known:
        raise CannotDrawError(f"{data.axis} has no values.")
    remaining = len(rows) - len(known)
    notes = (f"Left out: {counted(remaining, 'row')} without a value of {data.axis}.",) if remaining else ()
    order = sorted(known, key=lambda place: values[rows[place]])
    return replace(
        _taken(data, order), kind=kind, places=[values[rows[place]] for place in order], notes=(*data.notes, *notes)
    )


def _taken(data: SeriesData, order: Sequence[int]) -> SeriesData:
    """Return the series at some of their places, in another order."""
    return replace(
        data,
        places=[data.places[place] for place in order],
        series=tuple(mapped(one, lambda values: [values[place] for place in order]) for one in data.series),
    )


def mapped(series: PlottedSeries, change: Callable[[Sequence[float | None]], Sequence[float | None]]) -> PlottedSeries:
    """Return a series whose values, and the ends of its forecast, are changed alike."""
    lower, upper = (change(end) if end else () for end in (series.lower, series.upper))
    return replace(series, values=change(series.values), lower=lower, upper=upper)


def _distinct(series: Sequence[PlottedSeries]) -> list[PlottedSeries]:
    labels = distinct_texts([one.label for one in series])
    return [replace(one, label=label) for one, label in zip(series, labels, strict=True)]


def _without_metric(series: list[PlottedSeries], metrics: Sequence[str]) -> list[PlottedSeries]:
    """Return series whose labels do not begin with the only metric, as those of pivoted answers do."""
    start = f"{metrics[0]}, " if len(metrics) == 1 else ""
    if not start or len(series) < 2 or not all(one.label.startswith(start) for one in series):
        return series
    return [replace(one, label=one.label.removeprefix(start)) for one in series]


def _with_roles(series: Sequence[PlottedSeries], periods: Sequence[Any]) -> list[PlottedSeries]:
    """Return the series with what they are to each other: forecasts of one, or one at another time."""
    by_label = {one.label: one for one in series}
    ends = [
        one.label for one in series if one.label.endswith((_LOWER, _UPPER)) and one.label.rpartition("_")[0] in by_label
    ]
    found = []
    for one in series:
        if one.label in ends:
            continue
        if one.label.endswith(_EXPECTED):
            lower, upper = (by_label.get(one.label + end) for end in ("_lower", "_upper"))
            base = one.label.removesuffix(_EXPECTED)
            found.append(
                replace(
                    one,
                    label=f"{base} (forecast)",
                    base=base if base in by_label else None,
                    lower=lower.values if lower else (),
                    upper=upper.values if upper else (),
                    is_forecast=True,
                )
            )
        else:
            found.append(_compared(one, by_label, [str(period) for period in periods]))
    return found


def _compared(series: PlottedSeries, others: Mapping[str, PlottedSeries], periods: Sequence[str]) -> PlottedSeries:
    label = series.label
    for period in periods:
        if label == period:
            own = [other for other in others if other not in periods]
            return replace(series, period=period, base=own[0] if own else None)
        for there in (f"{period}, ", f", {period}", f"__{period}"):
            if there in label:
                base = label.replace(there, "", 1)
                return replace(series, period=period, base=base if base in others else None)
    return series


_ORDERS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "sum": math.fsum,
    "min": min,
    "max": max,
    "avg": lambda values: math.fsum(values) / len(values),
}


def sorted_series(data: SeriesData, form: FormFields) -> SeriesData:
    """Return the series, and the categories of the axis, in the order that the form asks for."""
    order = form.text("sort_series_type")
    if order == "name" or (order in _ORDERS and form.get("sort_series_ascending") is not None):
        ascending = form.flag("sort_series_ascending")
        keys = [one.label if order == "name" else _aggregate(order, one.known()) for one in data.series]
        ranked = sorted(range(len(keys)), key=lambda place: keys[place], reverse=not ascending)
        data = replace(data, series=tuple(data.series[place] for place in ranked))
    order = form.text("x_axis_sort_series")
    if data.kind is not AxisKind.CATEGORY or len(data.series) < 2 or order not in ("name", *_ORDERS):
        return data
    if form.get("x_axis_sort") and not form.items("groupby"):
        return data
    columns = list(zip(*(one.values for one in data.series), strict=True))
    keys = [
        label if order == "name" else _aggregate(order, [value for value in column if value is not None])
        for label, column in zip(data.places, columns, strict=True)
    ]
    ascending = form.flag("x_axis_sort_series_ascending", absent=True)
    return _taken(data, sorted(range(len(keys)), key=lambda place: keys[place], reverse=not ascending))


def _aggregate(order: str | None, values: Sequence[float]) -> float:
    return _ORDERS[order or "sum"](values) if values else _NO_VALUE


def limited(
    data: SeriesData,
    *,
    averages: bool,
    most_series: int = MOST_READABLE,
    most_points: int = MOST_POINTS,
    has_others: bool = False,
) -> SeriesData:
    """Return as many points as can be drawn: those of the largest series; of neighbours the mean, or the first.

    Args:
        data: the series.
        averages: whether neighbours may become their mean.
        most_series: how many series can be told apart.
        most_points: how many points there may be.
        has_others: whether those beyond are one more series, of their sums, rather than left out.
    """
    data = _of_largest(data, most_series, has_others=has_others)
    notes = list(data.notes)
    most = max(1, most_points // max(len(data.series), 1))
    count = len(data.places)
    if count > most and averages and data.kind is not AxisKind.CATEGORY:
        step = -(-count // most)
        notes.append(f"Each point is the mean of up to {step} neighbouring ones: {count:,} are too many to draw.")
        return replace(_averaged(data, step), notes=tuple(notes))
    if count > most:
        notes.append(f"Shows the first {most:,} of {count:,} values of {data.axis}.")
        data = _taken(data, range(most))
    return replace(data, notes=tuple(notes))


def _of_largest(data: SeriesData, most: int, *, has_others: bool) -> SeriesData:
    largest = set(_largest({one.label: one.known() for one in data.series}, most))
    others = [one for one in data.series if one.label not in largest]
    if not others and not data.omitted:
        return data
    series = [one for one in data.series if one.label in largest]
    if has_others and others and not data.omitted:
        series.append(PlottedSeries(label=_OTHERS, values=_summed(others)))
        note = f"{_OTHERS}: the sum of {len(others):,} smaller ones."
    else:
        note = f"Shows the {len(series):,} largest of {len(data.series) + data.omitted:,} series."
    return replace(data, series=tuple(_distinct(series)), notes=(*data.notes, note))


def _summed(series: Sequence[PlottedSeries]) -> list[float | None]:
    columns = (
        [value for value in column if value is not None] for column in zip(*(s.values for s in series), strict=True)
    )
    known = [[value for value in column if value is not None] for column in columns]
    return [cells.total(values) if values else None for values in known]


def _averaged(data: SeriesData, step: int) -> SeriesData:
    starts = range(0, len(data.places), step)

    def means(values: Sequence[float | None]) -> list[float | None]:
        parts = [[value for value in values[start : start + step] if value is not None] for start in starts]
        return [math.fsum(part) / len(part) if part else None for part in parts]

    series = tuple(mapped(one, means) for one in data.series)
    return replace(data, places=[data.places[start] for start in starts], series=series)
