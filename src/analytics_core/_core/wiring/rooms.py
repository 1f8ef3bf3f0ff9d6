"""The composition root: the rooms of a core, each given what it may use."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from analytics_core._content.cache import WarmUpJobs
from analytics_core._content.guests.namespaces import GuestQueries
from analytics_core._content.jobs.handlers import JobHandler, JobKind, JobOutcome
from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._content.lookups.guests import Guests
from analytics_core._content.lookups.loading import ChartLoader, StoreReadCache
from analytics_core._content.questions.queries import ChartDataJobs, ChartQueries, JobQueries
from analytics_core._content.runtime import ContentRuntime
from analytics_core._core.runtime import Components, CoreRuntime
from analytics_core._core.wiring.engine import build_engine
from analytics_core._core.wiring.parts import Added
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._engine.runtime import EngineRuntime
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.delivery import Deliveries
from analytics_core._reports.runner import ReportRuns
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._superset.registry import ENTRY_POINTS as CHART_KINDS
from analytics_core._superset.registry import installed_chart_kinds


def build_runtime(parts: Components, added: Added) -> CoreRuntime:
    """Return the object graph of a core: the one place where everything is wired."""
    chart_contexts = ChartContexts(installed_chart_kinds(added[CHART_KINDS]))
    content = _content(parts, build_engine(parts, added, chart_contexts), chart_contexts)
    return CoreRuntime(
        parts=parts,
        content=content,
        reports=ReportsRuntime(content=content, deliveries=_deliveries(parts), jobs=parts.jobs, sleeper=parts.sleeper),
        actors=StoreReadCache(
            parts.store, parts.clock, seconds=parts.settings.metadata_freshness_s, nouns=("user", "role")
        ),
    )


def _content(parts: Components, engine: EngineRuntime, chart_contexts: ChartContexts) -> ContentRuntime:
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
        renderer=parts.renderer,
        people=parts.people,
        known_users=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user",)),
        guests=Guests(store, clock, settings),
        charts=ChartLoader(store, clock, freshness_s=settings.metadata_freshness_s),
        chart_contexts=chart_contexts,
        job_registry=JobRegistry(store=store, runner=parts.jobs, settings=settings, sleeper=parts.sleeper),
    )


def _deliveries(parts: Components) -> Deliveries:
    def addresses(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
        return parts.addresses.find(host, port, purpose=purpose)

    for notifier in parts.notifiers:
        notifier.start(addresses)
    return Deliveries(parts.notifiers, clock=parts.clock, sleeper=parts.sleeper, jitter=random.random)


def job_handlers(
    runtime: CoreRuntime, find_actor: Callable[[JobRecord], Actor], find_person: Callable[[int], Actor]
) -> dict[JobKind, JobHandler]:
    """Return what runs each kind of job, each as its own actor, at the moment that its question was pinned to."""

    def runtime_of(job: JobRecord) -> CoreRuntime:
        return runtime if job.moment is None else runtime.pinned_at(job.moment)

    def content_of(job: JobRecord) -> ContentRuntime:
        return runtime_of(job).content

    def queries_of(job: JobRecord, actor: Actor) -> JobQueries:
        of_whom = ChartQueries if actor.guest is None else GuestQueries
        return of_whom(content_of(job), actor)

    seal = EntrySeal(runtime.parts.settings.key)
    return {
        JobKind.CHART_DATA: ChartDataJobs(queries_of=queries_of, find_actor=find_actor, seal=seal),
        JobKind.WARM_UP: WarmUpJobs(runtime_of=content_of, find_actor=find_actor),
        JobKind.REPORT: ReportRuns(runtime_of=lambda job: runtime_of(job).reports, find_actor=find_person),
        JobKind.SQL: _SqlHandler(runtime_of=content_of, find_actor=find_actor, seal=seal),
    }


class _SqlHandler:
    """Runs and reads the executions of the SQL editor (a `JobHandler`), which is loaded with the first of them."""

    def __init__(self, **parts: Any) -> None:
        self._parts = parts

    def run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        """Run the statement of the execution."""
        return self._jobs().run(job, cancel)

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether an actor may read its rows."""
        return self._jobs().may_read(job, actor)

    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return its rows."""
        return self._jobs().read(job, data)

    def _jobs(self) -> JobHandler:
        from analytics_core._sql.runs import SqlJobs

        return SqlJobs(**self._parts)
