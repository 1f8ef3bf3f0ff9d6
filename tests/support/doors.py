"""Every method of every namespace of the facade, and arguments that it can be called with."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

from analytics_core import AnalyticsCore

GUESTS_MAY = {
    "charts": {"get", "list", "data", "picture", "submit", "job"},
    "dashboards": {"get", "list", "charts", "datasets", "data", "picture", "page", "filter_options"},
}
NAMESPACES = sorted(
    name
    for name, member in inspect.getmembers(AnalyticsCore)
    if isinstance(member, property) and not name.startswith("_")
)


def methods(core: AnalyticsCore, namespace: str) -> list[str]:
    """Return the names of the methods of a namespace, as somebody signed in sees it."""
    found = getattr(core, namespace)
    return sorted(n for n in dir(type(found)) if not n.startswith("_") and callable(getattr(found, n)))


def closed_doors(core: AnalyticsCore, namespace: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Return the methods that no guest may call, each with arguments."""
    names = [name for name in methods(core, namespace) if name not in GUESTS_MAY.get(namespace, set())]
    return [(name, *anything(getattr(getattr(core, namespace), name))) for name in names]


def anything(method: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments that a method can be called with."""
    parameters = [p for p in inspect.signature(method).parameters.values() if p.default is inspect.Parameter.empty]
    named = {p.name: 1 for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return [1 for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD], named


def kind_of(namespace: str) -> Any:
    """Return the class of a namespace of a core; those of the SQL editor are loaded late."""
    from analytics_core._sql.namespace import Sql
    from analytics_core._sql.queries import Queries
    from analytics_core._sql.saved_queries import SavedQueries

    late = {kind.__name__: kind for kind in (Sql, Queries, SavedQueries)}
    return get_type_hints(getattr(AnalyticsCore, namespace).fget, localns=late)["return"]
