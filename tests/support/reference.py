"""Answers chart queries in plain Python: slow, obvious, and the measure for what engines answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from analytics_core._compile.calendar import truncate
from analytics_core.models.enums import TimeGrain

Row = dict[Any, Any]

REST = object()
"""The value of series columns in rows that fall out of a series limit; such a row has their names under it."""


def answer(query: dict[str, Any], rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return the rows of the answer in order; moments are naive datetimes."""
    kept = [row for row in rows if all(_holds(item, row) for item in query.get("filters", []))]
    if query.get("metrics") is None:
        raw = [tuple(row[name] for name in query["columns"]) for row in kept]
        return raw[: query.get("row_limit") or None]
    kept = _limited_series(query, kept)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in kept:
        groups.setdefault(tuple(_column(item, row) for item in query["columns"]), []).append(row)
    if not query["columns"] and not groups:
        groups[()] = []
    found = [(*key, *(_metric(item, members) for item in query["metrics"])) for key, members in groups.items()]
    offset = query.get("row_offset") or 0
    ordered = _ordered(query, found)
    return _named(query, ordered[offset : offset + query["row_limit"]])


def _named(query: dict[str, Any], found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows with series as text and the rest as 'Others', or another name where a series is called so."""
    if not query.get("group_others_when_limit_reached") or not query.get("series_limit"):
        return found
    places = [query["columns"].index(name) for name in query["series_columns"]]
    name = "Others (rest)" if any(row[place] == "Others" for row in found for place in places) else "Others"
    return [tuple(_text(v, name) if i in places else v for i, v in enumerate(row)) for row in found]


def _text(value: Any, rest: str) -> str | None:
    return rest if value is REST else None if value is None else str(value)


def _column(item: Any, row: Row) -> Any:
    if isinstance(item, str):
        return REST if item in row.get(REST, ()) else row[item]
    value = row[item["sqlExpression"]]
    return None if value is None else truncate(_as_moment(value), TimeGrain(item["timeGrain"]))


def _as_moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _metric(item: dict[str, Any], members: list[Row]) -> Any:
    values = [row[item["column"]["column_name"]] for row in members]
    present = [value for value in values if value is not None]
    return _AGGREGATES[item["aggregate"]](present)


def _summed(values: list[Any]) -> Any:
    if not values:
        return None
    total = sum(Fraction(value) for value in values)
    return float(total) if any(isinstance(value, float) for value in values) else int(total)


def _mean(values: list[Any]) -> float | None:
    return float(sum(Fraction(value) for value in values) / len(values)) if values else None


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "COUNT": len,
    "COUNT_DISTINCT": lambda values: len(set(values)),
    "SUM": _summed,
    "AVG": _mean,
    "MIN": lambda values: _plain(min(values)) if values else None,
    "MAX": lambda values: _plain(max(values)) if values else None,
}


def _limited_series(query: dict[str, Any], rows: list[Row]) -> list[Row]:
    limit = query.get("series_limit")
    if not limit:
        return rows
    names = query["series_columns"]
    metric = query.get("series_limit_metric") or query["metrics"][0]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    ranked = sorted(groups, key=lambda key: [_sort_key(part) for part in key])
    descending = query.get("order_desc") is not False
    ranked.sort(key=lambda key: _sort_key(_metric(metric, groups[key]), descending=descending))
    best = set(ranked[:limit])
    if query.get("group_others_when_limit_reached"):
        return [row if tuple(row[name] for name in names) in best else {**row, REST: names} for row in rows]
    return [row for row in rows if tuple(row[name] for name in names) in best]


def _ordered(query: dict[str, Any], found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    labels = [item if isinstance(item, str) else item["label"] for item in (*query["columns"], *query["metrics"])]
    width = len(query["columns"])
    found = sorted(found, key=lambda row: [*map(_sort_key, row[:width]), (REST in row[:width],)])
    for label, ascending in reversed(query.get("orderby", [])):
        place = labels.index(label)
        found.sort(key=lambda row: _sort_key(row[place], descending=not ascending))
    return found


class _Reversed:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


def _sort_key(value: Any, *, descending: bool = False) -> tuple[Any, ...]:
    if value is None or value is REST:
        return (1,)
    return (0, _Reversed(value) if descending else value)


def _holds(item: dict[str, Any], row: Row) -> bool:
    value, op, wanted = row[item["col"]], item["op"], item.get("val")
    if op in ("IS NULL", "IS NOT NULL"):
        return (value is None) == (op == "IS NULL")
    if value is None:
        return op in ("IN", "==") and (wanted is None or (isinstance(wanted, list) and None in wanted))
    if op in ("IN", "NOT IN"):
        return (value in [_like_column(value, one) for one in wanted]) == (op == "IN")
    if op in ("IS TRUE", "IS FALSE"):
        return bool(value) == (op == "IS TRUE")
    if op.endswith("LIKE"):
        flags = re.IGNORECASE if "ILIKE" in op else 0
        return bool(re.fullmatch(_pattern(wanted), str(value), flags | re.DOTALL)) != op.startswith("NOT")
    return _COMPARISONS[op](value, _like_column(value, wanted))


def _like_column(value: Any, wanted: Any) -> Any:
    if isinstance(value, datetime) and isinstance(wanted, str):
        return datetime.fromisoformat(wanted)
    if isinstance(value, date) and isinstance(wanted, str):
        return date.fromisoformat(wanted[:10])
    return wanted


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: b is None or a != b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


def _pattern(text: str) -> str:
    parts, escaped = [], False
    for char in text:
        if escaped or char not in "%_\\":
            parts.append(re.escape(char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append(".*" if char == "%" else ".")
    return "".join(parts)
