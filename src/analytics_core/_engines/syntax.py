"""Where a dialect means something else than sqlglot's parser and writer believe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from analytics_core.errors import QueryError

Refuse = Callable[[str], QueryError]
"""Makes the caller's error from what is wrong; the caller adds the place."""

Repair = Callable[[exp.Expr, Refuse], exp.Expr | None]
"""Node -> what stands in its place, so that the dialect writes its meaning; None: the node, which may have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """What the parser does not know of a dialect.

    Attributes:
        repairs: tried on each node of a user's SQL.
        repairs_by_call: lower-case name of a function -> a repair for texts that call it.
        bare_calls: functions that are called without parentheses.
        groups_comparisons: whether it groups comparisons with levels of its own; the parser follows the standard's.
        reads_fields: whether `column.field` reads a field of a nested value.
        extremes_of_values: whether MAX and MIN of several arguments are no aggregates.
    """

    repairs: tuple[Repair, ...] = ()
    repairs_by_call: Mapping[str, Repair] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    bare_calls: frozenset[str] = frozenset()
    groups_comparisons: bool = False
    reads_fields: bool = False
    extremes_of_values: bool = False


STANDARD_SYNTAX: Final = Syntax()
"""The parser knows all that matters."""
