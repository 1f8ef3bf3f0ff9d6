"""What `core.sql.explain` answers: a statement as it would run, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from analytics_core._engine.compile.explanation import ExplainedClause, printed
from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.querying.sql_queries import ReadySql
from analytics_core._tools.display.blocks import Blocks, CodeBlock, facts, notes, table
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSql:
    """Why a statement gives what it gives.

    Attributes:
        sql: the statement as people read it, row rules, limit and values inlined.
        bound_sql: the statement as the driver gets it.
        parameters: its bound values.
        tables: the relations that it reads, sorted.
        rules: the row rules that bind on them, each with its origin.
        row_limit: how many rows it gives at the most.
        budgets: what budgets let it spend, a sentence each.
    """

    sql: str
    bound_sql: str
    parameters: Any
    tables: tuple[str, ...]
    rules: tuple[ExplainedClause, ...]
    row_limit: int
    budgets: tuple[str, ...] = ()

    @classmethod
    def of(cls, ready: ReadySql, budgets: tuple[str, ...]) -> Self:
        """Return the explanation of a statement that may run."""
        return cls(
            sql=ready.statement.display_sql,
            bound_sql=ready.statement.sql,
            parameters=ready.statement.parameters,
            tables=tuple(map(str, ready.tables)),
            rules=tuple(_explained(ready)),
            row_limit=ready.limit,
            budgets=budgets,
        )

    def __str__(self) -> str:
        lines = [f"{rule.part}  {rule.sql}    <- {rule.origin}" for rule in self.rules]
        summary = f"reads: {', '.join(self.tables) or 'no table'}; at most {self.row_limit:,} rows"
        return visible("\n".join([*lines, summary, *self.budgets, "", self.sql]))

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        columns = {name: [getattr(rule, name) for rule in self.rules] for name in ("part", "sql", "origin")}
        summary = {"reads": ", ".join(self.tables), "rows at the most": f"{self.row_limit:,}"}
        rules = table(columns) if self.rules else ()
        return [*rules, *facts(summary), *notes(self.budgets), CodeBlock(text=self.sql)]


def _explained(ready: ReadySql) -> Iterator[ExplainedClause]:
    """Yield each row rule of a statement as people read it, with its origin."""
    for rule in ready.rules:
        for clause in rule.clauses:
            sql = printed(clause.predicate, ready.admission.spec, alias=RELATION_ALIAS)
            yield ExplainedClause(part=f"from {rule.relation}", sql=sql, origin=str(clause.origin))
