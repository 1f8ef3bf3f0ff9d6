"""Answers of charts of many kinds beside what SQL written by hand says of the same tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from analytics_core import AnalyticsCore

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCase:
    """One chart of a kind: its form, and for each of its results the SQL that gives the same rows.

    `is_sorted` tells whether the order of the rows is the chart's.
    """

    kind: str
    dataset: str
    form: Mapping[str, Any]
    sql: Sequence[str]
    is_sorted: bool = True


def answers_of(core: AnalyticsCore, case: KindCase, dataset_id: int) -> list[list[Row]]:
    """Return the rows of a chart that stores its form alone."""
    form = json.dumps({"viz_type": case.kind, **case.form})
    chart = {"slice_name": case.kind, "viz_type": case.kind, "datasource_id": dataset_id, "datasource_type": "table"}
    made = core.charts.create({**chart, "params": form})
    results = core.charts.data(made.id).raise_for_error().results
    return [
        comparable((dict(zip(result.colnames, row, strict=True)) for row in result.rows()), case) for result in results
    ]


def comparable(rows: Iterable[Row], case: KindCase) -> list[Row]:
    """Return rows whose values can be compared, in an order of their own where the chart asks for none."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return plain if case.is_sorted else sorted(plain, key=lambda row: str(sorted(row.items())))


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float | Decimal):
        return round(float(value), 6)
    if isinstance(value, date):
        return value.isoformat(sep=" ")[:19] if isinstance(value, datetime) else f"{value.isoformat()} 00:00:00"
    return value
