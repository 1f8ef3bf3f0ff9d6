"""Who asks, when, and how to stop it: what one call to the query engine carries from step to step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from analytics_core._execution.request_budget import RequestBudget
from analytics_core._execution.statements import CancelToken
from analytics_core._security.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: the actor, the moment that counts as now (aware UTC), the chart that it comes from, and a way to stop.

    `chart_cache_timeout` is in seconds; None when the call comes from no chart, or the chart leaves it open. `strict`
    refuses parts of a query that have no effect, of which an answer tells otherwise. `budget` is what is left of the
    request; None until the query engine begins with it.
    """

    actor: Actor
    now: datetime
    chart_cache_timeout: int | None = None
    cancel: CancelToken | None = None
    strict: bool = False
    budget: RequestBudget | None = None
