"""What a value of a dashboard's filter asks of a chart."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from analytics_core._content.questions.dashboard_filters import DeclaredFilter, FilterKind
from analytics_core._content.questions.extra_filters import ExtraFilters, masked_filters
from analytics_core._engine.querying.placeholder_values import meant, note_of
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import TimeGrain
from analytics_core.models.parsing import check_text, payload_error

SHAPE: Final = "dashboards.data"
_SCALARS: Final = (str, int, float, bool, Decimal, datetime.date, type(None))


def filters_of_value(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    """Return what a value asks; nothing for None and for an empty list.

    Raises:
        PayloadSchemaError: the filter takes no such value.
    """
    check_text(value, shape=SHAPE)
    if value is None or (isinstance(value, list | tuple | set | frozenset) and not value):
        return ExtraFilters()
    return _READERS.get(declared.kind, _reject)(declared, value)


def filters_of_mask(mask: Any) -> ExtraFilters:
    """Return what a data mask asks, as pages keep it: `extraFormData`."""
    return masked_filters(mask.get("extraFormData") if isinstance(mask, Mapping) else None)


def as_meant(asks: ExtraFilters, holds: Callable[[Any, str], bool], *, name: str) -> ExtraFilters:
    """Return what the data mask of a front end asks, with null and the empty text where it writes other texts for them.

    Args:
        asks: what the mask asks.
        holds: tells whether a column holds a text itself.
        name: what the notes call that which is set by the mask.
    """
    read = [(item, *meant(item.get("op"), item.get("val"), partial(holds, item["col"]))) for item in asks.filters]
    notes = tuple(note_of(name, texts) for _, _, texts in read if texts)
    filters = tuple({**item, "val": value} if texts else item for item, value, texts in read)
    return replace(asks, filters=filters, notes=notes) if notes else asks


def value_of_mask(mask: Mapping[str, Any]) -> Any:
    """Return the value that a data mask shows; None where it shows none."""
    state = mask.get("filterState")
    return state.get("value") if isinstance(state, Mapping) else None


def filters_on_columns(given: Mapping[str, Any], *, place: str) -> ExtraFilters:
    """Return what values of columns ask: what people picked in a chart, which then filters the others."""
    check_text(given, shape=SHAPE)
    found = []
    for column, value in given.items():
        values = _scalars(value)
        if not values:
            raise payload_error(SHAPE, f"{place}.{column}", "must be a value or a list of values of a column")
        found.append({"col": column, "op": "IN", "val": values})
    return ExtraFilters(filters=tuple(found))


def _among(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    values = _scalars(value)
    if values is None:
        raise _misfit(declared, "must be a value or a list of values")
    operator = "NOT IN" if declared.control("inverseSelection") else "IN"
    return ExtraFilters(filters=({"col": declared.targets[0][1], "op": operator, "val": values},))


def _between(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    ends = list(value) if isinstance(value, list | tuple) else []
    is_range = len(ends) == 2 and all(isinstance(end, int | float | Decimal | None) for end in ends)
    if not is_range or any(isinstance(end, bool) for end in ends):
        raise _misfit(declared, "must be a pair of numbers, such as [10, None]")
    column, (low, high) = declared.targets[0][1], ends
    if low is not None and high is not None and low > high:
        raise _misfit(declared, "must be a pair of numbers, the smaller one first")
    if low is not None and low == high:
        return ExtraFilters(filters=({"col": column, "op": "==", "val": low},))
    bounds = ((">=", low), ("<=", high))
    return ExtraFilters(filters=tuple({"col": column, "op": op, "val": end} for op, end in bounds if end is not None))


def _time_range(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    return ExtraFilters(time_range=_text(declared, value, "a time range, such as 'Last week'"))


def _time_column(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    return ExtraFilters(granularity=_text(declared, value, "the name of a time column"))


def _time_grain(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    text = _text(declared, value, "a time grain, such as P1M")
    if text not in set(TimeGrain):
        raise _misfit(declared, f"{short_repr(text)} is no time grain; those are {', '.join(TimeGrain)}")
    return ExtraFilters(time_grain=text)


def _group_by(declared: DeclaredFilter, value: Any) -> ExtraFilters:
    return ExtraFilters(group_by=_names(declared, value))


def _reject(declared: DeclaredFilter, _value: Any) -> ExtraFilters:
    raise _misfit(declared, f"its kind {declared.item.get('filterType')!r} is not known here: give a data mask")


_READERS: Final[Mapping[FilterKind, Callable[[DeclaredFilter, Any], ExtraFilters]]] = {
    FilterKind.VALUES: _among,
    FilterKind.RANGE: _between,
    FilterKind.TIME_RANGE: _time_range,
    FilterKind.TIME_COLUMN: _time_column,
    FilterKind.TIME_GRAIN: _time_grain,
    FilterKind.GROUP_BY: _group_by,
}


def _names(declared: DeclaredFilter, value: Any) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(item, str) and item for item in listed):
        raise _misfit(declared, "must be the name of a column, or a list of names")
    return tuple(listed)


def _text(declared: DeclaredFilter, value: Any, wanted: str) -> str:
    text = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    if not isinstance(text, str) or not text:
        raise _misfit(declared, f"must be {wanted}")
    return text


def _scalars(value: Any) -> list[Any] | None:
    """Return a value or values as a list; None where something is no plain value."""
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return values if all(isinstance(item, _SCALARS) for item in values) else None


def _misfit(declared: DeclaredFilter, message: str) -> Exception:
    return payload_error(SHAPE, f"filters.{declared.name}", message)
