"""Parses a user's SQL fragment to exactly one scalar expression: its columns looked up, its kind of value inferred.

What leaves here was generated from the checked tree, never copied from the text. What each place may hold, and what is
refused, is told in `docs/explanation/sql-fragments.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import Token, exp

from analytics_core._engine.compile.fragments.sizes import reject_large_values
from analytics_core._engine.compile.fragments.sql_nodes import (
    NodeIndex,
    aggregates,
    forget_places,
    is_bare_call,
    loose_columns,
    operators,
    reads_relation,
    reject_misplaced,
    reject_new_groups,
    reject_unknown_nodes,
    restore_meaning,
    unlisted_types,
)
from analytics_core._engine.compile.fragments.sql_text import (
    called_names,
    check_characters,
    parse_scalar,
    read_tokens,
    reject_denied,
    reject_unlisted,
    write_sql,
)
from analytics_core._engine.compile.plan import FragmentExpr
from analytics_core._engine.engines.spec import EngineSpec, Refuse
from analytics_core._engine.engines.types import ValueKind
from analytics_core._tools.memo import Memo
from analytics_core.errors import FragmentError, SubqueryNotAllowedError, UnknownColumnError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FragmentNames:
    """The names a fragment may use: physical columns, under the alias by which the statement knows the source.

    It is compared by identity, which makes it a quick part of keys: a dataset view has one.

    Attributes:
        alias: with which each column is qualified.
        columns: physical column names.
        tables: names by which a user may have qualified a column: `orders`, `shop.orders`.
    """

    alias: str
    columns: tuple[str, ...]
    tables: tuple[str, ...] = ()


def qualify_columns(tree: exp.Expr, names: FragmentNames, *, spec: EngineSpec, place: str) -> exp.Expr:
    """Return the tree with each column as `alias."Exact Name"`; columns inside sub-queries stay as they are.

    Raises:
        UnknownColumnError: a name that the dataset does not have.
    """
    for column in list(_own_columns(tree)):
        replacement = _resolved(column, names, spec=spec, place=place)
        if column is tree:
            tree = replacement
        elif type(replacement) is exp.Column:
            _become(column, replacement)
        else:
            column.replace(replacement)
    return tree


def _become(column: exp.Column, other: exp.Column) -> None:
    """Change a column in its place: replacing thousands in one list would walk through the list for each."""
    for key in {**column.args, **other.args}:
        column.set(key, other.args.get(key))


def _own_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    for node in tree.walk(prune=lambda one: isinstance(one, exp.Query)):
        if isinstance(node, exp.Column):
            yield node


def _resolved(column: exp.Column, names: FragmentNames, *, spec: EngineSpec, place: str) -> exp.Expr:
    parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
    own = _own_parts(parts, names, spec)
    found = _find(own[0], names.columns) if own else None
    if found is None and len(parts) == 1 and is_bare_call(column, spec.syntax):
        return exp.Anonymous(this=column.name, expressions=[])
    if found is None or (len(own) > 1 and not spec.syntax.reads_fields):
        raise _unknown(column, own or parts, names, place)
    node: exp.Expr = exp.Column(
        this=exp.Identifier(this=found, quoted=True), table=exp.Identifier(this=names.alias, quoted=True)
    )
    for field in own[1:]:
        node = exp.Dot(this=node, expression=field.copy())
    return node


def _own_parts(parts: Sequence[exp.Identifier], names: FragmentNames, spec: EngineSpec) -> Sequence[exp.Identifier]:
    """Return the parts without the table's name; nothing when they are qualified by another table."""
    qualifiers = {name.casefold() for name in (names.alias, *names.tables)}
    for length in range(len(parts) - 1, 0, -1):
        if ".".join(part.name for part in parts[:length]).casefold() in qualifiers:
            return parts[length:]
    return parts if len(parts) == 1 or spec.syntax.reads_fields else ()


def _find(name: exp.Identifier, columns: Sequence[str]) -> str | None:
    """Return the column by its exact name, else by its name without case when that is clear."""
    text = name.name
    if text in columns:
        return text
    alike = [column for column in columns if column.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _unknown(
    column: exp.Column, parts: Sequence[exp.Identifier], names: FragmentNames, place: str
) -> UnknownColumnError:
    quoted = len(column.parts) == 1 and isinstance(column.this, exp.Identifier) and column.this.quoted
    hint = f"write text in single quotes: '{column.name}'" if quoted else ""
    written = ".".join(part.name for part in (column.parts if len(parts) > 1 else parts))
    return UnknownColumnError(written, dataset=names.alias, known=names.columns, place=place, hint=hint)


_TRUTHS: Final[tuple[type[exp.Expr], ...]] = (exp.Predicate, exp.And, exp.Or, exp.Xor, exp.Not, exp.Boolean)
_COUNTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Count,
    exp.CountIf,
    exp.ApproxDistinct,
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
)
_TEXTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Upper, exp.Lower, exp.Trim, exp.Replace, exp.Concat, exp.ConcatWs, exp.GroupConcat, exp.Left, exp.Right,
    exp.Pad, exp.Initcap, exp.SplitPart, exp.RegexpReplace, exp.National, exp.RawString, exp.MD5,
)  # fmt: skip


def infer_kind(tree: exp.Expr, spec: EngineSpec) -> ValueKind:
    """Return the kind of the values of `tree`."""
    tree = tree.unnest()
    if isinstance(tree, exp.Cast):
        return spec.value_kind(tree.to.sql(spec.dialect))
    if isinstance(tree, exp.Case | exp.If | exp.Coalesce):
        return _common(infer_kind(branch, spec) for branch in _branches(tree))
    if isinstance(tree, exp.Window | exp.Filter | exp.Collate | exp.Neg):
        return infer_kind(tree.this, spec)
    if isinstance(tree, exp.DPipe):
        sides = (infer_kind(tree.this, spec), infer_kind(tree.expression, spec))
        return ValueKind.TEXT if ValueKind.TEXT in sides else ValueKind.UNKNOWN
    return _plain_kind(tree)


def _plain_kind(tree: exp.Expr) -> ValueKind:
    if isinstance(tree, _TRUTHS) and not isinstance(tree, exp.SubqueryPredicate):
        return ValueKind.BOOLEAN
    if isinstance(tree, _COUNTS):
        return ValueKind.INTEGER
    if isinstance(tree, _TEXTS):
        return ValueKind.TEXT
    if isinstance(tree, exp.Literal):
        if tree.is_string:
            return ValueKind.TEXT
        return ValueKind.INTEGER if tree.is_int else ValueKind.UNKNOWN
    return ValueKind.UNKNOWN


def _branches(tree: exp.Case | exp.If | exp.Coalesce) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Coalesce):
        yield from (tree.this, *tree.expressions)
        return
    choices = tree.args.get("ifs") or [tree]
    default = tree.args.get("default") if isinstance(tree, exp.Case) else tree.args.get("false")
    for branch in (*(choice.args.get("true") for choice in choices), default):
        if branch is not None and not isinstance(branch, exp.Null):
            yield branch


def _common(kinds: Iterator[ValueKind]) -> ValueKind:
    found = set(kinds)
    return found.pop() if len(found) == 1 else ValueKind.UNKNOWN


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
                self._reject_unlisted(found, spec, place)
            self._parsed.put(key, found)
        return found

    def _reject_unlisted(self, parsed: FragmentExpr, spec: EngineSpec, place: str) -> None:
        """Refuse functions and types beyond the lists, and values that grow large, in the text as it is sent."""

        def reject(what: str) -> FragmentError:
            return FragmentError(f"{place}: {what}")

        assert parsed.tree is not None  # noqa: S101 - a parsed fragment has its tree; tells the type checker
        listed, added = spec.guards.allowed_functions, self._allowed.get(spec.name, frozenset())
        tokens = read_tokens(parsed.sql, spec.dialect, reject)
        types = unlisted_types(NodeIndex(parsed.tree), spec, listed, added)
        reject_unlisted(tokens, types, listed | added, reject)
        reject_large_values(tokens, parsed.tree, spec.syntax, reject)

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
        def reject(what: str) -> FragmentError:
            return FragmentError(f"{place}: {what}")

        check_characters(text, max_length=self._max_length, reject=reject)
        tokens = read_tokens(text, spec.dialect, reject)
        try:
            tree = _checked_tree(text, tokens, spec, reject, place=place, allow_subqueries=allow_subqueries)
            _reject_by_slot(tree, slot, spec, reject)
            tree = qualify_columns(tree, names, spec=spec, place=place)
            kind = infer_kind(tree, spec)
            _reject_unusable(kind, slot, reject)
            loose = loose_columns(tree, spec=spec)
            text = _faithful_sql(tree, tokens, spec, reject)
            return FragmentExpr(sql=text, kind=kind, tree=tree, loose_columns=loose)
        except RecursionError:
            raise reject("it is nested too deeply; write it flatter") from None


def _checked_tree(
    text: str, tokens: Sequence[Token], spec: EngineSpec, reject: Refuse, *, place: str, allow_subqueries: bool
) -> exp.Expr:
    """Return the tree of `text` after all checks that do not depend on the place or the dataset."""
    called = called_names(tokens)
    reject_denied(called, spec.guards.denied_functions, reject)
    tree = parse_scalar(text, tokens, spec.dialect, reject)
    if isinstance(tree, exp.Block):
        raise reject("it holds more than one statement; one expression is needed")
    index = NodeIndex(tree)
    if not allow_subqueries and reads_relation(index, spec=spec):
        raise SubqueryNotAllowedError(f"{place}: custom SQL cannot hold sub-queries or table functions")
    reject_unknown_nodes(index, reject, queries=allow_subqueries)
    if not allow_subqueries:
        reject_misplaced(index, reject)
    index = restore_meaning(index, spec.syntax, reject, called=called)
    forget_places(index)
    return index.tree


def _reject_by_slot(tree: exp.Expr, slot: FragmentSlot, spec: EngineSpec, reject: Refuse) -> None:
    if slot not in _WITH_AGGREGATES and (found := next(aggregates(tree, spec=spec), None)):
        raise reject(f"the aggregate {found.key.upper()} is not allowed in a {slot.value}; use a metric or having")
    if slot not in _WITH_WINDOWS and tree.find(exp.Window):
        raise reject(f"window functions (OVER) are not allowed in a {slot.value}; use a metric or column")


def _reject_unusable(kind: ValueKind, slot: FragmentSlot, reject: Refuse) -> None:
    if slot in _CONDITIONS and (kind is ValueKind.TEXT or kind.is_temporal):
        raise reject(f"it gives a {kind.value}, not true or false; compare it with something")


def _faithful_sql(tree: exp.Expr, before: Sequence[Token], spec: EngineSpec, reject: Refuse) -> str:
    """Return the text of the tree, after making sure that it reads back as what was checked."""
    text = write_sql(tree, spec.dialect, reject)
    check_characters(text, max_length=len(text), reject=reject)
    tokens = read_tokens(text, spec.dialect, reject)
    called = called_names(tokens)
    reject_denied(called, spec.guards.denied_functions, reject)
    reject_new_groups(spec.syntax, before, tokens, reject)
    again = NodeIndex(parse_scalar(text, tokens, spec.dialect, reject))
    again = restore_meaning(again, spec.syntax, reject, called=called)
    forget_places(again)
    if write_sql(again.tree, spec.dialect, reject) != text or operators(again) != operators(NodeIndex(tree)):
        raise reject("a part of it cannot be written again with the same meaning; write it in another way")
    return text
