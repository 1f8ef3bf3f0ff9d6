"""Leaves out of answers what is not a guest's business: people, roles, SQL and connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from analytics_core._resources.listing import Page
from analytics_core._results.answer import ChartData
from analytics_core.models.base import Answer

Shown = TypeVar("Shown", bound=Answer)

_HIDDEN: Final[Mapping[str, Any]] = {
    "owners": (),
    "roles": (),
    "changed_by": None,
    "changed_by_name": None,
    "created_by": None,
    "created_by_name": None,
    "last_saved_by": None,
    "database": None,
    "default_endpoint": None,
    "fetch_values_predicate": None,
    "health_check_message": None,
    "perm": None,
    "select_star": None,
    "sql": None,
    "template_params": None,
}


def for_guest(answer: Shown) -> Shown:
    """Return an answer without people, roles, connections and the SQL of datasets."""
    given = answer.model_fields_set
    changes: dict[str, Any] = {name: empty for name, empty in _HIDDEN.items() if name in given}
    for part in ("columns", "metrics"):
        if part in given:
            changes[part] = tuple(_without_sql(item) for item in getattr(answer, part) or ())
    return answer.model_copy(update=changes)


def page_for_guest(page: Page[Shown]) -> Page[Shown]:
    """Return a page of a list without the same."""
    return Page(count=page.count, result=tuple(for_guest(item) for item in page))


def without_statements(answer: ChartData) -> ChartData:
    """Return the answer to a query without its SQL: values and row rules stand in it."""
    return replace(answer, results=tuple(replace(result, query="") for result in answer.results))


def _without_sql(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {name: None if name == "expression" else value for name, value in item.items()}
    fields = getattr(type(item), "model_fields", {})
    return item.model_copy(update={"expression": None}) if "expression" in fields else item
