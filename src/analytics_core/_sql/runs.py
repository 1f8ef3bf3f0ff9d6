"""Executions of statements: begun once for a client's id, run here or as a job, their record moved on as they go."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

from analytics_core._content.background_jobs import new_job_key, submit_job
from analytics_core._content.changes import begin_act
from analytics_core._content.jobs.answer_jobs import AnswerJobs
from analytics_core._content.jobs.handlers import JobKind, JobOutcome
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.files.names import is_plain_name
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.sql_queries import SqlQuestion
from analytics_core._engine.querying.sql_scripts import MadeKind, MadeRelation, ReadyScript, ScriptAnswer
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.answer_bytes import decode_job_answer, encode_answer
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database
from analytics_core._records.shared_state import JobRecord
from analytics_core._records.sql_query import QueryState, SqlQuery
from analytics_core.errors import (
    AlreadyExistsError,
    AnalyticsError,
    DatabaseAccessError,
    JobNotFoundError,
    StaleVersionError,
    StatementStoppedError,
    StatementTimeoutError,
    StoredDataError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState
from analytics_core.models.parsing import payload_error
from analytics_core.models.sql_editor import ExecutePayload

_JOB_STATES: Final[Mapping[JobState, QueryState]] = {
    JobState.STOPPED: QueryState.STOPPED,
    JobState.TIMED_OUT: QueryState.TIMED_OUT,
}
_ENDED: Final = "the process that ran it ended, or lost the metadata store"
_LOST: Final = f"{_ENDED}; run it again"
_LOST_CHANGES: Final = f"{_ENDED}; look whether its changes are there before you run it again"
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.2
_TELL_EVERY_S: Final = 0.1
_DONE: Final = 100
_CLIENT_ID_BYTES: Final = 8
_LONGEST_CLIENT_ID: Final = 11
EXECUTE_SHAPE: Final = "ExecutePayloadSchema"


class SqlRuns:
    """Runs what is executed for one actor, and keeps its record."""

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def begin(self, query: SqlQuery) -> tuple[SqlQuery, bool]:
        """Return the record of a new execution, and True; or the one that its client began before, and False."""
        act = begin_act(self._runtime, self._actor, "sql.execute")
        client_id = query.client_id or secrets.token_urlsafe(_CLIENT_ID_BYTES)
        new = replace(query, client_id=client_id, start_time=self._now_ms())
        try:
            with self._runtime.store.unit_of_work() as unit:
                known = unit.sql_queries.find(user_id=self._actor.id, client_id=client_id)
                if known is not None:
                    return known, False
                stored = unit.sql_queries.add(new, actor_id=self._actor.id)
                act.log(unit, details={"query": stored.id, "database": stored.database_id})
                return stored, True
        except AlreadyExistsError:  # the same id came twice at once
            with self._runtime.store.unit_of_work() as unit:
                known = unit.sql_queries.find(user_id=self._actor.id, client_id=client_id)
            if known is None:
                raise
            return known, False

    def run_here(self, query: SqlQuery, database: Database) -> tuple[SqlQuery, ScriptAnswer]:
        """Run an execution in this thread; whoever may stop it finds it meanwhile.

        Raises:
            AnalyticsError: what it fails with, which its record tells, too.
        """
        try:
            return self._runtime.job_registry.run_here(
                JobKind.SQL,
                user_id=self._actor.id,
                job_id=query.job_id,
                work=lambda cancel: self.run(query, database, cancel),
            )
        except AnalyticsError as error:  # also where nothing began; what ended stays as it is
            self._moved(query.id, QueryState.FAILED, **self._failure_fields(error))
            raise

    def submit(self, query: SqlQuery, database: Database, *, find_actor: Callable[[], Actor]) -> SqlQuery:
        """Have an execution run in the background and return its record, which names where its rows will be."""
        payload = json.dumps({"query_id": query.id})
        try:
            submit_job(
                self._runtime,
                self._actor,
                JobKind.SQL,
                payload,
                find_actor=find_actor,
                queue=database.uuid,
                job_id=query.job_id,
            )
        except AnalyticsError as error:
            self._moved(query.id, QueryState.FAILED, **self._failure_fields(error))
            raise
        return _read(self._runtime, query.id)

    def run(
        self, query: SqlQuery, database: Database, cancel: CancelToken, *, stores_rows: bool = False
    ) -> tuple[SqlQuery, ScriptAnswer]:
        """Run an execution, its record moved on as it goes; one that `stores_rows` succeeds when they are stored.

        Raises:
            StatementStoppedError: it was stopped before it began.
            AnalyticsError: what it fails with.
        """
        runtime, progress = self._runtime, _Progress(lambda percent: self._changed(query.id, progress=percent))

        def begins(ready: ReadyScript) -> None:
            answering = ready.answering
            running = self._moved(
                query.id,
                QueryState.RUNNING,
                start_running_time=self._now_ms(),
                executed_sql=ready.display_sql,
                select_sql=ready.select_sql or ready.rendered,
                limit=None if answering is None else answering.ready.limit,
                tables=tuple(map(str, ready.tables)),
                extra=_extra(ready),
            )
            if running is None:
                raise StatementStoppedError("the query was stopped before it began")

        try:
            request = runtime.request(self._actor, cancel=cancel)
            answer = runtime.engine.sql_scripts.run(
                request, database, question_of(query), made_of(query), begins=begins, tell=progress.tell
            )
        except AnalyticsError as error:
            self._moved(query.id, state_of(error), progress=progress.percent, **self._failure_fields(error))
            raise
        except BaseException:  # Ctrl-C: goes on upwards
            interrupted = StatementStoppedError("it was interrupted")
            self._moved(query.id, QueryState.STOPPED, **self._failure_fields(interrupted))
            raise
        fields: dict[str, Any] = {
            "rows": answer.rows[-1] if answer.ready.answering is None else answer.result.rowcount,
            "limiting_factor": answer.factor.value,
            "progress": _DONE,
            "end_time": self._now_ms(),
            "extra": _extra(answer.ready, answer.rows, answer.tracking_url),
            "select_as_cta_used": query.select_as_cta,
        }
        done = self._changed(query.id, **fields) if stores_rows else self._moved(query.id, QueryState.SUCCESS, **fields)
        return done or query, answer

    def _failure_fields(self, error: AnalyticsError) -> dict[str, Any]:
        return {
            "error_message": error.message,
            "error_type": error.error_type.value,
            "end_time": self._now_ms(),
        }

    def _moved(self, query_id: int, state: QueryState, **fields: Any) -> SqlQuery | None:
        """Move a record on and return it; None where it is gone, or in a state that this one does not follow."""
        return self._changed(query_id, lambda query: query.moved(state, **fields))

    def _changed(
        self, query_id: int, change: Callable[[SqlQuery], SqlQuery | None] | None = None, **fields: Any
    ) -> SqlQuery | None:
        for attempt in range(_ATTEMPTS):
            try:
                with self._runtime.store.unit_of_work() as unit:
                    query = unit.sql_queries.find(id=query_id)
                    after = None if query is None else replace(query, **fields) if change is None else change(query)
                    return None if after is None else unit.sql_queries.update(after, actor_id=self._actor.id)
            except StaleVersionError:  # somebody else moved it on at this moment
                continue
            except StoreUnavailableError:
                if change is None or attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE_S * (attempt + 1))  # a state is worth waiting for
        return None

    def _now_ms(self) -> float:
        return now_ms(self._runtime)


class _Progress:
    """Records how far a script is, but not more often than it pays: each statement waits for it.

    A store that takes no record now, such as one in the very file that the script changes, is not asked again.
    """

    def __init__(self, record: Callable[[int], object]) -> None:
        self._record: Callable[[int], object] | None = record
        self._recorded_at = time.monotonic()
        self.percent = 0

    def tell(self, percent: int) -> None:
        """Take what share of the script is done."""
        self.percent, now = percent, time.monotonic()
        if self._record is None or percent == _DONE or now < self._recorded_at + _TELL_EVERY_S:
            return
        self._recorded_at = now
        try:
            self._record(percent)
        except StoreUnavailableError:
            self._record = None


def _extra(ready: ReadyScript, rows: tuple[int | None, ...] = (), tracking_url: str | None = None) -> str | None:
    """Return what a record tells of a script beyond its fields; of one query where its server shows it, or None."""
    page = {} if tracking_url is None else {"tracking_url": tracking_url}
    if len(ready.steps) == 1 and ready.steps[0].is_query:
        return json.dumps(page) if page else None
    steps = ({"kind": step.kind, "rows": count} for step, count in zip_longest(ready.steps, rows))
    return json.dumps({"changes_data": ready.changes_data, "statements": [*steps], "notes": ready.notes, **page})


def now_ms(runtime: ContentRuntime) -> float:
    """Return the time in milliseconds since 1970."""
    return round(runtime.wall_clock.now().timestamp() * 1_000, 3)


def question_of(query: SqlQuery) -> SqlQuestion:
    """Return what an execution asks."""
    return SqlQuestion(
        sql=query.sql,
        schema=query.schema,
        template_params=query.template_params,
        row_limit=query.query_limit,
    )


def made_of(query: SqlQuery) -> MadeRelation | None:
    """Return the table or view that an execution is to make."""
    if not query.select_as_cta:
        return None
    kind = MadeKind(query.ctas_method or MadeKind.TABLE)
    return MadeRelation(kind=kind, name=query.tmp_table_name or "", schema=query.tmp_schema_name)


def state_of(error: AnalyticsError) -> QueryState:
    """Return the state of an execution that ended with an error."""
    if isinstance(error, StatementTimeoutError):
        return QueryState.TIMED_OUT
    return QueryState.STOPPED if isinstance(error, StatementStoppedError) else QueryState.FAILED


def settled(runtime: ContentRuntime, query: SqlQuery) -> SqlQuery:
    """Return an execution as it is; its job tells whether it ended well, was stopped, or was lost without a word."""
    if query.state.is_over:
        return query
    try:
        state = runtime.job_registry.find(query.job_id).state
    except JobNotFoundError:
        query = _read(runtime, query.id)  # it may have ended at this moment
        if query.state.is_over or _is_beginning(runtime, query):
            return query
        state = JobState.LOST if query.end_time is None else JobState.SUCCESS  # nobody asked while its job was kept
    return _ended(runtime, query, state) if state.is_over else query


def _is_beginning(runtime: ContentRuntime, query: SqlQuery) -> bool:
    """Tell whether the thread of an execution without a job may be about to begin it."""
    until_ms = (query.start_time or 0.0) + runtime.settings.job_lease_s * 1_000
    return query.state is QueryState.PENDING and now_ms(runtime) < until_ms


def _ended(runtime: ContentRuntime, query: SqlQuery, state: JobState) -> SqlQuery:
    """Record how the job of an execution ended, unless somebody else did meanwhile."""
    now = now_ms(runtime)
    if state is JobState.SUCCESS:
        over = query.moved(QueryState.SUCCESS, progress=_DONE, end_result_backend_time=now)
    else:
        lost = _LOST_CHANGES if query.facts.get("changes_data") else _LOST
        fields = {"error_message": lost, "end_time": now}
        wanted = _JOB_STATES.get(state, QueryState.FAILED)
        over = query.moved(wanted, **fields) or query.moved(QueryState.FAILED, **fields)
    try:
        with runtime.store.unit_of_work() as unit:
            return query if over is None else unit.sql_queries.update(over, actor_id=query.user_id)
    except StaleVersionError:
        return _read(runtime, query.id)


def _read(runtime: ContentRuntime, query_id: int) -> SqlQuery:
    with runtime.store.unit_of_work() as unit:
        return unit.sql_queries.get(query_id)


@dataclass(frozen=True, kw_only=True)
class SqlJobs(AnswerJobs):
    """Runs executions in the background; `runtime_of` gives the parts of a core at the job's moment."""

    runtime_of: Callable[[JobRecord], ContentRuntime]

    def answer(self, job: JobRecord, actor: Actor, cancel: CancelToken) -> JobOutcome:
        """Return the rows of the execution."""
        runtime = self.runtime_of(job)
        query, database = self._query_of(runtime, job)
        _, answer = SqlRuns(runtime, actor).run(query, database, cancel, stores_rows=True)
        data = encode_answer(ChartData(results=(answer.result,)), key=job.job_id, seal=self.seal)
        return JobOutcome(state=JobState.SUCCESS, data=data, bound=_bound(answer.ready))

    def bound(self, job: JobRecord, actor: Actor) -> str:
        """Return a digest of the statement that the actor would be given now, their row rules in it."""
        runtime = self.runtime_of(job)
        query, database = self._query_of(runtime, job)
        request = ChartRequest(actor=actor, now=runtime.clock.now())
        begun = runtime.engine.questions.runner.begun(request)
        return _bound(runtime.engine.sql_scripts.ready(begun, database, question_of(query), made_of(query)))

    def read(self, job: JobRecord, data: bytes) -> ChartData:
        """Return the rows of the execution."""
        return decode_job_answer(data, job_id=job.job_id, seal=self.seal)

    def _query_of(self, runtime: ContentRuntime, job: JobRecord) -> tuple[SqlQuery, Database]:
        try:
            query_id = int(json.loads(job.payload)["query_id"])
        except (KeyError, TypeError, ValueError):
            raise StoredDataError(f"the payload of job {job.job_id!r} is none that this version reads") from None
        with runtime.store.unit_of_work() as unit:
            query = unit.sql_queries.get(query_id)
            return query, unit.databases.get(query.database_id)


def _bound(ready: ReadyScript) -> str:
    """Return a digest of what bound the actor: another rule, or value of it, makes another statement."""
    statements = [step.ready.statement for step in ready.steps]
    return digest_of(tuple((statement.sql, repr(statement.parameters)) for statement in statements))


def new_query(
    runtime: ContentRuntime, database: Database, actor: Actor, *, in_background: bool, **fields: Any
) -> SqlQuery:
    """Return the record of an execution that is to begin."""
    job_id = new_job_key(runtime, str(actor.id))
    results_key = job_id if in_background else None
    return SqlQuery(database_id=database.id, user_id=actor.id, job_id=job_id, results_key=results_key, **fields)


def new_record(runtime: ContentRuntime, post: ExecutePayload, database: Database, actor: Actor) -> SqlQuery:
    """Return the record of the execution that a payload asks for.

    Raises:
        PayloadError: a field has a value that the shape lets through and nothing can run.
        DatabaseAccessError: the database takes nothing in the background.
    """
    _check(post, database)
    made = dict[str, str | None]()
    if post.select_as_cta:
        now = runtime.wall_clock.now()
        made = {
            "ctas_method": post.ctas_method or MadeKind.TABLE.value,
            "tmp_table_name": post.tmp_table_name or f"tmp_{actor.id}_table_{now:%Y_%m_%d_%H_%M_%S}",
            "tmp_schema_name": database.force_ctas_schema or post.schema_name or None,
        }
    return new_query(
        runtime,
        database,
        actor,
        in_background=bool(post.run_async),
        client_id=post.client_id or "",
        sql=post.sql,
        schema=post.schema_name or None,
        tab_name=post.tab,
        sql_editor_id=post.sql_editor_id,
        template_params=post.template_params,
        query_limit=post.query_limit,
        expand_data=bool(post.expand_data),
        select_as_cta=bool(post.select_as_cta),
        **made,
    )


def _check(post: ExecutePayload, database: Database) -> None:
    """Refuse what the shape lets through and nothing can run."""
    if post.client_id is not None and not 0 < len(post.client_id) <= _LONGEST_CLIENT_ID:
        raise payload_error(EXECUTE_SHAPE, "client_id", f"must have 1 to {_LONGEST_CLIENT_ID} characters")
    if post.ctas_method is not None and post.ctas_method not in [*MadeKind]:
        raise payload_error(EXECUTE_SHAPE, "ctas_method", "must be TABLE or VIEW")
    if post.tmp_table_name and not is_plain_name(post.tmp_table_name):
        plain = "must be letters, digits and underscores, at most 63 bytes"
        raise payload_error(EXECUTE_SHAPE, "tmp_table_name", plain)
    if post.query_limit is not None and post.query_limit < 0:
        raise payload_error(EXECUTE_SHAPE, "queryLimit", "must be 0 or more")
    if post.run_async and not database.allow_run_async:
        raise DatabaseAccessError(
            f"database {database.id} runs nothing in the background; an administrator may set allow_run_async"
        )
