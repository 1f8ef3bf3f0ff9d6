"""Results as people read them in a message: columns written for people, and a line that tells what cut the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.frames.values import text_value
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.display.values import shared_digits

if TYPE_CHECKING:
    from analytics_core._engine.results.answer import LimitEntry, QueryResult
    from analytics_core._engine.results.column_formats import ChartFormats

_EXACT_BELOW: Final = 1e15
_LONGEST_LINE: Final = 24


def readable_texts(values: Sequence[Any]) -> list[str]:
    """Return the text of each value of a column; binary fractions are rounded, those of one column alike.

    A column is left as it is where rounding would make a value 0, and where it holds values that are no plain numbers.
    Exact decimals are not rounded. Of moments that are all the beginning of a day only the day is told.
    """
    numbers = [value for value in values if value is not None]
    if numbers and all(map(_is_midnight, numbers)):
        return ["" if value is None else value.date().isoformat() for value in values]
    if not any(isinstance(value, float) for value in numbers) or not all(map(_is_plain, numbers)):
        return [text_value(value) for value in values]
    digits = shared_digits(numbers)
    if any(value and float(f"{value:.{digits}f}") == 0 for value in numbers):
        return [text_value(value) for value in values]
    return ["" if value is None else f"{value:.{digits}f}" for value in values]


def written_texts(name: str, values: Sequence[Any], result: QueryResult, formats: ChartFormats) -> list[str]:
    """Return the text of each value of a column of a result, as the chart's formats write it for people."""
    return formats.of(name, result.label_map.get(name, ())).texts(values, readable_texts)


def written_columns(result: QueryResult, *, most_rows: int, formats: ChartFormats) -> list[list[str]]:
    """Return the texts of the first rows of a result, column by column, as the formats of its chart write them."""
    columns = result.row_set.frame.columns
    return [written_texts(column.name, column.head(most_rows), result, formats) for column in columns]


def is_long(texts: Sequence[str]) -> bool:
    """Tell whether a column has texts that need several lines."""
    return any(len(text) > _LONGEST_LINE for text in texts)


def _is_midnight(value: Any) -> bool:
    return isinstance(value, datetime) and value == value and value.time() == time()  # noqa: PLR0124 - only NaT is not itself


def _is_plain(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and abs(value) < _EXACT_BELOW


def ledger(result: QueryResult, most_rows: int, *, names_setter: bool) -> str:
    """Return in one line how many rows there are, how many of them are shown, and what cut them.

    `names_setter` tells where a limit comes from: people who did not write the query, as those of a mail, are not told.
    """
    rows = len(result.row_set.frame)
    row_text = counted(rows, "row") if rows <= most_rows else f"first {most_rows} of {counted(rows, 'row')}"
    return "; ".join([row_text, *(_cut(limit, names_setter=names_setter) for limit in result.limits if limit.cut)])


def _cut(limit: LimitEntry, *, names_setter: bool) -> str:
    at = "cut" if limit.rows is None else f"cut at {counted(limit.rows, 'row')}"
    return f"{at} by {limit.limit}{f' ({limit.set_by})' if names_setter else ''}"
