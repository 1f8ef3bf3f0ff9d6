"""Fences: queries of permitted rows whose engine tests nothing that stands around them on any other row.

An engine may test conditions in any order, and an error of one (a cast, a division) then tells of rows that a row rule
hides. Which form holds was measured: on PostgreSQL, MariaDB, DuckDB and SQLite (tests/attacks) and on ClickHouse
(tests/engines) only. For the others a limit that cuts nothing is the most conservative form that they write.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from analytics_core._engine.engines.nodes import number

Fence = Callable[[exp.Select], exp.Query]
"""Takes the query of permitted rows and returns it behind a fence; the query may be changed."""

PERMITTED_ROWS = "permitted_rows"
"""The name of a CTE of permitted rows, or its beginning."""


def limited(rows: int) -> Fence:
    """Return the fence of a limit that cuts nothing; with -1 SQLite means no limit."""

    def fence(permitted: exp.Select) -> exp.Query:
        permitted.set("limit", exp.Limit(expression=number(rows)))
        return permitted

    return fence


def limited_by_bigint(permitted: exp.Select) -> exp.Query:
    """Return the fence of ClickHouse, and of engines that were never tried."""
    return limited(2**63 - 1)(permitted)


def joined_with_nothing(permitted: exp.Select) -> exp.Query:
    """Return the rows and those of an empty arm, from 0 on: the planner then knows no statistics of their columns.

    With `OFFSET 0` alone PostgreSQL's planner would still try operators on the common values of hidden rows.
    """
    where = permitted.args.get("where")
    permitted.set("where", None)
    nothing = permitted.copy()
    permitted.set("where", where)
    nothing.set("where", exp.Where(this=exp.Boolean(this=False)))
    return exp.Union(this=permitted, expression=nothing, distinct=False, offset=exp.Offset(expression=number(0)))


def materialised(permitted: exp.Select) -> exp.Query:
    """Return the rows of a materialised CTE, from 0 on: one of both alone lets DuckDB test conditions below it."""
    name = PERMITTED_ROWS
    while any(name in table.name.casefold() for table in permitted.find_all(exp.Table)):
        name += "_"
    alias = exp.TableAlias(this=exp.Identifier(this=name, quoted=True))
    rows = exp.CTE(this=permitted, alias=alias, materialized=True)
    return exp.Select(
        with_=exp.With(expressions=[rows]),
        expressions=[exp.Star()],
        from_=exp.From(this=exp.Table(this=exp.Identifier(this=name, quoted=True))),
        offset=exp.Offset(expression=number(0)),
    )
