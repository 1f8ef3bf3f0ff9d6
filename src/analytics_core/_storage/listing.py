"""Conditions, order and pages of a list of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, ColumnElement, Integer, Select, Table

from analytics_core._records.repositories import ListFilter, ListQuery, Scope
from analytics_core._storage.column_types import FoldedText, LongText, Name, UtcMoment
from analytics_core._storage.kept_statements import KeptStatements
from analytics_core._storage.parts import ValueParts, among
from analytics_core._storage.record_kinds import RecordKind
from analytics_core._storage.row_checks import fits_integer, text_problem
from analytics_core.errors import ErrorType, FilterValueError, LimitError, UnknownNameError, UnknownOperatorError

TOTAL: Final = "ac_total"
_FARTHEST_ROW: Final = 2**31 - 1


class UnknownListColumnError(UnknownNameError):
    """A list is filtered or ordered by a column that its records do not have."""

    noun = "column"
    default_type = ErrorType.COLUMN_DOES_NOT_EXIST_ERROR


def page_statement(kind: RecordKind[Any], query: ListQuery, kept: KeptStatements) -> Select[Any]:
    """Return the statement of one page; each row also holds the number of all matches, as `TOTAL`."""
    _check_page(query)
    narrowed = conditions(kind, query, kept)
    total = _count(kind, narrowed).correlate(None).scalar_subquery().label(TOTAL)  # a window would read all rows whole
    statement = sa.select(kind.table, total).where(*narrowed).order_by(*_order(kind, query, kept))
    return statement.limit(query.page_size).offset(query.page * query.page_size)


def _check_page(query: ListQuery) -> None:
    if query.page < 0 or query.page_size < 1 or query.page * query.page_size + query.page_size > _FARTHEST_ROW:
        raise LimitError("page counts from 0 and page_size from 1; together they must stay below 2147483648 rows")


def count_statement(kind: RecordKind[Any], query: ListQuery, kept: KeptStatements) -> Select[Any]:
    """Return the statement that counts all matches, for pages beyond the last one."""
    return _count(kind, conditions(kind, query, kept))


def _count(kind: RecordKind[Any], narrowed: list[ColumnElement[bool]]) -> Select[Any]:
    return sa.select(sa.func.count()).select_from(kind.table).where(*narrowed)


def distinct_statements(
    kind: RecordKind[Any], name: str, query: ListQuery, kept: KeptStatements
) -> tuple[Select[Any], Select[Any]]:
    """Return the statements that count the values of a column and give a page of them, sorted; NULL is no value.

    Parts that are ids, such as `owner_ids`, have the ids that any of the records holds.
    """
    _check_page(query)
    links, where = kind.links, conditions(kind, query, kept)
    column: ColumnElement[Any]
    if link := links.get(name):
        column, source = link.value_column, link.table
        where = [link.parent.in_(sa.select(kind.table.c.id).where(*where))]
    else:
        column, source = _listed(kind, name, query, kept, also=links), kind.table
        where.append(column != "" if name in kind.blank_for_none else column.is_not(None))
    value = column.label("ac_value")
    counted = sa.select(sa.func.count(column.distinct())).select_from(source).where(*where)
    paged = sa.select(value).distinct().select_from(source).where(*where).order_by(value.asc())
    return counted, paged.limit(query.page_size).offset(query.page * query.page_size)


def newest_statement(
    kind: RecordKind[Any], names: Sequence[str], moment: str, query: ListQuery, kept: KeptStatements
) -> Select[Any]:
    """Return the statement of the different values of columns together, with the latest moment and highest id."""
    _check_page(query)
    columns = [_column(kind, name) for name in names]
    latest, last = sa.func.max(_column(kind, moment)), sa.func.max(kind.table.c.id)
    paged = sa.select(*columns, latest, last).where(*conditions(kind, query, kept)).group_by(*columns)
    ordered = paged.order_by(latest.desc(), last.desc())
    return ordered.limit(query.page_size).offset(query.page * query.page_size)


def conditions(kind: RecordKind[Any], query: ListQuery, kept: KeptStatements) -> list[ColumnElement[bool]]:
    """Return the conditions of a list, all of which hold.

    Raises:
        UnknownListColumnError: a column is not there, or is a secret.
        UnknownOperatorError: an operator is not one of `ListFilter`'s.
        FilterValueError: a value does not fit its column or operator.
    """
    return _narrowed(kind.table, query.ids, kept) + [_condition(kind, item, query, kept) for item in query.filters]


def _narrowed(table: Table, ids: frozenset[int] | Scope | None, kept: KeptStatements) -> list[ColumnElement[bool]]:
    match ids:
        case None:
            return []
        case Scope():
            return [kept.in_scope(table, ids)]
    return [among(table.c.id, ids)]


def equality(kind: RecordKind[Any], name: str, value: object) -> ColumnElement[bool]:
    """Return the condition that a column has this value; None is a value like any other."""
    return _equals(_column(kind, name), _stored_value(kind, name, value))


def _order(kind: RecordKind[Any], query: ListQuery, kept: KeptStatements) -> list[ColumnElement[Any]]:
    """Return the order: None last in both directions on every store; the id in the end, so that pages never overlap."""
    keys: list[ColumnElement[Any]] = []
    for name, descending in query.order_by:
        column = _listed(kind, name, query, kept)
        if not isinstance(column, Column) or column.nullable:
            keys.append(sa.case((column.is_(None), 1), else_=0))
        keys.append(column.desc() if descending else column.asc())
    return [*keys, kind.table.c.id.asc()]


def _column(kind: RecordKind[Any], name: str, *, also: Iterable[str] = ()) -> ColumnElement[Any]:
    columns = kind.listed_columns
    if name not in columns:
        raise UnknownListColumnError(name, place=f"a list of {kind.noun}s", known=(*columns, *also))
    return columns[name]


def _listed(
    kind: RecordKind[Any], name: str, query: ListQuery, kept: KeptStatements, *, also: Iterable[str] = ()
) -> ColumnElement[Any]:
    """Return a value as lists see it: that of a column, or what the record of another kind says."""
    column, borrowed = _column(kind, name, also=also), kind.borrowed.get(name)
    if borrowed is None:
        return column
    table = borrowed.column.table
    named = (table.c.id == borrowed.key, borrowed.holds, *_narrowed(table, query.among_datasets, kept))
    return sa.select(borrowed.column).where(*named).correlate(kind.table).scalar_subquery()


def _condition(kind: RecordKind[Any], item: ListFilter, query: ListQuery, kept: KeptStatements) -> ColumnElement[bool]:
    links = kind.links
    if link := links.get(item.col):
        return _link_condition(kind, link, item)
    column = _listed(kind, item.col, query, kept, also=links)
    make = _OPERATORS.get(item.op)
    if make is None:
        raise UnknownOperatorError(item.op, place=f"the filter on {item.col!r}", known=_OPERATORS)
    if item.op == "is_null":
        return _is_null(column, _stored_value(kind, item.col, None), item)
    if item.op == "in":
        return make(column, [_stored_value(kind, item.col, value) for value in _members(item)])
    if item.op not in {"eq", "neq"} and item.val is None:
        raise FilterValueError(f"the filter {item.op!r} on {item.col!r} needs a value")
    return make(column, _stored_value(kind, item.col, item.val))


def _is_null(column: ColumnElement[Any], absent: object, item: ListFilter) -> ColumnElement[bool]:
    if item.val is not None and not isinstance(item.val, bool):
        raise FilterValueError(f"the filter 'is_null' on {item.col!r} needs true or false")
    return _differs(column, absent) if item.val is False else _equals(column, absent)


def _link_condition(kind: RecordKind[Any], link: ValueParts, item: ListFilter) -> ColumnElement[bool]:
    """Return the condition on owners or roles: at least one of them is among the values."""
    if item.op not in {"eq", "in"}:
        raise UnknownOperatorError(item.op, place=f"the filter on {item.col!r}", known=("eq", "in"))
    members = _members(item) if item.op == "in" else [item.val]
    wanted = [_checked_value(link.value_column, item.col, member) for member in members]
    return kind.table.c.id.in_(sa.select(link.parent).where(among(link.value_column, wanted)))


def _members(item: ListFilter) -> list[Any]:
    if not isinstance(item.val, list | tuple | set | frozenset):
        raise FilterValueError(f"the filter 'in' on {item.col!r} needs a list of values")
    return list(item.val)


def _stored_value(kind: RecordKind[Any], name: str, value: object) -> object:
    """Return a value as its column holds it."""
    if value is None:
        return "" if name in kind.blank_for_none else None
    return _checked_value(_column(kind, name), name, value)


def _checked_value(column: ColumnElement[Any], name: str, value: object) -> Any:
    fits, wanted = _KINDS[type(column.type)]
    if isinstance(value, str | datetime) and isinstance(column.type, UtcMoment):
        value = _moment(value, name)
    if not fits(value):
        raise FilterValueError(f"the filter on {name!r} needs {wanted}")
    return value


def _moment(value: str | datetime, name: str) -> datetime:
    """Return a moment in UTC, where the years of another zone may end before the first or after the last one."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise FilterValueError(f"the filter on {name!r} needs a moment like 2026-01-31T12:00:00Z") from None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and text_problem(value) is None


_KINDS: Final[Mapping[type, tuple[Callable[[object], bool], str]]] = {
    Name: (_is_text, "a text without NUL characters"),
    LongText: (_is_text, "a text without NUL characters"),
    Integer: (fits_integer, "an integer of 32 bits"),
    Boolean: (lambda value: isinstance(value, bool), "true or false"),
    UtcMoment: (lambda value: isinstance(value, datetime), "a moment like 2026-01-31T12:00:00Z"),
}


def _equals(column: ColumnElement[Any], value: object) -> ColumnElement[bool]:
    return column.is_(None) if value is None else column == value


def _differs(column: ColumnElement[Any], value: object) -> ColumnElement[bool]:
    """Return the condition that the column has another value, None included."""
    return column.is_not(None) if value is None else sa.or_(column != value, column.is_(None))


def _is_among(column: ColumnElement[Any], values: list[Any]) -> ColumnElement[bool]:
    present = [value for value in values if value is not None]
    found = among(column, present) if isinstance(column.type, Integer) else column.in_(present)
    return sa.or_(found, column.is_(None)) if len(present) < len(values) else found


def _contains(column: ColumnElement[Any], value: Any) -> ColumnElement[bool]:
    return FoldedText(column).contains(_searched(column, value), autoescape=True)


def _starts_with(column: ColumnElement[Any], value: Any) -> ColumnElement[bool]:
    return FoldedText(column).startswith(_searched(column, value), autoescape=True)


def _searched(column: ColumnElement[Any], value: Any) -> str:
    if not isinstance(value, str):
        raise FilterValueError(f"the column {column.name!r} holds no text that could be searched")
    return value.lower()


_OPERATORS: Final[Mapping[str, Callable[[ColumnElement[Any], Any], ColumnElement[bool]]]] = {
    "eq": _equals,
    "neq": _differs,
    "gt": lambda column, value: column > value,
    "lt": lambda column, value: column < value,
    "in": _is_among,
    "contains": _contains,
    "starts_with": _starts_with,
    "is_null": _equals,
}
