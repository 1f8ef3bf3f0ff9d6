"""A core as it is wired: what a host chose, and the rooms that are made of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analytics_core._tools.once import Once

if TYPE_CHECKING:
    from analytics_core._content.lookups.loading import StoreReadCache
    from analytics_core._content.runtime import ContentRuntime
    from analytics_core._engine.engines.registry import EngineRegistry
    from analytics_core._engine.network import AddressFinder
    from analytics_core._engine.rights.actor import Actor
    from analytics_core._engine.rights.policy import Policy
    from analytics_core._engine.runtime import EngineRuntime
    from analytics_core._records.settings import Settings
    from analytics_core._reports.runtime import ReportsRuntime
    from analytics_core.ports import (
        Cache,
        Clock,
        Connector,
        JobRunner,
        Lock,
        MetadataStore,
        Notifier,
        Observer,
        Progress,
        Renderer,
        RowFilterSource,
        Sleeper,
        TokenEndpoint,
        UserDirectory,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """What a host chose for an `AnalyticsCore`, and the library's own parts where it chose none."""

    settings: Settings
    clock: Clock
    store: MetadataStore
    cache: Cache
    lock: Lock
    observer: Observer
    progress: Progress
    jobs: JobRunner
    connector: Connector
    registry: EngineRegistry
    policy: Policy
    people: UserDirectory
    row_filters: tuple[RowFilterSource, ...]
    sleeper: Sleeper
    token_endpoint: TokenEndpoint
    notifiers: tuple[Notifier, ...]
    renderer: Renderer | None
    allowed_files: tuple[Path, ...]
    addresses: AddressFinder


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreRuntime:
    """The components, and the rooms that are made of them; nothing changes it.

    The same runtime serves many actors; `actors` are those who were found a moment ago.
    """

    parts: Components
    content: ContentRuntime
    made_reports: Once[ReportsRuntime]
    actors: StoreReadCache[Hashable, Actor]

    @property
    def engine(self) -> EngineRuntime:
        """The engine, of which the content is given all."""
        return self.content.engine

    @property
    def reports(self) -> ReportsRuntime:
        """What alerts and reports are given; it is loaded with the first of them."""
        return self.made_reports()

    def pinned_at(self, moment: Any) -> CoreRuntime:
        """Return the runtime for queries as of a moment; PayloadSchemaError for what is none."""
        content = self.content.pinned_at(moment)
        return replace(self, content=content, made_reports=Once(lambda: replace(self.reports, content=content)))

    def close(self) -> None:
        """Stop background work, then the engine, then what the host chose."""
        self.content.job_registry.close()
        self.engine.close()
        for notifier in self.parts.notifiers:
            notifier.close()
        if self.parts.renderer is not None:
            self.parts.renderer.close()
        for way in (self.parts.observer, self.parts.connector, self.parts.store):
            way.close()
