"""What answers questions, wired: the road from a payload to rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any, cast

from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._content.lookups.loading import AnnotationReader, DatasetLoader, StoreReadCache
from analytics_core._core.adapters.caches import GuardedCache
from analytics_core._core.runtime import Components
from analytics_core._core.wiring.parts import optional_member
from analytics_core._engine.compile.advanced_types import AdvancedDataType
from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.frames.registry import installed_operations
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.metadata import MetadataReader
from analytics_core._engine.gate.partitions import Partitions
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.querying.alert_query import AlertQueries
from analytics_core._engine.querying.annotations import Annotator
from analytics_core._engine.querying.batch_queries import BatchQueries
from analytics_core._engine.querying.preparing import Preparer, StoredFragments
from analytics_core._engine.querying.process_runs import ProcessRuns
from analytics_core._engine.querying.reading import LISTS_OF_VALUES, ContextReader
from analytics_core._engine.querying.ready_query import ReadyQueries
from analytics_core._engine.querying.result_cache import StoredResults
from analytics_core._engine.querying.row_security_report import Simulations
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.querying.stored_statements import StoredStatements
from analytics_core._engine.querying.template_lookups import LookupFactory
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.runtime import Questions
from analytics_core._records.settings import Settings
from analytics_core.ports import ExtendableLock


def build_questions(
    parts: Components,
    *,
    parser: FragmentParser,
    gate: Gate,
    row_security: RowSecurity,
    metadata: MetadataReader,
    advanced_types: Mapping[str, AdvancedDataType],
    operations: Iterable[EntryPoint],
    chart_contexts: ChartContexts,
) -> Questions:
    """Return what answers questions over the parts of a core; the rest is the engine's, and wired before."""
    settings, store, clock = parts.settings, parts.store, parts.clock
    planning = Preparer(parser=parser, limits=_limits(settings), advanced_types=advanced_types)
    loader = DatasetLoader(store, parts.registry, clock, freshness_s=settings.metadata_freshness_s)
    partitions = Partitions(gate=gate, row_security=row_security, timeout_s=settings.statement_timeout_s)
    lookups = LookupFactory(loader=loader, gate=gate, policy=parts.policy, preparer=planning, partitions=partitions)
    renderer = TemplateRenderer() if settings.enable_templates else None
    templates = QueryTemplates(renderer, _limits(settings), lookups=lookups)
    steps = installed_operations(operations)
    ready = ReadyQueries(gate=gate, preparer=planning, templates=templates, settings=settings, operations=steps)
    found = StoreReadCache[Any, Any](store, clock, seconds=settings.metadata_freshness_s)
    statements = StoredStatements(store, parts.registry, parts.policy, metadata, templates, columns=found.get)
    runner = QueryRunner(
        loader=loader,
        statements=statements,
        gate=gate,
        ready=ready,
        results=StoredResults(parts.cache, parts.clock, secret=settings.key, most_bytes=settings.cache_max_bytes // 4),
        processes=_process_runs(parts),
        settings=settings,
        annotator=_annotator(parts, chart_contexts),
        observer=parts.observer,
        progress=parts.progress,
    )
    return Questions(
        contexts=_contexts(settings),
        templates=templates,
        fragments=StoredFragments(planning, templates),
        runner=runner,
        batches=BatchQueries(runner=runner, ready=ready, gate=gate, settings=settings, observer=parts.observer),
        simulations=Simulations(loader, planning, policy=parts.policy, row_security=row_security, templates=templates),
        alerts=AlertQueries(
            gate=gate, metadata=metadata, row_security=row_security, templates=templates, settings=settings
        ),
    )


def _process_runs(parts: Components) -> ProcessRuns[QueryResult] | None:
    """Return what lets one of several processes answer; None where they share no cache, or no lock of the kind."""
    cache = parts.cache
    if not isinstance(cache, GuardedCache) or optional_member(parts.lock, "extend") is None:
        return None
    lock = cast("ExtendableLock", parts.lock)
    return ProcessRuns(cache, lock, ask=cache.ask, longest_s=parts.settings.statement_timeout_s)


def _contexts(settings: Settings) -> ContextReader:
    return ContextReader(
        most_queries=settings.max_queries_per_context,
        most_items=settings.max_items_per_list,
        most_values=settings.max_in_values * LISTS_OF_VALUES,
    )


def _annotator(parts: Components, chart_contexts: ChartContexts) -> Annotator:
    return Annotator(
        reader=AnnotationReader(parts.store, most=parts.settings.max_annotations),
        policy=parts.policy,
        limits=_limits(parts.settings),
        chart_contexts=chart_contexts,
        most_layers=parts.settings.max_annotation_layers,
    )


def _limits(settings: Settings) -> PlanLimits:
    return PlanLimits(
        default_row_limit=settings.default_row_limit,
        max_row_limit=settings.max_row_limit,
        samples_row_limit=settings.samples_row_limit,
        stream_row_limit=settings.stream_row_limit,
        max_in_values=settings.max_in_values,
        relative_start=settings.relative_start,
        relative_end=settings.relative_end,
    )
