"""Answers random queries in plain Python, as the contract and `docs/explanation` say; nothing of the engine is used.

Slow and obvious on purpose. A payload is read as a client wrote it; rows are those that `world.seen` gives.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.differential.world import COLUMNS, Dataset, Row

Bounds = tuple[datetime | None, datetime | None]
NOW = datetime(2024, 7, 1, 12, tzinfo=UTC)
OPEN: Bounds = (None, None)
RANGES: Mapping[str, Bounds] = {
    "No filter": OPEN,
    "2024-01-01 : 2024-03-01": (datetime(2024, 1, 1), datetime(2024, 3, 1)),
    "2023-11-15T06:00:00 : 2024-02-10T18:30:00": (datetime(2023, 11, 15, 6), datetime(2024, 2, 10, 18, 30)),
    "2024": (datetime(2024, 1, 1), datetime(2025, 1, 1)),
    "2023-06": (datetime(2023, 6, 1), datetime(2023, 7, 1)),
    "2024-02-29": (datetime(2024, 2, 29), datetime(2024, 3, 1)),
    "2023-12-31T22:00:00-02:00 : 2024-04-01": (datetime(2024, 1, 1), datetime(2024, 4, 1)),
    "Last month": (datetime(2024, 6, 1), datetime(2024, 7, 1)),
    "Last 90 days": (datetime(2024, 4, 2), datetime(2024, 7, 1)),
    "Last year": (datetime(2023, 7, 1), datetime(2024, 7, 1)),
    "previous calendar quarter": (datetime(2024, 4, 1), datetime(2024, 7, 1)),
    " : 2024-02-01": (None, datetime(2024, 2, 1)),
    "2024-01-15 : ": (datetime(2024, 1, 15), None),
}
"""What each range text means at `NOW`."""

OFFSETS: Mapping[str, tuple[str, int]] = {
    "1 year ago": ("months", -12),
    "1 month ago": ("months", -1),
    "1 quarter ago": ("months", -3),
    "28 days ago": ("days", -28),
    "1 week later": ("days", 7),
}
"""Offsets in words: how far the compared range lies from the main one."""

WHERE: Mapping[str, Callable[[Row], bool | None]] = {
    "qty > 3": lambda row: _known(row["qty"], lambda qty: qty > 3),
    "(qty IS NULL OR price > 100)": lambda row: row["qty"] is None or _known(row["price"], lambda p: p > 100),
    "COALESCE(qty, 0) + 1 > 5": lambda row: (row["qty"] or 0) + 1 > 5,
    "NOT (qty = 5 OR flag IS NULL)": lambda row: False if row["flag"] is None else _known(row["qty"], lambda q: q != 5),
    "qty BETWEEN {{ 1 + 1 }} AND {{ url_param('top', 9) | int }}": lambda row: _known(
        row["qty"], lambda q: 2 <= q <= 9
    ),
}
"""Conditions in SQL that mean the same on every engine, and what they mean."""

HAVING: Mapping[str, Callable[[Sequence[Row]], bool | None]] = {
    "COUNT(*) > 2": lambda members: len(members) > 2,
    "SUM(qty) > 10": lambda members: _known(_summed(_present(members, "qty")), lambda total: total > 10),
}
SQL_METRICS: Mapping[str, Callable[[Sequence[Row]], Any]] = {
    "COUNT(*)": len,
    "SUM(qty)": lambda members: _summed(_present(members, "qty")),
    "SUM(qty * 2)": lambda members: _known(_summed(_present(members, "qty")), lambda total: total * 2),
    "MAX(qty) - MIN(qty)": lambda members: _spread(_present(members, "qty")),
}


REST = object()
"""The value of series columns in rows that fall out of a series limit, until it gets its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The rows of an answer; `is_ordered` False: any order, and a limit may have picked any of them."""

    rows: list[tuple[Any, ...]]
    is_ordered: bool
    size: int


def answer(query: Mapping[str, Any], dataset: Dataset, rows: Sequence[Row], *, saved: Mapping[str, str]) -> Expected:
    """Return what a query answers over the rows of a dataset."""
    requested = _Requested(query, dataset, saved)
    if query.get("result_type") in ("samples", "drill_detail"):
        return requested.details(rows)
    if query.get("metrics") is None:
        return requested.raw(rows)
    return requested.grouped(rows)


class _Requested:
    """One query with its defaults filled in, and the steps of its evaluation."""

    def __init__(self, query: Mapping[str, Any], dataset: Dataset, saved: Mapping[str, str]) -> None:
        self.query = query
        self.dataset = dataset
        self.saved = saved
        self.axis = next((c for c in query.get("columns", ()) if not isinstance(c, str)), None)
        self.granularity = query.get("granularity")
        self.grain = (query.get("extras") or {}).get("time_grain_orm")
        self.columns = [self._read(column) for column in query.get("columns", ())]
        self.metrics = list(query.get("metrics") or ())

    # ---------------------------------------------------------------------------------------------- kinds of answers
    def grouped(self, rows: Sequence[Row]) -> Expected:
        hits = self._passing(rows, self.bounds())
        best = self._best_series(hits)
        groups = self._groups(hits, best)
        found = [(key, members) for key, members in groups.items() if self._having(members)]
        table = [(*key, *(self._metric(item, members) for item in self.metrics)) for key, members in found]
        table = self._page(self._ordered(table))
        if self.query.get("is_rowcount"):
            return Expected(rows=[(len(table),)], is_ordered=True, size=1)
        for offset in self.query.get("time_offsets", ()):
            table = self._compared(table, rows, offset, best)
        return Expected(rows=self._named(table, best), is_ordered=True, size=len(table))

    def raw(self, rows: Sequence[Row]) -> Expected:
        hits = self._passing(rows, self.bounds())
        is_ordered = bool(self.query.get("orderby")) or "row_offset" in self.query
        if not is_ordered:
            table = [tuple(read(row) for _, read in self.columns) for row in hits]
            limit = self.query.get("row_limit", 50_000)
            return Expected(rows=table, is_ordered=False, size=min(limit, len(table)))
        requested = [(name, ascending) for name, ascending in self.query.get("orderby", ())]
        names = [name for name, _ in self.columns] if self.dataset.is_virtual else ["id"]
        ties = [(name, requested[-1][1] if requested else True) for name in names if name not in dict(requested)]
        for label, ascending in reversed([*requested, *ties]):
            hits.sort(key=lambda row, name=label: _sort_key(row[name], descending=not ascending))  # type: ignore[misc]
        table = self._page([tuple(read(row) for _, read in self.columns) for row in hits])
        return Expected(rows=table, is_ordered=True, size=len(table))

    def details(self, rows: Sequence[Row]) -> Expected:
        """Samples keep filters on values, details also the range; both show every column."""
        is_sample = self.query["result_type"] == "samples"
        hits = self._passing(rows, {} if is_sample else self.bounds())
        size = min(self.query.get("row_limit", 1000 if is_sample else 50_000), len(hits))
        if self.query.get("is_rowcount"):
            return Expected(rows=[(size,)], is_ordered=True, size=1)
        return Expected(rows=[tuple(row.values()) for row in hits], is_ordered=False, size=size)

    # --------------------------------------------------------------------------------------------------------- steps
    def _read(self, column: Any) -> tuple[str, Callable[[Row], Any]]:
        if column == "__timestamp":
            return column, lambda row: bucket(_as_moment(row[self.granularity]), self.grain)
        if isinstance(column, str):
            return column, lambda row: row[column]
        name, label = column["sqlExpression"], column["label"]
        grain = column.get("timeGrain") or self.grain
        if self.granularity and self.granularity != name:
            name = label = self.granularity
        return label, lambda row: bucket(_as_moment(row[name]), grain)

    def _axis_column(self) -> str | None:
        return self.axis["sqlExpression"] if self.axis else None

    def range_text(self) -> str:
        """Return the range that the query reports: its own, else that of one of its filters."""
        own = self._own_range()
        ranges = self._range_filters()
        if own or not ranges:
            return own or str(self.query.get("time_range") or "No filter")
        for name in (self._axis_column(), self.granularity):
            found = [item for item in ranges if item["col"] == name]
            if found:
                return str(found[0]["val"])
        return str(ranges[0]["val"])

    def _own_range(self) -> str | None:
        text = self.query.get("time_range")
        return None if text in {None, "No filter"} else str(text)

    def _range_filters(self) -> list[Mapping[str, Any]]:
        return [item for item in self.query.get("filters", ()) if item["op"] == "TEMPORAL_RANGE"]

    def bounds(self, instead: Bounds | None = None) -> dict[str, list[Bounds]]:
        """Return the bounds of each column; `instead` takes the place of the range that the query reports."""
        found: dict[str, list[Bounds]] = {}
        main = RANGES[self.range_text()]
        own = self._own_range()
        ranges = self._range_filters()
        targets = self._targets()
        for column in targets if own else ():
            found.setdefault(column, []).append(main)
        for item in ranges:
            is_replaced_axis = self.granularity and item["col"] == self._axis_column()
            if own and item["col"] in {*targets, self._axis_column() if is_replaced_axis else None}:
                continue
            column = self.granularity if is_replaced_axis and not own else item["col"]
            found.setdefault(str(column), []).append(RANGES[item["val"]])
        if instead is not None:
            found = {name: [instead if one == main else one for one in several] for name, several in found.items()}
        return found

    def _targets(self) -> set[str]:
        """Return the columns that the query's own range bounds."""
        if self.granularity:
            return {self.granularity}
        ranges = self._range_filters()
        names = {item["col"] for item in ranges}
        axis = self._axis_column()
        found = {item["col"] for item in ranges if item["val"] == "No filter"} | (names & {axis})
        fallback = axis or self.dataset.main_time
        return found or ({fallback} if fallback else names)

    def _passing(self, rows: Sequence[Row], bounds: Mapping[str, list[Bounds]], *, on_axis: bool = True) -> list[Row]:
        where = (self.query.get("extras") or {}).get("where")
        skipped = None if on_axis else self._axis_column()
        filters = [
            item
            for item in self.query.get("filters", ())
            if item["op"] != "TEMPORAL_RANGE" and item["col"] not in self.saved and item["col"] != skipped
        ]
        return [
            row
            for row in rows
            if all(_within(row[name], one) for name, several in bounds.items() for one in several if one != OPEN)
            and all(_holds(item, row) for item in filters)
            and (where is None or WHERE[where](row) is True)
            and self._passes_template(row)
        ]

    def _passes_template(self, row: Row) -> bool:
        least = (self.query.get("url_params") or {}).get("least")
        return least is None or not self.dataset.is_virtual or row["qty"] >= int(least)

    def _having(self, members: Sequence[Row]) -> bool:
        having = (self.query.get("extras") or {}).get("having")
        filters = [item for item in self.query.get("filters", ()) if item["col"] in self.saved]
        return (having is None or HAVING[having](members) is True) and all(
            _compared_values(SQL_METRICS[self.saved[item["col"]]](members), item["op"], item["val"]) for item in filters
        )

    def _metric(self, item: Any, members: Sequence[Row]) -> Any:
        if isinstance(item, str):
            return SQL_METRICS[self.saved[item]](members)
        if item["expressionType"] == "SQL":
            return SQL_METRICS[item["sqlExpression"]](members)
        name = item["column"]["column_name"]
        return _AGGREGATES[item["aggregate"]](_present(members, name), COLUMNS[name].kind)

    def _best_series(self, rows: Sequence[Row]) -> set[tuple[Any, ...]] | None:
        limit, names = self.query.get("series_limit"), self.query.get("series_columns")
        if not limit or not names:
            return None
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple(row[name] for name in names), []).append(row)
        metric = self.query.get("series_limit_metric") or self.metrics[0]
        ranked = sorted(groups, key=lambda key: [_sort_key(part) for part in key])
        descending = self.query.get("order_desc") is not False
        ranked.sort(key=lambda key: _sort_key(self._metric(metric, groups[key]), descending=descending))
        return set(ranked[:limit])

    def _groups(self, rows: Sequence[Row], best: set[tuple[Any, ...]] | None) -> dict[tuple[Any, ...], list[Row]]:
        names = self.query.get("series_columns") or ()
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            key = tuple(read(row) for _, read in self.columns)
            if best is None or tuple(row[name] for name in names) in best:
                groups.setdefault(key, []).append(row)
            elif self._has_rest():
                rest = (REST if place in self._series_places() else part for place, part in enumerate(key))
                groups.setdefault(tuple(rest), []).append(row)
        if not self.columns and not groups:
            groups[()] = []
        return groups

    def _has_rest(self) -> bool:
        return bool(self.query.get("group_others_when_limit_reached") and self.query.get("series_limit"))

    def _series_places(self) -> set[int]:
        names = self.query.get("series_columns") or ()
        return {place for place, column in enumerate(self.query["columns"]) if column in names}

    def _named(self, table: list[tuple[Any, ...]], best: set[tuple[Any, ...]] | None) -> list[tuple[Any, ...]]:
        """Return the rows with series as text and the rest as 'Others', or another name where a series is called so.

        A series that the page or HAVING hides counts too.
        """
        places = self._series_places() if self._has_rest() else ()
        if not places:
            return table
        name = "Others (rest)" if any("Others" in key for key in best or ()) else "Others"
        return [tuple(_text(v, name) if i in places else v for i, v in enumerate(row)) for row in table]

    def _ordered(self, table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        labels = [*(label for label, _ in self.columns), *(_metric_label(item) for item in self.metrics)]
        width = len(self.columns)
        table = sorted(table, key=lambda row: [*map(_sort_key, row[:width]), (REST in row[:width],)])
        for label, ascending in reversed(self.query.get("orderby", ())):
            place = labels.index(label)
            table.sort(key=lambda row, i=place: _sort_key(row[i], descending=not ascending))  # type: ignore[misc]
        return table

    def _page(self, table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        first = self.query.get("row_offset") or 0
        return table[first : first + self.query.get("row_limit", 50_000)]

    def _compared(
        self, table: list[tuple[Any, ...]], rows: Sequence[Row], offset: str, best: set[tuple[Any, ...]] | None
    ) -> list[tuple[Any, ...]]:
        since, until = RANGES[self.range_text()]
        assert since is not None
        assert until is not None
        moved = Shift(offset, since, until)
        hits = self._passing(rows, self.bounds(moved.bounds), on_axis=False)
        groups = self._groups(hits, best)
        partners = {key: tuple(self._metric(item, members) for item in self.metrics) for key, members in groups.items()}
        missing = (None,) * len(self.metrics)
        width = len(self.columns)
        return [(*row, *partners.get(self._partner(row[:width], moved), missing)) for row in table]

    def _partner(self, key: tuple[Any, ...], moved: Shift) -> tuple[Any, ...]:
        grains = [self._grain_of(column) for column in self.query.get("columns", ())]
        return tuple(
            moved.label(part, grain) if isinstance(part, date) else part
            for part, grain in zip(key, grains, strict=True)
        )

    def _grain_of(self, column: Any) -> str | None:
        if column == "__timestamp":
            return self.grain
        return None if isinstance(column, str) else column.get("timeGrain") or self.grain


class Shift:
    """How far a compared range lies from the main one."""

    def __init__(self, text: str, since: datetime, until: datetime) -> None:
        self.unit, self.count = "days", 0
        self.exact: timedelta | None = None
        if text in OFFSETS:
            self.unit, self.count = OFFSETS[text]
            self.bounds: Bounds = (self.moment(since), self.moment(until))
        elif text == "inherit":
            self.exact = since - until
            self.bounds = (since + self.exact, until + self.exact)
        elif " : " in text:
            first, last = (datetime.fromisoformat(part) for part in text.split(" : "))
            self.exact = first - since
            self.bounds = (first, last)
        else:
            self.exact = datetime.fromisoformat(text) - since.replace(hour=0, minute=0, second=0, microsecond=0)
            self.bounds = (since + self.exact, until + self.exact)

    def moment(self, moment: datetime) -> datetime:
        """Return a moment of the main range moved to the compared one; months by the calendar, ends clamped."""
        if self.exact is not None:
            return moment + self.exact
        if self.unit == "days":
            return moment + timedelta(days=self.count)
        months = moment.year * 12 + moment.month - 1 + self.count
        year, month = months // 12, months % 12 + 1
        return moment.replace(year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1]))

    def label(self, label: date, grain: str | None) -> datetime | date:
        """Return the label of the compared bucket; a week is moved by the day in its middle."""
        moment = _as_moment(label)
        assert moment is not None
        if grain is None:
            moved = self.moment(moment)
            return moved if isinstance(label, datetime) else moved.date()
        middle = (
            timedelta(days=3) if grain in _WEEK_STARTS else timedelta(days=-3) if grain in _WEEK_ENDS else timedelta()
        )
        found = bucket(self.moment(moment + middle), grain)
        assert found is not None
        return found


# ------------------------------------------------------------------------------------------------------------ buckets
_STEPS = {"S": 1, "M": 60, "H": 3600}
_WEEK_STARTS = {"P1W": 0, "1969-12-29T00:00:00Z/P1W": 0, "1969-12-28T00:00:00Z/P1W": 6}
_WEEK_ENDS = {"P1W/1970-01-03T00:00:00Z": 5, "P1W/1970-01-04T00:00:00Z": 6}


def bucket(moment: datetime | None, grain: str | None) -> datetime | None:
    """Return the label of the bucket of a moment; clock grains count from 1970-01-01 00:00."""
    if moment is None or grain is None:
        return moment
    if grain.startswith("PT"):
        step = timedelta(seconds=int(grain[2:-1]) * _STEPS[grain[-1]])
        epoch = datetime(1970, 1, 1)
        return epoch + (moment - epoch) // step * step
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if grain in _WEEK_STARTS:
        return day - timedelta(days=(day.weekday() - _WEEK_STARTS[grain]) % 7)
    if grain in _WEEK_ENDS:
        return day + timedelta(days=(_WEEK_ENDS[grain] - day.weekday()) % 7)
    months = {"P1D": 0, "P1M": 1, "P3M": 3, "P1Y": 12}[grain]
    return day.replace(month=day.month - (day.month - 1) % months, day=1) if months else day


def _as_moment(value: date | None) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day)


def _within(value: Any, bounds: Bounds) -> bool:
    moment = _as_moment(value)
    if moment is None:
        return False
    since, until = bounds
    return (since is None or since <= moment) and (until is None or moment < until)


# ------------------------------------------------------------------------------------------------------------ metrics
def _present(members: Sequence[Row], name: str) -> list[Any]:
    return [row[name] for row in members if row[name] is not None]


def _known(value: Any, use: Callable[[Any], Any]) -> Any:
    """NULL makes NULL."""
    return None if value is None else use(value)


def _summed(values: list[Any]) -> Any:
    if not values:
        return None
    total = sum(Fraction(value) for value in values)
    if isinstance(values[0], Decimal):
        return _decimal(total)
    return float(total) if isinstance(values[0], float) else int(total)


def _decimal(number: Fraction) -> Decimal:
    scaled = number * 10**9
    assert scaled.denominator == 1
    return Decimal(scaled.numerator).scaleb(-9)


def _mean(values: list[Any]) -> float | None:
    return float(sum(Fraction(value) for value in values) / len(values)) if values else None


def _spread(values: list[Any]) -> Any:
    return max(values) - min(values) if values else None


def _entire(value: Any, kind: str) -> Any:
    return int(value) if kind == "boolean" else value


_AGGREGATES: Mapping[str, Callable[[list[Any], str], Any]] = {
    "COUNT": lambda values, _: len(values),
    "COUNT_DISTINCT": lambda values, _: len(set(values)),
    "SUM": lambda values, _: _summed(values),
    "AVG": lambda values, _: _mean(values),
    "MIN": lambda values, kind: _entire(min(values), kind) if values else None,
    "MAX": lambda values, kind: _entire(max(values), kind) if values else None,
}


def _metric_label(item: Any) -> str:
    return item if isinstance(item, str) else str(item["label"])


# ------------------------------------------------------------------------------------------------------------- order
class _Reversed:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)


def _text(value: Any, rest: str) -> str | None:
    return rest if value is REST else None if value is None else str(value)


def _sort_key(value: Any, *, descending: bool = False) -> tuple[Any, ...]:
    """Nulls come last in both directions, and after them the rest."""
    if value is None or value is REST:
        return (1,)
    return (0, _Reversed(value) if descending else value)


# ----------------------------------------------------------------------------------------------------------- filters
def _holds(item: Mapping[str, Any], row: Row) -> bool:
    value, op, wanted, kind = row[item["col"]], item["op"], item.get("val"), COLUMNS[item["col"]].kind
    kind = "moment" if isinstance(value, datetime) else kind  # days of a dataset with an offset
    if op in ("IS NULL", "IS NOT NULL"):
        return (value is None) == (op == "IS NULL")
    if op in ("IN", "NOT IN"):
        return _is_member(value, [_typed(one, kind) for one in wanted], negated=op == "NOT IN")
    if value is None:
        return False
    if op in ("IS TRUE", "IS FALSE"):
        return bool(value) == (op == "IS TRUE")
    if op.endswith("LIKE"):
        flags = re.IGNORECASE if "ILIKE" in op else 0
        return bool(re.fullmatch(_pattern(wanted), str(value), flags | re.DOTALL)) != op.startswith("NOT")
    if item.get("grain"):
        value, kind = bucket(_as_moment(value), item["grain"]), "moment"
    return _compared_values(value, op, _typed(wanted, kind))


def _is_member(value: Any, wanted: list[Any], *, negated: bool) -> bool:
    if value is None:
        return None in wanted and not negated
    return (value in wanted) != negated


def _typed(wanted: Any, kind: str) -> Any:
    """Return a value of a payload as the column's: moments as text or milliseconds, exact numbers as text."""
    if wanted is None or isinstance(wanted, bool):
        return wanted
    if kind == "moment":
        return _moment_of(wanted)
    if kind == "day":
        return _moment_of(wanted).date()
    if kind in ("integer", "decimal") and not isinstance(wanted, int):
        return Fraction(str(wanted))
    return wanted


def _moment_of(wanted: Any) -> datetime:
    if isinstance(wanted, int):
        return datetime(1970, 1, 1) + timedelta(milliseconds=wanted)
    moment = datetime.fromisoformat(wanted)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _compared_values(value: Any, op: str, wanted: Any) -> bool:
    if value is None:
        return False
    operand = Fraction(value) if isinstance(value, Decimal | int) and not isinstance(value, bool) else value
    return bool(_COMPARISONS[op](operand, wanted))


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
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
