"""Tells which row rules bind somebody on a dataset, and why, without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics_core._engine.compile.explanation import printed
from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.compile.plan import Clause, SqlSource, TableSource
from analytics_core._engine.compile.planning_context import make_view, table_of
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.row_filters import plan_row_filters
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.loaded_datasets import DatasetSource, LoadedDataset
from analytics_core._engine.gate.relations import tables_of
from analytics_core._engine.gate.row_security import RowSecurity, RuledActor
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.preparing import Preparer
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._engine.rights.row_rules import binds
from analytics_core._records.people import RowRule, RowRuleType
from analytics_core.errors import AnalyticsError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVerdict:
    """Whether one rule binds, and why.

    Attributes:
        place: on what: the dataset itself, or a table that its SQL reads.
        why: about the person: which of the rule's roles they have, or that they have none.
    """

    rule_id: int
    name: str
    filter_type: str
    group_key: str | None
    clause: str
    place: str
    binds: bool
    why: str

    def __str__(self) -> str:
        group = f", group {self.group_key}" if self.group_key else ""
        head = f"{'binds' if self.binds else 'does not bind'}: rule {self.rule_id} {self.name!r}"
        return f"{head} ({self.filter_type}{group}; {self.place}): {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveCondition:
    """A condition on the rows of the dataset or of a table in its SQL: SQL with the values, and the rules behind it."""

    place: str
    sql: str
    origin: str

    def __str__(self) -> str:
        return f"{self.place}: {self.sql}    <- {self.origin}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSecurityReport:
    """What `row_level_security.simulate` answers; print it, or read its fields.

    Attributes:
        verdicts: the stored rules that concern the dataset: all that bind, and up to 500 of those that do not.
        omitted: how many more do not bind; of more than 10,000 rules the rest is not counted.
        conditions: what a query of this person carries; all of them hold.
        may_read: whether the person has a grant on the dataset at all.
        failure: why no query of this person can run, None when it can.
    """

    username: str
    roles: tuple[str, ...]
    dataset_id: int
    dataset: str
    may_read: bool
    verdicts: tuple[RuleVerdict, ...] = ()
    conditions: tuple[EffectiveCondition, ...] = ()
    failure: AnalyticsError | None = None
    omitted: int = 0

    @property
    def binding(self) -> tuple[RuleVerdict, ...]:
        """The rules that bind."""
        return tuple(verdict for verdict in self.verdicts if verdict.binds)

    def __str__(self) -> str:
        roles = ", ".join(self.roles) or "no role"
        lines = [f"{self.username} ({roles}) on dataset {self.dataset_id} {self.dataset!r}"]
        if not self.may_read:
            lines.append("has no grant on the dataset: sees nothing")
        lines += [str(verdict) for verdict in self.verdicts]
        if self.omitted:
            lines.append(f"{self.omitted} more rules do not bind")
        if self.failure is not None:
            lines.append(f"no query runs: {getattr(self.failure, 'detail', None) or self.failure.message}")
        elif self.conditions:
            lines += [f"where {condition}" for condition in self.conditions]
        else:
            lines.append("no row is hidden")
        return "\n".join(lines)


class Simulations:
    """Makes the reports."""

    def __init__(
        self,
        loader: DatasetSource,
        preparer: Preparer,
        *,
        policy: Policy,
        row_security: RowSecurity,
        templates: QueryTemplates,
    ) -> None:
        self._loader = loader
        self._preparer = preparer
        self._policy = policy
        self._row_security = row_security
        self._templates = templates

    def run(self, actor: Actor, dataset_id: int, *, now: datetime) -> RowSecurityReport:
        """Return what binds `actor` on the dataset; NotFoundError when there is none."""
        loaded = self._loader.load(ChartDataDatasource(id=dataset_id, type=DatasourceType.TABLE))
        ruled = self._row_security.ruled(actor, loaded.dataset, loaded.spec)
        verdicts: tuple[RuleVerdict, ...] = ()
        conditions: tuple[EffectiveCondition, ...] = ()
        failure: AnalyticsError | None = None
        omitted = 0
        try:
            checked = self._checked(actor, loaded, now)
            concerning, omitted = self._row_security.concerning(ruled, _tables(checked, ruled.spec))
            verdicts = tuple(_verdict(rule, place, actor) for rule, place in concerning)
            conditions = tuple(self._conditions(ruled, loaded, checked, now))
        except AnalyticsError as error:
            failure = error
        return RowSecurityReport(
            username=actor.username,
            roles=tuple(sorted(role.name for role in actor.roles)),
            dataset_id=loaded.dataset.id,
            dataset=loaded.dataset.table_name,
            may_read=self._policy.can_read_dataset(actor, loaded.dataset),
            verdicts=verdicts,
            conditions=conditions,
            failure=failure,
            omitted=omitted,
        )

    def _checked(self, actor: Actor, loaded: LoadedDataset, now: datetime) -> TableSource | SqlSource:
        dataset, spec = loaded.dataset, loaded.spec
        sql = self._templates.sample_source(dataset, spec, ChartRequest(actor=actor, now=now))
        if sql is None:
            return table_of(dataset)
        return check_select(sql, spec=spec, place=f"dataset {dataset.table_name!r}")

    def _conditions(
        self, ruled: RuledActor, loaded: LoadedDataset, source: TableSource | SqlSource, now: datetime
    ) -> Iterator[EffectiveCondition]:
        if isinstance(source, SqlSource):
            source = self._row_security.in_source(ruled, source)
        view = make_view(loaded.dataset, loaded.spec, source)
        scope = self._preparer.scope(view, now=now, render=lambda text: text)
        filters = self._row_security.on_dataset(ruled)
        own = plan_row_filters(scope, filters)
        yield from _printed(own, "this dataset", spec=loaded.spec, alias=view.alias)
        for rule in source.rules if isinstance(source, SqlSource) else ():
            place = f"table {rule.relation} in its SQL"
            yield from _printed(rule.clauses, place, spec=loaded.spec, alias=RELATION_ALIAS)


def _tables(source: TableSource | SqlSource, spec: EngineSpec) -> Sequence[TableRef]:
    if isinstance(source, TableSource) or source.tree is None:
        return ()
    return tables_of(source.tree, spec)


def _printed(clauses: Sequence[Clause], place: str, *, spec: EngineSpec, alias: str) -> Iterator[EffectiveCondition]:
    for clause in clauses:
        sql = printed(clause.predicate, spec, alias=alias)
        yield EffectiveCondition(place=place, sql=sql, origin=str(clause.origin))


def _verdict(rule: RowRule, place: str, actor: Actor) -> RuleVerdict:
    return RuleVerdict(
        rule_id=rule.id,
        name=rule.name,
        filter_type=rule.filter_type.value,
        group_key=rule.group_key,
        clause=rule.clause,
        place=place,
        binds=binds(rule, actor.role_ids),
        why=_why(rule, actor),
    )


def _why(rule: RowRule, actor: Actor) -> str:
    role_names = sorted(role.name for role in actor.roles if role.id in rule.role_ids)
    if rule.filter_type is RowRuleType.REGULAR:
        return f"has its role {', '.join(role_names)}" if role_names else "has none of its roles"
    return f"excepted by the role {', '.join(role_names)}" if role_names else "has none of the excepted roles"
