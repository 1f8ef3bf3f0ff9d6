"""What is sent: the chart or dashboard of a schedule, asked as somebody and made into a message."""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast

from analytics_core._content.dashboards.answers import (
    AnsweredDashboard,
    DashboardQuestions,
    DashboardRequest,
    dashboard_questions,
)
from analytics_core._content.dashboards.namespace import Dashboards
from analytics_core._content.field_formatter import MarkdownToHtml
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._content.stored_json import json_object
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.querying.chart_request import ChartRequest, RequestedQuery
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.results.column_formats import ChartFormats, MetricFormat
from analytics_core._engine.results.dashboard_answer import FilterState
from analytics_core._engine.results.mail_table import results_html
from analytics_core._engine.results.plain_table import results_text
from analytics_core._engine.results.readable import written_columns
from analytics_core._engine.results.spreadsheets import Sheet, csv_chunks, xlsx_bytes
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.datasource import Dataset
from analytics_core._records.message import Attachment, Message
from analytics_core._records.report import ReportSchedule
from analytics_core._reports.options import AttachedFormat, options_of
from analytics_core._reports.pictures import ReportPictures
from analytics_core._reports.records import format_of, selected_tabs
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.texts import RunFacts, filled_in
from analytics_core.errors import AnalyticsError, QueryError, ReportError
from analytics_core.models.enums import ResultType
from analytics_core.models.report import ReportFormat

TEXT_ROWS: Final = 200
"""Rows of a table in the text of a message."""

_SUBJECT: Final = "[{{ type }}] {{ name }}: {{ title }}"
_IN_MEMORY: Final = 1_000_000
_STREAMED_FROM: Final = 50_000
_CSV: Final = "text/csv"
_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_STYLE: Final = (
    "body{font:14px/1.45 Helvetica,Arial,sans-serif;color:#1f2933;margin:16px}"
    "table{border-collapse:collapse;margin:8px 0}th,td{padding:4px 10px;border-bottom:1px solid #d9dee3;"
    "text-align:left;vertical-align:top;white-space:nowrap;font-variant-numeric:tabular-nums}th{background:#f3f5f7}"
    "th{white-space:normal}.n{text-align:right}.t{white-space:normal;min-width:16em;overflow-wrap:anywhere}"
    "h1{font-size:20px;margin:0 0 4px}h2{font-size:16px;margin:20px 0 4px}"
    "p.facts{color:#52606d;margin:0 0 12px}"
    "a{color:#0b63a5}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartContent:
    """A chart of a message with its answer, or with its rows in a file already.

    `written` are the texts of the first rows of each result, column by column, where a message shows them.
    """

    title: str
    results: tuple[QueryResult, ...] = ()
    chart: Chart | None = None
    file: Attachment | None = None
    digest: str = ""
    has_rows_in_file: bool = False
    formats: ChartFormats = field(default_factory=ChartFormats)
    written: tuple[list[list[str]], ...] = ()

    @property
    def has_rows(self) -> bool:
        """Whether there is a row in any of its results, or in its file."""
        return self.has_rows_in_file or any(len(result.frame) for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A message that is ready to be sent, and what it was made of: SQL as people read it, and a digest of its rows.

    `is_skipped`: its schedule sends nothing where there are no rows, and there are none.
    """

    message: Message
    statements: tuple[str, ...]
    digest: str
    is_skipped: bool = False


class ContentMaker:
    """Makes the messages of schedules as one actor sees them, at the moment that the runtime's clock tells."""

    def __init__(self, runtime: ReportsRuntime, actor: Actor, cancel: CancelToken) -> None:
        self._runtime = runtime
        self._actor = actor
        self._cancel = cancel
        self._queries = ChartQueries(runtime.content, actor)
        self._charts_read: dict[int, Chart] = {}

    def title_of(self, schedule: ReportSchedule) -> str:
        """Return what the chart or dashboard of a schedule is called; AccessError where the actor may not read it."""
        if schedule.chart_id is not None:
            return self._chart_of(schedule.chart_id).slice_name
        with self._runtime.content.store.unit_of_work() as unit:
            found = Dashboards(self._runtime.content, self._actor)._reader(unit).dashboard(schedule.dashboard_id or 0)
        return found.dashboard_title or f"dashboard {found.id}"

    def _chart_of(self, chart_id: int) -> Chart:
        """Return a chart that the actor may read, the same for all of a message."""
        if chart_id not in self._charts_read:
            self._charts_read[chart_id] = self._queries.chart(chart_id)
        return self._charts_read[chart_id]

    def link_of(self, schedule: ReportSchedule) -> str | None:
        """Return the address of the chart or dashboard at the host; None where the host has none."""
        url_for = self._runtime.content.settings.url_for
        if url_for is None:
            return None
        kind, key = ("chart", schedule.chart_id) if schedule.chart_id else ("dashboard", schedule.dashboard_id)
        found = url_for(kind, {"id": key, "slug": None})
        return found if found and re.fullmatch(r"https?://\S+", found) else None

    def shared_with(self, schedule: ReportSchedule) -> Hashable:
        """Return what two people have in common who get the same message.

        That is the statements, with their rules inside, and the values of filters, which pictures show. Nobody else has
        it where a statement cannot be made, where annotation layers show what no statement tells, or where the database
        itself decides which rows are whose.
        """
        try:
            requests, filters = self._requests(schedule)
            found = [repr([state.to_payload() for state in filters])]
            for request in requests:
                begun = self._runtime.content.engine.questions.runner.begun(request)
                if any(self._is_of_one_person(begun, one) for one in begun.queries):
                    return self._actor.id
                statements = begun.on(begun.context.model_copy(update={"result_type": ResultType.QUERY}))
                answer = self._queries.run(replace(statements, cancel=self._cancel)).raise_for_error()
                found += [result.query for result in answer.results]
        except AnalyticsError:  # `make` tells, chart by chart
            return self._actor.id
        return tuple(found)

    def _is_of_one_person(self, request: ChartRequest, requested: RequestedQuery) -> bool:
        if requested.query.annotation_layers:
            return True
        return self._runtime.content.engine.questions.runner.admit(request, requested).identity is not None

    def _requests(self, schedule: ReportSchedule) -> tuple[Sequence[ChartRequest], Sequence[FilterState]]:
        """Return what the chart or the charts of the dashboard request, and what the filters are set to."""
        if schedule.chart_id is not None:
            return (self._queries.request(schedule.chart_id),), ()
        return self._dashboard(schedule).requests()

    def make(self, schedule: ReportSchedule, facts: RunFacts, *, key: str) -> Content:
        """Return the message of a schedule.

        Raises:
            AnalyticsError: the chart, or one chart of the dashboard, cannot be answered or drawn; nothing is left out
                quietly.
        """
        dashboard = None if schedule.chart_id is not None else self._dashboard(schedule).answered()
        charts = tuple(self._charts(schedule, dashboard))
        report_format = format_of(schedule)
        options = options_of(schedule.extra)
        pictures = ReportPictures(self._runtime, schedule, report_format, self._cancel)
        drawn = pictures.of_dashboard(dashboard) if dashboard else pictures.of_chart(charts[0].chart, charts[0].results)
        files = (*self._files(charts, _files_of(schedule), facts), *pictures.files(drawn, name=_file_name(facts.title)))
        images = pictures.images(drawn, name=_file_name(facts.title))
        text_charts = tuple(map(_written, charts)) if report_format == ReportFormat.TEXT else ()
        body = _Body(
            heading=facts.name,
            title=facts.title,
            below=" · ".join(_below(facts)),
            words=tuple(filter(None, (filled_in(options.body or "", facts), schedule.context_markdown))),
            link=self.link_of(schedule),
            charts=text_charts,
            files=files,
            images=tuple((image, drawn) for image in images if drawn is not None),
        )
        subject = filled_in(options.subject or _SUBJECT, facts)
        message = Message(
            key=key,
            subject=" ".join(subject.split()),
            text=body.text(),
            html=body.html(),
            images=images,
            attachments=files,
            link=body.link,
        )
        statements = tuple(result.query for chart in charts for result in chart.results)
        is_skipped = options.skip_when_empty and not any(chart.has_rows for chart in charts)
        return Content(message=message, statements=statements, digest=_digest(charts), is_skipped=is_skipped)

    # ---------------------------------------------------------------------------------------------------- answers
    def _charts(self, schedule: ReportSchedule, dashboard: AnsweredDashboard | None) -> Iterator[ChartContent]:
        if schedule.chart_id is not None:
            made = self._chart(self._chart_of(schedule.chart_id), streams=self._streams(schedule))
            yield replace(made, formats=self._formats(schedule, schedule.chart_id))
            return
        answers = () if dashboard is None else dashboard.data.charts
        for chart in answers:
            title = chart.name or f"chart {chart.chart_id}"
            yield replace(_answered(title, chart.raise_for_error), formats=self._formats(schedule, chart.chart_id))
        if not answers:
            raise ReportError(f"dashboard {schedule.dashboard_id} has no charts that could be sent")

    def _streams(self, schedule: ReportSchedule) -> bool:
        """Tell whether nothing but a file of CSV needs the rows."""
        return format_of(schedule) == ReportFormat.CSV and _files_of(schedule) == {AttachedFormat.CSV}

    def _dashboard(self, schedule: ReportSchedule) -> DashboardQuestions:
        request = DashboardRequest(
            dashboard_id=schedule.dashboard_id or 0,
            filters=options_of(schedule.extra).filters,
            tabs=self._tabs(schedule),
            force=True,
        )
        return dashboard_questions(self._runtime.content, self._actor, request)

    def _tabs(self, schedule: ReportSchedule) -> Sequence[str] | None:
        """Return the tabs of the dashboard that are sent; None: all."""
        return options_of(schedule.extra).tabs or self._selected(schedule) or None

    def _selected(self, schedule: ReportSchedule) -> tuple[str, ...]:
        with self._runtime.content.store.unit_of_work() as unit:
            dashboard = unit.dashboards.get(schedule.dashboard_id or 0)
        try:
            return selected_tabs(schedule, dashboard)
        except IndexError:
            raise ReportError(f"dashboard {dashboard.id} has not all of the selected_tabs any more") from None

    def _chart(self, chart: Chart, *, streams: bool) -> ChartContent:
        request = replace(self._queries.request(chart.id), force=True, cancel=self._cancel)
        limits = [query.query.row_limit for query in request.queries]
        if streams and len(limits) == 1 and (limits[0] == 0 or (limits[0] or 0) > _STREAMED_FROM):
            try:
                return self._streamed(chart)
            except QueryError:  # it needs all of its rows at once
                pass
        answered = _answered(chart.slice_name, lambda: self._queries.run(request).raise_for_error())
        return replace(answered, chart=chart)

    def _streamed(self, chart: Chart) -> ChartContent:
        """Return a chart whose rows were written to a file as they came, however many they are."""
        written = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - it goes with its message
        try:
            digest, has_rows = self._write(chart, written)
        except OSError as error:
            written.close()
            why = f"the file of its rows cannot be written: {error.strerror}; make room for temporary files"
            raise ReportError(f"{chart.slice_name}: {why}") from None
        except BaseException:  # whatever it is goes on upwards; nobody else knows the file
            written.close()
            raise
        file = Attachment(name=f"{_file_name(chart.slice_name)}.csv", content_type=_CSV, content=written)
        weakref.finalize(file, written.close)
        return ChartContent(title=chart.slice_name, file=file, digest=digest, has_rows_in_file=has_rows)

    def _write(self, chart: Chart, file: BinaryIO) -> tuple[str, bool]:
        """Write the rows of a chart to a file as CSV; return a digest of them, and whether there are any."""
        headers, digest, has_head, has_rows = self._verbose_names(chart), hashlib.sha256(), False, False
        with self._queries.batches(chart.id) as stream:
            for batch in stream:
                columns = (
                    FrameColumn(name=name, kind=ValueKind.UNKNOWN, values=values)
                    for name, values in zip(batch.schema.names, batch.columns, strict=True)
                )
                for part in islice(csv_chunks(Frame(columns=tuple(columns)), headers=headers), int(has_head), None):
                    file.write(part)
                    digest.update(part)
                has_head, has_rows = True, has_rows or any(map(len, batch.columns))
        return digest.hexdigest(), has_rows

    def _formats(self, schedule: ReportSchedule, chart_id: int) -> ChartFormats:
        """Return how the numbers and times of a chart are written in the text of a message."""
        if format_of(schedule) != ReportFormat.TEXT:
            return ChartFormats()
        chart, _ = self._runtime.content.charts.load(chart_id)
        dataset = self._dataset_of(chart)
        stored = () if dataset is None else dataset.metrics
        metrics = {one.metric_name: MetricFormat(number=one.d3format, currency=one.currency) for one in stored}
        return ChartFormats(form=json_object(chart.params), metrics=metrics)

    def _verbose_names(self, chart: Chart) -> dict[str, str]:
        dataset = self._dataset_of(chart)
        if dataset is None:
            return {}
        columns = ((column.column_name, column.verbose_name) for column in dataset.columns)
        metrics = ((metric.metric_name, metric.verbose_name) for metric in dataset.metrics)
        return {name: verbose for name, verbose in (*columns, *metrics) if verbose}

    def _dataset_of(self, chart: Chart) -> Dataset | None:
        runner = self._runtime.content.engine.questions.runner
        return None if chart.dataset_id is None else runner.dataset(chart.dataset_id)

    # ------------------------------------------------------------------------------------------------------ files
    def _files(self, charts: Sequence[ChartContent], formats: Collection[str], facts: RunFacts) -> Iterator[Attachment]:
        if AttachedFormat.XLSX in formats:
            content = xlsx_bytes(tuple(_sheets(charts)))
            yield Attachment(name=f"{_file_name(facts.title)}.xlsx", content_type=_XLSX, content=content)
        if AttachedFormat.CSV in formats:
            for chart in charts:
                yield from (chart.file,) if chart.file else _csv_files(chart)


def _files_of(schedule: ReportSchedule) -> frozenset[str]:
    """Return in which formats the rows of a schedule are sent as files."""
    return frozenset((format_of(schedule), *options_of(schedule.extra).attach)) & frozenset(AttachedFormat)


def _answered(title: str, ask: Callable[[], ChartData]) -> ChartContent:
    """Return a chart with its answer; an error names the chart."""
    try:
        return ChartContent(title=title, results=ask().results)
    except AnalyticsError as error:
        raise error.at(title) from None


def _written(chart: ChartContent) -> ChartContent:
    """Return a chart with the texts of its first rows, which the plain text and the page of a message share."""
    texts = [written_columns(result, most_rows=TEXT_ROWS, formats=chart.formats) for result in chart.results]
    return replace(chart, written=tuple(texts))


def _csv_files(chart: ChartContent) -> Iterator[Attachment]:
    several = len(chart.results) > 1
    for number, result in enumerate(chart.results, 1):
        name = f"{_file_name(chart.title)}{f'_{number}' if several else ''}.csv"
        content = b"".join(csv_chunks(result.frame, headers=result.verbose_names))
        yield Attachment(name=name, content_type=_CSV, content=content)


def _sheets(charts: Sequence[ChartContent]) -> Iterator[Sheet]:
    taken: set[str] = set()
    for chart in charts:
        for result in chart.results:
            base = re.sub(r"[\[\]:*?/\\']", " ", chart.title).strip()[:25] or "chart"
            name = next(n for n in (base, *(f"{base} {i}" for i in range(2, 10_000))) if n.lower() not in taken)
            taken.add(name.lower())
            yield Sheet(name=name, frame=result.frame, headers=result.verbose_names)


def _file_name(title: str) -> str:
    return re.sub(r"[^\w.-]+", "_", title).strip("._")[:100] or "report"


def _digest(charts: Sequence[ChartContent]) -> str:
    """Return a digest of the rows of a message: equal for equal rows, whatever the format."""
    found = hashlib.sha256()
    for chart in charts:
        found.update(f"{chart.title}\0{chart.digest}\0".encode())
        for result in chart.results:
            for part in csv_chunks(result.frame, headers={}):
                found.update(part)
    return found.hexdigest()


# ------------------------------------------------------------------------------------------------------------- body
@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The text of a message, which says the same as HTML and as plain text."""

    heading: str
    title: str
    below: str
    words: tuple[str, ...]
    link: str | None
    charts: Sequence[ChartContent]
    files: Sequence[Attachment]
    images: Sequence[tuple[Attachment, Picture]] = ()

    def text(self) -> str:
        """Return it as plain text."""
        tables = ("\n\n".join(filter(None, (self._title(chart), self._table(chart)))) for chart in self.charts)
        attached = ["Attached: " + ", ".join(file.name for file in self.files)] if self.files else []
        texts = (picture.description for _, picture in self.images)
        parts = [f"{self.heading}\n{self.below}", *self.words, *texts, *tables, *attached, *filter(None, (self.link,))]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """Return it as a page on which nothing can act."""
        markdown = MarkdownToHtml(loads_images=False)
        words = "".join(markdown(word) or "" for word in self.words)
        tables = "".join(
            (f"<h2>{escape(title)}</h2>" if (title := self._title(chart)) else "")
            + results_html(chart.results, chart.written, most_rows=TEXT_ROWS)
            for chart in self.charts
        )
        images = "".join(
            f'<p><img src="cid:{image.content_id}" alt="{escape(picture.description)}" width="{picture.width_px}" '
            'style="max-width:100%;height:auto"></p>'
            for image, picture in self.images
        )
        named = ", ".join(escape(file.name) for file in self.files)
        attached = f"<p>Attached: {named}</p>" if named else ""
        where = "" if self.link is None else f'<p><a href="{escape(self.link)}">Open {escape(self.title)}</a></p>'
        return (
            f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>{_STYLE}</style></head><body>'
            f'<h1>{escape(self.heading)}</h1><p class="facts">{escape(self.below)}</p>{words}{images}'
            f"{tables}{attached}{where}</body></html>"
        )

    def _title(self, chart: ChartContent) -> str:
        """Return what stands above a chart; nothing where the message has it already."""
        return "" if len(self.charts) == 1 and chart.title == self.title else chart.title

    def _table(self, chart: ChartContent) -> str:
        return results_text(chart.results, chart.written, most_rows=TEXT_ROWS)


def _below(facts: RunFacts) -> Iterator[str]:
    """Yield what stands below the name of a schedule."""
    if facts.title != facts.name:
        yield facts.title
    yield facts.scheduled
    if facts.value:
        yield f"value {facts.value}"
