"""One request to the query engine: what is requested, by whom, when, and how to stop it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from analytics_core._execution.request_budget import RequestBudget
from analytics_core._execution.statements import CancelToken
from analytics_core._querying.payloads import AskedQuery, asked_queries
from analytics_core._security.actor import Actor
from analytics_core.models.query import ChartDataQueryContext

_NO_QUERIES: Final = ChartDataQueryContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRequest:
    """What one request carries from step to step, from its payload to the statements.

    Attributes:
        actor: who acts.
        now: the moment that counts as now (aware UTC).
        context: the query context; one without queries where templates alone are rendered.
        queries: those of the context.
        digest: of the payload that the context was read from; None when it has no canonical bytes, or was changed.
        force: read from the source, not the cache.
        chart_cache_timeout: in seconds; None when the request comes from no chart, or the chart leaves it open.
        strict: refuse parts of a query that have no effect, of which an answer tells otherwise.
        cancel: stops it from another thread.
        budget: what is left of the request; None until the query engine begins with it.
    """

    actor: Actor
    now: datetime
    context: ChartDataQueryContext = _NO_QUERIES
    queries: tuple[AskedQuery, ...] = ()
    digest: bytes | None = None
    force: bool = False
    chart_cache_timeout: int | None = None
    strict: bool = False
    cancel: CancelToken | None = None
    budget: RequestBudget | None = None

    def on(self, context: ChartDataQueryContext) -> ChartRequest:
        """Return the same request for another query context."""
        return replace(self, context=context, queries=asked_queries(context), digest=None, force=context.force)
