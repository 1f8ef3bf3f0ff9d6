"""Row rules as an input of the planner: conditions that no payload can widen, with the values of the actor bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentParser, FragmentSlot
from analytics_core._engine.compile.fragments.sql_text import write_sql
from analytics_core._engine.compile.lowering.expressions import MARK
from analytics_core._engine.compile.plan import AnyOf, Clause, Condition, FragmentExpr, Origin, OriginKind
from analytics_core._engine.compile.planning_context import PlanningContext
from analytics_core._engine.compile.values import convert
from analytics_core._engine.engines.spec import BindValue, EngineSpec, Refuse
from analytics_core._engine.engines.types import ValueKind
from analytics_core._records.people import Placeholder, RowFilter
from analytics_core.errors import FilterValueError, FragmentError, QueryError, RowRuleError, SubqueryNotAllowedError

ReadFilter = Callable[[RowFilter], FragmentExpr]


def plan_row_filters(scope: PlanningContext, row_filters: Sequence[RowFilter]) -> tuple[Clause, ...]:
    """Return the clauses of all row filters of the dataset that is queried."""
    view = scope.view

    def read(item: RowFilter) -> FragmentExpr:
        names = view.names if item.columns is None else names_of(item.columns, view.alias, tables=view.names.tables)
        kinds = view.kinds if item.columns is None else kinds_of(item.columns, view.spec)
        return read_filter(item, parser=scope.parser, spec=view.spec, names=names, kinds=kinds)

    return filter_clauses(row_filters, read)


def filter_clauses(row_filters: Sequence[RowFilter], read: ReadFilter) -> tuple[Clause, ...]:
    """Return the clauses of row filters: one for each keyless filter, one for each group."""
    groups: dict[str, list[RowFilter]] = {}
    clauses: list[Clause] = []
    for item in row_filters:
        if item.group_key:
            groups.setdefault(item.group_key, []).append(item)
        else:
            kind = OriginKind.GUEST if item.is_of_guest else OriginKind.ROW_RULE
            clauses.append(Clause(Condition(read(item)), Origin(kind, item.name)))
    for key, members in groups.items():
        names = ", ".join(member.name for member in members)
        conditions = AnyOf(tuple(Condition(read(member)) for member in members))
        clauses.append(Clause(conditions, Origin(OriginKind.ROW_RULE, f"{names} (group {key})")))
    return tuple(clauses)


def read_filter(
    item: RowFilter,
    *,
    parser: FragmentParser,
    spec: EngineSpec,
    names: FragmentNames,
    kinds: Mapping[str, ValueKind],
) -> FragmentExpr:
    """Return the condition of a filter as one checked expression with its values bound.

    Raises:
        RowRuleError: it cannot be read; the message holds nothing of the clause, `.detail` does.
    """
    place = f"row rule {item.name!r}"
    try:
        return read_clause(item, place=place, parser=parser, spec=spec, names=names, kinds=kinds)
    except (QueryError, SubqueryNotAllowedError) as error:
        raise RowRuleError(item.name, detail=error.message) from None


def read_clause(
    item: RowFilter,
    *,
    place: str,
    parser: FragmentParser,
    spec: EngineSpec,
    names: FragmentNames,
    kinds: Mapping[str, ValueKind],
) -> FragmentExpr:
    """Return the condition of a filter; an error says what is wrong with the clause, for those who may see it."""

    def reject(what: str) -> QueryError:
        return FragmentError(f"{place}: {what}")

    parsed = parser.parse(item.clause, spec=spec, slot=FragmentSlot.ROW_RULE, place=place, names=names)
    return bind_placeholders(parsed, item.placeholders, kinds=kinds, spec=spec, reject=reject)


def names_of(columns: Sequence[tuple[str, str | None]], alias: str, *, tables: tuple[str, ...] = ()) -> FragmentNames:
    """Return the names that a clause about these columns may use."""
    return FragmentNames(alias=alias, columns=tuple(name for name, _ in columns), tables=tables)


def kinds_of(columns: Sequence[tuple[str, str | None]], spec: EngineSpec) -> dict[str, ValueKind]:
    """Return what columns hold, by their types."""
    return {name: spec.value_kind(type_text) if type_text else ValueKind.UNKNOWN for name, type_text in columns}


_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_CONVERTED: Final = frozenset(
    {ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.TEXT, ValueKind.BOOLEAN}
)


def bind_placeholders(
    fragment: FragmentExpr,
    placeholders: Sequence[Placeholder],
    *,
    kinds: Mapping[str, ValueKind],
    spec: EngineSpec,
    reject: Refuse,
) -> FragmentExpr:
    """Return the fragment with a numbered mark for each value; a value compared with a column becomes of its kind.

    `kinds` says what the columns hold, by their names.

    Raises:
        QueryError: (of `reject`) a value does not fit its column, or stands where no value can be bound.
    """
    if not placeholders:
        return fragment
    assert fragment.tree is not None  # noqa: S101 - a parsed fragment has its tree; tells the type checker
    tree = exp.Paren(this=fragment.tree.copy())
    values: list[BindValue] = []
    literals = [node for node in tree.find_all(exp.Literal) if node.is_string]
    read = " ".join(literal.this for literal in literals)  # the parser takes some texts apart, such as INTERVAL '1 day'
    for literal in literals:
        value = _value_of(literal, placeholders, reject)
        if value is not None:
            values.append(_fitting(value, literal, kinds, reject))
            literal.replace(exp.Var(this=f"{MARK}{len(values) - 1}{MARK}"))
    text = write_sql(tree.this, spec.dialect, reject)
    lost = any(placeholder.mark not in read or placeholder.mark in text for placeholder in placeholders)
    if lost or text.count(MARK) != 2 * len(values):
        raise reject("a value stands where it cannot be bound; compare a column with it")
    return replace(fragment, sql=text, tree=tree.this, values=tuple(values))


def _value_of(literal: exp.Literal, placeholders: Sequence[Placeholder], reject: Refuse) -> BindValue:
    """Return what a literal stands for: one value, or a text with values in it; None when it holds none."""
    text = literal.this
    found = [placeholder for placeholder in placeholders if placeholder.mark in text]
    if not found:
        return None
    if len(found) == 1 and text == found[0].mark:
        return found[0].value
    for placeholder in found:
        if placeholder.is_member:
            raise reject("a list stands inside a text; write IN (...) around it")
        text = text.replace(placeholder.mark, str(placeholder.value))
    return str(text)


def _fitting(value: BindValue, literal: exp.Expr, kinds: Mapping[str, ValueKind], reject: Refuse) -> BindValue:
    column = _compared_column(literal)
    kind = kinds.get(column, ValueKind.UNKNOWN) if column is not None else ValueKind.UNKNOWN
    if column is None or kind not in _CONVERTED:
        return value
    try:
        return convert(value, kind, column=column)
    except FilterValueError:
        raise reject(f"the value for column {column!r} is not of its type") from None


def _compared_column(literal: exp.Expr) -> str | None:
    """Return the name of the column that a value is compared with, when it is compared with one alone."""
    node: exp.Expr = literal
    while isinstance(node.parent, exp.Paren | exp.Tuple):
        node = node.parent
    parent = node.parent
    if isinstance(parent, exp.In | exp.Between):
        other = parent.this if parent.this is not node else None
    elif isinstance(parent, _COMPARISONS):
        other = parent.right if parent.left is node else parent.left
    else:
        return None
    other = other.unnest() if other is not None else None
    return other.name if isinstance(other, exp.Column) else None
