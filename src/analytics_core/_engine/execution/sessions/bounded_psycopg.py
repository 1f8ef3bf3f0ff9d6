"""psycopg's connection with an end for every wait."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

import psycopg


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server leaves it without an answer for `answer_s` seconds."""

    answer_s: float = 60.0
    _INTERVAL_S: ClassVar[float] = 0.1

    def wait(self, gen: Any, interval: float = _INTERVAL_S, timeout: float | None = None) -> Any:
        """Wait for the server; OperationalError once its time is over."""
        limit_s = self.answer_s if timeout is None else min(timeout, self.answer_s)
        try:
            return super().wait(gen, interval=interval, timeout=limit_s)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()  # what the server would still send belongs to nobody
        raise psycopg.OperationalError("the server does not answer")

    def _try_cancel(self, *, timeout: float = 2.0) -> None:
        """Cancel what runs if that can be done in time; psycopg's own method logs why it cannot, with addresses."""
        with suppress(psycopg.Error):
            self.cancel_safe(timeout=min(timeout, 2.0))
