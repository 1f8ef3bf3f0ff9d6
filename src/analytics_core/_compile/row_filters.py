"""Row rules as an input of the planner: conditions that no payload can widen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from analytics_core._compile.fragments import FragmentNames, FragmentParser, FragmentSlot
from analytics_core._compile.fragments.held import bind_holders
from analytics_core._compile.plan import AnyOf, Clause, Condition, FragmentExpr, Origin, OriginKind
from analytics_core._compile.scope import Scope
from analytics_core._engines.spec import EngineSpec
from analytics_core._engines.types import ValueKind
from analytics_core._records.row_rule import RowFilter
from analytics_core.errors import FragmentError, QueryError, RowRuleError, SubqueryNotAllowedError

ReadFilter = Callable[[RowFilter], FragmentExpr]


def plan_row_filters(scope: Scope, row_filters: Sequence[RowFilter]) -> tuple[Clause, ...]:
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

    def refuse(what: str) -> QueryError:
        return FragmentError(f"{place}: {what}")

    parsed = parser.parse(item.clause, spec=spec, slot=FragmentSlot.ROW_RULE, place=place, names=names)
    return bind_holders(parsed, item.holders, kinds=kinds, spec=spec, refuse=refuse)


def names_of(columns: Sequence[tuple[str, str | None]], alias: str, *, tables: tuple[str, ...] = ()) -> FragmentNames:
    """Return the names that a clause about these columns may use."""
    return FragmentNames(alias=alias, columns=tuple(name for name, _ in columns), tables=tables)


def kinds_of(columns: Sequence[tuple[str, str | None]], spec: EngineSpec) -> dict[str, ValueKind]:
    """Return what columns hold, by their types."""
    return {name: spec.value_kind(type_text) if type_text else ValueKind.UNKNOWN for name, type_text in columns}
