"""The roles and row rules of a bundle, for administrators who ask for them; people are never in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analytics_core._content.bundles.datasets import find_dataset
from analytics_core._content.bundles.documents import Document, DocumentKind
from analytics_core._content.bundles.fields import mappings_in, texts_of
from analytics_core._content.bundles.identities import uuid_text
from analytics_core._content.bundles.progress import Load
from analytics_core._content.row_level_security import check_clause, with_given
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule
from analytics_core.models.parsing import parse, payload_error
from analytics_core.models.people import RolePost, RowRulePost


# ------------------------------------------------------------------------------------------------------------ roles
def store_role(load: Load, document: Document) -> None:
    """Store a role, known by its name, with the grants of the bundle; grants on what it does not hold stay.

    A bundle makes nobody an administrator, and takes the rank from nobody.
    """
    content = document.content
    post = parse(RolePost, {"name": document.key, "is_admin": content.get("is_admin", False)}, shape=document.path)
    before = load.unit.roles.find(name=post.name)
    if post.is_admin != (before is not None and before.is_admin):
        message = "must be that of the role of this name here; bundles give and take no rank of administrators"
        raise payload_error(document.path, "is_admin", message)
    grants = {_grant(load, document, n, item) for n, item in enumerate(mappings_in(content["grants"]))}
    known = before or Role(name=post.name)
    record = replace(known, grants=frozenset(grants | _grants_elsewhere(load, known)))
    stored = record
    if record != before:
        store = load.unit.roles.add if before is None else load.unit.roles.update
        stored = store(record, actor_id=load.actor.id)
        load.act("role", before).log(load.unit, details={"role_id": stored.id})
    load.found[document.kind, document.key] = stored.id
    load.tell(document, stored.name, stored.id, is_new=before is None)


def _grant(load: Load, document: Document, number: int, item: Mapping[str, Any]) -> Grant:
    target = item.get("on")
    if target == GrantTarget.DATASET.value:
        return Grant(target=GrantTarget.DATASET, target_id=find_dataset(load, item.get("dataset_uuid")).id)
    database = load.found.get((DocumentKind.DATABASE, uuid_text(item.get("database_uuid"))))
    schema = item.get("schema")
    if target == GrantTarget.DATABASE.value and database is not None:
        return Grant(target=GrantTarget.DATABASE, target_id=database.id)
    if target == GrantTarget.SCHEMA.value and database is not None and isinstance(schema, str) and schema:
        return Grant(target=GrantTarget.SCHEMA, target_id=database.id, schema=schema)
    message = "must be on a database, a schema or a dataset, by its UUID"
    raise payload_error(document.path, f"grants.{number}", message)


def _grants_elsewhere(load: Load, role: Role) -> set[Grant]:
    """Return the grants on databases and datasets that the bundle says nothing of."""
    ids_by_kind = {kind: {one.id for (its, _), one in load.found.items() if its is kind} for kind in _GRANTED}
    return {
        grant
        for grant in role.grants
        if grant.target_id
        not in ids_by_kind[DocumentKind.DATASET if grant.target is GrantTarget.DATASET else DocumentKind.DATABASE]
    }


_GRANTED = (DocumentKind.DATABASE, DocumentKind.DATASET)


def find_role(load: Load, name: str) -> int:
    """Return the id of a role that a rule or a dashboard names."""

    def find() -> int | None:
        role = load.unit.roles.find(name=name)
        return None if role is None else role.id

    found: int = load.needed(DocumentKind.ROLE, name, find)
    return found


# -------------------------------------------------------------------------------------------------------- row rules
def store_row_rule(load: Load, document: Document) -> None:
    """Store a row rule, known by its name; what it binds beside the datasets of the bundle stays bound."""
    content = document.content
    before = load.unit.row_rules.find(name=document.key)
    bound = [find_dataset(load, uuid).id for uuid in texts_of(content.get("tables"))]
    bundle_ids = {one.id for (kind, _), one in load.found.items() if kind is DocumentKind.DATASET}
    stays = [] if before is None else [key for key in before.dataset_ids if key not in bundle_ids]
    payload = {
        **{name: content.get(name) or None for name in ("name", "clause", "filter_type", "group_key", "description")},
        "roles": [find_role(load, name) for name in texts_of(content.get("roles"))],
        "tables": [*dict.fromkeys((*bound, *stays))],
    }
    post = parse(RowRulePost, payload, shape=document.path)
    record = with_given(before or RowRule(name=post.name, clause=post.clause), post)
    check_clause(load.runtime, load.unit, record)
    stored = record
    if record != before:
        store = load.unit.row_rules.add if before is None else load.unit.row_rules.update
        stored = store(record, actor_id=load.actor.id)
        load.act("row_level_security", before).log(load.unit, details={"row_rule_id": stored.id})
    load.tell(document, stored.name, stored.id, is_new=before is None)
