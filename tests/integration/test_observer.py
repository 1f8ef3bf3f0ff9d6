"""Each question on every road is observed once, without values, and an observer costs no answer anything."""

from __future__ import annotations

import contextvars
import dataclasses
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import QUERY, ROWS, GuestWorld, context, guest_world

from analytics_core import errors
from analytics_core._core.adapters.observers import GuardedObserver
from analytics_core.ports import Observation

GUARD = "analytics_core._core.adapters.observers"
QUESTIONS = "analytics_core.questions"
PATIENCE_S = 30.0


class Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.reported: list[Observation] = []
        self.closed = 0
        self._arrived = threading.Condition()

    def observe(self, observation: Observation) -> None:
        with self._arrived:
            self.reported.append(observation)
            self._arrived.notify_all()

    def close(self) -> None:
        self.closed += 1

    def take(self, count: int) -> list[Observation]:
        """Return the next observations, once there are so many, and forget them."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.reported) >= count, PATIENCE_S)
            taken, self.reported = self.reported, []
        assert len(taken) == count
        return taken


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def world(tmp_path: Path, recorder: Recorder) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=recorder) as made:
        yield made


@pytest.mark.slow
def test_every_road_is_observed_once(world: GuestWorld, recorder: Recorder) -> None:
    admin, guest = world.admin, world.guest()
    roads: list[tuple[str, Any, int | None]] = [
        ("full", lambda: admin.charts.data(context(QUERY)), 1),
        ("full", lambda: admin.charts.data(1), 1),
        ("samples", lambda: admin.charts.data(context({}, result_type="samples")), 1),
        ("drill_detail", lambda: admin.charts.data(context({}, result_type="drill_detail")), 1),
        ("post_processed", lambda: admin.charts.data(context(QUERY, result_type="post_processed")), 1),
        ("results", lambda: admin.charts.data(context(QUERY, result_type="results")), 1),
        ("query", lambda: admin.charts.data(context(QUERY, result_type="query")), 1),
        ("columns", lambda: admin.charts.data(context({}, result_type="columns")), 1),
        ("timegrains", lambda: admin.charts.data(context({}, result_type="timegrains")), 1),
        ("full", lambda: admin.dashboards.filter_options(1, "NATIVE_FILTER-city"), 1),
        ("full", lambda: guest.dashboards.filter_options(1, "NATIVE_FILTER-city"), None),
        ("full", lambda: admin.charts.submit(1).result(timeout_s=PATIENCE_S), 1),
        ("full", lambda: admin.cache.warm_up_chart({"chart_id": 1}), 1),
        ("full", lambda: guest.charts.data(1), None),
    ]
    for result_type, ask, actor_id in roads:
        ask()
        (seen,) = recorder.take(1)
        assert (seen.result_type, seen.actor_id, seen.dataset_id) == (result_type, actor_id, 1)
        assert (seen.database_id, seen.engine, seen.error_type) == (1, "sqlite", None)
        assert seen.total_ms > 0


def test_queries_of_one_context_and_charts_of_layers_are_questions_of_their_own(
    world: GuestWorld, recorder: Recorder
) -> None:
    layer = {
        "name": "l",
        "annotationType": "EVENT",
        "sourceType": "table",
        "value": 2,
        "show": True,
        "showMarkers": False,
        "style": "solid",
        "timeColumn": "day",
    }
    layered = {**QUERY, "annotation_layers": [layer]}
    both = {"datasource": {"id": 1, "type": "table"}, "queries": [dict(QUERY), layered]}
    world.admin.charts.data(both)
    _, inner, outer = recorder.take(3)
    assert "annotations" in outer.steps_ms
    assert "annotations" not in inner.steps_ms


def test_what_is_measured(world: GuestWorld, recorder: Recorder) -> None:
    world.admin.charts.data(context(QUERY))
    other = {**QUERY, "filters": [{"col": "city", "op": "==", "val": "Rome"}]}
    world.admin.charts.data(context(QUERY))
    world.admin.charts.data(context(other))
    world.admin.charts.data(context({**other, "filters": [{"col": "city", "op": "==", "val": "Pisa"}]}))
    first, again, rome, pisa = recorder.take(4)
    assert (first.is_cached, again.is_cached, rome.is_cached) == (False, True, False)
    assert first.rows == again.rows == len({city for *_, city, _, _ in ROWS})
    assert set(first.steps_ms) == {"prepare", "results", "database"}
    assert set(again.steps_ms) == {"prepare", "results"}
    assert first.fingerprint == again.fingerprint != rome.fingerprint == pisa.fingerprint


def test_failures_are_observed_by_their_type(world: GuestWorld, recorder: Recorder, tmp_path: Path) -> None:
    stranger = world.host.as_user(world.admin.users.create({"username": "stranger"}).id)
    with pytest.raises(errors.DatasetAccessError):
        stranger.charts.data(context(QUERY))
    with pytest.raises(errors.NotFoundError):
        world.admin.charts.data(context(QUERY, dataset=99))
    assert world.admin.charts.data(context({"metrics": ["nowhere"]})).results[0].error
    broken = {"metrics": [{"expressionType": "SQL", "sqlExpression": "SUM(nowhere)", "label": "hunter2"}]}
    assert world.admin.charts.data(context(broken)).results[0].error
    events = recorder.take(4)
    assert [one.rows for one in events] == [None] * 4
    rejected, unknown, metric, database = events
    assert (rejected.error_type, rejected.dataset_id) == ("DATASOURCE_SECURITY_ACCESS_ERROR", 1)
    assert (unknown.dataset_id, unknown.database_id, unknown.engine) == (99, None, None)
    assert metric.error_type
    assert database.error_type
    assert "hunter2" not in repr(events)


def test_no_value_is_seen(world: GuestWorld, recorder: Recorder) -> None:
    """Neither of rows nor of filters, nor names, in any field; each is a number, a flag or a word of the contract."""
    secret = {**QUERY, "filters": [{"col": "city", "op": "==", "val": "hunter2-city"}]}
    world.admin.charts.data(context(secret, form_data={"slice_id": 1, "note": "hunter2"}))
    world.admin.charts.data(context(QUERY))
    world.guest("acme", first_name="hunter2").charts.data(1)
    events = recorder.take(3)
    words = {word for _, tenant, city, *_ in ROWS for word in (tenant, city)} | {"hunter2", "admin", "sales", "2024"}
    for one in events:
        text = repr({**dataclasses.asdict(one), "fingerprint": ""})
        assert not [word for word in words if word in text]
        assert one.fingerprint is not None
        assert set(one.fingerprint) <= set("0123456789abcdef")


def test_the_default_is_one_log_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        caplog.set_level(logging.INFO, QUESTIONS)
        world.admin.charts.data(context(QUERY))
        world.guest().charts.data(1)
        caplog.set_level(logging.WARNING, QUESTIONS)
        world.admin.charts.data(context(QUERY))
    admins, guests = [record for record in caplog.records if record.name == QUESTIONS]
    assert admins.getMessage().startswith("full of dataset 1 (sqlite) for user 1: 5 rows; prepare ")
    assert "for a guest: " in guests.getMessage()
    assert isinstance(admins.observation, Observation)  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------- observers that fail
class Raises(Recorder):
    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        raise SystemExit("hunter2")


class Hangs(Recorder):
    """Hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self.let_go.wait(PATIENCE_S)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == GUARD]


def test_one_that_raises_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    observer = Raises()
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=observer) as world:
        for _ in range(3):
            world.admin.charts.data(context(QUERY)).raise_for_error()
        observer.take(3)
    assert lines(caplog) == ["the observer raised SystemExit; answers go on"]


def test_one_that_raises_when_it_is_closed_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    class RaisesLast(Recorder):
        def close(self) -> None:
            raise SystemExit("hunter2")

    guard = GuardedObserver(RaisesLast())
    guard.observe(A_QUESTION)
    guard.close()
    assert lines(caplog) == ["the observer raised SystemExit when it was closed; answers go on"]


def test_one_that_hangs_holds_up_no_answer_and_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    observer = Hangs()
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=observer) as world:
        for _ in range(5):
            world.admin.charts.data(context(QUERY)).raise_for_error()
        assert len(observer.reported) <= 1
        observer.let_go.set()
        observer.take(5)
    assert lines(caplog) == []
    assert observer.closed == 1


A_QUESTION = Observation(actor_id=1, dataset_id=1, result_type="full", steps_ms={})


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"most_waiting": 3, "late_s": 60.0}, "is too slow: observations are dropped"),
        ({"late_s": 0.01}, "takes longer than 0.01 s"),
    ],
)
def test_one_that_hangs_for_long_is_told_of_once(
    caplog: pytest.LogCaptureFixture, options: dict[str, Any], line: str
) -> None:
    observer = Hangs()
    guard = GuardedObserver(observer, **options)
    latest = time.monotonic() + PATIENCE_S
    while not lines(caplog) and time.monotonic() < latest:
        guard.observe(A_QUESTION)
        time.sleep(0.005)
    for _ in range(20):
        guard.observe(A_QUESTION)
    assert lines(caplog) == [f"the observer {line}; answers go on"]
    observer.let_go.set()
    guard.close()


def test_it_is_told_in_order_in_the_context_of_who_asked_and_closed_last() -> None:
    request: contextvars.ContextVar[int] = contextvars.ContextVar("request")
    seen: list[tuple[int | None, int]] = []

    class Traced(Recorder):
        def observe(self, observation: Observation) -> None:
            seen.append((observation.rows, request.get()))

    observer = Traced()
    guard = GuardedObserver(observer)
    for number in range(200):
        request.set(number)
        guard.observe(dataclasses.replace(A_QUESTION, rows=number))
    guard.close()
    guard.close()
    assert seen == [(number, number) for number in range(200)]
    assert observer.closed == 1
