"""Spans and metrics of OpenTelemetry: one span for each work, in its place; Prometheus and the dashboard read them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Sampler
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.guests import QUERY, ROWS, GuestWorld, context, guest_world
from tests.support.reports import ReportWorld, report_world

from analytics_core import AnalyticsCore, errors
from analytics_core.otel import OpenTelemetryObserver
from analytics_core.ports import Observation, ObservationKind
from analytics_core.testing import InlineJobRunner

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana_dashboard.json"
PATIENCE_S = 30.0


class Telemetry:
    """An observer, with what it exports."""

    def __init__(self, *, sampler: Sampler | None = None) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.observer = OpenTelemetryObserver(self.traces, self.meters)

    def settle(self, core: AnalyticsCore) -> None:
        """Have the database asked, so that its pool has a connection, and forget all spans until then."""
        core.sql("SELECT 1 AS settled")
        until(lambda: "question sql" in {span.name for span in self.exporter.get_finished_spans()})
        self.exporter.clear()

    def spans(self, *names: str) -> list[ReadableSpan]:
        """Return the spans in the order in which they ended, once they have, which must have these names."""
        until(lambda: len(self.exporter.get_finished_spans()) >= len(names))
        ended = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        assert [span.name for span in ended] == list(names)
        return ended

    def points(self, name: str) -> dict[tuple[Any, ...], Any]:
        """Return the data points of a metric by their labels."""
        data = self.reader.get_metrics_data()
        metrics = [one for of in data.resource_metrics for scope in of.scope_metrics for one in scope.metrics]
        (metric,) = [one for one in metrics if one.name == name]
        return {tuple(sorted(point.attributes.items())): point for point in metric.data.data_points}


def until(is_so: Callable[[], object]) -> None:
    latest = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < latest
        time.sleep(0.005)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_part(part: ReadableSpan, parent: ReadableSpan) -> bool:
    """Tell whether a span is the child of another; it lies within it, but for what two clocks leave open."""
    assert None not in (part.start_time, part.end_time, parent.start_time, parent.end_time)
    assert parent.start_time <= part.start_time <= part.end_time <= parent.end_time + 1e8  # type: ignore[operator]  # see above
    ids = part.parent is not None and part.parent.span_id == parent.context.span_id
    return ids and part.context.trace_id == parent.context.trace_id


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def world(tmp_path: Path, telemetry: Telemetry) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=telemetry.observer) as made:
        telemetry.settle(made.admin)
        yield made
        assert not trace.get_current_span().get_span_context().is_valid


# -------------------------------------------------------------------------------------------------------------- spans
def test_a_statement_is_within_its_question_within_the_span_of_the_host(
    world: GuestWorld, telemetry: Telemetry
) -> None:
    with telemetry.traces.get_tracer("host").start_as_current_span("GET /chart"):
        world.admin.charts.data(context(QUERY))
        until(lambda: len(telemetry.exporter.get_finished_spans()) == 2)
    statement, question, request = telemetry.spans("query sqlite", "question full", "GET /chart")
    assert is_part(statement, question)
    assert is_part(question, request)
    assert (statement.kind, question.kind) == (trace.SpanKind.CLIENT, trace.SpanKind.INTERNAL)
    facts = attributes(statement)
    assert facts.pop("analytics_core.bytes") > 0
    assert facts == {
        "analytics_core.kind": "statement",
        "analytics_core.result_type": "query",
        "analytics_core.database.id": 1,
        "analytics_core.rows": 5,
        "db.operation.name": "query",
        "db.response.returned_rows": 5,
        "db.system.name": "sqlite",
        "user.id": "1",
    }
    facts = attributes(question)
    assert {name for name in facts if name.startswith("analytics_core.step.")} == {
        f"analytics_core.step.{step}_ms" for step in ("prepare", "database", "results")
    }
    assert (facts["analytics_core.dataset.id"], facts["analytics_core.cached"]) == (1, False)
    world.admin.charts.data(context(QUERY))
    assert attributes(telemetry.spans("question full")[0])["analytics_core.cached"]


def test_no_value_name_or_text_of_sql_is_in_a_span(world: GuestWorld, telemetry: Telemetry) -> None:
    secret = {**QUERY, "filters": [{"col": "city", "op": "==", "val": "hunter2-city"}]}
    world.admin.charts.data(context(secret))
    world.admin.sql("SELECT city AS hunter2_label FROM sales WHERE city <> 'hunter2'")
    with pytest.raises(errors.AnalyticsError):
        world.admin.sql("SELECT abs(-9223372036854775808) AS hunter2_label FROM sales")
    sql = ("query sqlite", "question sql")
    spans = telemetry.spans("query sqlite", "question full", *sql, *sql)
    text = "".join(span.to_json() for span in spans)
    words = {word for _, tenant, city, *_ in ROWS for word in (tenant, city)}
    assert not [word for word in words | {"hunter2", "SELECT", "sales", "admin"} if word in text]


def test_work_that_fails_has_the_type_of_its_error_and_no_description(world: GuestWorld, telemetry: Telemetry) -> None:
    with pytest.raises(errors.NotFoundError):
        world.admin.charts.data(context(QUERY, dataset=99))
    (failed,) = telemetry.spans("question full")
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert failed.status.description is None
    assert attributes(failed)["error.type"] == "OBJECT_DOES_NOT_EXIST_ERROR"
    assert failed.events == ()


def test_a_job_is_within_the_span_it_was_submitted_in(world: GuestWorld, telemetry: Telemetry) -> None:
    with telemetry.traces.get_tracer("host").start_as_current_span("POST /jobs") as request:
        job = world.admin.charts.submit(context(QUERY))
    job.result(timeout_s=PATIENCE_S)
    until(lambda: len(telemetry.exporter.get_finished_spans()) == 4)
    spans = {span.name: span for span in telemetry.exporter.get_finished_spans()}
    ran = spans["process chart-data"]
    assert ran.parent is not None
    assert (ran.parent.span_id, ran.parent.is_remote) == (request.get_span_context().span_id, True)
    assert is_part(spans["question full"], ran)
    assert ran.kind is trace.SpanKind.CONSUMER
    assert attributes(ran)["messaging.destination.name"] == "chart-data"


def test_spans_of_a_report_are_one_trace(tmp_path: Path, telemetry: Telemetry) -> None:
    with report_world(tmp_path, jobs=InlineJobRunner(), observer=telemetry.observer) as world:
        world.report(report_format="PNG")
        telemetry.settle(world.admin)
        world.pass_time()
    names = ("query sqlite", "question full", "picture png", "delivery Email", "report Report", "process report")
    statement, question, picture, delivery, report, job = telemetry.spans(*names)
    assert is_part(statement, question)
    assert is_part(report, job)
    assert all(is_part(one, report) for one in (question, picture, delivery))
    assert "bob" not in "".join(span.to_json() for span in (delivery, report, job))


def test_a_trace_that_is_not_sampled_is_counted_all_the_same(tmp_path: Path) -> None:
    telemetry = Telemetry(sampler=ALWAYS_OFF)
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=telemetry.observer) as world:
        world.admin.charts.submit(context(QUERY)).result(timeout_s=PATIENCE_S)
    assert telemetry.exporter.get_finished_spans() == ()
    kinds = {dict(labels)["analytics_core.kind"] for labels in telemetry.points("analytics_core.work.duration")}
    assert kinds >= {"question", "statement", "job"}


def test_an_exporter_that_hangs_holds_up_no_answer(tmp_path: Path) -> None:
    class Hangs(SpanExporter):
        def __init__(self) -> None:
            self.let_go = threading.Event()

        def export(self, spans: object) -> SpanExportResult:
            self.let_go.wait(PATIENCE_S)
            return SpanExportResult.FAILURE

    hanging, provider = Hangs(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(hanging))
    begun = time.monotonic()
    with guest_world(f"sqlite:///{tmp_path}/shop.db", observer=OpenTelemetryObserver(provider)) as world:
        world.admin.charts.data(context(QUERY)).raise_for_error()
        world.admin.charts.data(context(QUERY)).raise_for_error()
        assert time.monotonic() - begun < PATIENCE_S / 2
        hanging.let_go.set()


def test_an_observation_with_a_span_can_be_written_as_a_mapping(telemetry: Telemetry) -> None:
    span = telemetry.observer.begin(ObservationKind.QUESTION)
    span.leave()
    observation = Observation(actor_id=1, dataset_id=1, result_type="full", steps_ms={}, span=span)
    assert asdict(observation)["span"] is span


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_nothing_is_loaded_before_the_observer_is_made_and_without_the_extra_it_names_it() -> None:
    loaded = "import sys, analytics_core.otel; print([name for name in sys.modules if 'telemetry' in name])"
    assert run(loaded) == "[]\n"
    missing = """
import sys; sys.modules['opentelemetry'] = None
from analytics_core.errors import MissingExtraError
from analytics_core.otel import OpenTelemetryObserver
try:
    OpenTelemetryObserver()
except MissingExtraError as error:
    print(error.message)
"""
    assert run(missing) == 'OpenTelemetryObserver needs an optional package: pip install "analytics-core[otel]"\n'


# ------------------------------------------------------------------------------------------------------------ metrics
def test_questions_rows_bytes_and_cache_hits_are_counted(world: GuestWorld, telemetry: Telemetry) -> None:
    for _ in range(3):
        world.admin.charts.data(context(QUERY))
    telemetry.spans("query sqlite", *["question full"] * 3)
    of_questions = {"analytics_core.kind": "question", "analytics_core.result_type": "full"}
    labels = {**of_questions, "db.system.name": "sqlite"}
    durations = telemetry.points("analytics_core.work.duration")
    answered = {
        cached: durations[tuple(sorted({**labels, "analytics_core.cached": cached}.items()))] for cached in (0, 1)
    }
    assert [answered[0].count, answered[1].count] == [1, 2]
    assert 0 < answered[0].sum < PATIENCE_S
    assert telemetry.points("analytics_core.rows")[tuple(sorted(of_questions.items()))].value == 15
    assert {dict(labels)["analytics_core.kind"] for labels in telemetry.points("analytics_core.io")} == {"statement"}
    of_database = (("db.operation.name", "query"), ("db.system.name", "sqlite"))
    assert telemetry.points("db.client.operation.duration")[of_database].count == 2


def test_labels_have_few_values_whatever_is_asked(world: GuestWorld, telemetry: Telemetry) -> None:
    """No label tells who asked, of which dataset, or what: two people and many questions are the same lines."""
    for number in range(5):
        world.admin.charts.data(context({**QUERY, "row_limit": number + 1}))
    world.guest().charts.data(1)
    before = len(telemetry.points("analytics_core.work.duration"))
    world.admin.charts.data(context({"columns": ["word"]}, dataset=2))
    for number in range(5, 9):
        world.admin.charts.data(context({**QUERY, "row_limit": number + 1}))
    telemetry.spans(*["query sqlite", "question full"] * 11)
    found = telemetry.points("analytics_core.work.duration")
    assert len(found) == before
    allowed = {"kind", "result_type", "cached"}
    names = {name for labels in found for name, _ in labels}
    assert names == {*(f"analytics_core.{name}" for name in allowed), "db.system.name"}


# ------------------------------------------------------------------------------------------- Prometheus and dashboard
@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    """The page that Prometheus reads after a few questions, one that failed, a job and a report with a picture."""
    reader = PrometheusMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    observer = OpenTelemetryObserver(meter_provider=provider)
    with report_world(tmp_path, jobs=InlineJobRunner(), observer=observer) as world:
        observer.watch(world.host)
        ask_a_few_questions(world)
        until(lambda: 'kind="delivery"' in generate_latest(REGISTRY).decode())
        yield generate_latest(REGISTRY).decode()
    provider.shutdown()


def ask_a_few_questions(world: ReportWorld) -> None:
    question = context({"metrics": ["count"]})
    world.admin.charts.submit(question).result()
    assert world.admin.charts.data(question).results[0].is_cached
    with pytest.raises(errors.NotFoundError):
        world.admin.charts.data(context({"metrics": ["count"]}, dataset=99))
    world.report(report_format="PNG")
    world.pass_time()


def test_the_dashboard_asks_for_metrics_and_labels_that_prometheus_reads(page: str) -> None:
    read: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            read.setdefault(sample.name, set()).update(sample.labels)
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    assert len(texts) > 12
    named = set()
    for text in texts:
        groups, matchers = r"by \(([^)]*)\)", r"\{[^}]*\}"
        (metric,) = set(re.findall(r"\b(?:analytics_core|db_client)_\w+", re.sub(f"{groups}|{matchers}", "", text)))
        named.add(metric)
        labels = set(re.findall(r"(\w+)(?:=|!=|=~)\"", text))
        labels.update(*(part.split(", ") for part in re.findall(groups, text)))
        assert labels <= read[metric], text
    ours = {name for name in read if name.startswith(("analytics_core_", "db_client_"))}
    assert {re.sub("_(bucket|count|sum|created|total)$", "", name) for name in ours} == {
        re.sub("_(bucket|count|total)$", "", name) for name in named
    }


def test_every_label_value_that_the_dashboard_picks_is_there(page: str) -> None:
    dashboard = DASHBOARD.read_text(encoding="utf-8").replace('\\"', '"')
    picked = set(re.findall(r'\b(analytics_core_\w+="[^"]+")', dashboard))
    assert picked
    assert [one for one in picked if one not in page] == []
    assert 'analytics_core_jobs{analytics_core_job_state="waiting"' in page
