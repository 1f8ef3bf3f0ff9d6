"""What is wrong with the scopes and targets of a dashboard's filters, before they reach nothing; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from analytics_core._resources.batches import is_id
from analytics_core.errors import Problem

_GLOBAL: Final = "global"


def filter_part_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scope and the targets of one filter; what is absent or null is not wrong."""
    yield from scope_problems(item, path=path)
    targets = item.get("targets")
    if targets is not None and not _are(targets, _is_object):
        yield Problem(path=f"{path}.targets", message="must be an array of objects")
        return
    for position, target in enumerate(targets or ()):
        place = f"{path}.targets.{position}"
        if not _is_absent_or(target.get("datasetId"), is_id):
            yield Problem(path=f"{place}.datasetId", message="must be the id of a dataset")
        if not _is_absent_or(target.get("column"), _is_object):
            yield Problem(path=f"{place}.column", message="must be an object with the name of a column")


def cross_filter_problems(configuration: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scopes in which charts filter each other."""
    for key, entry in configuration.items():
        filters = entry.get("crossFilters") if isinstance(entry, Mapping) else entry
        if filters is not None and not _is_object(filters):
            inner = ".crossFilters" if isinstance(entry, Mapping) else ""
            yield Problem(path=f"{path}.{key}{inner}", message="must be an object")
        elif filters:
            yield from scope_problems(filters, path=f"{path}.{key}.crossFilters")


def scope_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with `scope` and `chartsInScope` of something that reaches charts."""
    if not _is_absent_or(item.get("chartsInScope"), _are_ids):
        yield Problem(path=f"{path}.chartsInScope", message="must be an array of ids of charts")
    scope = item.get("scope")
    if scope is None or scope == _GLOBAL:
        return
    if not _is_object(scope):
        yield Problem(path=f"{path}.scope", message="must be an object")
        return
    if not _is_absent_or(scope.get("excluded"), _are_ids):
        yield Problem(path=f"{path}.scope.excluded", message="must be an array of ids of charts")
    if not _is_absent_or(scope.get("rootPath"), lambda value: _are(value, lambda name: isinstance(name, str))):
        yield Problem(path=f"{path}.scope.rootPath", message="must be an array of texts")


def _is_absent_or(value: Any, fits: Callable[[Any], bool]) -> bool:
    return value is None or fits(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _are_ids(value: Any) -> bool:
    return _are(value, is_id)
