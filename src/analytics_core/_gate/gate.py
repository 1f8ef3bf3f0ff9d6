"""The one way to a user's database: who acts and on what is decided first; only then can a statement run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analytics_core._compile.plan import SqlSource, Statement, TableSource
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.statements import CancelToken, Executed, FetchLimits, StatementRunner
from analytics_core._gate.guard import check_select
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.row_filter import RowFilter
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.ports import RowFilterSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Proof that an actor may read a dataset: the row filters that bind them there, and the identity to connect with.

    Only `Gate.admit` makes one, and `Gate.run` takes nothing without it.
    """

    actor: Actor
    database: Database
    dataset: Dataset
    spec: EngineSpec
    row_filters: tuple[RowFilter, ...]
    identity: str | None


class Gate:
    """Admits actors to datasets and runs their statements."""

    def __init__(self, *, policy: Policy, runner: StatementRunner, row_filters: Sequence[RowFilterSource] = ()) -> None:
        self._policy = policy
        self._runner = runner
        self._row_filters = tuple(row_filters)

    def admit(self, actor: Actor, dataset: Dataset, database: Database, spec: EngineSpec) -> Admission:
        """Return the actor's admission to the dataset; DatasetAccessError without a grant."""
        self._policy.require_read_dataset(actor, dataset)
        filters = [item for source in self._row_filters for item in source.row_filters(actor.user, dataset)]
        return Admission(
            actor=actor,
            database=database,
            dataset=dataset,
            spec=spec,
            row_filters=tuple(filters),
            identity=actor.identity_on(database),
        )

    def source(self, admission: Admission, sql: str | None) -> TableSource | SqlSource:
        """Return what the dataset reads: its table, or `sql` (its own, rendered) as one checked SELECT."""
        dataset = admission.dataset
        if sql is None:
            return TableSource(table=dataset.table_name, schema=dataset.schema or None, catalog=dataset.catalog or None)
        return check_select(sql, spec=admission.spec, place=f"dataset {dataset.table_name!r}")

    def run(
        self, admission: Admission, statement: Statement, *, limits: FetchLimits, cancel: CancelToken | None = None
    ) -> Executed:
        """Run a statement that was compiled for this admission, within the limits."""
        return self._runner.run(
            admission.database,
            admission.spec,
            statement,
            limits=limits,
            identity=admission.identity,
            cancel=cancel,
        )
