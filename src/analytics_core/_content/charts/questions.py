"""What charts are asked: their answers, pictures, explanations and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analytics_core._content.jobs.handlers import JobKind
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.questions.extra_filters import GivenFilters
from analytics_core._content.questions.queries import ChartQueries, Question, question_text
from analytics_core._engine.querying.explain import Explanation, with_form_fields
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.batch_stream import BatchStream
from analytics_core._superset.payload import BuiltPayload
from analytics_core.models.chart import ChartListItem
from analytics_core.models.parsing import Payload, read_object

if TYPE_CHECKING:
    from analytics_core._content.jobs.job import Job
    from analytics_core._content.pictures.picture import Picture


class ChartQuestions(NamespaceWithDistinct[ChartListItem]):
    """Asks charts and query contexts, for one actor."""

    def data(self, question: Question, *, force: bool = False, strict: bool | None = None) -> ChartData:
        """Return the answer to a chart (by id or name) or a query context.

        Args:
            question: the id or the name of a chart, or a query context.
            force: read from the source, not the cache.
            strict: refuse keys that nobody reads (`limit`, `order_by`) and parts that have no effect, instead of
                telling them in the notes; None: as `Settings.strict_queries` says.

        Raises:
            PayloadError: the payload breaks the shape, or is strict and holds keys that nobody reads.
            NotFoundError, AccessError: the chart or a dataset is unknown or not for this actor.

        Examples:
            >>> answer = core.charts.data(1)
            >>> len(answer), answer[0].colnames, answer[0].rowcount
            (1, ('country', 'revenue'), 3)
            >>> queries = [{"columns": ["category"], "metrics": ["revenue"]}]
            >>> question = {"datasource": {"id": 1, "type": "table"}, "queries": queries}
            >>> [row[0] for row in core.charts.data(question)[0]]
            ['books', 'garden', 'kitchen', 'toys']
        """
        queries = ChartQueries(self._runtime, self._actor)
        return queries.run(queries.request(queries.known(question), force=force, strict=strict))

    def picture(
        self,
        question: Question,
        *,
        format: str = "png",
        theme: str = "light",
        width_px: int | None = None,
        height_px: int | None = None,
        scale: float = 1.0,
        force: bool = False,
    ) -> Picture:
        r"""Return a picture of a chart (by id or name) or of the answer to a query context, as the actor may see it.

        A stored chart is drawn as its form says. A bare query context is drawn by the `viz_type` of its `form_data`;
        without one a column of times with numbers becomes a line chart, a column of at most 50 texts with numbers bars,
        and everything else a table. A query that failed, and an answer without rows, are pictures that say so.

        Args:
            question: the id or the name of a chart, or a query context.
            format: `png`, `svg` or `pdf`.
            theme: `light` or `dark`.
            width_px: the width of the layout, from 60 to 4,000; None: 640.
            height_px: likewise; None: 400, and a table is as tall as its rows, fifty at most.
            scale: how many pixels of a PNG each of these becomes, from 0.5 to 4; a PNG has 30,000,000 at most.
            force: read from the source, not the cache.

        Raises:
            UnknownNameError, QueryError: a format, a theme or a number that cannot be.
            PayloadError, NotFoundError, AccessError: as in `data`.
            MissingExtraError: no renderer is wired, and the extra `charts` is not installed.
            PictureError: the renderer cannot draw it, or not in time.

        Examples:
            >>> picture = core.charts.picture(1, width_px=400, height_px=300)
            >>> picture.data[:4]
            b'\x89PNG'
            >>> print(picture.description.split(". ")[1])
            Bar chart of Revenue by country
        """
        from analytics_core._content.pictures.drawing import PictureDrawer, chart_look

        look = chart_look(format=format, theme=theme, width_px=width_px, height_px=height_px, scale=scale)
        drawer = PictureDrawer(self._runtime)
        queries = ChartQueries(self._runtime, self._actor)
        question = queries.known(question)
        request = queries.request(question, force=force)
        title = queries.chart(question).slice_name if isinstance(question, int) else ""
        return drawer.of_answer(queries.run(request), request.form, look, title=title)

    def submit_picture(
        self,
        question: Question,
        *,
        format: str = "png",
        theme: str = "light",
        width_px: int | None = None,
        height_px: int | None = None,
        scale: float = 1.0,
        force: bool = False,
    ) -> Job[Picture]:
        """Start a picture in the background and return its job; the arguments are those of `picture`.

        It is drawn where the job runs, and can be saved in its own format alone. Rights count as in `submit`.

        Raises:
            UnknownNameError, QueryError, PayloadError, NotFoundError, AccessError: as in `picture`, at once.
            ActorRequiredError, JobError: as in `submit`.

        Examples:
            >>> core.charts.submit_picture(1, format="svg").result().data[:4]
            b'<svg'
        """
        from analytics_core._content.pictures.drawing import chart_look

        chart_look(format=format, theme=theme, width_px=width_px, height_px=height_px, scale=scale)
        look = {"format": format, "theme": theme, "width_px": width_px, "height_px": height_px, "scale": scale}
        return self._submitted(JobKind.PICTURE, question, force=force, look=look)

    def question(
        self, chart_id: int, *, dashboard_id: int | None = None, extra_filters: GivenFilters = None
    ) -> dict[str, Any]:
        """Return the query context that a reader of a chart asks: what it stores, with a dashboard's filters added.

        `cache.warm_up_chart` with the same arguments fills exactly the entries that this question finds.

        Args:
            chart_id: the chart.
            dashboard_id: a dashboard that shows it, whose filters count with their default values.
            extra_filters: more filters, a list of `{col, op, val}` or its JSON text; `__time_range`, `__time_grain`
                and `__granularity` as `col` mean the time options of the query.

        Raises:
            QueryError: the chart stores neither a query context nor a form.
            NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.

        Examples:
            >>> france = [{"col": "country", "op": "==", "val": "France"}]
            >>> core.charts.question(2, extra_filters=france)["queries"][0]["filters"][-1]["val"]
            'France'
        """
        from analytics_core._content.questions.chart_contexts import ActorChartContexts

        return ActorChartContexts(self._runtime, self._actor).question(
            chart_id, dashboard_id=dashboard_id, extra_filters=extra_filters
        )[1]

    def payload(self, chart_id: int) -> BuiltPayload:
        """Return the query context that the form of a chart asks, with the fields that each of its values comes from.

        It is built of `params` whatever query context is stored; `data` asks it where none is stored, or where the form
        was edited since.

        Raises:
            QueryError: the chart stores no form that can be read.
            PayloadSchemaError: fields of the form cannot be used, all of them at once.
            NotFoundError, ChartAccessError: unknown, or not for this actor.

        Examples:
            >>> core.charts.payload(1).payload["queries"][0]["metrics"]
            ['revenue']
        """
        find = ChartQueries(self._runtime, self._actor).chart
        return self._runtime.chart_contexts.built(find(chart_id), find)

    def payload_of(self, form_data: Payload) -> BuiltPayload:
        """Return the query context that form data ask, as `payload` does for a stored chart.

        Nothing is looked up but the charts that are layers of a map.

        Args:
            form_data: what a chart stores as `params`, with `viz_type` and `datasource` (such as `12__table`); a
                mapping or its JSON text.

        Raises:
            PayloadFormatError: they are no JSON object.
            PayloadSchemaError: fields cannot be used, all of them at once.

        Examples:
            >>> form = {"viz_type": "pie", "datasource": "1__table", "groupby": ["channel"], "metric": "revenue"}
            >>> core.charts.payload_of(form).payload["queries"][0]["columns"]
            ['channel']
        """
        find = ChartQueries(self._runtime, self._actor).chart
        return self._runtime.chart_contexts.of_form(read_object(form_data, shape="form_data"), find)

    def explain(self, question: Question, *, strict: bool | None = None) -> Explanation:
        """Return why the answer would be what it is: the statements, and who asked for each clause; nothing runs.

        Where a chart is asked by its form, clauses name the fields of the form too. `strict` is that of `data`.

        Examples:
            >>> for clause in core.charts.explain(1).queries[0].clauses[:3]:
            ...     print(clause.part, clause.sql, clause.origin, sep=" | ")
            select | "orders"."country" AS country | payload: columns[0]
            select | SUM("orders"."amount") AS revenue | dataset: metric 'revenue'
            from | orders | dataset: 1
        """
        queries = ChartQueries(self._runtime, self._actor)
        question = queries.known(question)
        explanation = self._runtime.engine.questions.runner.explain(queries.request(question, strict=strict))
        return with_form_fields(explanation, queries.form_fields(question))

    def batches(self, question: Question, *, strict: bool | None = None) -> BatchStream:
        """Return the rows of a chart (by id or name) or of a query context with one query as Arrow record batches.

        A result of any size passes through a few megabytes of memory: the rows are read from the database as they are
        asked for, and no cache is read or filled. The row limit is that of `data`, with `Settings.stream_row_limit` as
        its cap where the host sets one. The rights that count are those of this call. Use it in a `with` block; the
        time of the whole is `Settings.request_timeout_s`, the consumer's own included.

        Args:
            question: the id or the name of a chart, or a query context; annotation layers give no rows and count for
                nothing.
            strict: that of `data`.

        Raises:
            QueryError: the context has several queries, asks for no rows of a statement, or has post-processing, time
                comparisons or a group of all other series, which need all rows at once.
            AnalyticsError: what the query fails with, here or from the batches.

        Examples:
            >>> form = '{"viz_type": "table", "groupby": ["country", "category"], "metrics": ["revenue"]}'
            >>> chart = {"slice_name": "All", "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
            >>> with core.charts.batches(core.charts.create({**chart, "params": form}).id) as stream:
            ...     print(sum(batch.num_rows for batch in stream))
            24
        """
        queries = ChartQueries(self._runtime, self._actor)
        return queries.batches(queries.known(question), strict=strict)

    def submit(self, question: Question, *, force: bool = False, strict: bool | None = None) -> Job[ChartData]:
        """Start the answer in the background and return its job; `force` and `strict` are those of `data`.

        The rights that count are those when it runs, and again those when its result is read. What counts as now is the
        moment of this call.

        Raises:
            PayloadError, NotFoundError, AccessError: as in `data`, at once.
            ActorRequiredError: the host's directory does not know the actor, so that no worker could find them.
            JobError: no more work can be taken.

        Examples:
            >>> job = core.charts.submit(1)
            >>> job.result()[0].rowcount
            3
        """
        return self._submitted(JobKind.CHART_DATA, question, force=force, strict=strict)

    def job(self, job_id: str) -> Job[ChartData]:
        """Return a job that this actor submitted and may still read.

        Raises:
            JobNotFoundError: there is none, it is somebody else's, or its owner may not see all of its rows any more:
                other row rules bind them, a chart of an annotation layer is not for them, or SQL reads something else.
            JobGoneError: it was theirs, and is forgotten.
            AccessError: a dataset of its question may not be read any more.

        Examples:
            >>> job = core.charts.submit(1)
            >>> core.charts.job(job.job_id).result()[0].rowcount
            3
        """
        from analytics_core._content.background_jobs import readable_job

        return readable_job(
            self._runtime, job_id, JobKind.CHART_DATA, self._actor, find_actor=lambda: self._anew()._actor
        )

    def _submitted(
        self,
        kind: JobKind,
        question: Question,
        *,
        force: bool,
        strict: bool | None = None,
        look: Mapping[str, Any] | None = None,
    ) -> Job[Any]:
        from analytics_core._content.background_jobs import submit_job

        queries = ChartQueries(self._runtime, self._actor)
        requested, database = queries.for_job(queries.known(question), force=force, strict=strict)
        return submit_job(
            self._runtime,
            self._actor,
            kind,
            question_text(requested, look=look),
            find_actor=lambda: self._anew()._actor,
            queue=database,
        )
