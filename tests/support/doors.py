"""Every method of every namespace of the facade, and arguments that it can be called with."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from analytics_core import AnalyticsCore

GUESTS_MAY = {
    "charts": {"get", "list", "data", "picture", "submit", "job"},
    "dashboards": {
        *("get", "list", "charts", "datasets", "data", "picture", "page", "filter_options", "submit", "job")
    },
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
    """Return the class of a namespace of a core."""
    return hints_of(getattr(AnalyticsCore, namespace).fget)["return"]


def hints_of(member: Any) -> dict[str, Any]:
    """Return the types of a function's arguments and of what it returns, those that its module loads late, too."""
    function = inspect.unwrap(member)
    source = inspect.getsourcefile(function)
    assert source is not None
    late = {name: getattr(import_module(module), name) for module, name in imported_for_checkers(Path(source))}
    return get_type_hints(function, localns=late)


def imported_for_checkers(module: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules and names that a module imports for type checkers alone."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for found in node.body:
                assert isinstance(found, ast.ImportFrom)
                yield from ((found.module or "", alias.name) for alias in found.names)
