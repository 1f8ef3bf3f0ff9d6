"""Databricks: its server takes no setting that would leave the variables in a statement as they are written."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.execution.sessions.base import OpenRequest, Session
from analytics_core.errors import StatementRefusedError

_VARIABLE: Final = "${"
"""The server writes what it knows by a name, such as `${env:NAME}`, into a statement before it reads that."""


class DatabricksSession(Session):
    """Databricks by its own driver, which sends values apart from the text of a statement."""

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return a pooled engine whose statements have no variables."""
        engine = super().make_engine(request)
        event.listen(engine, "before_cursor_execute", _reject_variables)
        return engine


def _reject_variables(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
    if _VARIABLE in statement:
        raise StatementRefusedError(
            f"a text or name with {_VARIABLE} is not allowed: Databricks writes a variable of its own in its place"
        )
