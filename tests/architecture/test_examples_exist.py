"""Every public call that a core offers shows how it is made; `tests/docs` runs what is shown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from tests.support.cases import for_each
from tests.support.doors import kind_of

from analytics_core import AnalyticsCore, DatasetHandle
from analytics_core._notebook.builder.charts import QueryChart
from analytics_core._notebook.builder.query import DatasetQuery

FURTHER = (DatasetHandle, DatasetQuery, QueryChart)
"""What `core.dataset` leads to."""


def _function_of(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    if isinstance(member, cached_property):
        return member.func
    return getattr(member, "__func__", member)


def _public(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, by name."""
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if not name.startswith("_") and (callable(_function_of(member)) or isinstance(member, property)):
            yield name, member


def _namespaces() -> Iterator[tuple[str, type]]:
    for name, member in _public(AnalyticsCore):
        if isinstance(member, property):
            yield f"core.{name}", kind_of(name)


KINDS = [("core", AnalyticsCore), *_namespaces(), *((kind.__name__, kind) for kind in FURTHER)]


@for_each(("name", "kind"), KINDS)
def test_every_public_call_has_an_example(name: str, kind: type) -> None:
    without = [
        f"{name}.{member_name}"
        for member_name, member in _public(kind)
        if "Examples:\n" not in (text := inspect.getdoc(_function_of(member)) or "") or ">>> " not in text
    ]
    assert without == []


def test_the_namespaces_are_found() -> None:
    assert len(KINDS) > 20
    assert sum(1 for _, kind in KINDS for _ in _public(kind)) > 200
