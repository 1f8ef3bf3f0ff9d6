"""Parameters of a statement that a person wrote: `:name` in its text, values that a driver binds.

A parameter is a text literal of its own while the statement is checked, so that the guard, the fence and the writer of
every engine carry it; the bound value takes its place in the tree that is rendered. A literal that cannot be told any
more by then stood where no engine binds a value, and the statement is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType, exp

from analytics_core._engine.compile.fragments.sql_text import read_tokens
from analytics_core._engine.compile.lowering.expressions import Binds
from analytics_core._engine.engines.spec import BindScalar, EngineSpec
from analytics_core.errors import QueryError, StatementError, nearest
from analytics_core.errors.base import known_list, short_repr

_MARK: Final = "\ue0f7"
"""A private character, which no text may hold beside parameters."""

_MARKED: Final = re.compile(f"{_MARK}(\\w+){_MARK}")
_DISPLAYED: Final = re.compile(rf"""["']*(?:{_MARK}|\\ue0f7)(\w+?)(?:{_MARK}|\\ue0f7)["']*""")
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SCALARS: Final = (bool, int, float, str, bytes, Decimal, datetime, date)
_LISTS: Final = (list, tuple, AbstractSet)
_MOST_VALUES: Final = 50_000

Values = Mapping[str, BindScalar | list[BindScalar]]


def checked_values(params: Any) -> Values:
    """Return the values of parameters by name.

    Raises:
        StatementError: it is no mapping of names to values, or a value that no driver binds.
    """
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise StatementError('params must map names to values, such as {"region": "EU"}')
    return {_checked_name(name): _checked_value(name, value) for name, value in params.items()}


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise StatementError(f"a parameter cannot be called {short_repr(name)}; names are letters, digits and _")
    return name


def _checked_value(name: str, value: Any) -> BindScalar | list[BindScalar]:
    if isinstance(value, _LISTS):
        if len(value) > _MOST_VALUES:
            raise StatementError(f"parameter {name!r} has {len(value):,} values; at most {_MOST_VALUES:,} are bound")
        return [_scalar(name, item) for item in value]
    return _scalar(name, value)


def _scalar(name: str, value: Any) -> BindScalar:
    if hasattr(value, "to_pydatetime"):
        value = None if value != value else value.to_pydatetime()  # noqa: PLR0124 - pandas' NaT is not itself
    elif hasattr(value, "item") and not isinstance(value, bytes):
        value = value.item()  # of NumPy
    if value is None or isinstance(value, _SCALARS):
        return value
    raise StatementError(
        f"parameter {name!r} is {type(value).__name__}; bound are texts, numbers, Booleans, bytes, dates, datetimes, "
        "None, and lists of them"
    )


def with_marks(sql: str, values: Values, spec: EngineSpec) -> str:
    """Return the SQL with a literal of its own in the place of each `:name`.

    Raises:
        StatementError: a name without a value, a value without a name, or text that cannot be read.
    """
    if _MARK in sql:
        raise StatementError("the statement holds the character U+E0F7, which nothing may hold here; remove it")
    if not values and ":" not in sql:
        return sql
    found = list(_parameters(read_tokens(sql, spec.dialect, _invalid)))
    names = {name for _, _, name, _ in found}
    _reject_strange(names, values)
    pieces, end = [], 0
    for start, stop, name, after_in in found:
        literal = _literal(name)
        pieces += [sql[end:start], f"({literal})" if after_in else literal]
        end = stop
    return "".join([*pieces, sql[end:]])


def without_parameters(sql: str, spec: EngineSpec) -> str:
    """Return the SQL as it reads with a text for each parameter; StatementError as for `with_marks`."""
    if ":" not in sql:
        return sql
    found = _parameters(read_tokens(sql, spec.dialect, _invalid))
    return with_marks(sql, {name: "" for _, _, name, _ in found}, spec)


def _literal(name: str) -> str:
    return f"'{_MARK}{name}{_MARK}'"


def _invalid(what: str) -> QueryError:
    return StatementError(f"the statement: {what}")


def _parameters(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the places of `:name`, and whether it is the list of an IN; `a:b` and `[1:n]` have something before."""
    before: Token | None = None
    for colon, name in pairwise(tokens):
        if colon.token_type is TokenType.COLON and name.start == colon.end + 1 and _NAME.fullmatch(name.text):
            touches = before is not None and before.end + 1 == colon.start and before.text[-1:] not in "(,=<>+-*/|%"
            if not touches:
                after_in = before is not None and before.token_type is TokenType.IN
                yield colon.start, name.end + 1, name.text, after_in
        before = colon


def _reject_strange(names: AbstractSet[str], values: Values) -> None:
    for name in sorted(names - values.keys()):
        close = nearest(name, values)
        known = f"params has {known_list(sorted(values))}" if values else f"give it one: params={{{name!r}: ...}}"
        hint = f"; did you mean {close[0]!r}?" if close else f"; {known}"
        raise StatementError(f"parameter :{name} has no value in params{hint}")
    for name in sorted(values.keys() - names):
        raise StatementError(f"params names {name!r}, and the statement has no :{name}")


def as_written(message: str) -> str:
    """Return what an error says with `:name` for what stood in its place while the statement was checked."""
    return _DISPLAYED.sub(r":\1", message)


def reject_lost(sql: str, marked: str, values: Values) -> None:
    """Refuse a statement in which a parameter is not a literal any more wherever it was written; StatementError."""
    for name in values:
        if sql.count(_literal(name)) < marked.count(_literal(name)):
            raise StatementError(f"parameter :{name} stands where no value can be bound; write it into the statement")


def reject_unbound(sql: str) -> None:
    """Refuse what a driver would get with a parameter that is no bound value; StatementError."""
    if _MARK in sql:
        raise StatementError("a parameter stands where no value can be bound; write it into the statement")


def holds_other_than_text(values: Values) -> bool:
    """Tell whether a value is no text: a comparison with it may cast a column, which may fail on a row."""
    flat = (item for value in values.values() for item in (value if isinstance(value, list) else [value]))
    return any(not isinstance(item, str) for item in flat)


def value_of(node: exp.Expr, values: Values) -> Any:
    """Return the value of the parameter that a node is; the node itself when it is none."""
    found = _MARKED.fullmatch(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    return node if found is None else values.get(found[1], node)


def bind_parameters(tree: exp.Expr, values: Values, binds: Binds) -> None:
    """Put bound values into the places of the parameters of a tree.

    Raises:
        StatementError: a list outside IN.
    """
    for node in list(tree.find_all(exp.Literal)):
        value = value_of(node, values)
        if isinstance(value, list):
            _bind_list(node, value, binds)
        elif value is not node:
            node.replace(binds(value))


def _bind_list(node: exp.Expr, value: list[BindScalar], binds: Binds) -> None:
    parent = node.parent
    if not isinstance(parent, exp.In) or node.arg_key != "expressions":
        raise StatementError("a list can be bound after IN alone: WHERE region IN :regions")
    members = [part for other in parent.expressions for part in (map(binds, value) if other is node else [other])]
    if members:
        parent.set("expressions", members)
        return
    parent.set("expressions", None)  # no engine takes IN (); this has no members, also under NOT
    nothing = exp.Select(expressions=[exp.Null()], where=exp.Where(this=exp.false()))
    parent.set("query", exp.Subquery(this=nothing))
