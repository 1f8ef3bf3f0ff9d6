"""Whether the answers of several engines hold the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

Results = Sequence[Mapping[str, Any]]


def differences_between(
    queries: Sequence[Mapping[str, Any]], answers: Mapping[str, Results | Exception], compare: ModuleType
) -> list[str]:
    """Return what differs from the first engine's answer; empty when all engines give the same.

    Rows are compared as a bag, and in order by the query's sort keys where it orders. Where a limit cuts rows
    that the query does not order completely, any of them may stay: then only their number and keys are compared.

    Args:
        queries: the queries of the payload.
        answers: the results by engine; an exception is a refusal.
        compare: the module `compare.py`, whose rules for equal values hold here too.
    """
    (first, expected), *others = answers.items()
    notes = []
    for name, answer in others:
        if refusal := _refusals_differ(expected, answer):
            notes.append(f"{first} and {name}: {refusal}")
        elif not isinstance(expected, Exception) and not isinstance(answer, Exception):
            for number, (query, one, two) in enumerate(zip(queries, expected, answer, strict=True)):
                if note := _difference(query, one, two, compare):
                    notes.append(f"{first} and {name}: query {number}: {note}")
    return notes


def _refusals_differ(one: Results | Exception, two: Results | Exception) -> str | None:
    refused = [isinstance(answer, Exception) or any(result.get("error") for result in answer) for answer in (one, two)]
    return None if refused[0] == refused[1] else f"only one refuses: {_brief(one)} / {_brief(two)}"


def _brief(answer: Results | Exception) -> str:
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"[:160]
    return str(next((result["error"] for result in answer if result.get("error")), "rows"))[:160]


def _difference(
    query: Mapping[str, Any], one: Mapping[str, Any], two: Mapping[str, Any], compare: ModuleType
) -> str | None:
    for field in ("colnames", "coltypes"):
        if one.get(field) != two.get(field):
            return f"{field}: {one.get(field)} / {two.get(field)}"[:300]
    data = one.get("data") or [], two.get("data") or []
    if isinstance(data[0], Mapping) or "colnames" not in one:
        return None if compare.same(*(compare.norm(_without_sql(part)) for part in data)) else "data"
    names = list(one["colnames"])
    left, right = ([[compare.norm(row[name]) for name in names] for row in rows] for rows in data)
    if len(left) != len(right):
        return f"{len(left)} rows / {len(right)} rows"
    keys = _visible_sort_keys(query, names)
    if not compare.matched(*([[row[key] for key in keys] for row in rows] for rows in (left, right))):
        return "the order of the rows"
    if compare.bag_equal(left, right) or _cut_without_order(query, left):
        return None
    return str(compare.first_diff(sorted(left, key=compare.row_key), sorted(right, key=compare.row_key), names))


def _without_sql(listed: Any) -> Any:
    """Leave out the SQL that a list of time grains shows for each: it is the engine's own."""
    if isinstance(listed, Mapping):
        return listed
    return [{key: value for key, value in item.items() if key != "function"} for item in listed]


def _visible_sort_keys(query: Mapping[str, Any], names: Sequence[str]) -> list[int]:
    """Return the positions of the leading sort keys that the result shows."""
    keys: list[int] = []
    for key, _ in query.get("orderby") or []:
        label = key.get("label") if isinstance(key, Mapping) else key
        if label not in names:
            break
        keys.append(names.index(label))
    return keys


def _cut_without_order(query: Mapping[str, Any], rows: Sequence[Any]) -> bool:
    return bool(query.get("row_limit")) and len(rows) == query["row_limit"]
