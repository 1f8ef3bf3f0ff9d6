"""Which partition of a table is the newest one that has rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from sqlglot import exp

from analytics_core._engine.compile.lowering.expressions import Binds, Lowering
from analytics_core._engine.compile.lowering.predicates import conjunction
from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.compile.plan import Clause
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.render import render
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.nodes import number, quoted
from analytics_core._engine.engines.partitions import Partition, PartitionReader, in_order
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.relations import reject_revealing
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Database, Dataset
from analytics_core.errors import QueryError, UnsupportedByEngineError
from analytics_core.errors.base import short_repr

_MOST: Final = 2_000
_TRIED: Final = 200
"""How many partitions are asked for rows, from the newest on."""


class Partitions:
    """Asks databases for the partitions of tables that an actor may read."""

    def __init__(self, *, gate: Gate, row_security: RowSecurity, timeout_s: float) -> None:
        self._gate = gate
        self._row_security = row_security
        self._limits = FetchLimits(max_rows=_MOST, max_bytes=4_000_000, timeout_s=timeout_s)

    def latest(
        self,
        actor: Actor,
        dataset: Dataset,
        database: Database,
        name: str,
        *,
        budget: RequestBudget | None = None,
    ) -> str:
        """Return the value by which the newest partition is found that has rows for the actor.

        `dataset` asks, on `database`; `name` is that of a table and may name its schema.

        Raises:
            DatabaseAccessError: neither the tables of its schema nor a dataset over the table are for the actor.
            UnsupportedByEngineError: the engine's partitions are not known.
            QueryError: no such partitioned table, no order of its partitions, or no rows in it.
        """
        schema, _, table = name.rpartition(".")
        admission = self._gate.admit(actor, database, on=TableName(table=table, schema=schema or None))
        spec = admission.spec
        reader = spec.partitions
        if reader is None:
            raise UnsupportedByEngineError(f"latest_partition: partitions of {spec.label} are not known; write a MAX")
        reject_revealing(table, spec, schema=schema)
        ruled = self._row_security.ruled(actor, dataset, spec)
        rules = self._row_security.on_table(ruled, TableRef(table=table, schema=schema or None))
        run = partial(self._run, admission, budget)
        node = exp.Table(this=quoted(table), db=quoted(schema) if schema else None)
        partitions = in_order(reader.read(node, run(_listing(reader, spec, table, schema))))
        if not partitions:
            raise QueryError(f"latest_partition: {short_repr(name)} has no partitions by range or list")
        for start in range(0, len(partitions), _TRIED):
            tried = partitions[start : start + _TRIED]
            ((place,),) = run(_first_with_rows(tried, rules, spec))
            if place is not None:
                return tried[int(place)].value
        raise QueryError(f"latest_partition: no partition of {short_repr(name)} has rows")

    def _run(
        self, admission: Admission, budget: RequestBudget | None, statement: Statement
    ) -> list[tuple[str | None, ...]]:
        done = self._gate.statements.run(admission.to_run(statement), limits=self._limits, budget=budget)
        return [tuple(row) for row in done.frame.rows()]


def _listing(reader: PartitionReader, spec: EngineSpec, table: str, schema: str) -> Statement:
    """Return the statement that lists the partitions of a table."""
    sql = reader.sql.format(table=spec.literal(table), schema=spec.literal(schema or None))
    escaped = sql.replace("%", "%%")  # both engines that have a listing take marks of `%(name)s`
    return Statement(sql=escaped, parameters={}, display_sql=sql, labels=("a", "b", "c"), kinds=(ValueKind.TEXT,) * 3)


def _first_with_rows(partitions: Sequence[Partition], rules: Sequence[Clause], spec: EngineSpec) -> Statement:
    """Return the statement for the place of the first partition with rows; the engine looks into none after it."""
    low = Lowering(spec=spec, binds=Binds(), alias=RELATION_ALIAS)
    arms = [exp.If(this=_has_rows(item.table, rules, low), true=number(i)) for i, item in enumerate(partitions)]
    chosen = exp.Select(expressions=[exp.Alias(this=exp.Case(ifs=arms), alias=quoted("a"))])
    return render(chosen, low.binds, spec, labels=("a",), kinds=(ValueKind.INTEGER,))


def _has_rows(table: exp.Table, rules: Sequence[Clause], low: Lowering) -> exp.Exists:
    read = table.copy()
    read.set("alias", exp.TableAlias(this=quoted(RELATION_ALIAS)))
    select = exp.Select(expressions=[number(1)], from_=exp.From(this=read))
    where = conjunction([clause.predicate for clause in rules], low)
    if where is not None:
        select.set("where", exp.Where(this=where))
    return exp.Exists(this=select)
