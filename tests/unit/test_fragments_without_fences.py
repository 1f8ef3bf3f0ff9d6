"""How much of what analysts write needs no fence beside a row rule, on each engine that was tried.

`support/analysts_fragments.txt` has metrics, conditions and calculated columns over sales, those with arithmetic on
money, dates, shares and texts as dashboards have them; some can fail (LN, POWER, casts of texts) and must keep a fence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.cases import for_each
from tests.support.planning import plan, spec_of, stored, view_of

from analytics_core._engine.compile.fence import FenceForm, fence_of_plan
from analytics_core._engine.compile.planning_context import DatasetView
from analytics_core._records.datasource import DatasetColumn
from analytics_core._records.people import RowFilter

LINES = Path(__file__).parent.with_name("support").joinpath("analysts_fragments.txt").read_text().splitlines()
SHARES = {"duckdb": 92, "mysql": 97, "postgresql": 92, "sqlite": 95}
"""Percent, at least, rounded down: one that falls below lost an operation."""
_KINDS = {
    "BIGINT": "id",
    "INTEGER": "customer_id quantity",
    "SMALLINT": "rating",
    "VARCHAR(100)": "country city status channel segment category product email",
    "TEXT": "notes",
    "DECIMAL(10, 2)": "price cost",
    "DECIMAL(5, 2)": "discount",
    "DOUBLE": "revenue weight",
    "BOOLEAN": "is_paid is_returned",
    "DATE": "born_on",
    "TIMESTAMP": "ordered_at shipped_at delivered_at",
}
TYPES = {name: kind for kind, names in _KINDS.items() for name in names.split()}
TYPES_OF: Mapping[str, Mapping[str, str]] = {
    "postgresql": {"DOUBLE": "DOUBLE PRECISION"},
    "mysql": {"TIMESTAMP": "DATETIME", "BOOLEAN": "TINYINT(1)"},
}
WORDS: Mapping[str, Mapping[str, str]] = {
    "postgresql": {
        "larger": "GREATEST({0}, {1})",
        "smaller": "LEAST({0}, {1})",
        "year": "EXTRACT(YEAR FROM {0})",
        "monthno": "EXTRACT(MONTH FROM {0})",
        "hour": "EXTRACT(HOUR FROM {0})",
        "weekday": "EXTRACT(DOW FROM {0})",
        "day": "CAST({0} AS DATE)",
        "month": "DATE_TRUNC('month', {0})",
        "yearmonth": "TO_CHAR({0}, 'YYYY-MM')",
        "days": "CAST({1} AS DATE) - CAST({0} AS DATE)",
        "today": "CURRENT_DATE",
        "ago30": "CURRENT_DATE - INTERVAL '30 days'",
        "double": "CAST({0} AS DOUBLE PRECISION)",
        "join": "{0} || ' ' || {1}",
        "after": "SPLIT_PART({0}, '@', 2)",
    },
    "mysql": {
        "larger": "GREATEST({0}, {1})",
        "smaller": "LEAST({0}, {1})",
        "year": "YEAR({0})",
        "monthno": "MONTH({0})",
        "hour": "HOUR({0})",
        "weekday": "WEEKDAY({0})",
        "day": "DATE({0})",
        "month": "DATE_FORMAT({0}, '%Y-%m-01')",
        "yearmonth": "DATE_FORMAT({0}, '%Y-%m')",
        "days": "DATEDIFF({1}, {0})",
        "today": "CURDATE()",
        "ago30": "CURDATE() - INTERVAL 30 DAY",
        "double": "CAST({0} AS DOUBLE)",
        "join": "CONCAT({0}, ' ', {1})",
        "after": "SUBSTRING_INDEX({0}, '@', -1)",
    },
    "duckdb": {
        "larger": "GREATEST({0}, {1})",
        "smaller": "LEAST({0}, {1})",
        "year": "year({0})",
        "monthno": "month({0})",
        "hour": "hour({0})",
        "weekday": "dayofweek({0})",
        "day": "CAST({0} AS DATE)",
        "month": "date_trunc('month', {0})",
        "yearmonth": "strftime({0}, '%Y-%m')",
        "days": "date_diff('day', {0}, {1})",
        "today": "CURRENT_DATE",
        "ago30": "CURRENT_DATE - INTERVAL 30 DAY",
        "double": "CAST({0} AS DOUBLE)",
        "join": "{0} || ' ' || {1}",
        "after": "split_part({0}, '@', 2)",
    },
    "sqlite": {
        "larger": "MAX({0}, {1})",
        "smaller": "MIN({0}, {1})",
        "year": "CAST(strftime('%Y', {0}) AS INTEGER)",
        "monthno": "CAST(strftime('%m', {0}) AS INTEGER)",
        "hour": "CAST(strftime('%H', {0}) AS INTEGER)",
        "weekday": "CAST(strftime('%w', {0}) AS INTEGER)",
        "day": "date({0})",
        "month": "date({0}, 'start of month')",
        "yearmonth": "strftime('%Y-%m', {0})",
        "days": "julianday({1}) - julianday({0})",
        "today": "date('now')",
        "ago30": "date('now', '-30 days')",
        "double": "CAST({0} AS REAL)",
        "join": "{0} || ' ' || {1}",
        "after": "substr({0}, instr({0}, '@') + 1)",
    },
}
RULE = RowFilter(name="own", clause="country = 'DE'")


def sales(engine: str) -> DatasetView:
    """Return the dataset of the fragments."""
    named = TYPES_OF.get(engine, {})
    columns = [DatasetColumn(column_name=name, type=named.get(kind, kind)) for name, kind in TYPES.items()]
    return view_of(engine, columns=stored(columns), metrics=(), main_dttm_col=None)


def written(text: str, engine: str) -> str:
    """Return a fragment in the words of an engine."""

    def word(found: re.Match[str]) -> str:
        return WORDS[engine][found[1]].format(*(found[2] or "").removeprefix(":").split(","))

    return re.sub(r"{(\w+)(:[^}]+)?}", word, text)


def payload(place: str, text: str) -> dict[str, Any]:
    """Return a query with a fragment in its place, and nothing else that could fail."""
    count = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
    match place:
        case "metric":
            return {"columns": ["status"], "metrics": [{"expressionType": "SQL", "sqlExpression": text, "label": "m"}]}
        case "column":
            return {"columns": [{"label": "c", "sqlExpression": text}], "row_limit": 10}
    return {"columns": ["status"], "metrics": [count], "extras": {place: text}}


@for_each("engine", SHARES)
def test_most_of_what_analysts_write_needs_no_fence(engine: str) -> None:
    view, spec, fenced = sales(engine), spec_of(engine), []
    for line in LINES:
        place, text = line.split(" ", 1)
        made = plan(payload(place, written(text, engine)), view=view, row_filters=[RULE])
        if fence_of_plan(made, spec).form is not FenceForm.NONE:
            fenced.append(line)
    assert len(LINES) >= 300
    assert 100 - 100 * len(fenced) / len(LINES) >= SHARES[engine], fenced
    assert "where CAST(notes AS INTEGER) > 5" in fenced or engine in ("mysql", "sqlite")
    assert "where LOG(10, quantity) > 2" in fenced
