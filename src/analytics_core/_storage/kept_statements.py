"""What a store has built of its statements, kept while it is asked for again: building one is slow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Select, Table

from analytics_core._memo import Memo
from analytics_core._records.repositories import Scope
from analytics_core._storage.scopes import in_scope

_MOST = 200
NamesStatement = Select[Any] | CompoundSelect[Any]


@dataclass(frozen=True, slots=True)
class KeptStatements:
    """The conditions of scopes and the statements of lists and names that were asked for last; safe between threads."""

    _conditions: Memo[tuple[str, Scope], ColumnElement[bool]] = field(default_factory=lambda: Memo(capacity=_MOST))
    pages: Memo[Hashable, Select[Any]] = field(default_factory=lambda: Memo(capacity=_MOST))
    names: Memo[Hashable, NamesStatement] = field(default_factory=lambda: Memo(capacity=_MOST))

    def in_scope(self, table: Table, scope: Scope) -> ColumnElement[bool]:
        """Return the condition that a record of this table is in the scope."""
        key = (table.name, scope)
        condition = self._conditions.get(key)
        if condition is None:
            condition = in_scope(table, scope)
            self._conditions.put(key, condition)
        return condition
