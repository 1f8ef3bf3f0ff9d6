"""Parses a user's SQL fragment to exactly one scalar expression, in the dialect of its engine.

What leaves here was generated from the checked tree, never copied from the text. What each place may hold, and what is
refused, is told in `docs/explanation/sql-fragments.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import Token, exp

from analytics_core._compile.fragments.columns import FragmentNames, qualify_columns
from analytics_core._compile.fragments.kinds import infer_kind
from analytics_core._compile.fragments.own_dialect import refuse_new_groups, restore_meaning
from analytics_core._compile.fragments.sql_nodes import (
    aggregates,
    loose_columns,
    operators,
    reads_relation,
    refuse_misplaced,
    refuse_unknown_nodes,
    types_by_name,
)
from analytics_core._compile.fragments.sql_text import (
    called_names,
    check_characters,
    parse_scalar,
    read_tokens,
    refuse_denied,
    refuse_unlisted,
    write_sql,
)
from analytics_core._compile.plan import FragmentExpr
from analytics_core._engines.spec import EngineSpec, Refuse
from analytics_core._engines.types import ValueKind
from analytics_core._memo import Memo
from analytics_core.errors import FragmentError, SubqueryNotAllowedError


class FragmentSlot(StrEnum):
    """Where a fragment stands; the place decides whether aggregates and windows are allowed.

    Aggregates: METRIC, HAVING, ORDER. Windows: METRIC, COLUMN, CALCULATED, ORDER.
    """

    WHERE = "where"
    HAVING = "having"
    COLUMN = "column"
    METRIC = "metric"
    ORDER = "order"
    ROW_RULE = "row rule"
    CALCULATED = "calculated column"


_WITH_AGGREGATES: Final = frozenset({FragmentSlot.METRIC, FragmentSlot.HAVING, FragmentSlot.ORDER})
_WITH_WINDOWS: Final = frozenset(
    {FragmentSlot.METRIC, FragmentSlot.COLUMN, FragmentSlot.CALCULATED, FragmentSlot.ORDER}
)
_CONDITIONS: Final = frozenset({FragmentSlot.WHERE, FragmentSlot.HAVING, FragmentSlot.ROW_RULE})
_Key = tuple[str, str, str, FragmentSlot, FragmentNames, bool, bool]


class FragmentParser:
    """Parses fragments and keeps the latest ones; safe between threads.

    Args:
        max_length: characters of one fragment.
        cache_size: how many parsed fragments are kept.
        allowed: functions and types, by engine name, that fragments of anybody may use besides those of the engine.
    """

    def __init__(
        self,
        *,
        max_length: int = 20_000,
        cache_size: int = 2_000,
        allowed: Mapping[str, AbstractSet[str]] = MappingProxyType({}),
    ) -> None:
        self._max_length = max_length
        self._allowed = {engine: frozenset(map(str.lower, names)) for engine, names in allowed.items()}
        self._parsed: Memo[_Key, FragmentExpr] = Memo(capacity=cache_size)

    def parse(
        self,
        text: str,
        *,
        spec: EngineSpec,
        slot: FragmentSlot,
        place: str,
        names: FragmentNames,
        allow_subqueries: bool = False,
        only_listed: bool = False,
        charge: Callable[[str], None] | None = None,
    ) -> FragmentExpr:
        """Return `text` as one checked expression whose columns are qualified; `place` names it in errors.

        With `only_listed` it may use the functions and types of the engine's list alone, and those that the host added:
        it comes from somebody who may not write SQL. `charge` is told of a text that is parsed anew. The tree of the
        answer is shared: copy it before changing it.

        Raises:
            FragmentError: not one expression of the kind that the slot takes, or a function that is not allowed.
            SubqueryNotAllowedError: it reads a relation of its own.
            UnknownColumnError: it names a column that the dataset does not have.
        """
        key = (text, spec.name, spec.dialect, slot, names, allow_subqueries, only_listed)
        found = self._parsed.get(key)
        if found is None:
            if charge is not None:
                charge(text)
            found = self._parse(text, spec, slot, place, names, allow_subqueries=allow_subqueries)
            if only_listed:
                self._refuse_unlisted(found, spec, place)
            self._parsed.put(key, found)
        return found

    def _refuse_unlisted(self, parsed: FragmentExpr, spec: EngineSpec, place: str) -> None:
        """Refuse functions and types beyond the lists, in the text as it is sent."""

        def refuse(what: str) -> FragmentError:
            return FragmentError(f"{place}: {what}")

        assert parsed.tree is not None  # noqa: S101 - a parsed fragment has its tree; tells the type checker
        allowed = spec.guards.allowed_functions | self._allowed.get(spec.name, ())
        refuse_unlisted(read_tokens(parsed.sql, spec.dialect, refuse), types_by_name(parsed.tree), allowed, refuse)

    def _parse(
        self,
        text: str,
        spec: EngineSpec,
        slot: FragmentSlot,
        place: str,
        names: FragmentNames,
        *,
        allow_subqueries: bool,
    ) -> FragmentExpr:
        def refuse(what: str) -> FragmentError:
            return FragmentError(f"{place}: {what}")

        check_characters(text, max_length=self._max_length, refuse=refuse)
        tokens = read_tokens(text, spec.dialect, refuse)
        try:
            tree = _checked_tree(text, tokens, spec, refuse, place=place, allow_subqueries=allow_subqueries)
            _refuse_by_slot(tree, slot, spec, refuse)
            tree = qualify_columns(tree, names, spec=spec, place=place)
            kind = infer_kind(tree, spec)
            _refuse_unusable(kind, slot, refuse)
            loose = loose_columns(tree, spec=spec)
            text = _faithful_sql(tree, tokens, spec, refuse)
            return FragmentExpr(sql=text, kind=kind, tree=tree, loose_columns=loose)
        except RecursionError:
            raise refuse("it is nested too deeply; write it flatter") from None


def _checked_tree(
    text: str, tokens: Sequence[Token], spec: EngineSpec, refuse: Refuse, *, place: str, allow_subqueries: bool
) -> exp.Expr:
    """Return the tree of `text` after all checks that do not depend on the place or the dataset."""
    refuse_denied(tokens, spec.guards.denied_functions, refuse)
    tree = parse_scalar(text, tokens, spec.dialect, refuse)
    if isinstance(tree, exp.Block):
        raise refuse("it holds more than one statement; one expression is needed")
    if not allow_subqueries and reads_relation(tree, spec=spec):
        raise SubqueryNotAllowedError(f"{place}: custom SQL cannot hold sub-queries or table functions")
    refuse_unknown_nodes(tree, refuse, queries=allow_subqueries)
    if not allow_subqueries:
        refuse_misplaced(tree, refuse)
    return restore_meaning(tree, spec.syntax, refuse, called=called_names(tokens))


def _refuse_by_slot(tree: exp.Expr, slot: FragmentSlot, spec: EngineSpec, refuse: Refuse) -> None:
    if slot not in _WITH_AGGREGATES and (found := next(aggregates(tree, spec=spec), None)):
        raise refuse(f"the aggregate {found.key.upper()} is not allowed in a {slot.value}; use a metric or having")
    if slot not in _WITH_WINDOWS and tree.find(exp.Window):
        raise refuse(f"window functions (OVER) are not allowed in a {slot.value}; use a metric or column")


def _refuse_unusable(kind: ValueKind, slot: FragmentSlot, refuse: Refuse) -> None:
    if slot in _CONDITIONS and (kind is ValueKind.TEXT or kind.is_temporal):
        raise refuse(f"it gives a {kind.value}, not true or false; compare it with something")


def _faithful_sql(tree: exp.Expr, before: Sequence[Token], spec: EngineSpec, refuse: Refuse) -> str:
    """Return the text of the tree, after making sure that it reads back as what was checked."""
    text = write_sql(tree, spec.dialect, refuse)
    check_characters(text, max_length=max(len(text), 1), refuse=refuse)
    tokens = read_tokens(text, spec.dialect, refuse)
    refuse_denied(tokens, spec.guards.denied_functions, refuse)
    refuse_new_groups(spec.syntax, before, tokens, refuse)
    again = parse_scalar(text, tokens, spec.dialect, refuse)
    again = restore_meaning(again, spec.syntax, refuse, called=called_names(tokens))
    if write_sql(again, spec.dialect, refuse) != text or operators(again) != operators(tree):
        raise refuse("a part of it cannot be written again with the same meaning; write it in another way")
    return text
