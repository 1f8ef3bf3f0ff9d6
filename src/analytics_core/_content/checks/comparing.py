"""`AnalyticsCore.diff`: the charts of two states of content, asked of the same databases at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from analytics_core._content.batches import by_ids, every
from analytics_core._content.bundles.databases import Replacements
from analytics_core._content.bundles.loading import BundleContent, BundleLoader
from analytics_core._content.checks.checking import problems_of, request_of
from analytics_core._content.checks.datasets_today import loaded
from analytics_core._content.checks.difference import (
    DiffReport,
    RecordChange,
    RecordDifference,
    column_differences,
    row_differences,
    sql_difference,
)
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.explain import ExplainedQuery
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import AnalyticsError


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChartState:
    """A chart in one state of content: what it asks, or why it cannot be asked."""

    name: str
    request: ChartRequest | None = None
    queries: tuple[ExplainedQuery, ...] = ()
    failure: str = ""

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements of all queries, comparisons with earlier times included."""
        return tuple(
            text for query in self.queries for text in (query.sql, *(part.sql for part in query.offsets.values()))
        )

    @property
    def clauses(self) -> str:
        """The clauses of all queries and the steps of their post-processing, a line each."""
        return "\n".join(f"{clause.part}  {clause.sql}" for query in self.queries for clause in query.clauses)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Charts by their UUIDs, and what answers them."""

    charts: Mapping[str, _ChartState]
    runner: QueryRunner


class ContentDiff:
    """Compares two states of content for one actor, whose rights and row rules hold in both."""

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def report(self, a: Any, b: Any, given: Replacements, *, answers: bool) -> DiffReport:
        """Return each chart with what differs between `a` and `b`: bundles, or None for what is stored here."""
        now = self._runtime.clock.now()
        contents = [self._content(source, given) for source in (a, b)]
        before, after = (self._state(content, now) for content in contents)
        uuids = dict.fromkeys([*before.charts, *after.charts])
        old, new = (content.saved_queries for content in contents)
        return DiffReport(
            charts=tuple(self._difference(uuid, before, after, answers=answers) for uuid in uuids),
            saved_queries=tuple(
                _saved_difference(uuid, old.get(uuid), new.get(uuid)) for uuid in dict.fromkeys((*old, *new))
            ),
        )

    # ---------------------------------------------------------------------------------------------------- the states
    def _content(self, source: Any, given: Replacements) -> BundleContent:
        if source is not None:
            return BundleLoader(self._runtime, self._actor).content(source, given)
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit, self._runtime.policy, self._actor)
            charts = {chart.uuid: chart for chart in every(unit.charts, ids=reader.scope("charts"))}
            datasets = tuple(every(unit.datasets, ids=reader.scope("datasets")))
            of = by_ids(unit.databases, {dataset.database_id for dataset in datasets})
            seen = reader.visible_saved_queries()
            queries = {query.uuid: query for query in every(unit.saved_queries, seen.filters, ids=seen.ids)}
        stored = {dataset.uuid: (dataset, of[dataset.database_id]) for dataset in datasets}
        return BundleContent(datasets=stored, charts=charts, failures={}, saved_queries=queries)

    def _state(self, content: BundleContent, now: datetime) -> _State:
        given = ((dataset, database, None) for dataset, database in content.datasets.values())
        runner = self._runtime.engine.questions.runner.of_datasets(loaded(self._runtime, given))
        broken = {
            uuid: _ChartState(name=name, failure=_problem_text(error))
            for uuid, (name, error) in content.failures.items()
        }
        charts = {uuid: self._chart(runner, chart, now) for uuid, chart in content.charts.items()}
        return _State(charts={**charts, **broken}, runner=runner)

    def _chart(self, runner: QueryRunner, chart: Chart, now: datetime) -> _ChartState:
        try:
            request = request_of(self._runtime, self._actor, chart, now=now)
            queries = runner.explain(request).queries
        except AnalyticsError as error:
            return _ChartState(name=chart.slice_name, failure=_problem_text(error))
        failed = next((query.failure for query in queries if query.failure is not None), None)
        if failed is not None:
            return _ChartState(name=chart.slice_name, failure=_problem_text(failed))
        return _ChartState(name=chart.slice_name, request=request, queries=queries)

    # ------------------------------------------------------------------------------------------------ what differs
    def _difference(self, uuid: str, before: _State, after: _State, *, answers: bool) -> RecordDifference:
        old, new = before.charts.get(uuid), after.charts.get(uuid)
        if old is None or new is None:
            change, alone = (RecordChange.ADDED, new) if old is None else (RecordChange.REMOVED, old)
            assert alone is not None  # noqa: S101 - one of the states has it; tells the type checker
            failures = (f"cannot be asked: {alone.failure}",) if alone.failure and new is not None else ()
            return RecordDifference(uuid=uuid, name=alone.name, change=change, failures=failures)
        if old.failure or new.failure:
            return _of_failures(uuid, old, new)
        if (old.statements, old.clauses) == (new.statements, new.clauses):
            return RecordDifference(uuid=uuid, name=new.name, change=RecordChange.EQUAL)
        sql = sql_difference(old.clauses, new.clauses)
        sql = sql or sql_difference("\n".join(old.statements), "\n".join(new.statements))
        difference = RecordDifference(uuid=uuid, name=new.name, change=RecordChange.CHANGED, sql=sql)
        return self._with_answers(difference, (before.runner, old), (after.runner, new)) if answers else difference

    def _with_answers(
        self, difference: RecordDifference, old: tuple[QueryRunner, _ChartState], new: tuple[QueryRunner, _ChartState]
    ) -> RecordDifference:
        """Return what differs with the columns and rows of both answers, or why one was not given."""
        found: list[tuple[QueryResult, ...]] = []
        failures = []
        for side, (runner, state) in (("a", old), ("b", new)):
            try:
                assert state.request is not None  # noqa: S101 - it did not fail; tells the type checker
                answer = runner.run(state.request)
                answer.raise_for_error()
                found.append(answer.results)
            except AnalyticsError as error:
                failures.append(f"{side} does not answer: {_problem_text(error)}")
        if failures:
            return replace(difference, failures=tuple(failures))
        columns, rows = (tuple(_of_queries(found[0], found[1], part)) for part in (_columns, _rows))
        return replace(difference, columns=columns, rows=rows)


def _saved_difference(uuid: str, old: SavedQuery | None, new: SavedQuery | None) -> RecordDifference:
    """Return what differs between the texts of a saved query; none is asked, since values come with each run."""
    if new is None or old is None:
        change, alone = (RecordChange.ADDED, new) if old is None else (RecordChange.REMOVED, old)
        assert alone is not None  # noqa: S101 - one of the states has it; tells the type checker
        return RecordDifference(uuid=uuid, name=alone.label, change=change)
    sql = sql_difference(_saved_text(old), _saved_text(new))
    change = RecordChange.CHANGED if sql else RecordChange.EQUAL
    return RecordDifference(uuid=uuid, name=new.label, change=change, sql=sql)


def _saved_text(query: SavedQuery) -> str:
    facts = ("label", "description", "database_id", "schema", "template_params")
    lines = (f"{name}: {value}" for name in facts if (value := getattr(query, name)) not in (None, ""))
    return "\n".join((*lines, query.sql))


def _of_failures(uuid: str, old: _ChartState, new: _ChartState) -> RecordDifference:
    if old.failure == new.failure:
        return RecordDifference(uuid=uuid, name=new.name, change=RecordChange.EQUAL)
    sides = (("a", old.failure), ("b", new.failure))
    failures = tuple(f"{side} cannot be asked: {failure}" for side, failure in sides if failure)
    return RecordDifference(uuid=uuid, name=new.name, change=RecordChange.CHANGED, failures=failures)


def _of_queries(
    old: tuple[QueryResult, ...],
    new: tuple[QueryResult, ...],
    differences: Callable[[QueryResult, QueryResult], Iterator[str]],
) -> Iterator[str]:
    """Yield what differs between the answers of queries, by their numbers where there are several."""
    if len(old) != len(new):
        yield f"{len(new)} queries, and were {len(old)}"
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        place = f"query {number}: " if len(new) > 1 else ""
        yield from (f"{place}{text}" for text in differences(before, after))


def _columns(before: QueryResult, after: QueryResult) -> Iterator[str]:
    old, new = (tuple(zip(one.colnames, one.coltypes, strict=True)) for one in (before, after))
    return column_differences(old, new)


def _rows(before: QueryResult, after: QueryResult) -> Iterator[str]:
    if before.colnames == after.colnames:
        yield from row_differences(before.rows(), after.rows())


def _problem_text(error: AnalyticsError) -> str:
    return "; ".join(problems_of(error))
