"""Turns the filters of a query into clauses: on columns into WHERE, on saved metrics into HAVING."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analytics_core._engine.compile.advanced_types import AdvancedDataType
from analytics_core._engine.compile.columns import adhoc_column, column_by_name, parse_grain, timed
from analytics_core._engine.compile.comparisons import (
    FilterMoment,
    can_equal,
    compare_moment,
    compare_number,
    filter_moment,
    member_moments,
    predicate_of,
)
from analytics_core._engine.compile.metrics import saved_metric
from analytics_core._engine.compile.plan import (
    BucketExpr,
    Clause,
    ColumnExpr,
    Compare,
    Comparison,
    FragmentExpr,
    InValues,
    IsNull,
    IsTruth,
    Match,
    Origin,
    OriginKind,
    PlanExpr,
    Predicate,
    RejectedFilter,
)
from analytics_core._engine.compile.planning_context import PlanningContext
from analytics_core._engine.compile.values import bytes_displayed_as, convert
from analytics_core._engine.engines.spec import BindValue
from analytics_core._engine.engines.types import NumberRange, ValueKind
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import FilterOperator
from analytics_core.models.query import AdhocColumn, ChartDataFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFilters:
    """What became of a query's filters; names are those of the payload."""

    where: tuple[Clause, ...] = ()
    having: tuple[Clause, ...] = ()
    applied: tuple[str, ...] = ()
    rejected: tuple[RejectedFilter, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The left side of a filter: what is compared, under which name, and the kind that values must have.

    `numbers` are those that a physical column can hold, where its type tells. Moments of filters are `hours` later than
    those that are stored. `nested`: the column holds lists or structs.
    """

    expr: PlanExpr
    label: str
    kind: ValueKind
    temporal: bool
    max_in_values: int
    numbers: NumberRange | None = None
    hours: int = 0
    nested: bool = False

    def moment(self, value: Any) -> FilterMoment:
        """Return the stored moments that are shown as `value`; FilterValueError when it is none."""
        return filter_moment(value, column=self.label, hours=self.hours)


def filter_name(item: ChartDataFilter) -> str:
    """Return the name by which a filter is reported."""
    if isinstance(item.col, AdhocColumn):
        return item.col.label or item.col.sql_expression or ""
    return item.col


def plan_filters(scope: PlanningContext, filters: Sequence[tuple[int, ChartDataFilter]]) -> PlannedFilters:
    """Return the clauses of all filters but time ranges; each comes with its position in the payload."""
    where, having, applied, rejected, unused = [], [], [], [], []
    for position, item in filters:
        place = f"filters[{position}]"
        origin = Origin(OriginKind.PAYLOAD, f"{place} {filter_name(item)}")
        _check_value(item)
        if isinstance(item.col, str) and scope.view.find_column(item.col) is None:
            if item.col not in scope.view.metrics:
                rejected.append(RejectedFilter(column=item.col, reason="not_in_datasource"))
                continue
            having.append(Clause(_predicate(_metric_target(scope, item.col), item), origin))
        else:
            where.append(Clause(_on_column(scope, item, place=place), origin))
            if item.grain and filter_column(scope, item, place=place).time is None:
                unused.append(f"{place}.grain {item.grain} is not used: {filter_name(item)!r} holds no moments")
        applied.append(filter_name(item))
    return PlannedFilters(
        where=tuple(where),
        having=tuple(having),
        applied=tuple(applied),
        rejected=tuple(rejected),
        unused=tuple(unused),
    )


def filter_column(scope: PlanningContext, item: ChartDataFilter, *, place: str) -> ColumnExpr | FragmentExpr:
    """Return what a filter compares: the dataset's column, or the SQL of an ad-hoc one (moments, if it has a grain)."""
    if isinstance(item.col, AdhocColumn):
        return timed(adhoc_column(scope, item.col, place=place), is_moment=bool(item.grain))
    return column_by_name(scope, item.col)


def _check_value(item: ChartDataFilter) -> None:
    if item.op in (FilterOperator.EQUALS, FilterOperator.NOT_EQUALS) and "val" not in item.model_fields_set:
        raise FilterValueError(f"filter on {filter_name(item)!r}: {item.op.value} needs val; null there finds nulls")


def _on_column(scope: PlanningContext, item: ChartDataFilter, *, place: str) -> Predicate:
    target = _column_target(scope, item, place=place)
    kind = _advanced_type(scope, item, target)
    if kind is None or item.op in _NEVER_TRANSLATED:
        return _predicate(target, item)
    many = item.op in (FilterOperator.IN, FilterOperator.NOT_IN)
    values = _members(target, item.op, item.val) if many else [_single(target, item.op, item.val)]
    largest = _LARGEST_INTEGER if target.kind is ValueKind.INTEGER else None
    return predicate_of(kind, target.expr, item.op, values, column=target.label, largest=largest)


def _advanced_type(scope: PlanningContext, item: ChartDataFilter, target: Target) -> AdvancedDataType | None:
    """Return the advanced data type of a filter's column; only columns of numbers hold what such types read."""
    name = scope.view.find_column(item.col) if isinstance(item.col, str) else None
    if name is None or target.temporal or target.kind not in (ValueKind.INTEGER, ValueKind.DECIMAL):
        return None
    return scope.advanced_types.get(scope.view.columns[name].advanced_data_type or "")


def _column_target(scope: PlanningContext, item: ChartDataFilter, *, place: str) -> Target:
    expr: ColumnExpr | FragmentExpr | BucketExpr = filter_column(scope, item, place=place)
    assert not isinstance(expr, BucketExpr)  # noqa: S101 - tells the type checker; filter_column never returns one
    temporal = expr.time is not None
    kind = expr.kind
    grain = parse_grain(item.grain, place=f"{place}.grain")
    hours = scope.view.dataset.offset if temporal else 0
    if temporal and grain:
        expr, hours = BucketExpr(expr, grain, hours), 0
    return Target(
        expr=expr,
        label=filter_name(item),
        kind=kind,
        temporal=temporal,
        max_in_values=scope.limits.max_in_values,
        numbers=expr.numbers if isinstance(expr, ColumnExpr) else None,
        hours=hours,
        nested=isinstance(expr, ColumnExpr) and bool(_NESTED.search(scope.view.columns[expr.name].type or "")),
    )


def _metric_target(scope: PlanningContext, name: str) -> Target:
    output = saved_metric(scope, name)
    return Target(
        expr=output.expr,
        label=name,
        kind=output.kind,
        temporal=False,
        max_in_values=scope.limits.max_in_values,
    )


def _predicate(target: Target, item: ChartDataFilter) -> Predicate:
    if target.nested and (item.op in _COMPARISONS or item.op in (FilterOperator.IN, FilterOperator.NOT_IN)):
        raise FilterValueError(
            f"filter on {target.label!r}: the column holds lists or structs, which no single value equals; "
            "filter by an ad-hoc column of SQL, or with LIKE"
        )
    return _BUILDERS[item.op](target, item.op, item.val)


def _null_check(target: Target, op: FilterOperator, _value: Any) -> Predicate:
    return IsNull(target.expr, negated=op is FilterOperator.IS_NOT_NULL)


def _truth_check(target: Target, op: FilterOperator, _value: Any) -> Predicate:
    if target.temporal or target.kind is ValueKind.TEXT:
        raise FilterValueError(f"{op.value} needs a Boolean or numeric column; {target.label!r} is not")
    return IsTruth(target.expr, truth=op is FilterOperator.IS_TRUE)


_COMPARISONS: Mapping[FilterOperator, Comparison] = {
    FilterOperator.EQUALS: Comparison.EQUAL,
    FilterOperator.NOT_EQUALS: Comparison.NOT_EQUAL,
    FilterOperator.GREATER: Comparison.GREATER,
    FilterOperator.GREATER_OR_EQUAL: Comparison.GREATER_OR_EQUAL,
    FilterOperator.LESS: Comparison.LESS,
    FilterOperator.LESS_OR_EQUAL: Comparison.LESS_OR_EQUAL,
}

_EQUALITIES: Mapping[FilterOperator, FilterOperator] = {
    FilterOperator.EQUALS: FilterOperator.IN,
    FilterOperator.NOT_EQUALS: FilterOperator.NOT_IN,
}
"""Comparisons with one value, and the same with several."""


def _comparison(target: Target, op: FilterOperator, value: Any) -> Predicate:
    single = _single(target, op, value)
    if single is None:
        if op in (FilterOperator.EQUALS, FilterOperator.NOT_EQUALS):
            return IsNull(target.expr, negated=op is FilterOperator.NOT_EQUALS)
        raise FilterValueError(f"filter on {target.label!r}: {op.value} needs a value; use IS NULL to find nulls")
    if target.kind is ValueKind.BOOLEAN and op not in (FilterOperator.EQUALS, FilterOperator.NOT_EQUALS):
        raise FilterValueError(f"filter on {target.label!r}: Booleans are compared with == and != only")
    if target.temporal or target.kind.is_temporal:
        return compare_moment(target.expr, _COMPARISONS[op], target.moment(single))
    if (
        target.kind is ValueKind.BYTES
        and op in _EQUALITIES
        and len(bytes_displayed_as(single, column=target.label)) > 1
    ):
        return _membership(target, _EQUALITIES[op], [single])
    converted = convert(single, target.kind, column=target.label)
    if target.kind.is_numeric and isinstance(converted, int | float | Decimal):
        return compare_number(target.expr, _COMPARISONS[op], converted, target.kind, target.numbers)
    return Compare(target.expr, _COMPARISONS[op], converted)


def _single(target: Target, op: FilterOperator, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if len(value) != 1:
        raise FilterValueError(f"filter on {target.label!r}: {op.value} takes one value, not {len(value)}; use IN")
    return value[0]


def _members(target: Target, op: FilterOperator, value: Any) -> list[Any]:
    """Return the values of a filter; at least one, and no more than may be."""
    members = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
    if not members:
        raise FilterValueError(f"filter on {target.label!r}: {op.value} needs at least one value")
    if len(members) > target.max_in_values:
        raise FilterValueError(
            f"filter on {target.label!r}: {len(members)} values are more than Settings.max_in_values "
            f"({target.max_in_values}) allows"
        )
    return members


def _membership(target: Target, op: FilterOperator, value: Any) -> Predicate:
    values = _members(target, op, value)
    present = [single for single in values if single is not None]
    negated, with_null = op is FilterOperator.NOT_IN, None in values
    if target.temporal or target.kind.is_temporal:
        moments = [target.moment(single) for single in present]
        return member_moments(target.expr, moments, with_null=with_null, negated=negated)
    converted: list[BindValue]
    if target.kind is ValueKind.BYTES:
        converted = [variant for single in present for variant in bytes_displayed_as(single, column=target.label)]
    else:
        converted = [convert(single, target.kind, column=target.label) for single in present]
    if target.kind.is_numeric:
        converted = [member for member in converted if can_equal(member, target.kind, target.numbers)]
    return InValues(target.expr, tuple(dict.fromkeys(converted)), with_null=with_null, negated=negated)


_LIKES = {
    FilterOperator.LIKE: (False, False),
    FilterOperator.NOT_LIKE: (False, True),
    FilterOperator.ILIKE: (True, False),
    FilterOperator.NOT_ILIKE: (True, True),
}


def _match(target: Target, op: FilterOperator, value: Any) -> Predicate:
    single = _single(target, op, value)
    if isinstance(single, bool) or not isinstance(single, str | int | float):
        raise FilterValueError(f"filter on {target.label!r}: {op.value} needs a text pattern, for example 'Bo%'")
    if target.kind in (ValueKind.FLOAT, ValueKind.BOOLEAN):
        raise FilterValueError(
            f"filter on {target.label!r}: {op.value} needs text; how a {target.kind.value} is written differs by engine"
        )
    fold_case, negated = _LIKES[op]
    pattern = str(convert(single, ValueKind.TEXT, column=target.label))
    return Match(target.expr, pattern, fold_case=fold_case, negated=negated)


def _reject_range(target: Target, _op: FilterOperator, _value: Any) -> Predicate:
    raise FilterValueError(f"filter on {target.label!r}: TEMPORAL_RANGE is for time columns of the dataset")


_NESTED = re.compile(r"\[\d*\]$|^(?:STRUCT|MAP|LIST|ARRAY|UNION|ROW|TUPLE|NESTED)\b", re.IGNORECASE)
_LARGEST_INTEGER = 2**63 - 1
_NEVER_TRANSLATED = frozenset(
    {FilterOperator.IS_NULL, FilterOperator.IS_NOT_NULL, FilterOperator.IS_TRUE, FilterOperator.IS_FALSE}
)
"""Operators that mean the same on a column of an advanced data type as on any other."""

_BUILDERS: Mapping[FilterOperator, Callable[[Target, FilterOperator, Any], Predicate]] = {
    **dict.fromkeys((FilterOperator.IS_NULL, FilterOperator.IS_NOT_NULL), _null_check),
    **dict.fromkeys((FilterOperator.IS_TRUE, FilterOperator.IS_FALSE), _truth_check),
    **dict.fromkeys(_COMPARISONS, _comparison),
    **dict.fromkeys((FilterOperator.IN, FilterOperator.NOT_IN), _membership),
    **dict.fromkeys(_LIKES, _match),
    FilterOperator.TEMPORAL_RANGE: _reject_range,
}
