"""Conditions, order and pages of a list of records; scopes as conditions; statements, which are slow to build."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    ColumnElement,
    CompoundSelect,
    Double,
    Integer,
    Select,
    String,
    Table,
)
from sqlalchemy.types import TypeEngine

from analytics_core._content.storage import tables
from analytics_core._content.storage.column_types import (
    INTEGERS,
    FoldedText,
    LongText,
    Name,
    UtcMoment,
    fits_integer,
    text_problem,
)
from analytics_core._content.storage.parts import among
from analytics_core._content.storage.record_kinds import RecordKind, is_drawn_from_dataset
from analytics_core._records.repositories import Audience, ListFilter, ListQuery, Scope
from analytics_core._tools.display.blocks import plural
from analytics_core._tools.memo import Memo
from analytics_core.errors import ErrorType, FilterValueError, LimitError, UnknownNameError, UnknownOperatorError

TOTAL: Final = "ac_total"
_FARTHEST_ROW: Final = 2**31 - 1
_LARGEST_INTEGER: Final = 2**53
_ESCAPE: Final = "/"
_PAGE_SIZE: Final = sa.bindparam("page_size", type_=Integer)
_OFFSET: Final = sa.bindparam("first_row", type_=Integer)


NamesStatement = Select[Any] | CompoundSelect[Any]


def _memo() -> Memo[Any, Any]:
    return Memo(capacity=200)


@dataclass(frozen=True, slots=True)
class StatementCache:
    """The conditions of scopes and the statements of lists and names that were asked for last; safe between threads."""

    _conditions: Memo[tuple[str, Scope], ColumnElement[bool]] = field(default_factory=_memo)
    pages: Memo[Hashable, Select[Any]] = field(default_factory=_memo)
    distinct: Memo[Hashable, tuple[Select[Any], Select[Any]]] = field(default_factory=_memo)
    newest: Memo[Hashable, Select[Any]] = field(default_factory=_memo)
    names: Memo[Hashable, NamesStatement] = field(default_factory=_memo)

    def in_scope(self, table: Table, scope: Scope) -> ColumnElement[bool]:
        """Return the condition that a record of this table is in the scope."""
        key = (table.name, scope)
        condition = self._conditions.get(key)
        if condition is None:
            condition = in_scope(table, scope)
            self._conditions.put(key, condition)
        return condition


class UnknownListColumnError(UnknownNameError, error_type=ErrorType.COLUMN_DOES_NOT_EXIST_ERROR):
    """A list is filtered or ordered by a column that its records do not have."""

    noun = "column"


def page_statement(
    kind: RecordKind[Any], query: ListQuery, cache: StatementCache, *, with_total: bool = True
) -> tuple[Select[Any], Mapping[str, Any]]:
    """Return the statement of one page and its values; each row may also hold the number of all matches, as `TOTAL`.

    Lists that differ in values alone share a cached statement; those of numbered records are built anew.
    """
    if query.page or not 1 <= query.page_size <= _FARTHEST_ROW:
        _check_page(query)
    shapes, values = _bound(kind, query.filters)
    paged = {**values, _PAGE_SIZE.key: query.page_size, _OFFSET.key: query.page * query.page_size}
    key = (kind.noun, shapes, query.order_by, query.ids, query.among_datasets, with_total, query.count_up_to)
    statement = cache.pages.get(key)
    if statement is None:
        narrowed, columns = conditions(kind, query, cache, with_values=False), kind.reader.columns
        if with_total:  # not as a window, which would read all rows whole
            counted = _count(kind, narrowed, query.count_up_to).correlate(None)
            columns = (*columns, counted.scalar_subquery().label(TOTAL))
        found = sa.select(*columns).where(*narrowed).order_by(*_order(kind, query, cache))
        statement = found.limit(_PAGE_SIZE).offset(_OFFSET)
        if _has_no_numbers(query):
            cache.pages.put(key, statement)
    return statement, paged


def _check_page(query: ListQuery) -> None:
    if query.page < 0 or query.page_size < 1 or query.page * query.page_size + query.page_size > _FARTHEST_ROW:
        raise LimitError("page counts from 0 and page_size from 1; together they must stay below 2147483648 rows")


def count_statement(kind: RecordKind[Any], query: ListQuery, cache: StatementCache) -> Select[Any]:
    """Return the statement that counts all matches, for pages beyond the last one."""
    return _count(kind, conditions(kind, query, cache), query.count_up_to)


def _count(kind: RecordKind[Any], narrowed: list[ColumnElement[bool]], most: int | None) -> Select[Any]:
    if most is None:
        return sa.select(sa.func.count()).select_from(kind.table).where(*narrowed)
    found = sa.select(sa.literal(1)).select_from(kind.table).where(*narrowed).limit(most)
    return sa.select(sa.func.count()).select_from(found.correlate(None).subquery())


def distinct_statements(
    kind: RecordKind[Any], name: str, query: ListQuery, cache: StatementCache
) -> tuple[Select[Any], Select[Any], Mapping[str, Any]]:
    """Return the statements that count the values of a column and give a page of them, sorted, and their values.

    NULL is no value. Parts that are ids, such as `owner_ids`, have the ids that any of the records holds.
    """
    _check_page(query)
    shapes, values = _bound(kind, query.filters)
    key = (kind.noun, name, shapes, query.ids, query.among_datasets)
    statements = cache.distinct.get(key)
    if statements is None:
        statements = _distinct(kind, name, query, cache)
        if _has_no_numbers(query):
            cache.distinct.put(key, statements)
    return *statements, {**values, _PAGE_SIZE.key: query.page_size, _OFFSET.key: query.page * query.page_size}


def _distinct(
    kind: RecordKind[Any], name: str, query: ListQuery, cache: StatementCache
) -> tuple[Select[Any], Select[Any]]:
    links, where = kind.links, conditions(kind, query, cache, with_values=False)
    column: ColumnElement[Any]
    if link := links.get(name):
        column, source = link.value_column, link.table
        where = [link.parent.in_(sa.select(kind.table.c.id).where(*where))]
    else:
        column, source = _listed(kind, name, query, cache, also=links), kind.table
        where.append(column != "" if name in kind.blank_for_none else column.is_not(None))
    value = column.label("ac_value")
    counted = sa.select(sa.func.count(column.distinct())).select_from(source).where(*where)
    paged = sa.select(value).distinct().select_from(source).where(*where).order_by(value.asc())
    return counted, paged.limit(_PAGE_SIZE).offset(_OFFSET)


def _has_no_numbers(query: ListQuery) -> bool:
    """Tell whether the statement of a query may be kept: one of numbered records is hardly asked twice."""
    return not isinstance(query.ids, frozenset) and not isinstance(query.among_datasets, frozenset)


def newest_statement(
    kind: RecordKind[Any], names: Sequence[str], moment: str, query: ListQuery, cache: StatementCache
) -> tuple[Select[Any], Mapping[str, Any]]:
    """Return the statement of the different values of columns together, with the latest moment and highest id."""
    _check_page(query)
    shapes, values = _bound(kind, query.filters)
    key = (kind.noun, tuple(names), moment, shapes, query.ids, query.among_datasets)
    statement = cache.newest.get(key)
    if statement is None:
        columns = [_column(kind, name) for name in names]
        latest, last = sa.func.max(_column(kind, moment)), sa.func.max(kind.table.c.id)
        narrowed = conditions(kind, query, cache, with_values=False)
        paged: Select[Any] = sa.select(*columns, latest, last).where(*narrowed).group_by(*columns)
        statement = paged.order_by(latest.desc(), last.desc()).limit(_PAGE_SIZE).offset(_OFFSET)
        if _has_no_numbers(query):
            cache.newest.put(key, statement)
    return statement, {**values, _PAGE_SIZE.key: query.page_size, _OFFSET.key: query.page * query.page_size}


def conditions(
    kind: RecordKind[Any], query: ListQuery, cache: StatementCache, *, with_values: bool = True
) -> list[ColumnElement[bool]]:
    """Return the conditions of a list, all of which hold; those of a cached statement hold no values.

    Raises:
        UnknownListColumnError: a column is not there, or is a secret.
        UnknownOperatorError: an operator is not one of `ListFilter`'s.
        FilterValueError: a value does not fit its column or operator.
    """
    shapes, values = _bound(kind, query.filters)
    found = narrowed(kind.table, query.ids, cache)
    for (name, operator, has_none), (place, value) in zip(shapes, values.items(), strict=True):
        link = kind.links.get(name)
        column = link.value_column if link else _listed(kind, name, query, cache)
        if operator in _OF_VALUES:
            column = _with_null(kind, name, column)
        many = operator == "in"
        in_text = many and isinstance(column.type, Integer)  # servers limit parameters
        dtype: TypeEngine[Any] = String() if operator in _SEARCHES else column.type
        bound = sa.bindparam(
            place, value if with_values else None, type_=dtype, expanding=many, literal_execute=in_text
        )
        condition = _OPERATORS[operator](column, bound, has_none)
        found.append(kind.table.c.id.in_(sa.select(link.parent).where(condition)) if link else condition)
    return found


def narrowed(table: Table, ids: frozenset[int] | Scope | None, cache: StatementCache) -> list[ColumnElement[bool]]:
    """Return the conditions by which the ids of a list, or its scope, narrow the records of a table."""
    if ids is None:
        return []
    return [cache.in_scope(table, ids) if isinstance(ids, Scope) else among(table.c.id, ids)]


def _order(kind: RecordKind[Any], query: ListQuery, cache: StatementCache) -> list[ColumnElement[Any]]:
    """Return the order: None last in both directions on every store; the id in the end, so that pages never overlap."""
    keys: list[ColumnElement[Any]] = []
    for name, descending in query.order_by:
        column = _with_null(kind, name, _listed(kind, name, query, cache))
        if name not in kind.always_set and (not isinstance(column, Column) or column.nullable):
            keys.append(sa.case((column.is_(None), 1), else_=0))
        keys.append(column.desc() if descending else column.asc())
    return [*keys, kind.table.c.id.asc()]


def _with_null(kind: RecordKind[Any], name: str, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a column that is NULL where its field is None; equality compares the column itself, by its index."""
    return sa.func.nullif(column, "", type_=column.type) if name in kind.blank_for_none else column


def _column(kind: RecordKind[Any], name: str, *, also: Iterable[str] = ()) -> ColumnElement[Any]:
    column = kind.listed_columns.get(name)
    if column is None:
        raise _unknown_column(kind, name, also=also)
    return column


def _unknown_column(kind: RecordKind[Any], name: str, *, also: Iterable[str]) -> UnknownListColumnError:
    return UnknownListColumnError(name, place=f"a list of {plural(kind.noun)}", known=(*kind.listed_columns, *also))


def _listed(
    kind: RecordKind[Any], name: str, query: ListQuery, cache: StatementCache, *, also: Iterable[str] = ()
) -> ColumnElement[Any]:
    """Return a value as lists see it: that of a column, or what the record of another kind says."""
    column, borrowed = _column(kind, name, also=also), kind.borrowed.get(name)
    if borrowed is None:
        return column
    table = borrowed.column.table
    named = (table.c.id == borrowed.key, borrowed.holds, *narrowed(table, query.among_datasets, cache))
    return sa.select(borrowed.column).where(*named).correlate(kind.table).scalar_subquery()


def _bound(
    kind: RecordKind[Any], filters: Sequence[ListFilter]
) -> tuple[tuple[tuple[str, str, bool], ...], dict[str, Any]]:
    """Return of each filter column, operator and whether None is meant; and the values by names of parameters."""
    shapes, values = [], {}
    for number, item in enumerate(filters):
        operator, value = item.op, item.val
        is_usual = operator == "eq" and type(value) is kind.plain_types.get(item.col)
        if not is_usual or not (value.isascii() and "\x00" not in value if type(value) is str else value in INTEGERS):
            operator, value = _operand(kind, item)
        has_none = value is None
        if operator == "in":
            has_none = None in value
            value = [member for member in value if member is not None] if has_none else value
        shapes.append((item.col, operator, has_none))
        values[f"value_{number}"] = value
    return tuple(shapes), values


def _operand(kind: RecordKind[Any], item: ListFilter) -> tuple[str, Any]:
    """Return the operator of a condition, and the value as its column holds it."""
    name, operator, value, link = item.col, item.op, item.val, kind.links.get(item.col)
    column = link.value_column if link else kind.listed_columns.get(name)
    if column is None:
        raise _unknown_column(kind, name, also=kind.links)
    known = _OF_LINKS if link else _KNOWN
    if operator not in known:
        raise UnknownOperatorError(operator, place=f"the filter on {name!r}", known=known)
    absent = "" if name in kind.blank_for_none else None
    if operator == "is_null":
        if value is not None and not isinstance(value, bool):
            raise FilterValueError(f"the filter 'is_null' on {name!r} needs true or false")
        return "neq" if value is False else "eq", absent
    if operator == "in" and not isinstance(value, list | tuple | set | frozenset):
        raise FilterValueError(f"the filter 'in' on {name!r} needs a list of values")
    if operator in _OF_VALUES and value is None:
        raise FilterValueError(f"the filter {operator!r} on {name!r} needs a value")
    stored = []
    for member in value if operator == "in" else (value,):
        if member is None and link is None:
            stored.append(absent)
        else:
            stored.append(_checked_value(column, name, member))
    if operator in _SEARCHES:
        return operator, _pattern(name, operator, stored[0])
    return ("in", stored) if link or operator == "in" else (operator, stored[0])


def _checked_value(column: ColumnElement[Any], name: str, value: object) -> Any:
    py_type, wanted = _KINDS[type(column.type)]
    if py_type is datetime and isinstance(value, str | datetime):
        value = _moment(value, name)
    if py_type is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_INTEGER:
        value = float(value)
    fits = fits_integer(value) if py_type is int else isinstance(value, py_type)
    if not fits or (isinstance(value, str) and text_problem(value) is not None):
        raise FilterValueError(f"the filter on {name!r} needs {wanted}")
    return value


def _moment(value: str | datetime, name: str) -> datetime:
    """Return a moment in UTC, where the years of another zone may end before the first or after the last one."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise FilterValueError(f"the filter on {name!r} needs a moment like 2026-01-31T12:00:00Z") from None


_KINDS: Final[Mapping[type, tuple[type, str]]] = {
    Name: (str, "a text without NUL characters"),
    LongText: (str, "a text without NUL characters"),
    Integer: (int, "an integer of 32 bits"),
    Double: (float, "a number"),
    Boolean: (bool, "true or false"),
    UtcMoment: (datetime, "a moment like 2026-01-31T12:00:00Z"),
}


def _pattern(name: str, operator: str, value: object) -> str:
    """Return what a column in lower case is like that contains a text, or starts with it."""
    if not isinstance(value, str):
        raise FilterValueError(f"the column {name!r} holds no text that could be searched")
    text = value.lower()
    for sign in (_ESCAPE, "%", "_"):
        text = text.replace(sign, _ESCAPE + sign)
    return f"{text}%" if operator == "starts_with" else f"%{text}%"


def _equals(column: ColumnElement[Any], value: BindParameter[Any], is_none: bool) -> ColumnElement[bool]:
    return column.is_(None) if is_none else column == value


def _differs(column: ColumnElement[Any], value: BindParameter[Any], is_none: bool) -> ColumnElement[bool]:
    """Return the condition that the column has another value, None included; what is less or more an index finds."""
    if is_none:
        return column.is_not(None)
    is_indexable = isinstance(column, Column) and isinstance(column.type, Name)
    differs = sa.or_(column < value, column > value) if is_indexable else column != value
    return sa.or_(differs, column.is_(None))


def _is_among(column: ColumnElement[Any], values: BindParameter[Any], has_none: bool) -> ColumnElement[bool]:
    return sa.or_(column.in_(values), column.is_(None)) if has_none else column.in_(values)


def _is_like(column: ColumnElement[Any], pattern: BindParameter[Any], _is_none: bool) -> ColumnElement[bool]:
    return FoldedText(column).like(pattern, escape=_ESCAPE)


_OPERATORS: Final[Mapping[str, Callable[[ColumnElement[Any], BindParameter[Any], bool], ColumnElement[bool]]]] = {
    "eq": _equals,
    "neq": _differs,
    "gt": lambda column, value, _is_none: column > value,
    "lt": lambda column, value, _is_none: column < value,
    "in": _is_among,
    "contains": _is_like,
    "starts_with": _is_like,
}
_KNOWN: Final = (*_OPERATORS, "is_null")
_OF_LINKS: Final = ("eq", "in")
_SEARCHES: Final = frozenset({"contains", "starts_with"})
_OF_VALUES: Final = _SEARCHES | {"gt", "lt"}

_OWNERS: Final[Mapping[str, Column[int]]] = {
    tables.DATASETS.name: tables.DATASET_OWNERS.c.dataset_id,
    tables.CHARTS.name: tables.CHART_OWNERS.c.chart_id,
    tables.DASHBOARDS.name: tables.DASHBOARD_OWNERS.c.dashboard_id,
    tables.REPORT_SCHEDULES.name: tables.REPORT_SCHEDULE_OWNERS.c.report_schedule_id,
}


def in_scope(table: Table, scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a record of this table is in the scope; ways that its kind lacks lead nowhere."""
    if scope.everything:
        return sa.true()
    ways: list[ColumnElement[bool]] = [sa.false()]
    if scope.ids:
        ways.append(among(table.c.id, scope.ids))
    if scope.owner_id is not None and (owned := _OWNERS.get(table.name)) is not None:
        ways.append(table.c.id.in_(sa.select(owned).where(owned.table.c.user_id == scope.owner_id)))
    if table is tables.DATASETS:
        ways += _ways_to_datasets(scope)
    if table is tables.CHARTS and scope.drawn_from is not None:
        ways.append(_drawn_from(scope.drawn_from))
    if table is tables.DASHBOARDS and scope.audience is not None:
        ways.append(_published_for(scope.audience))
    return sa.or_(*ways)


def _ways_to_datasets(scope: Scope) -> list[ColumnElement[bool]]:
    table = tables.DATASETS
    ways = [among(table.c.database_id, scope.database_ids)] if scope.database_ids else []
    for database_id in sorted({database_id for database_id, _ in scope.schemas}):
        names = sorted(name for key, name in scope.schemas if key == database_id)
        ways.append(sa.and_(table.c.database_id == database_id, table.c.schema.in_(names)))
    return ways


def _drawn_from(datasets: Scope) -> ColumnElement[bool]:
    chart = tables.CHARTS.c
    return sa.and_(is_drawn_from_dataset(), chart.datasource_id.in_(_dataset_ids(datasets)))


def _published_for(audience: Audience) -> ColumnElement[bool]:
    dashboard, roles, charts = tables.DASHBOARDS, tables.DASHBOARD_ROLES, tables.DASHBOARD_CHARTS
    seen = sa.select(charts.c.dashboard_id).join(tables.CHARTS, tables.CHARTS.c.id == charts.c.chart_id)
    return sa.and_(
        dashboard.c.published.is_(True),
        sa.or_(
            dashboard.c.id.not_in(sa.select(roles.c.dashboard_id)),
            dashboard.c.id.in_(sa.select(roles.c.dashboard_id).where(among(roles.c.role_id, audience.role_ids))),
        ),
        sa.or_(
            dashboard.c.id.not_in(sa.select(charts.c.dashboard_id)),
            dashboard.c.id.in_(seen.where(_drawn_from(audience.datasets))),
        ),
    )


def _dataset_ids(scope: Scope) -> Any:
    """Return the ids of the datasets in a scope, way by way: each is found by its index, whatever else is stored."""
    table = tables.DATASETS
    if scope.everything:
        return sa.select(table.c.id)
    ways = [among(table.c.id, scope.ids)] if scope.ids else []
    selects: list[Any] = [sa.select(table.c.id).where(way) for way in (*ways, *_ways_to_datasets(scope))]
    if scope.owner_id is not None:
        owners = tables.DATASET_OWNERS.c
        selects.append(sa.select(owners.dataset_id).where(owners.user_id == scope.owner_id))
    if not selects:
        return sa.select(table.c.id).where(sa.false())
    return selects[0] if len(selects) == 1 else sa.union_all(*selects)
