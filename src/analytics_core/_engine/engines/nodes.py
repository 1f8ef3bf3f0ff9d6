"""Builds fresh sqlglot nodes directly, with the parentheses that trees do not get by themselves."""

from __future__ import annotations

from sqlglot import exp

Type = exp.DType

_ATOMS = (exp.Column, exp.Literal, exp.Paren, exp.Anonymous, exp.Var, exp.Subquery, exp.Identifier)
_OPERATORS = (exp.Binary, exp.Predicate, exp.Unary)


def text(value: str) -> exp.Literal:
    """Return a text literal."""
    return exp.Literal(this=value, is_string=True)


def number(value: int) -> exp.Expr:
    """Return an integer literal."""
    literal = exp.Literal(this=str(abs(value)), is_string=False)
    return exp.Neg(this=literal) if value < 0 else literal


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Return the call of a function that is written as named, on every dialect."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def operand(node: exp.Expr) -> exp.Expr:
    """Return the node in parentheses, unless it is one that no operator beside it can split."""
    if isinstance(node, _ATOMS):
        return node
    if isinstance(node, exp.Func) and not isinstance(node, _OPERATORS):
        return node
    return exp.Paren(this=node)


def plus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left + right`."""
    return exp.Add(this=operand(left), expression=right if isinstance(right, exp.Interval) else operand(right))


def minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left - right`."""
    return exp.Sub(this=operand(left), expression=right if isinstance(right, exp.Interval) else operand(right))


def times(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left * right`."""
    return exp.Mul(this=operand(left), expression=right if isinstance(right, exp.Interval) else operand(right))


def remainder(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left % right`; its sign is the dividend's on most engines."""
    return exp.Mod(this=operand(left), expression=operand(right))


def mod(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `MOD(left, right)`; its sign is the dividend's."""
    return call("MOD", unwrapped(left), unwrapped(right))


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return what stands in the parentheses, for places that need none."""
    return node.this if isinstance(node, exp.Paren) else node


def int_quotient(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left DIV right` of MySQL's family."""
    return exp.IntDiv(this=operand(left), expression=operand(right))


def joined(first: exp.Expr, *others: exp.Expr) -> exp.Expr:
    """Return texts glued by `||` (MySQL: CONCAT); NULL when one is NULL."""
    node = first
    for other in others:
        node = exp.DPipe(this=operand(node) if node is first else node, expression=operand(other), safe=True)
    return node


def equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return `left = right`."""
    return exp.EQ(this=operand(left), expression=right)


def when(*branches: tuple[exp.Expr, exp.Expr], otherwise: exp.Expr | None = None) -> exp.Expr:
    """Return `CASE WHEN ... THEN ... ELSE ... END`."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=otherwise)


def data_type(name: exp.DType, *parameters: int) -> exp.DataType:
    """Return a data type, with its numbers in parentheses where given."""
    return exp.DataType(this=name, expressions=[exp.DataTypeParam(this=number(n)) for n in parameters], nested=False)


def cast(node: exp.Expr, name: exp.DType, *parameters: int) -> exp.Expr:
    """Return `CAST(node AS type)`; the dialect writes the type its own way."""
    return exp.Cast(this=node, to=data_type(name, *parameters))


def try_cast(node: exp.Expr, name: exp.DType) -> exp.Expr:
    """Return `TRY_CAST(node AS type)`: null where a value is none of the type."""
    return exp.TryCast(this=node, to=data_type(name))


def interval(amount: exp.Expr, unit: str) -> exp.Interval:
    """Return `INTERVAL amount UNIT`; quoted amounts for PostgreSQL's family, plain ones for MySQL's."""
    return exp.Interval(this=amount, unit=exp.Var(this=unit))


def timestamp(value: str) -> exp.Expr:
    """Return a timestamp literal as `CAST('...' AS TIMESTAMP)`."""
    return cast(text(value), Type.TIMESTAMP)


def utc(node: exp.Expr) -> exp.Expr:
    """Return `(node AT TIME ZONE 'UTC')`."""
    return exp.Paren(this=exp.AtTimeZone(this=operand(node), zone=text("UTC")))


def verbatim(sql: str) -> exp.Expr:
    """Return SQL of ours as it is written, for what no node renders; never for text of others."""
    return exp.Var(this=sql)


def collate(node: exp.Expr, name: str, *, quoted: bool = False) -> exp.Expr:
    """Return `node COLLATE name`."""
    collation = exp.Identifier(this=name, quoted=True) if quoted else exp.Var(this=name)
    return exp.Collate(this=operand(node), expression=collation)


def quoted(name: str) -> exp.Identifier:
    """Return a name in quotes."""
    return exp.Identifier(this=name, quoted=True)
