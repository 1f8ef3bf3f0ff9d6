"""How many rows a statement gives: the limit of its outermost query, and which one counts where there are two."""

from __future__ import annotations

from enum import StrEnum

from sqlglot import exp

from analytics_core._engine.querying.sql_parameters import Values, value_of


class LimitingFactor(StrEnum):
    """Which limit cut the rows of a statement: none, its own LIMIT, that of who asked, or both alike."""

    NOT_LIMITED = "NOT_LIMITED"
    QUERY = "QUERY"
    DROPDOWN = "DROPDOWN"
    QUERY_AND_DROPDOWN = "QUERY_AND_DROPDOWN"


def limited(tree: exp.Expr, values: Values, wanted: int) -> tuple[exp.Expr, int, LimitingFactor]:
    """Return the tree, changed, with a limit of its outermost query of one row more, how many count, and whose that is.

    A limit that is no number (a share of the rows, rows with ties) stays as it is written, and counts as what cut.
    """
    while isinstance(tree, exp.Subquery) and not any(part for name, part in tree.args.items() if name != "this"):
        tree = tree.this.pop()  # in parentheses alone: PostgreSQL and DuckDB take no second limit around them
    if not isinstance(tree, exp.Query):
        return tree, wanted, LimitingFactor.DROPDOWN
    clause = tree.args.get("limit")
    own = _own_limit(clause, values)
    if own is None and clause is not None:
        return tree, wanted, LimitingFactor.DROPDOWN
    limit = wanted if own is None else min(own, wanted)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(limit + 1)))
    return tree, limit, _factor(own, wanted)


def _factor(own: int | None, wanted: int) -> LimitingFactor:
    if own is None or own > wanted:
        return LimitingFactor.DROPDOWN
    return LimitingFactor.QUERY if own < wanted else LimitingFactor.QUERY_AND_DROPDOWN


def has_share(tree: exp.Query, values: Values) -> bool:
    """Tell whether a query has a limit of its own that is no number."""
    clause = tree.args.get("limit")
    return clause is not None and _own_limit(clause, values) is None


def _is_share(clause: exp.Expr) -> bool:
    """Tell whether a clause asks for a share of the rows, or for those that tie with the last one, too."""
    options = clause.args.get("limit_options")
    return isinstance(options, exp.Expr) and bool(options.args.get("percent") or options.args.get("with_ties"))


def _own_limit(clause: exp.Expr | None, values: Values) -> int | None:
    """Return the number of rows that a clause says; None where it says none, or something else."""
    match clause:
        case exp.Fetch() if not _is_share(clause):
            number = clause.args.get("count")
        case exp.Limit() if not (_is_share(clause) or clause.args.get("offset") or clause.expressions):
            number = clause.expression
        case _:
            return None
    found = number and value_of(number, values)
    if isinstance(found, exp.Literal) and found.is_int:
        return int(found.name)
    return found if type(found) is int and found >= 0 else None
