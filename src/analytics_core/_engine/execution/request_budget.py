"""What one request may take in all, however many queries, comparisons, layers and look-ups it is made of."""

from __future__ import annotations

import threading
import time
from typing import Final

from analytics_core._engine.compile.templates.sandbox import TemplateSteps
from analytics_core._engine.frames.frame import Frame
from analytics_core._records.settings import Settings
from analytics_core.errors import RequestLimitError, RequestTimeoutError

_FRAGMENT_COST: Final = 20
"""What parsing any expression costs, in characters of a long one."""


class RequestBudget:
    """The seconds, statements, cells, SQL and template steps that are left of one request; it begins when it is made.

    Every statement of the request passes through `begin_statement`, every frame through `take_cells`, every fragment
    that is parsed through `take_sql`. `database_s` are the seconds that statements took so far.
    """

    def __init__(self, *, timeout_s: float, statements: int, cells: int, sql_length: int) -> None:
        self.template_steps = TemplateSteps()
        self.database_s = 0.0
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._guard = threading.Lock()
        self._most_statements, self._statements = statements, 0
        self._most_cells, self._cells = cells, 0
        self._most_sql, self._sql = sql_length, 0

    @classmethod
    def of(cls, settings: Settings) -> RequestBudget:
        """Return the budget of a request that begins now."""
        return cls(
            timeout_s=settings.request_timeout_s,
            statements=settings.max_statements_per_request,
            cells=settings.max_cells_per_request,
            sql_length=settings.max_sql_length_per_request,
        )

    def check_time(self) -> None:
        """Raise RequestTimeoutError when the time is over."""
        if time.monotonic() >= self._deadline:
            raise self.timeout_error()

    def begin_statement(self, timeout_s: float) -> float:
        """Count one statement and return the seconds that it may take: `timeout_s`, or what is left of the request.

        Raises:
            RequestTimeoutError: no time is left.
            RequestLimitError: no statement is left.
        """
        remaining_s = self._deadline - time.monotonic()
        if remaining_s <= 0:
            raise self.timeout_error()
        with self._guard:
            self._statements += 1
            if self._statements > self._most_statements:
                raise RequestLimitError(
                    f"the request needs more than {self._most_statements:,} statements "
                    "(Settings.max_statements_per_request); ask for fewer queries, comparisons or annotation layers at "
                    "once",
                    extra={"max_statements": self._most_statements},
                )
        return min(timeout_s, max(remaining_s, 0.001))

    def end_statement(self, seconds: float) -> None:
        """Count the seconds of a statement, also of one that failed."""
        with self._guard:
            self.database_s += seconds

    def take_sql(self, text: str) -> None:
        """Count a fragment that is parsed; RequestLimitError when all of them are longer than a request's may be."""
        with self._guard:
            self._sql += len(text) + _FRAGMENT_COST
            if self._sql > self._most_sql:
                raise RequestLimitError(
                    f"the custom SQL of the request is longer than {self._most_sql:,} characters in all "
                    f"(Settings.max_sql_length_per_request, which counts {_FRAGMENT_COST} more for each expression); "
                    "ask for less at once",
                    extra={"max_sql_length": self._most_sql},
                )

    def take_cells(self, frame: Frame) -> None:
        """Count the cells of a frame; RequestLimitError when they are more than what is left."""
        with self._guard:
            self._cells += len(frame) * len(frame.columns)
            if self._cells > self._most_cells:
                raise RequestLimitError(
                    f"the results of the request have more than {self._most_cells:,} cells in all "
                    "(Settings.max_cells_per_request); ask for fewer rows or columns, or for fewer queries at once",
                    extra={"max_cells": self._most_cells},
                )

    def timeout_error(self) -> RequestTimeoutError:
        """Return the error that tells that the time of the request is over."""
        return RequestTimeoutError(
            f"the request took longer than {self._timeout_s:g} seconds in all (Settings.request_timeout_s) and was "
            "stopped; ask for fewer queries or comparisons at once, or narrow the time range",
            extra={"timeout_s": self._timeout_s},
        )
