"""`AnalyticsCore.check`: all content compiled against the tables as they are today."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlglot import exp

from analytics_core._content.batches import by_ids, every
from analytics_core._content.checks.datasets_today import DatasetToday, begun_request, datasets_today, loaded
from analytics_core._content.checks.report import CheckedRecord, CheckReport
from analytics_core._content.questions.dashboard_content import charts_in
from analytics_core._content.questions.dashboard_filters import all_filters
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.stored_json import json_object
from analytics_core._engine.compile.fragments.sql_text import parse_statements
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import ListFilter
from analytics_core.errors import AnalyticsError, PayloadSchemaError, QueryError, StoredDataError
from analytics_core.errors.base import REFRESH_HINT

_ACTIVE: Final = ListFilter(col="active", op="eq", val=True)
_NOT_CHECKED: Final = "its table was not looked at, which takes a grant on the schema: the stored columns were taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What the actor may read; `charts_here`, `datasets_here`: the ids of all that dashboards use and that exist."""

    datasets: Sequence[Dataset]
    charts: Sequence[Chart]
    dashboards: Sequence[Dashboard]
    schedules: Sequence[ReportSchedule]
    charts_here: frozenset[int]
    datasets_here: frozenset[int]


def _require_key(databases: Collection[Database]) -> None:
    """Raise StoredDataError where no connection at all opens with the secret key: that is not what content is like."""
    failures = []
    for database in databases:
        try:
            database.uri.reveal()
        except StoredDataError as failure:
            failures.append(failure)
    if failures and len(failures) == len(databases):
        raise failures[0]


class ContentCheck:
    """Looks at all content that one actor may read; `of_schedule` looks at an alert or a report."""

    def __init__(
        self, runtime: ContentRuntime, actor: Actor, of_schedule: Callable[[ReportSchedule], CheckedRecord]
    ) -> None:
        self._runtime = runtime
        self._actor = actor
        self._of_schedule = of_schedule

    def report(self, *, answers: bool) -> CheckReport:
        """Return each dataset, chart, dashboard and schedule with what broke; with `answers` charts are asked, too."""
        content, today = self._read()
        given = ((one.dataset, one.database, one.failure) for one in today.values())
        runner = self._runtime.engine.questions.runner.of_datasets(loaded(self._runtime, given))
        return CheckReport(
            records=(
                *(self._dataset(today[dataset.id], dataset) for dataset in content.datasets),
                *(self._chart(runner, chart, today, answers=answers) for chart in content.charts),
                *(_dashboard(dashboard, content, today) for dashboard in content.dashboards),
                *map(self._of_schedule, content.schedules),
            )
        )

    def _read(self) -> tuple[_Content, dict[int, DatasetToday]]:
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit, self._runtime.policy, self._actor)
            dashboards = tuple(every(unit.dashboards, ids=reader.scope("dashboards")))
            placed = {key for dashboard in dashboards for key in _placed(dashboard)}
            filtered = {key for dashboard in dashboards for _, key, _ in _filtered(dashboard)}
            content = _Content(
                datasets=tuple(every(unit.datasets, ids=reader.scope("datasets"))),
                charts=tuple(every(unit.charts, ids=reader.scope("charts"))),
                dashboards=dashboards,
                schedules=tuple(every(unit.report_schedules, (_ACTIVE,), ids=reader.scope("report_schedules"))),
                charts_here=frozenset(by_ids(unit.charts, placed)),
                datasets_here=frozenset(by_ids(unit.datasets, filtered)),
            )
            databases = by_ids(unit.databases, {dataset.database_id for dataset in content.datasets})
        _require_key(databases.values())
        return content, datasets_today(self._runtime, self._actor, content.datasets, databases)

    # --------------------------------------------------------------------------------------------------- one record
    def _dataset(self, today: DatasetToday, stored: Dataset) -> CheckedRecord:
        notes = [] if today.is_checked else [_NOT_CHECKED]
        if today.failure is not None:
            problems = list(problems_of(today.failure))
        else:
            notes += [f"column {name!r} is gone from its table" for name in today.gone]
            notes += [f"column {name!r} {text}" for name, text in today.changed.items()]
            problems = list(self._broken_parts(today))
            if stored.main_dttm_col in today.gone:
                problems.append(f"its main time column {stored.main_dttm_col!r} is gone from its table")
        return CheckedRecord(
            kind="dataset",
            id=stored.id,
            uuid=stored.uuid,
            name=stored.table_name,
            problems=tuple(problems),
            notes=tuple(notes),
        )

    def _broken_parts(self, today: DatasetToday) -> Iterator[str]:
        """Yield what is wrong with the calculated columns, metrics and predicate of a dataset."""
        request, spec = (
            begun_request(self._runtime, self._actor),
            self._runtime.engine.registry.get(today.database.engine),
        )
        for problem in self._runtime.engine.questions.fragments.problems(today.dataset, spec, request, before=None):
            yield f"{_named_part(today.dataset, problem.path)}: {_without_advice(problem.message)}"

    def _chart(
        self, runner: QueryRunner, chart: Chart, today: Mapping[int, DatasetToday], *, answers: bool
    ) -> CheckedRecord:
        return CheckedRecord(
            kind="chart",
            id=chart.id,
            uuid=chart.uuid,
            name=chart.slice_name,
            problems=tuple(dict.fromkeys(self._broken_chart(runner, chart, today, answers=answers))),
        )

    def _broken_chart(
        self, runner: QueryRunner, chart: Chart, today: Mapping[int, DatasetToday], *, answers: bool
    ) -> Iterator[str]:
        of_chart = today.get(chart.dataset_id or 0)
        if of_chart is not None and of_chart.failure is not None:
            yield f"dataset {of_chart.dataset.id} {of_chart.dataset.table_name!r} is broken"
            return
        try:
            request = request_of(self._runtime, self._actor, chart, now=self._runtime.clock.now())
            queries = runner.explain(request).queries
            failures = [query.failure for query in queries]
            for filtered in (item for query in queries for item in query.rejected_filters):
                yield f"its filter on {filtered.column!r} is not applied ({filtered.reason})"
            if of_chart is not None and of_chart.changed:
                dialect = self._runtime.engine.registry.get(of_chart.database.engine).dialect
                used = {name for query in queries for name in _among(of_chart.changed, query.sql, dialect)}
                yield from (f"its column {name!r} {text}" for name, text in of_chart.changed.items() if name in used)
            if answers and not any(failures):
                failures = [result.failure for result in runner.run(request).results]
        except AnalyticsError as error:
            failures = [error]
        for failure in failures:
            yield from problems_of(failure) if failure is not None else ()


def request_of(runtime: ContentRuntime, actor: Actor, chart: Chart, *, now: datetime) -> ChartRequest:
    """Return what a chart asks at a moment, as a request of an actor."""
    return runtime.engine.questions.contexts.read(runtime.chart_contexts.of_chart(chart).text, actor=actor, now=now)


def _among(names: Iterable[str], sql: str, dialect: str) -> list[str]:
    """Return those of the names that a statement reads as columns; in one that is not understood, as any word."""
    try:
        read: Container[str] = {
            column.name for tree in parse_statements(sql, dialect, QueryError) for column in tree.find_all(exp.Column)
        }
    except QueryError:
        read = sql
    return [name for name in names if name in read]


def problems_of(error: AnalyticsError) -> Iterator[str]:
    """Yield what an error says, each problem of a payload by itself."""
    if isinstance(error, PayloadSchemaError):
        yield from (f"{problem.path}: {_without_advice(problem.message)}" for problem in error.problems)
    else:
        yield _without_advice(error.message)


def _without_advice(message: str) -> str:
    """Return a message without the advice to refresh a dataset: its table has just been looked at."""
    return message.removesuffix(f"; {REFRESH_HINT}")


def _named_part(dataset: Dataset, path: str) -> str:
    """Return what people call the part of a dataset at a path such as `metrics.0.expression`."""
    kind, _, rest = path.partition(".")
    number = rest.partition(".")[0]
    if kind == "metrics":
        return f"metric {dataset.metrics[int(number)].metric_name!r}"
    return f"column {dataset.columns[int(number)].column_name!r}" if kind == "columns" else path


def _placed(dashboard: Dashboard) -> frozenset[int]:
    return frozenset(charts_in(json_object(dashboard.position_json)))


def _dashboard(dashboard: Dashboard, content: _Content, today: Mapping[int, DatasetToday]) -> CheckedRecord:
    gone = sorted(_placed(dashboard) - content.charts_here)
    problems = [f"its layout places chart {key}, which does not exist" for key in gone]
    problems += _broken_filters(dashboard, content, today)
    return CheckedRecord(
        kind="dashboard",
        id=dashboard.id,
        uuid=dashboard.uuid,
        name=dashboard.dashboard_title or "",
        problems=tuple(problems),
    )


def _filtered(dashboard: Dashboard) -> Iterator[tuple[str, int, str]]:
    """Yield the name of each filter with the dataset and the column that it reads."""
    yield from ((item.name, *target) for item in all_filters(dashboard) for target in item.targets)


def _broken_filters(dashboard: Dashboard, content: _Content, today: Mapping[int, DatasetToday]) -> Iterator[str]:
    """Yield what filters read that is gone; a dataset that the actor may not read is left alone."""
    for name, dataset_id, column in _filtered(dashboard):
        of_filter = today.get(dataset_id)
        if of_filter is None:
            if dataset_id not in content.datasets_here:
                yield f"filter {name!r}: there is no dataset {dataset_id}"
            continue
        dataset = of_filter.dataset
        if of_filter.failure is not None:
            yield f"filter {name!r}: dataset {dataset_id} {dataset.table_name!r} is broken"
        elif all(known.column_name != column for known in dataset.columns):
            yield f"filter {name!r}: dataset {dataset_id} {dataset.table_name!r} has no column {column!r}"
