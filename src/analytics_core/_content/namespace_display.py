"""What notebooks show of a namespace of a core: what it is for, its first records, and its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from analytics_core._tools.display.blocks import Block, Blocks, HeadingBlock, fold, table
from analytics_core._tools.display.bundles import error_block
from analytics_core.errors import AnalyticsError
from analytics_core.models.display import page_blocks

_FIRST_RECORDS: Final = 10


def namespace_blocks(namespace: object) -> Blocks:
    """Return what can be seen of a namespace; its first records are read from the metadata store, as `list` does."""
    kind = type(namespace)
    pages = first_page(getattr(namespace, "list", None)) if hasattr(kind, "_resource") else []
    return [HeadingBlock(text=kind.__name__, detail=_first_line(kind)), *pages, *fold("methods", methods_table(kind))]


def first_page(list_records: Callable[..., Any] | None) -> Blocks:
    """Return the first records that `list` gives; an error in their place where the actor may not ask."""
    if list_records is None:
        return []
    try:
        page = list_records(page_size=_FIRST_RECORDS)
    except AnalyticsError as error:
        return [error_block(error)]
    return page_blocks(page.result, page.count)


def methods_table(kind: type) -> tuple[Block, ...]:
    """Return the public methods of a class, with what each gives."""
    methods = dict(_methods(kind))
    return table({"method": list(methods), "what it gives": list(methods.values())})


def _methods(kind: type) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(member, property):
            yield name, _first_line(member.fget)
        elif callable(member):
            yield f"{name.removeprefix('__call__')}{_parameters(member)}", _first_line(member)


def _parameters(method: Callable[..., Any]) -> str:
    """Return the names of a method's parameters; the optional ones as `...`."""
    given = list(inspect.signature(method).parameters.values())[1:]
    required = [one.name for one in given if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    return f"({', '.join([*required, *(['...'] if len(given) > len(required) else [])])})"


def _first_line(seen: Any) -> str:
    return (inspect.getdoc(seen) or "").partition("\n")[0]
