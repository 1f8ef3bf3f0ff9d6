"""Who may do what, for hosts that want other rules: a `Policy` with a table of their own, or a subclass.

Example:
    policy = Policy({**RULES, Permission.WRITE_DATABASE: {Relationship.ADMINISTRATOR, HasRole("engineers")}})
"""

from __future__ import annotations

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import HasRole, Relationship

__all__ = ["RULES", "Actor", "HasRole", "Permission", "Policy", "Relationship"]
