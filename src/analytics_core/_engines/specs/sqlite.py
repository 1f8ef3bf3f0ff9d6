"""SQLite: moments are text, dates are read by position, LIKE minds no case, columns may fold it too.

Measured on 3.40 and 3.54 (SQL_TRAPS.md, sections 2 to 5). Moments become `YYYY-MM-DD HH:MM:SS` text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from analytics_core._engines import fences, nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.patterns import glob
from analytics_core._engines.spec import Bind, BindScalar, BindValue, EngineSpec, ParamStyle
from analytics_core._engines.specs.sqlite_bounds import sqlite_time_bound, sqlite_time_equal
from analytics_core._engines.specs.sqlite_time import sqlite_bucket, sqlite_moment, sqlite_shift, sqlite_sorted_moment
from analytics_core._engines.types import Collation, ValueKind

UNICODE_LOWER = "AC_LOWER"
"""A function of one argument that the connector registers: Python's `str.lower`, deterministic."""


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """GLOB minds case, LIKE folds ASCII letters; for others Python folds both sides."""
    if not fold_case:
        return exp.Glob(this=nodes.operand(left), expression=bind(glob(pattern)))
    is_ascii = pattern.isascii()
    folded = nodes.operand(left) if is_ascii else nodes.call(UNICODE_LOWER, left)
    return operators.matching(
        lambda value: exp.Like(this=folded, expression=value), pattern if is_ascii else pattern.lower(), bind
    )


def _by_code_point(node: exp.Expr) -> exp.Expr:
    """Say it always: a column may be declared NOCASE or RTRIM. Indexes of other columns stay of use."""
    return nodes.collate(node, "BINARY")


def _collation(name: str | None) -> Collation:
    return Collation.CODE_POINT if name == "BINARY" else Collation.UNKNOWN


def _number(number: int | Decimal) -> BindScalar:
    """Return what SQLite has, in columns of any type: a whole number of 64 bits, else the nearest double."""
    is_whole = isinstance(number, int) or number == number.to_integral_value()
    return int(number) if is_whole and -(2**63) <= number < 2**63 else float(number)


def _tie_keys(node: exp.Expr, kind: ValueKind, _length: int | None) -> tuple[exp.Expr, ...]:
    """Any column may hold text and be declared NOCASE; the columns that are known as text say BINARY already."""
    return (_by_code_point(node),) if kind in (ValueKind.OTHER, ValueKind.UNKNOWN) else (node,)


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """Long lists travel as one JSON text: builds of SQLite allow 32,766 parameters or fewer."""
    if kind is ValueKind.TEXT:
        left = _by_code_point(left)
    plain = [_number(value) if isinstance(value, int | Decimal) else value for value in values]
    if len(values) <= operators.LONG_LIST or not all(isinstance(value, str | int | float) for value in plain):
        return _in_members(left, plain, kind, bind)
    table = exp.Table(this=nodes.call("JSON_EACH", bind(json.dumps(plain))))
    members = exp.Select(
        expressions=[exp.Column(this=exp.Identifier(this="value", quoted=False))], from_=exp.From(this=table)
    )
    return exp.In(this=nodes.operand(left), query=exp.Subquery(this=members))


_in_members = operators.in_list_of()
_LITERALS = LiteralStyle(dialect="sqlite", day="{}", timestamp="{}", timestamp_tz="{}")


def sqlite_spec() -> EngineSpec:
    """Return the facts of SQLite."""
    return EngineSpec(
        name="sqlite",
        label="SQLite",
        dialect="sqlite",
        drivers=("pysqlite",),
        paramstyle=ParamStyle.QMARK,
        moment=sqlite_moment,
        bucket=sqlite_bucket,
        shift=sqlite_shift,
        time_bound=sqlite_time_bound,
        time_equal=sqlite_time_equal,
        text_key=_by_code_point,
        text_equal=_by_code_point,
        text_order=_by_code_point,
        like=_like,
        as_text=operators.cast_to(nodes.Type.TEXT),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(_by_code_point),
        count_distinct=operators.count_distinct_by(_by_code_point),
        is_true=operators.is_true,
        in_list=_in_list,
        literal=_LITERALS.write,
        value_kind=kind_reader(),
        unsortable_kinds=frozenset(),
        tie_keys=_tie_keys,
        collation=_collation,
        joins_as_written=True,
        null_safe_equal=operators.null_safe_equal,
        number=_number,
        fence=fences.limited(-1),
        casts_columns=False,
        error_patterns=ERROR_PATTERNS.get("sqlite", ()),
        denied_functions=DENIED_FUNCTIONS["sqlite"],
        allowed_functions=ALLOWED_FUNCTIONS["sqlite"],
        compares_moments_as_text=True,
        sorted_moment=sqlite_sorted_moment,
    )
