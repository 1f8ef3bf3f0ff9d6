"""Whether the answers of several engines hold the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from analytics_core.errors import AnalyticsError

Results = Sequence[Mapping[str, Any]]


def differences_between(
    queries: Sequence[Mapping[str, Any]], answers: Mapping[str, Results | Exception], compare: ModuleType
) -> list[str]:
    """Return what differs from the first engine's answer; empty when all engines give the same.

    Rows are compared in their order. Only raw rows that nothing orders may come in another one, and where a limit
    cuts those, only their number is compared.

    Args:
        queries: the queries of the payload.
        answers: the results by engine; an exception is a refusal.
        compare: the module `compare.py`, whose rules for equal values hold here too.
    """
    (first, expected), *others = answers.items()
    notes = [f"{name} failed: {_brief(answer)}" for name, answer in answers.items() if _is_untyped(answer)]
    for name, answer in others:
        if rejection := _refusals_differ(expected, answer):
            notes.append(f"{first} and {name}: {rejection}")
        elif not isinstance(expected, Exception) and not isinstance(answer, Exception):
            for number, (query, one, two) in enumerate(zip(queries, expected, answer, strict=True)):
                if note := _difference(query, one, two, compare):
                    notes.append(f"{first} and {name}: query {number}: {note}")
    return notes


def _refusals_differ(one: Results | Exception, two: Results | Exception) -> str | None:
    rejected = [isinstance(answer, Exception) or any(result.get("error") for result in answer) for answer in (one, two)]
    return None if rejected[0] == rejected[1] else f"only one refuses: {_brief(one)} / {_brief(two)}"


def _is_untyped(answer: Results | Exception) -> bool:
    """A refusal is a typed error; anything else is a fault of ours, also where the recorded server refused too."""
    return isinstance(answer, Exception) and not isinstance(answer, AnalyticsError)


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
    if compare.matched(left, right) or _may_differ(query, left, right, compare):
        return None
    return str(compare.first_diff(left, right, names))


def _without_sql(listed: Any) -> Any:
    """Leave out the SQL that a list of time grains shows for each: it is the engine's own."""
    if isinstance(listed, Mapping):
        return listed
    return [{key: value for key, value in item.items() if key != "function"} for item in listed]


def _may_differ(query: Mapping[str, Any], left: Sequence[Any], right: Sequence[Any], compare: ModuleType) -> bool:
    """Whether rows that nothing orders came in another order, or a limit kept others of them."""
    if query.get("metrics") or query.get("orderby"):
        return False
    is_cut = bool(query.get("row_limit")) and len(left) == query["row_limit"]
    return is_cut or bool(compare.bag_equal(left, right))
