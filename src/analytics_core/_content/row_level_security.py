"""`core.row_level_security`: which rows whom may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from analytics_core._content.batches import by_ids, is_id
from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import DATASETS, ROLES, Listing, ResourceLists, all_of_it
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.written_back import read_changes
from analytics_core._engine.querying.row_security_report import RowSecurityReport
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import RowRule, RowRuleType, User
from analytics_core._records.repositories import UnitOfWork
from analytics_core.models.dataset import DatasetGet, DatasetListItem
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.people import RowRuleGet, RowRuleListItem, RowRulePost, RowRulePut, TableReference, UserGet
from analytics_core.models.references import RoleReference

UserKey = int | str | User | UserGet
DatasetKey = int | DatasetGet | DatasetListItem
FindActor = Callable[[int | str | User], Actor]

LISTS = ResourceLists(
    listing=Listing(
        shape="row rule",
        item=RowRuleListItem,
        texts=("name", "description", "filter_type", "group_key"),
        links=("roles", "tables"),
        stored_as={"roles": "role_ids", "tables": "dataset_ids"},
    ),
    repository=lambda unit: unit.row_rules,
    item=lambda rule, facts: facts.answer(RowRuleListItem, rule, **facts.linked[rule.id]),
    permission=lambda policy, actor: policy.require_manage_row_rules(actor),
    visibility=all_of_it,
    linked=lambda reader, found: _references(reader.unit, found),
    people_of=lambda _rule: (),
    records={"roles": ROLES, "tables": DATASETS},
    distinct=("group_key",),
)


class RowLevelSecurity(NamespaceWithDistinct[RowRuleListItem]):
    """Row rules: SQL conditions that bind people to rows of datasets; only administrators see and manage them.

    `roles` and `tables` are filtered by eq and in: rules that name at least one of these ids. `related` takes these,
    `created_by` or `changed_by`, `distinct` takes `group_key`.
    """

    _resource = LISTS

    def __init__(self, runtime: ContentRuntime, actor: Actor, find_actor: FindActor) -> None:
        super().__init__(runtime, actor)
        self._find_actor = find_actor

    def create(self, payload: RowRulePost | Payload) -> RowRuleGet:
        """Store a rule over datasets, `tables` (contract, `RLSRestApi.post`); it binds from the next query on.

        Raises:
            PayloadError: the payload breaks the shape.
            AccessError: only administrators manage rules.
            NotFoundError: a role or a dataset is unknown.
            FragmentError, UnknownColumnError, SubqueryNotAllowedError, TemplateError: the clause is not one condition
                on the columns of each dataset.
            AlreadyExistsError: the name is taken.

        Examples:
            >>> core.row_level_security.create(
            ...     {"name": "No returns", "filter_type": "Base", "clause": "NOT returned", "tables": [1], "roles": []}
            ... ).id
            2
        """
        self._runtime.policy.require_manage_row_rules(self._actor)
        post = parse(RowRulePost, payload, shape="RLSRestApi.post")
        rule = with_given(RowRule(name=post.name, clause=post.clause), post)
        with self._acting("row_level_security.create") as (act, unit):
            check_clause(self._runtime, unit, rule)
            stored = act.add(unit, unit.row_rules, rule, "row_rule_id")
            return _answer(unit, stored)

    def get(self, rule_id: int) -> RowRuleGet:
        """Return a rule; NotFoundError when there is none.

        Examples:
            >>> core.row_level_security.get(1).clause
            "country = 'Germany'"
        """
        self._runtime.policy.require_manage_row_rules(self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return _answer(unit, unit.row_rules.get(rule_id))

    @repeated
    def update(
        self, rule_id: int, payload: RowRulePut | RowRuleGet | Payload, *, unchanged_since: datetime | str | None = None
    ) -> RowRuleGet:
        """Change a rule; `roles` and `tables` replace the stored lists (contract, `RLSRestApi.put`).

        With `unchanged_since`, the `changed_on` of the rule that the caller read (an attribute: the contract has no
        field for it), a change that somebody else made since is not overwritten.

        Raises:
            StaleVersionError: somebody else changed it meanwhile.
            AnalyticsError: as for `create`.

        Examples:
            >>> core.row_level_security.update(1, {"clause": "country IN ('Germany', 'France')"}).clause
            "country IN ('Germany', 'France')"
        """
        self._runtime.policy.require_manage_row_rules(self._actor)
        answers = self._answers(RowRuleGet, self.get, rule_id)
        put = read_changes(RowRulePut, payload, shape="RLSRestApi.put", answers=answers)
        with self._acting("row_level_security.update") as (act, unit):
            before = unit.row_rules.get(rule_id)
            reject_later_change(before, unchanged_since)
            rule = with_given(before, put)
            if put.model_fields_set:
                check_clause(self._runtime, unit, rule)
            stored = act.update(unit, unit.row_rules, before, rule, details={"row_rule_id": rule.id})
            return _answer(unit, stored)

    @repeated
    def delete(self, rule_id: int) -> None:
        """Remove a rule; whom it bound sees more from the next query on.

        Examples:
            >>> core.row_level_security.delete(1)
            >>> core.row_level_security.list().count
            0
        """
        self._runtime.policy.require_manage_row_rules(self._actor)
        with self._acting("row_level_security.delete") as (act, unit):
            act.delete(unit, unit.row_rules, rule_id, details={"row_rule_id": rule_id})

    def simulate(self, actor: UserKey, dataset: DatasetKey) -> RowSecurityReport:
        """Return what binds somebody on a dataset, what does not, and why; nothing runs on the database.

        Args:
            actor: an id, a user name, a stored user or a `User` of the host.
            dataset: an id or a stored dataset.

        Raises:
            ActorRequiredError: nobody active answers to `actor`.
            PayloadSchemaError, NotFoundError: `dataset` is none, or there is no such one.

        Example:
            print(core.row_level_security.simulate("anna", 1))

        Examples:
            >>> print(core.row_level_security.simulate("grace", 1))
            grace (Analysts) on dataset 1 'orders'
            binds: rule 1 'Germany alone' (Regular; this dataset): has its role Analysts
            where this dataset: ("orders"."country" = 'Germany')    <- row rule: 1 'Germany alone'
        """
        self._runtime.policy.require_manage_row_rules(self._actor)
        someone = self._find_actor(actor.id if isinstance(actor, UserGet) else actor)
        dataset_id: object = dataset.id if isinstance(dataset, DatasetGet | DatasetListItem) else dataset
        if not is_id(dataset_id):
            raise payload_error("simulation of row rules", "dataset", "must be the id of a dataset, or a dataset")
        return self._runtime.engine.questions.simulations.run(someone, dataset_id, now=self._runtime.clock.now())


def check_clause(runtime: ContentRuntime, unit: UnitOfWork, rule: RowRule) -> None:
    """Read the clause of a rule for each of its datasets on its own engine."""
    if not rule.clause.strip():
        raise payload_error("row rule", "clause", "is empty; write a condition, for example region = 'EU'")
    databases: dict[int, Database] = {}
    for dataset_id in rule.dataset_ids:
        dataset = unit.datasets.get(dataset_id)
        database = databases.get(dataset.database_id) or unit.databases.get(dataset.database_id)
        databases[database.id] = database
        runtime.engine.row_security.check(rule.clause, dataset, runtime.engine.registry.get(database.engine))


def with_given(rule: RowRule, payload: RowRulePost | RowRulePut) -> RowRule:
    """Return a rule after a payload; a blank `group_key` is none."""
    given = payload.given()
    changes: dict[str, Any] = {name: given[name] for name in ("name", "clause", "description") if name in given}
    if "group_key" in given:
        changes["group_key"] = given["group_key"] if (given["group_key"] or "").strip() else None
    if "filter_type" in given:
        changes["filter_type"] = RowRuleType(given["filter_type"].value)
    for name, ids in (("roles", "role_ids"), ("tables", "dataset_ids")):
        if name in given:
            changes[ids] = tuple(dict.fromkeys(given[name]))
    return replace(rule, **changes)


def _references(unit: UnitOfWork, rules: Sequence[RowRule]) -> dict[int, dict[str, Any]]:
    """Return what answers say of rules in other words than the records, by the ids of the rules."""
    roles = by_ids(unit.roles, (role_id for rule in rules for role_id in rule.role_ids), without=ROLES.without)
    dataset_ids = (dataset_id for rule in rules for dataset_id in rule.dataset_ids)
    datasets = by_ids(unit.datasets, dataset_ids, without=DATASETS.without)
    return {
        rule.id: {
            "filter_type": rule.filter_type.value,
            "roles": tuple(RoleReference(id=key, name=roles[key].name) for key in rule.role_ids if key in roles),
            "tables": tuple(_table(datasets[key]) for key in rule.dataset_ids if key in datasets),
        }
        for rule in rules
    }


def _table(dataset: Dataset) -> TableReference:
    table = {"id": dataset.id, "schema": dataset.schema or None, "table_name": dataset.table_name}
    return TableReference.model_validate(table)


def _answer(unit: UnitOfWork, rule: RowRule) -> RowRuleGet:
    return answer_as(RowRuleGet, rule, **_references(unit, [rule])[rule.id])
