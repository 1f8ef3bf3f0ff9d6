"""The shape of whoever begins a store."""

from __future__ import annotations

from analytics_core.models.base import LoginName, StrictShape, Text64, Text255


class FirstAdministrator(StrictShape):
    """Who begins a store; all else is theirs to do."""

    username: LoginName
    first_name: Text64 = ""
    last_name: Text64 = ""
    email: Text255 | None = None
