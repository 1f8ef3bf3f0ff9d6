"""How engines say beforehand what a statement will cost: numbers alone, since plans show values and statistics."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from analytics_core.errors import UnsupportedByEngineError

Costs = Mapping[str, float]
"""Estimated numbers by name; none for a statement that has no plan, such as DROP TABLE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimates:
    """How one engine estimates.

    Attributes:
        ask: (cursor of the driver, statement, bound values) -> the numbers; nothing runs. UnsupportedByEngineError for
            a statement that the engine plans only when it runs.
        counted: which of the numbers is the cost that a budget counts.
    """

    ask: Callable[[Any, str, Any], Costs]
    counted: str


def by_plan(
    words: str, read: Callable[[Sequence[Sequence[Any]]], Costs], *, counted: str, plans_create: bool = True
) -> CostEstimates:
    """Return the estimates of an engine that displays a plan; `words` stand before the statement.

    Without `plans_create` it displays none of CREATE TABLE AS.
    """

    def ask(cursor: Any, sql: str, parameters: Any) -> Costs:
        if not plans_create and sql.startswith("CREATE "):
            raise UnsupportedByEngineError("the engine estimates no cost of CREATE TABLE AS; estimate its query alone")
        cursor.execute(f"{words} {sql}", parameters)
        return read(cursor.fetchall())

    return CostEstimates(ask=ask, counted=counted)


def by_json_plan(
    words: str, part: Callable[[Any], Mapping[str, Any]], names: Mapping[str, str], *, counted: str
) -> CostEstimates:
    """Return the estimates in a `part` of a plan that is JSON: `names` are ours -> those of the engine."""
    return by_plan(words, lambda rows: numbers_of(part(document(rows)), names), counted=counted)


def document(rows: Sequence[Sequence[Any]]) -> Any:
    """Return the JSON in the last column of a plan's first row, which some drivers have read already."""
    found = rows[0][-1]
    return json.loads(found) if isinstance(found, str | bytes) else found


def numbers_of(found: Mapping[str, Any], names: Mapping[str, str]) -> Costs:
    """Return numbers of a plan by our names, without those that the engine does not know."""
    numbers = {name: _number(found.get(theirs)) for name, theirs in names.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def rows_joined(tables: Iterable[tuple[Any, Any]]) -> float:
    """Return how many rows a plan examines, of (block, rows) of its tables: those of one block are joined."""
    blocks = defaultdict[Any, float](lambda: 1.0)
    for block, rows in tables:
        if (number := _number(rows)) is not None:
            blocks[block] *= max(number, 1.0)
    return sum(blocks.values())


def _bytes_of_dry_run(cursor: Any, sql: str, parameters: Any) -> Costs:
    """Return the bytes that a statement would read, of an engine that checks statements and displays no plan.

    The options of the check are a class of the driver, which is found beside that of its client.
    """
    driver = import_module(type(cursor.connection._client).__module__.rpartition(".")[0])
    cursor.execute(sql, parameters, job_config=driver.QueryJobConfig(dry_run=True))
    checked = cursor._query_rows  # `query_job` would ask for a job, and a check is none
    return numbers_of({"bytes": getattr(checked, "total_bytes_processed", None)}, {"bytes": "bytes"})


def _number(value: Any) -> float | None:
    """Return a finite number, also one that is written as text; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


DRY_RUN = CostEstimates(ask=_bytes_of_dry_run, counted="bytes")
