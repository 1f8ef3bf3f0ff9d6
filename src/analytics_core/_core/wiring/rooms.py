"""The composition root: the rooms of a core, each given what it may use."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from analytics_core._content.jobs.handlers import JobHandler, JobKind
from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.lookups.loading import ChartLoader, StoreReadCache
from analytics_core._content.runtime import ContentRuntime
from analytics_core._core.runtime import Components, CoreRuntime
from analytics_core._core.wiring.engine import build_engine
from analytics_core._core.wiring.parts import Added
from analytics_core._engine.frames import ENTRY_POINTS as OPERATIONS
from analytics_core._engine.network import AddressFinder
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._engine.runtime import EngineRuntime
from analytics_core._engine.tracing import tracer_of
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.repositories import Snapshot
from analytics_core._records.shared_state import JobRecord
from analytics_core._superset import ENTRY_POINTS as CHART_KINDS
from analytics_core._tools.once import Once
from analytics_core.ports import Notifier, Renderer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Protocol

    from analytics_core._content.dashboards.answers import DashboardQuestions, DashboardRequest
    from analytics_core._content.lookups.chart_contexts import ChartContexts
    from analytics_core._content.lookups.guests import Guests
    from analytics_core._content.questions.queries import JobQueries
    from analytics_core._engine.execution.cancel import CancelToken
    from analytics_core._reports.runtime import ReportsRuntime

    class FindActor(Protocol):
        """Finds a person by their id; with a snapshot in it, unless they were just read."""

        def __call__(self, key: int, at: Snapshot | None = None, /) -> Actor: ...


def build_runtime(parts: Components, added: Added) -> CoreRuntime:
    """Return the object graph of a core: the one place where everything is wired."""
    _start(parts.notifiers, parts.addresses)
    chart_contexts = Once(partial(_chart_contexts, added[CHART_KINDS]))
    engine = build_engine(parts, added, chart_contexts)
    if added[CHART_KINDS] or added[OPERATIONS]:  # what packages add is loaded now, so that a fault of theirs shows here
        engine.made_questions()
    content = _content(parts, engine, chart_contexts)
    return CoreRuntime(
        parts=parts,
        content=content,
        made_reports=Once(partial(_reports, parts, content)),
        actors=StoreReadCache(
            parts.store, parts.clock, seconds=parts.settings.metadata_freshness_s, nouns=("user", "role")
        ),
    )


def _chart_contexts(added: Iterable[EntryPoint]) -> ChartContexts:
    from analytics_core._content.lookups.chart_contexts import ChartContexts
    from analytics_core._superset.registry import installed_chart_kinds

    return ChartContexts(installed_chart_kinds(added))


def _content(parts: Components, engine: EngineRuntime, chart_contexts: Once[ChartContexts]) -> ContentRuntime:
    settings, store, clock = parts.settings, parts.store, parts.clock
    return ContentRuntime(
        engine=engine,
        settings=settings,
        store=store,
        policy=parts.policy,
        clock=clock,
        wall_clock=clock,
        cache=parts.cache,
        progress=parts.progress,
        renderer=_renderer(parts),
        people=parts.people,
        known_users=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user",)),
        made_guests=Once(partial(_guests, parts)),
        charts=ChartLoader(store, clock, parts.policy, freshness_s=settings.metadata_freshness_s),
        made_chart_contexts=chart_contexts,
        job_registry=JobRegistry(
            store=store, runner=parts.jobs, settings=settings, sleeper=parts.sleeper, tracer=tracer_of(parts.observer)
        ),
    )


def _renderer(parts: Components) -> Renderer | None:
    tracer = tracer_of(parts.observer)
    if parts.renderer is None or tracer is None:
        return parts.renderer
    from analytics_core._core.adapters.traced import TracedRenderer

    return TracedRenderer(parts.renderer, tracer)


def _notifiers(parts: Components) -> tuple[Notifier, ...]:
    tracer = tracer_of(parts.observer)
    if tracer is None:
        return parts.notifiers
    from analytics_core._core.adapters.traced import TracedNotifier

    return tuple([TracedNotifier(notifier, tracer) for notifier in parts.notifiers])


def _guests(parts: Components) -> Guests:
    from analytics_core._content.lookups.guests import Guests

    return Guests(parts.store, parts.clock, parts.settings)


def _start(notifiers: Iterable[Notifier], finder: AddressFinder) -> None:
    def addresses(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
        return finder.find(host, port, purpose=purpose)

    for notifier in notifiers:
        notifier.start(addresses)


def _reports(parts: Components, content: ContentRuntime) -> ReportsRuntime:
    from analytics_core._reports.delivery import Deliveries
    from analytics_core._reports.runtime import ReportsRuntime

    deliveries = Deliveries(_notifiers(parts), clock=parts.clock, sleeper=parts.sleeper, jitter=random.random)
    return ReportsRuntime(content=content, deliveries=deliveries, jobs=parts.jobs, sleeper=parts.sleeper)


def job_handlers(
    runtime: CoreRuntime, find_actor: Callable[[JobRecord], Actor], find_person: FindActor
) -> dict[JobKind, Once[JobHandler]]:
    """Return what runs the jobs of each kind; it is loaded with the first."""
    makers = _Handlers(runtime, find_actor, find_person)
    return {
        JobKind.CHART_DATA: Once(_traced(makers.charts, runtime)),
        JobKind.DASHBOARD_DATA: Once(_traced(makers.dashboards, runtime)),
        JobKind.PICTURE: Once(_traced(makers.pictures, runtime)),
        JobKind.WARM_UP: Once(_traced(makers.warm_ups, runtime)),
        JobKind.REPORT: Once(_traced(makers.reports, runtime)),
        JobKind.SQL: Once(_traced(makers.statements, runtime)),
    }


def _traced(make: Callable[[], JobHandler], runtime: CoreRuntime) -> Callable[[], JobHandler]:
    if (tracer := runtime.engine.tracer) is None:
        return make
    from analytics_core._content.jobs.traced_jobs import traced

    return traced(make, tracer, runtime.content.wall_clock)


class _Handlers:
    """Makes the handler of each kind."""

    def __init__(self, runtime: CoreRuntime, find_actor: Callable[[JobRecord], Actor], find_person: FindActor) -> None:
        self._runtime = runtime
        self._find_actor = find_actor
        self._find_person = find_person

    def charts(self) -> JobHandler:
        from analytics_core._content.questions.queries import ChartDataJobs

        return ChartDataJobs(queries_of=self._queries_of, find_actor=self._find_actor, seal=self._seal())

    def dashboards(self) -> JobHandler:
        from analytics_core._content.dashboards.jobs import DashboardJobs

        return DashboardJobs(questions_of=self._questions_of, find_actor=self._find_actor, seal=self._seal())

    def pictures(self) -> JobHandler:
        from analytics_core._content.dashboards.jobs import PictureJobs

        return PictureJobs(
            queries_of=self._queries_of,
            questions_of=self._questions_of,
            runtime_of=self._content_of,
            find_actor=self._find_actor,
            seal=self._seal(),
        )

    def warm_ups(self) -> JobHandler:
        from analytics_core._content.cache import WarmUpJobs

        return WarmUpJobs(runtime_of=self._content_of, find_actor=self._find_actor)

    def reports(self) -> JobHandler:
        from analytics_core._reports.runner import ReportRuns

        return ReportRuns(
            runtime_of=lambda job: self._runtime_of(job).reports,
            find_actor=self._find_person,
            read_actor=self._find_person,
        )

    def statements(self) -> JobHandler:
        from analytics_core._sql.runs import SqlJobs

        return SqlJobs(runtime_of=self._content_of, find_actor=self._find_actor, seal=self._seal())

    def _queries_of(self, job: JobRecord, actor: Actor, cancel: CancelToken | None) -> JobQueries:
        if actor.guest is None:
            from analytics_core._content.questions.queries import ChartQueries

            return ChartQueries(self._content_of(job), actor, cancel=cancel)
        from analytics_core._content.guests.queries import GuestQueries

        return GuestQueries(self._content_of(job), actor, cancel=cancel)

    def _questions_of(
        self, job: JobRecord, actor: Actor, request: DashboardRequest, cancel: CancelToken | None
    ) -> DashboardQuestions:
        if actor.guest is None:
            from analytics_core._content.dashboards.answers import dashboard_questions

            return dashboard_questions(self._content_of(job), actor, request, cancel=cancel)
        from analytics_core._content.guests.queries import dashboard_of_guest

        return dashboard_of_guest(self._content_of(job), actor, request, cancel=cancel)

    def _content_of(self, job: JobRecord) -> ContentRuntime:
        return self._runtime_of(job).content

    def _runtime_of(self, job: JobRecord) -> CoreRuntime:
        return self._runtime if job.moment is None else self._runtime.pinned_at(job.moment)

    def _seal(self) -> EntrySeal:
        return EntrySeal(self._runtime.parts.settings.key, previous=self._runtime.parts.settings.older_keys)
