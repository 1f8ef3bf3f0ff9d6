"""Random queries over the table of `world`: sound ones, of every kind that the reference answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.differential.reference import HAVING, OFFSETS, RANGES, SQL_METRICS, WHERE
from tests.differential.world import ADMIN, COLUMNS, DATASETS, READER, SAVED_METRICS, Dataset, Row

from analytics_core.models.enums import TimeGrain

GRAINS = tuple(grain.value for grain in TimeGrain)
COMPARISONS = ("==", "!=", ">", ">=", "<", "<=")
PATTERNS = ("%", "B%", "b_", "%o%", "a\\%b", "a\\_b", "É", "_", "", "%'%", "%漢%", "a\\\\b")
CLOSED = tuple(text for text, (since, until) in RANGES.items() if since and until)
GROUP_KEYS = ("name", "grp", "qty", "flag", "big", "cost", "day", "year", "ymd", "exact")
AXES = ("ts", "at", "day", "sec", "msec", "ymd", "year")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """A random query, the dataset that it is asked of, by whom, and the engines that can answer it."""

    number: str
    dataset: Dataset
    who: str
    query: dict[str, Any]
    engines: tuple[str, ...]


def make(number: str, rows: Sequence[Row]) -> Requested:
    """Return the query of a number; the same number makes the same query."""
    return _Maker(random.Random(number), rows).make(number)


class _Maker:
    def __init__(self, source: random.Random, rows: Sequence[Row]) -> None:
        self.source = source
        self.rows = rows
        self.used: set[str] = set()
        self.dataset = source.choice(DATASETS)

    def make(self, number: str) -> Requested:
        makers: tuple[Callable[[], dict[str, Any]], ...] = (self.series, self.table, self.table, self.raw, self.details)
        query = self.source.choice(makers)()
        if self.dataset.is_virtual and self._chance(0.5):
            query["url_params"] = {"least": str(self.source.randrange(0, 5))}
        every = ("sqlite", "duckdb", "postgresql", "mysql", "clickhouse")
        engines = tuple(engine for engine in every if all(engine in COLUMNS[name].engines for name in self.used))
        who = self.source.choice((ADMIN, READER))
        return Requested(number=number, dataset=self.dataset, who=who, query=query, engines=engines)

    # ------------------------------------------------------------------------------------------------ kinds of queries
    def series(self) -> dict[str, Any]:
        """A time series: an axis or `__timestamp`, a range, and perhaps comparisons."""
        query: dict[str, Any] = {"metrics": self._metrics(least=1), "filters": self._filters(2)}
        axis = self._temporal()
        grain = self._pick(GRAINS)
        form = self.source.randrange(4)
        if form == 0:
            query |= {"columns": ["__timestamp"], "granularity": axis, "extras": {"time_grain_orm": grain}}
        elif form == 1:
            query |= {"columns": [_axis(axis, None)], "extras": {"time_grain_orm": grain}}
        else:
            query["columns"] = [_axis(axis, grain)]
        if form == 3 and self._chance(0.5):
            query["granularity"] = axis if self._chance(0.6) else self._temporal()
        if self._chance(0.6):
            query["columns"] += self._keys(1, without=(axis, query.get("granularity")))
        self._bound(query, axis)
        if self._chance(0.5):
            self._compare(query)
        return self._finished(query)

    def table(self) -> dict[str, Any]:
        """Groups of rows."""
        query: dict[str, Any] = {
            "columns": self._keys(2),
            "metrics": self._metrics(least=0),
            "filters": self._filters(3),
        }
        if not query["columns"] and not query["metrics"]:
            query["metrics"] = ["rows"]
        if self._chance(0.5):
            self._bound(query, self._temporal())
        return self._finished(query)

    def raw(self) -> dict[str, Any]:
        """Rows as they are, in pages or not."""
        names = self.source.sample([name for name in COLUMNS if self._usable(name)], self.source.randrange(1, 5))
        self.used.update(names)
        query: dict[str, Any] = {"columns": names, "filters": self._filters(3)}
        if self._chance(0.6):
            chosen = self.source.sample(names, self.source.randrange(1, len(names) + 1))
            query["orderby"] = [[name, self._chance(0.5)] for name in chosen]
        if self._chance(0.5):
            query["row_offset"] = self.source.choice((0, 3, 17, 200))
        if self._chance(0.7):
            query["row_limit"] = self.source.choice((4, 25, 1000))
        self._condition(query, having=False)
        return query

    def details(self) -> dict[str, Any]:
        """Samples of the table, or the rows behind a figure."""
        self.used.add("exact")
        query: dict[str, Any] = {"columns": self._keys(1), "metrics": ["rows"], "filters": self._filters(2)}
        query["result_type"] = self.source.choice(("samples", "drill_detail"))
        if query["result_type"] == "drill_detail" and self._chance(0.5):
            self._bound(query, self._temporal())
        if self._chance(0.2):
            query["is_rowcount"] = True
        return query

    # ---------------------------------------------------------------------------------------------------------- parts
    def _finished(self, query: dict[str, Any]) -> dict[str, Any]:
        self._condition(query, having=True)
        labels = [item if isinstance(item, str) else item["label"] for item in (*query["columns"], *query["metrics"])]
        if query.get("granularity"):
            labels = [
                query["granularity"] if label == "axis" and self._is_replaced(query) else label for label in labels
            ]
        if self._chance(0.5):
            chosen = self.source.sample(labels, min(len(labels), self.source.randrange(1, 3)))
            query["orderby"] = [[label, self._chance(0.5)] for label in chosen]
        query["row_limit"] = self.source.choice((3, 10, 1000))
        if self._chance(0.3):
            query["row_offset"] = self.source.choice((0, 2, 7))
        self._limit_series(query)
        if self._chance(0.05) and not query.get("time_offsets"):
            query["is_rowcount"] = True
        return query

    @staticmethod
    def _is_replaced(query: dict[str, Any]) -> bool:
        axis = next((item for item in query["columns"] if not isinstance(item, str)), None)
        return axis is not None and axis["sqlExpression"] != query["granularity"]

    def _limit_series(self, query: dict[str, Any]) -> None:
        plain = [item for item in query["columns"] if isinstance(item, str) and item != "__timestamp"]
        if not plain or not query["metrics"] or not self._chance(0.4):
            return
        query |= {"series_columns": plain[: self.source.randrange(1, len(plain) + 1)]}
        query["series_limit"] = self.source.randrange(1, 5)
        if self._chance(0.5):
            query["series_limit_metric"] = self._metrics(least=1)[0]
        if set(query["series_columns"]) <= {"name", "grp", "qty", "big"} and self._chance(0.4):
            query["group_others_when_limit_reached"] = True
        if self._chance(0.5):
            query["order_desc"] = self._chance(0.5)

    def _bound(self, query: dict[str, Any], column: str) -> None:
        """Bound the query in time, in one of the ways that clients know."""
        text = self._pick(tuple(RANGES))
        way = self.source.randrange(4)
        if way == 0:
            query["time_range"] = text
        elif way == 1:
            query["filters"].append({"col": column, "op": "TEMPORAL_RANGE", "val": text})
        elif way == 2:
            query["filters"].append({"col": self._temporal(), "op": "TEMPORAL_RANGE", "val": self._pick(tuple(RANGES))})
            query["time_range"] = text
        elif query.get("result_type") is None and not query.get("granularity"):
            query |= {"granularity": column, "time_range": text}

    def _compare(self, query: dict[str, Any]) -> None:
        if not query.get("time_range"):
            query["time_range"] = self._pick(CLOSED)
        if query["time_range"] not in CLOSED:
            query["time_range"] = self._pick(CLOSED)
        dates = ("2023-03-05", "inherit", "2023-01-01 : 2023-03-01", "2022-12-15 : 2023-02-01")
        query["time_offsets"] = self.source.sample((*OFFSETS, *dates), self.source.randrange(1, 3))

    def _condition(self, query: dict[str, Any], *, having: bool) -> None:
        extras: dict[str, Any] = query.get("extras", {})
        if self._chance(0.25):
            extras["where"] = self._pick(tuple(WHERE))
        if having and query["metrics"] and self._chance(0.2):
            extras["having"] = self._pick(tuple(HAVING))
        if having and query["metrics"] and self._chance(0.15):
            query["filters"].append({"col": self._pick(tuple(SAVED_METRICS)), "op": self._pick((">", "<=")), "val": 3})
        if extras:
            query["extras"] = extras

    def _metrics(self, *, least: int) -> list[Any]:
        found: dict[str, Any] = {}
        for _ in range(self.source.randrange(least, 4)):
            item = self._metric()
            found[item if isinstance(item, str) else item["label"]] = item
        return list(found.values())

    def _metric(self) -> Any:
        form = self.source.randrange(6)
        if form == 0:
            return self._pick(tuple(SAVED_METRICS))
        if form == 1:
            sql = self._pick(tuple(SQL_METRICS))
            return {"expressionType": "SQL", "sqlExpression": sql, "label": f"sql {sql}"}
        column = COLUMNS[self._pick([name for name in COLUMNS if self._usable(name)])]
        fits = {"integer": 6, "float": 6, "decimal": 6, "boolean": 6}.get(column.kind, 4)
        if column.name in ("big", "exact"):
            fits = 5  # averages are doubles: those of numbers beyond their reach have no order that could be compared
        aggregate = ("MIN", "MAX", "COUNT", "COUNT_DISTINCT", "SUM", "AVG")[self.source.randrange(fits)]
        self.used.add(column.name)
        return {
            "expressionType": "SIMPLE",
            "column": {"column_name": column.name},
            "aggregate": aggregate,
            "label": f"{aggregate} of {column.name}",
        }

    def _keys(self, most: int, *, without: Sequence[str | None] = ()) -> list[str]:
        known = [name for name in GROUP_KEYS if self._usable(name) and name not in without]
        names = self.source.sample(known, self.source.randrange(0, most + 1))
        self.used.update(names)
        return names

    def _temporal(self) -> str:
        name = self._pick([name for name in AXES if self._usable(name)])
        self.used.add(name)
        return name

    def _usable(self, name: str) -> bool:
        return name != "exact" or self._chance(0.3)

    # -------------------------------------------------------------------------------------------------------- filters
    def _filters(self, most: int) -> list[dict[str, Any]]:
        return [self._filter() for _ in range(self.source.randrange(0, most + 1))]

    def _filter(self) -> dict[str, Any]:
        column = COLUMNS[self._pick([name for name in COLUMNS if self._usable(name)])]
        self.used.add(column.name)
        if self._chance(0.1):
            return {"col": column.name, "op": self._pick(("IS NULL", "IS NOT NULL"))}
        if column.kind == "boolean":
            return self._truth(column.name)
        if column.kind == "text" and self._chance(0.4):
            op = self._pick(("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"))
            return {"col": column.name, "op": op, "val": self._pick(PATTERNS)}
        if self._chance(0.3):
            members = [self._value(column.name) for _ in range(self.source.randrange(1, 5))]
            if self._chance(0.2):
                members.append(None)
            return {"col": column.name, "op": self._pick(("IN", "NOT IN")), "val": members}
        item = {"col": column.name, "op": self._pick(COMPARISONS), "val": self._value(column.name)}
        if column.is_temporal and self._chance(0.2):
            item["grain"] = self._pick(("P1D", "P1M", "P1W", "PT1H"))
        return item

    def _truth(self, name: str) -> dict[str, Any]:
        if self._chance(0.5):
            return {"col": name, "op": self._pick(("IS TRUE", "IS FALSE"))}
        return {"col": name, "op": self._pick(("==", "!=")), "val": self._chance(0.5)}

    def _value(self, name: str) -> Any:
        """Return a value of a filter: mostly one that some row has, as a client would send it."""
        values = [row[name] for row in self.rows if row[name] is not None]
        value = self._pick(values)
        if isinstance(value, datetime) and self.dataset.hours:
            value = value.replace(microsecond=0)
        if isinstance(value, date):
            return self._date_text(value)
        if isinstance(value, Decimal):
            nudged = value + Decimal(self.source.choice((0, 0, 0, 1, -1))).scaleb(-9 if name == "exact" else -3)
            return str(nudged) if name == "exact" or self._chance(0.5) else float(nudged)
        if name == "big" and self._chance(0.3):
            return f"{value}.5"
        return value

    def _date_text(self, value: date) -> Any:
        if not isinstance(value, datetime):
            return value.isoformat()
        if value.microsecond % 1000 == 0 and self._chance(0.3):
            return (value - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
        return value.isoformat() + self.source.choice(("", "", "Z", "+00:00"))

    def _pick(self, choices: Sequence[Any]) -> Any:
        return self.source.choice(choices)

    def _chance(self, share: float) -> bool:
        return self.source.random() < share


def _axis(column: str, grain: str | None) -> dict[str, Any]:
    axis = {"columnType": "BASE_AXIS", "expressionType": "SQL", "sqlExpression": column, "label": "axis"}
    return axis | ({"timeGrain": grain} if grain else {})
