"""What must be in hand to reach a user's database: an admission, and statements made from one."""

from __future__ import annotations

from dataclasses import dataclass

from analytics_core._compile.plan import Statement
from analytics_core._engines.spec import EngineSpec
from analytics_core._records.datasource import Access, Database, Identity
from analytics_core._security.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Proof that an actor may reach a database, as `identity` (None: the account of its URI) and with `access`.

    Only `Gate.admit` makes one, and nothing reaches a database without it.
    """

    actor: Actor
    database: Database
    spec: EngineSpec
    identity: Identity | None
    access: Access = Access.READ

    def to_run(self, statement: Statement) -> AdmittedStatement:
        """Return a statement that may be executed under this admission."""
        return AdmittedStatement(admission=self, statement=statement)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedStatement:
    """A statement that may be executed, with the admission that it was made from (`Admission.to_run`)."""

    admission: Admission
    statement: Statement
