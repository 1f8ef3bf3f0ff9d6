"""A `WorkObserver` hears of all work from its beginning, each a part of another, and costs no answer anything."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar, Token
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import KEY, QUERY, GuestWorld, context, guest_world
from tests.support.reports import ReportWorld, report_world

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._core.adapters.observers import GuardedWorkObserver
from analytics_core._engine.oauth.exchange import TokenRequests
from analytics_core._engine.tracing import tracer_of
from analytics_core._records.secret import Secret
from analytics_core.models.database import OAuth2Client
from analytics_core.ports import Observation, ObservationKind, WorkSpan
from analytics_core.testing import InlineJobRunner
from analytics_core.testing.sample_data import make_shop

GUARD = "analytics_core._core.adapters.observers"
PATIENCE_S = 30.0
QUESTION, STATEMENT, SIGN_IN = ObservationKind.QUESTION, ObservationKind.STATEMENT, ObservationKind.SIGN_IN
JOB, REPORT, DELIVERY, PICTURE = (
    ObservationKind.JOB,
    ObservationKind.REPORT,
    ObservationKind.DELIVERY,
    ObservationKind.PICTURE,
)


class NumberedSpan(WorkSpan):
    """A span of the recorder below."""

    def __init__(
        self,
        number: int,
        kind: ObservationKind,
        parent: int | None,
        token: Token[int | None],
        present: ContextVar[int | None],
    ) -> None:
        self.number, self.kind, self.parent = number, kind, parent
        self._token, self._present = token, present

    def leave(self) -> None:
        self._present.reset(self._token)


class Recorder:
    """Numbers the spans, and keeps what it is told; `traceparent` has the number of the present one."""

    def __init__(self, first: int = 1) -> None:
        self._numbers = itertools.count(first)
        self._present: ContextVar[int | None] = ContextVar("present", default=None)
        self._arrived = threading.Condition()
        self.heard: list[Observation] = []

    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        parent = self._present.get() if traceparent is None else int(traceparent.split("-")[2], 16)
        number = next(self._numbers)
        return NumberedSpan(number, kind, parent, self._present.set(number), self._present)

    def traceparent(self) -> str | None:
        present = self._present.get()
        return None if present is None else f"00-{'ab' * 16}-{present:016x}-01"

    def observe(self, observation: Observation) -> None:
        with self._arrived:
            self.heard.append(observation)
            self._arrived.notify_all()

    def close(self) -> None:
        pass

    def take(self, *kinds: ObservationKind) -> list[Observation]:
        """Return the next observations once there are so many, which must be of these kinds in this order."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.heard) >= len(kinds), PATIENCE_S), self.heard
            taken, self.heard = self.heard, []
        assert tuple(one.kind for one in taken) == kinds
        return taken


def settle(core: AnalyticsCore, recorder: Recorder) -> None:
    """Have the database asked, so that its pool has a connection, and forget all that was heard until then."""
    core.sql("SELECT 1 AS settled")
    with recorder._arrived:
        assert recorder._arrived.wait_for(lambda: "sql" in {one.result_type for one in recorder.heard}, PATIENCE_S)
        recorder.heard.clear()


def span(observation: Observation) -> NumberedSpan:
    assert isinstance(observation.span, NumberedSpan)
    assert observation.span.kind is observation.kind
    return observation.span


def is_part(part: Observation, parent: Observation) -> bool:
    return span(part).parent == span(parent).number


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def world(tmp_path: Path, recorder: Recorder) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=recorder) as made:
        settle(made.admin, recorder)
        yield made
        assert recorder._present.get() is None


# ------------------------------------------------------------------------------------------ questions and statements
def test_a_statement_is_a_part_of_its_question_and_a_cached_answer_has_none(
    world: GuestWorld, recorder: Recorder
) -> None:
    world.admin.charts.data(context(QUERY))
    statement, question = recorder.take(STATEMENT, QUESTION)
    assert is_part(statement, question)
    assert span(question).parent is None
    assert (statement.result_type, statement.engine, statement.database_id) == ("query", "sqlite", 1)
    assert (statement.rows, statement.actor_id, statement.error_type) == (question.rows, 1, None)
    assert statement.result_bytes
    assert statement.duration_ms is not None
    assert question.duration_ms is not None
    assert 0 < statement.duration_ms < question.duration_ms
    world.admin.charts.data(context(QUERY))
    (cached,) = recorder.take(QUESTION)
    assert cached.is_cached


@pytest.fixture
def shop(tmp_path: Path, recorder: Recorder) -> Iterator[AnalyticsCore]:
    """The core of an administrator who has connected a database that nothing was asked of yet."""
    settings = Settings(secret_key=KEY, data_roots=(tmp_path,))
    with AnalyticsCore(settings, observer=recorder) as host:
        host.create_first_administrator("admin")
        admin = host.as_user("admin")
        admin.databases.create({"database_name": "shop", "orm_uri": make_shop(tmp_path / "shop.db")})
        yield admin


def test_the_first_connection_is_a_sign_in_and_those_of_the_pool_are_none(
    shop: AnalyticsCore, recorder: Recorder
) -> None:
    shop.sql("SELECT COUNT(*) AS n FROM orders")
    sign_in, statement, question = recorder.take(SIGN_IN, STATEMENT, QUESTION)
    assert is_part(sign_in, statement)
    assert is_part(statement, question)
    assert (sign_in.result_type, sign_in.engine, sign_in.error_type) == ("connection", "sqlite", None)
    shop.sql("SELECT COUNT(*) AS m FROM orders")
    recorder.take(STATEMENT, QUESTION)


def test_a_database_that_cannot_be_reached_is_a_sign_in_that_failed(
    shop: AnalyticsCore, recorder: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "shop.db").unlink()
    with pytest.raises(errors.DatabaseError):
        shop.sql("SELECT COUNT(*) AS n FROM orders")
    failed = recorder.take(SIGN_IN, STATEMENT, QUESTION)
    assert all(one.error_type for one in failed)
    assert [one.rows for one in failed] == [None] * 3


def test_questions_that_fail_have_spans_too(world: GuestWorld, recorder: Recorder) -> None:
    with pytest.raises(errors.NotFoundError):
        world.admin.charts.data(context(QUERY, dataset=99))
    assert world.admin.charts.data(context({"metrics": ["nowhere"]})).results[0].error
    rejected, unknown = recorder.take(QUESTION, QUESTION)
    assert span(rejected).parent is span(unknown).parent is None
    assert (rejected.duration_ms or 0) > 0


def test_a_stream_ends_with_its_last_row_and_what_else_begins_meanwhile_is_no_part_of_it(
    world: GuestWorld, recorder: Recorder
) -> None:
    with world.admin.charts.batches(context({"columns": ["city"], "row_limit": 3})) as batches:
        assert recorder._present.get() is None
        world.admin.charts.data(context(QUERY))
        recorder.take(STATEMENT, QUESTION)
        rows = sum(batch.num_rows for batch in batches)
    statement, question = recorder.take(STATEMENT, QUESTION)
    assert (statement.rows, question.rows) == (rows, rows)
    assert is_part(statement, question)
    assert span(question).parent is None


def test_a_stream_that_is_closed_early_or_fails_is_observed_once(world: GuestWorld, recorder: Recorder) -> None:
    world.admin.sql.batches("SELECT id FROM sales").close()
    world.admin.sql.batches("SELECT id FROM sales").close()
    for statement in recorder.take(STATEMENT, QUESTION, STATEMENT, QUESTION)[::2]:
        assert statement.error_type is None
    with pytest.raises(errors.AnalyticsError):
        world.admin.sql.batches("SELECT nowhere FROM sales")
    statement, question = recorder.take(STATEMENT, QUESTION)
    assert statement.error_type
    assert question.error_type


def test_a_script_is_one_statement(world: GuestWorld, recorder: Recorder) -> None:
    world.admin.sql.execute({"database_id": 1, "sql": "SELECT 1 AS a; SELECT 2 AS b", "client_id": "abc"})
    statement, question = recorder.take(STATEMENT, QUESTION)
    assert (statement.result_type, statement.rows) == ("script", 1)
    assert is_part(statement, question)


@pytest.mark.parametrize(
    ("answer", "error_type"),
    [({"access_token": "t0ken"}, None), ({"error": "invalid_grant"}, "OAUTH2_REDIRECT_ERROR"), (OSError(), "X")],
)
def test_authorizations_and_renewals_are_sign_ins(recorder: Recorder, answer: Any, error_type: str | None) -> None:
    class Endpoint:
        def request(self, *_uri: object, **_options: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    client = OAuth2Client(
        id="our-client",
        secret="s3cret",
        scope="",
        authorization_request_uri="https://id.example/auth",
        token_request_uri="https://id.example/token",
    )
    requests = TokenRequests(Endpoint(), tracer_of(recorder))
    acts = (
        lambda: requests.refresh(client, Secret("r1"), timeout_s=3.0),
        lambda: requests.redeem(client, Secret("c"), redirect_uri="https://a/", verifier=Secret("v"), timeout_s=3.0),
    )
    for act in acts:
        try:
            act()
        except errors.AnalyticsError as error:
            failed = error.error_type.value
    renewal, authorization = recorder.take(SIGN_IN, SIGN_IN)
    assert (renewal.result_type, authorization.result_type) == ("renewal", "authorization")
    assert renewal.error_type == authorization.error_type == (failed if error_type == "X" else error_type)
    assert "t0ken" not in repr([renewal, authorization])


def test_questions_of_a_dashboard_are_parts_of_what_its_data_were_read_in(
    world: GuestWorld, recorder: Recorder
) -> None:
    """Although each is answered in a thread of its own."""
    outer = recorder.begin(QUESTION)
    assert isinstance(outer, NumberedSpan)
    world.admin.dashboards.data(1)
    outer.leave()
    with recorder._arrived:
        recorder._arrived.wait_for(lambda: sum(one.kind is QUESTION for one in recorder.heard) == 2, PATIENCE_S)
    assert [span(one).parent for one in recorder.heard if one.kind is QUESTION] == [outer.number] * 2


# ----------------------------------------------------------------------------------------------- jobs and their parts
def test_a_job_is_a_part_of_what_it_was_submitted_in_in_whichever_thread(world: GuestWorld, recorder: Recorder) -> None:
    outer = recorder.begin(QUESTION)
    assert isinstance(outer, NumberedSpan)
    job = world.admin.charts.submit(context(QUERY))
    outer.leave()
    job.result(timeout_s=PATIENCE_S)
    statement, question, ran = recorder.take(STATEMENT, QUESTION, JOB)
    assert is_part(statement, question)
    assert is_part(question, ran)
    assert span(ran).parent == outer.number
    assert (ran.result_type, ran.actor_id, ran.error_type) == ("chart-data", 1, None)
    assert ran.waited_ms is not None
    assert ran.result_bytes
    world.admin.charts.submit(context({**QUERY, "row_limit": 2})).result(timeout_s=PATIENCE_S)
    assert span(recorder.take(STATEMENT, QUESTION, JOB)[2]).parent is None


class Queue:
    """Hands jobs to nobody: a worker takes them by their ids (port `JobRunner`)."""

    is_local = False

    def __init__(self) -> None:
        self.job_ids: list[str] = []

    def start(self, run_job: Any) -> None:
        pass

    def submit(self, job_id: str, *, queue: str = "") -> None:
        self.job_ids.append(job_id)

    def close(self) -> None:
        pass


def test_a_worker_on_the_same_store_goes_on_with_the_trace(tmp_path: Path) -> None:
    url = make_shop(tmp_path / "shop.db")
    here, there, queue = Recorder(), Recorder(first=100), Queue()
    settings = Settings(secret_key=KEY, data_roots=(tmp_path,))
    store = f"sqlite:///{tmp_path}/meta.db"
    with (
        AnalyticsCore(settings, metadata_url=store, observer=here, jobs=queue) as host,
        AnalyticsCore(settings, metadata_url=store, observer=there, jobs=Queue()) as worker,
    ):
        host.create_first_administrator("admin")
        admin = host.as_user("admin")
        admin.databases.create({"database_name": "shop", "orm_uri": url})
        orders = admin.datasets.create({"database": 1, "table_name": "orders"})
        present = here.begin(QUESTION)
        assert isinstance(present, NumberedSpan)
        admin.charts.submit(context({"metrics": ["count"]}, dataset=orders.id))
        present.leave()
        worker.run_job(queue.job_ids[0])
        *_, question, job = there.take(SIGN_IN, STATEMENT, QUESTION, JOB)
    assert span(job).parent == present.number
    assert is_part(question, job)


@pytest.fixture
def reporting(tmp_path: Path, recorder: Recorder) -> Iterator[ReportWorld]:
    with report_world(tmp_path, jobs=InlineJobRunner(), observer=recorder) as made:
        yield made


def test_a_report_is_a_part_of_its_job_and_its_pictures_and_deliveries_are_parts_of_it(
    reporting: ReportWorld, recorder: Recorder
) -> None:
    reporting.report(report_format="PNG")
    settle(reporting.admin, recorder)
    reporting.clock.advance(reporting.clock.now().replace(hour=13, minute=2) - reporting.clock.now())
    reporting.host.scheduler.tick()
    heard = until_a_job_is_over(recorder)[:6]  # a slow machine may look for what is due behind it meanwhile
    assert [one.kind for one in heard] == [STATEMENT, QUESTION, PICTURE, DELIVERY, REPORT, JOB]
    statement, question, picture, delivery, report, job = heard
    assert all(is_part(one, report) for one in (question, picture, delivery))
    assert is_part(report, job)
    assert (report.result_type, report.error_type, report.actor_id) == ("Report", None, 1)
    assert report.waited_ms == 120_000
    assert (picture.result_type, delivery.result_type, job.result_type) == ("png", "Email", "report")
    assert picture.result_bytes
    assert not [one for one in (statement, report, delivery, job) if "bob" in repr(one)]


def test_an_alert_that_fails_is_observed_by_its_type(reporting: ReportWorld, recorder: Recorder) -> None:
    reporting.alert(sql="SELECT nowhere FROM orders")
    settle(reporting.admin, recorder)
    reporting.pass_time()
    report, job = [one for one in until_a_job_is_over(recorder) if one.kind in (REPORT, JOB)][:2]
    assert report.result_type == "Alert"
    assert report.error_type
    assert job.error_type is None


def until_a_job_is_over(recorder: Recorder) -> list[Observation]:
    """Return what was heard until a job was over."""
    with recorder._arrived:
        assert recorder._arrived.wait_for(lambda: any(one.kind is JOB for one in recorder.heard), PATIENCE_S)
        return list(recorder.heard)


# ------------------------------------------------------------------------------------------------ observers that fail
class Raises(Recorder):
    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        raise RuntimeError("hunter2")

    def traceparent(self) -> str | None:
        raise RuntimeError("hunter2")


class RaisesWhenLeft(Recorder):
    def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
        class Bad(WorkSpan):
            def leave(self) -> None:
                raise RuntimeError("hunter2")

        return Bad()

    def traceparent(self) -> str | None:
        return "no traceparent, and longer than the column of the store takes: " + "x" * 1_000


@pytest.mark.parametrize("kind", [Raises, RaisesWhenLeft])
def test_one_that_raises_where_work_begins_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: type[Recorder]
) -> None:
    observer = kind()
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=observer) as world:
        world.admin.charts.data(context(QUERY)).raise_for_error()
        world.admin.charts.submit(context(QUERY)).result(timeout_s=PATIENCE_S).raise_for_error()
    assert JOB in {one.kind for one in observer.heard}
    lines = [record.getMessage() for record in caplog.records if record.name == GUARD]
    assert lines == (["the observer raised RuntimeError when work began; answers go on"] if kind is Raises else [])


def test_one_that_is_late_where_work_begins_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    class Slow(Recorder):
        def begin(self, kind: ObservationKind, *, traceparent: str | None = None) -> WorkSpan | None:
            time.sleep(0.05)
            return super().begin(kind, traceparent=traceparent)

    caplog.set_level(logging.WARNING, GUARD)
    guard = GuardedWorkObserver(Slow(), late_s=0.01)
    assert guard.begin(QUESTION) is not None
    assert guard.begin(QUESTION) is None
    assert caplog.messages == ["the observer took longer than 0.01 s when work began; answers go on"]
    guard.close()


def test_an_observer_of_questions_hears_of_nothing_else(tmp_path: Path) -> None:
    class Plain:
        def __init__(self) -> None:
            self.heard: list[Observation] = []

        def observe(self, observation: Observation) -> None:
            self.heard.append(observation)

        def close(self) -> None:
            pass

    plain = Plain()
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=plain) as world:
        world.admin.charts.submit(context(QUERY)).result(timeout_s=PATIENCE_S)
    assert {(one.kind, one.span, one.duration_ms) for one in plain.heard} == {(QUESTION, None, None)}
