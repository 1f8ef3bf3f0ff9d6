"""The content as it is wired: all that namespaces of resources are given besides the actor; the clock of `as_of`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from analytics_core.errors import MissingExtraError
from analytics_core.models.parsing import payload_error
from analytics_core.ports import Clock

if TYPE_CHECKING:
    from analytics_core._content.jobs.registry import JobRegistry
    from analytics_core._content.lookups.chart_contexts import ChartContexts
    from analytics_core._content.lookups.guests import Guests
    from analytics_core._content.lookups.loading import ChartLoader, StoreReadCache
    from analytics_core._engine.execution.cancel import CancelToken
    from analytics_core._engine.querying.chart_request import ChartRequest
    from analytics_core._engine.rights.actor import Actor
    from analytics_core._engine.rights.policy import Policy
    from analytics_core._engine.runtime import EngineRuntime
    from analytics_core._records.people import User
    from analytics_core._records.settings import Settings
    from analytics_core._tools.once import Once
    from analytics_core.ports import Cache, Clock, MetadataStore, Progress, Renderer, UserDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRuntime:
    """What namespaces of resources are given; `_core` alone builds it, nothing changes it.

    The same runtime serves many actors: the actor is an argument of each namespace. `clock` tells the moment that
    counts as now for queries, which `as_of` moves; `wall_clock` when something really happens: what is logged, how long
    something is kept. The metadata store has a clock of its own for audit times.
    """

    engine: EngineRuntime
    settings: Settings
    store: MetadataStore
    policy: Policy
    clock: Clock
    wall_clock: Clock
    cache: Cache
    progress: Progress
    renderer: Renderer | None
    people: UserDirectory
    known_users: StoreReadCache[int, User | None]
    made_guests: Once[Guests]
    charts: ChartLoader
    made_chart_contexts: Once[ChartContexts]
    job_registry: JobRegistry

    def pinned_at(self, moment: Any, *, shape: str = "as_of", name: str = "moment") -> ContentRuntime:
        """Return the runtime for queries as of a moment; PayloadSchemaError for what is none, at `shape` and `name`."""
        return replace(self, clock=pinned_clock(moment, self.wall_clock, shape=shape, name=name))

    def request(self, actor: Actor, *, cancel: CancelToken | None = None) -> ChartRequest:
        """Return a request of an actor that begins now, and asks nothing yet."""
        from analytics_core._engine.querying.chart_request import ChartRequest

        return self.engine.questions.runner.begun(ChartRequest(actor=actor, now=self.clock.now(), cancel=cancel))

    @property
    def guests(self) -> Guests:
        """What turns tokens of guests into actors; it is loaded with the first of them."""
        return self.made_guests()

    @property
    def chart_contexts(self) -> ChartContexts:
        """What gives the query contexts of charts; it is loaded with the first of them."""
        return self.made_chart_contexts()

    @property
    def draws_pictures(self) -> bool:
        """Whether charts and dashboards can be drawn: a renderer is wired."""
        return self.renderer is not None

    def needed_renderer(self) -> Renderer:
        """Return what draws pictures; MissingExtraError where nothing does."""
        if self.renderer is None:
            raise MissingExtraError(needed_for="a picture", extra_name="charts")
        return self.renderer

    def known_user(self, user_id: int) -> User | None:
        """Return the person of this id as the directory knows them, if it does."""
        return self.known_users.get(user_id, lambda: self.people.find(user_id)) if user_id >= 1 else None


class PinnedClock:
    """Tells one moment for ever: what `as_of` puts in the clock's place (port `Clock`).

    What is kept while a moment is pinned ends as ever, by the clock that goes on.
    """

    def __init__(self, moment: datetime, going: Clock) -> None:
        self._moment = moment
        self._going = going

    def now(self) -> datetime:
        """Return the pinned moment, aware, in UTC."""
        return self._moment

    def monotonic(self) -> float:
        """Return seconds that pass."""
        return self._going.monotonic()


def pinned_clock(given: Any, going: Clock, *, shape: str, name: str) -> PinnedClock:
    """Return a clock that stands at a moment, a naive one of which is in UTC; PayloadSchemaError for anything else.

    `shape` and `name` say in the error where the moment was given.
    """
    try:
        if isinstance(given, datetime):
            return PinnedClock(given.replace(tzinfo=UTC) if given.utcoffset() is None else given.astimezone(UTC), going)
    except OverflowError:
        pass
    raise payload_error(shape, name, "must be a datetime between the years 1 and 9999 in UTC")
