"""Who may do what, for hosts that want other rules: a `Policy` with a table of their own, or a subclass.

Example:
    policy = Policy({**RULES, Act.WRITE_DATABASE: {Standing.ADMINISTRATOR, HasRole("engineers")}})
"""

from __future__ import annotations

from analytics_core._security.actor import Actor
from analytics_core._security.policy import RULES, Act, HasRole, Policy, Standing

__all__ = ["RULES", "Act", "Actor", "HasRole", "Policy", "Standing"]
