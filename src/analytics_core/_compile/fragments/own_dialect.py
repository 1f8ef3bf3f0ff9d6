"""Keeps the meaning of a user's SQL that is written again in its own dialect, where sqlglot alone would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp

from analytics_core._compile.fragments.sql_text import Refuse

_BARE_CALLS: Final[Mapping[str, frozenset[str]]] = {
    "mysql": frozenset({"utc_date", "utc_time", "utc_timestamp", "localtime", "localtimestamp"}),
    "oracle": frozenset({"sysdate", "systimestamp"}),
}


def is_bare_call(column: exp.Column, dialect: str) -> bool:
    """Tell whether a name is a function that its dialect calls without parentheses, and the parser did not know."""
    name = column.this
    quoted = isinstance(name, exp.Identifier) and name.quoted
    return not (quoted or column.table) and column.name.lower() in _BARE_CALLS.get(dialect, ())


def restore_meaning(tree: exp.Expr, dialect: str, refuse: Refuse, *, called: Iterable[str]) -> exp.Expr:
    """Return the tree with the nodes replaced that its dialect would write with another meaning; `tree` may change.

    `called` are the names of the functions in the text, in lower case: a few calls parse to the node of an operator.
    """
    names = set(called)
    by_call = [repair for name, repair in _BY_CALL.get(dialect, {}).items() if name in names]
    grouping = _mixed_comparisons if dialect in _OWN_GROUPING else _closed_operand
    repairs = (*_EVERYWHERE, grouping, *_REPAIRS.get(dialect, ()), *by_call)
    for node in reversed(list(tree.walk())):  # from the leaves up: a repair may copy what is below it
        for repair in repairs:
            repaired = repair(node, refuse)
            if repaired is None:
                continue
            if node is tree:
                tree = repaired
            else:
                node.replace(repaired)
            break
    return tree


def refuse_new_groups(dialect: str, before: Sequence[Token], after: Sequence[Token], refuse: Refuse) -> None:
    """Refuse text that got parentheses of the parser's own where the engine groups comparisons in another way.

    SQLite and MariaDB read `a = b IS NULL IN (1)` with other levels than the parser, which follows PostgreSQL.
    """
    if dialect in _OWN_GROUPING and _groups(after) > _groups(before) + _allowance(before):
        raise refuse(_MIXED)


def _groups(tokens: Sequence[Token]) -> int:
    """Count the parentheses that group: those of a call or a list follow a name or IN."""
    found = 0
    for position, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            previous = tokens[position - 1] if position else None
            found += previous is None or not (previous.text[-1:].isalnum() and previous.text.upper() not in _OPENERS)
    return found


def _allowance(tokens: Sequence[Token]) -> int:
    """Count what the repairs and the writer close rightly: MOD(a, b) becomes (a % b), REGEXP a comparison."""
    return sum(token.text.upper() in _CLOSED_WORDS for token in tokens)


_OWN_GROUPING: Final = frozenset({"sqlite", "mysql"})
_CLOSED_WORDS: Final = frozenset({"MOD", "TO_DAYS", "ISNULL", "REGEXP", "RLIKE", "REGEXP_LIKE", "SOUNDS", "!"})
_OPENERS: Final = frozenset(
    {
        "AND", "OR", "NOT", "XOR", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN", "LIKE", "IS", "DIV", "MOD", "GLOB",
        "REGEXP", "RLIKE", "MATCH", "SELECT", "WHERE", "HAVING", "ON", "BY", "DISTINCT", "FROM", "TRUE", "FALSE",
        "NULL",
    }
)  # fmt: skip
_MIXED: Final = "it mixes operators that are grouped differently elsewhere; put parentheses around each part"
Repair = Callable[[exp.Expr, Refuse], exp.Expr | None]


def _unquote_function(node: exp.Expr, refuse: Refuse) -> exp.Expr | None:
    """Write `"left"(a, 2)`, as servers print it in view definitions, without quotes: they would be upper-cased."""
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, exp.Identifier):
        return None
    if node.this.quoted and node.name != node.name.lower():
        raise refuse(f'the function name "{node.name}" stands in quotes; write it without')
    node.set("this", node.name)
    return None


def _own_origin(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Read the third argument of DATE_BIN and TIME_BUCKET as the column it is, not as a unit."""
    unit = node.args.get("unit") if isinstance(node, exp.DateBin) else None
    if isinstance(unit, exp.Var):
        node.set("unit", exp.Column(this=exp.Identifier(this=unit.name, quoted=False)))
    return None


def _mysql_regexp(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Write REGEXP so that MariaDB runs it too: it has no REGEXP_LIKE."""
    if not isinstance(node, exp.RegexpLike) or node.args.get("flag"):
        return None
    position = exp.Anonymous(this="REGEXP_INSTR", expressions=[node.this, node.expression])
    return exp.Paren(this=exp.GT(this=position, expression=exp.Literal(this="0", is_string=False)))


def _mysql_median(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    return exp.Anonymous(this="MEDIAN", expressions=[node.this]) if isinstance(node, exp.Median) else None


def _mysql_utc(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    if not isinstance(node, exp.UtcDate | exp.UtcTime | exp.UtcTimestamp):
        return None
    precision = node.args.get("this")
    return exp.Anonymous(this=node.sql_name(), expressions=[precision] if precision else [])


def _sqlite_cast(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Keep the name of a cast's type: SQLite casts to DATE or DECIMAL as to NUMERIC, no date function, no REAL."""
    target = node.args.get("to") if isinstance(node, exp.Cast) else None
    if isinstance(target, exp.DataType) and target.this in _SQLITE_NUMERIC:
        target.set("kind", target.this.value)
        target.set("this", exp.DataType.Type.USERDEFINED)
        target.set("expressions", None)
    return None


def _closed_operand(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Put parentheses where the parser made one operator of another: `a NOT IN (1) = b` is not `NOT a IN (1) = b`."""
    parent = node.parent
    beside = isinstance(parent, exp.Binary | exp.Neg) and not isinstance(parent, exp.Connector)
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Not) and beside else None


def _closed_mod(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Close what MOD(a, b) becomes after a minus: `-(a % b)`."""
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Mod) and isinstance(node.parent, exp.Neg) else None


def _mysql_sounds_like(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Close the comparison that SOUNDS LIKE becomes."""
    made = isinstance(node, exp.EQ) and isinstance(node.this, exp.Soundex) and isinstance(node.expression, exp.Soundex)
    beside = isinstance(node.parent, exp.Binary) and not isinstance(node.parent, exp.Connector)
    return exp.Paren(this=node.copy()) if made and beside else None


_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


_ONE_LEVEL: Final = (
    *_COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Glob,
    exp.Match, exp.RegexpLike,
)  # fmt: skip


def _mixed_comparisons(node: exp.Expr, refuse: Refuse) -> exp.Expr | None:
    """Refuse what these engines group unlike the parser: `a = b NOT IN (1)` is `(a = b) NOT IN (1)` on SQLite.

    Without a NOT the text is written in its own order, and the engine groups it as it always did.
    """
    if not isinstance(node, exp.Not):
        return None
    beside = isinstance(node.parent, exp.Binary | exp.Neg | exp.Between) and not isinstance(node.parent, exp.Connector)
    inner = node.this
    chained = isinstance(inner, _ONE_LEVEL) and any(
        isinstance(operand, (exp.Not, *_ONE_LEVEL))
        for key, operand in inner.args.items()
        if key in ("this", "expression", "low", "high")
    )
    if beside or chained:
        raise refuse(_MIXED)
    return None


def _duckdb_date_add(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Close the sum that DATE_ADD becomes: `b - date_add(a, i)` is not `b - a + i`."""
    if not isinstance(node, exp.DateAdd | exp.DateSub) or not isinstance(node.expression, exp.Interval):
        return None
    sum_or_difference = exp.Add if isinstance(node, exp.DateAdd) else exp.Sub
    return exp.Paren(this=sum_or_difference(this=node.this.copy(), expression=node.expression.copy()))


def _mysql_timestamp_add(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    if not isinstance(node, exp.TimestampAdd):
        return None
    amount, sign = node.expression, ""
    if isinstance(amount, exp.Neg):
        amount, sign = amount.this, "-"
    if isinstance(amount, exp.Literal) and not amount.is_string:
        amount = exp.Literal(this=sign + amount.name, is_string=True)
    else:
        amount = node.expression
    return exp.DateAdd(this=node.this, expression=amount, unit=node.args.get("unit"))


def _sqlite_mod(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Keep SQLite's MOD(a, b), which gives fractions; its % does not. Both in one text become MOD."""
    if not isinstance(node, exp.Mod):
        return None
    return exp.Anonymous(this="MOD", expressions=[node.this.unnest().copy(), node.expression.unnest().copy()])


def _postgres_date_part(node: exp.Expr, _refuse: Refuse) -> exp.Expr | None:
    """Keep the type of DATE_PART, which gives doubles; the parser makes EXTRACT of it, which gives decimals."""
    if not isinstance(node, exp.Extract) or isinstance(node.parent, exp.Cast):
        return None
    return exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DataType.Type.DOUBLE))


_BY_CALL: Final[Mapping[str, Mapping[str, Repair]]] = {
    "sqlite": {"mod": _sqlite_mod},
    "postgres": {"date_part": _postgres_date_part},
}
_SQLITE_NUMERIC: Final = frozenset(
    {
        exp.DataType.Type.DATE, exp.DataType.Type.DATETIME, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ,
        exp.DataType.Type.TIME, exp.DataType.Type.BOOLEAN, exp.DataType.Type.DECIMAL, exp.DataType.Type.JSON,
    }
)  # fmt: skip
_EVERYWHERE: Final[tuple[Repair, ...]] = (_unquote_function, _own_origin, _closed_mod)
_REPAIRS: Final[Mapping[str, tuple[Repair, ...]]] = {
    "mysql": (_mysql_sounds_like, _mysql_regexp, _mysql_median, _mysql_utc, _mysql_timestamp_add),
    "duckdb": (_duckdb_date_add,),
    "sqlite": (_sqlite_cast,),
}
