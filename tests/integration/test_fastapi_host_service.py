"""The example's service lets no one in until it is told who asks, and answers as its OpenAPI says, whatever comes."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from examples.fastapi_host.app import create_app, make_service
from examples.fastapi_host.core import make_core
from examples.fastapi_host.process import MOST_BODY_BYTES
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from tests.support.any_payload import JUNK, contexts
from tests.support.cases import for_each
from tests.support.missing import skip_or_fail
from uvicorn.config import STARTUP_FAILURE

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import JobError, SettingsError
from analytics_core.models import ResultFormat, ResultType

KEY = "a-test-key-that-is-long-enough-9f3a"
ORDERS = """CREATE TABLE orders (id BIGINT NOT NULL, city VARCHAR(20), quantity INTEGER, price DECIMAL(10, 2),
weight DOUBLE, is_paid BOOLEAN, ordered_at TIMESTAMP, shipped_on DATE, note VARCHAR(40));
INSERT INTO orders VALUES (1, 'Bonn', 3, 1.50, 0.5, TRUE, '2024-01-01 10:00:00', '2024-01-02', NULL),
(2, 'Köln', 1, 9.99, 1.5, FALSE, '2024-02-03 11:30:00', '2024-02-05', 'it''s')"""
METRICS = [
    {"metric_name": "count", "expression": "COUNT(*)"},
    {"metric_name": "total", "expression": "SUM(quantity)"},
    {"metric_name": "half", "expression": "SUM(quantity) / 2.0"},
]
CITIES = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["city"], "metrics": ["count"]}]}
ADA = {"X-User": "ada"}


class Runner:
    """Runs no job of its own accord, or has no broker (port `JobRunner`)."""

    is_local = False

    def __init__(self, *, is_away: bool = False) -> None:
        self._is_away = is_away

    def start(self, run_job: object) -> None:
        return

    def submit(self, job_id: str, *, queue: str = "") -> None:
        if self._is_away:
            raise JobError("the broker cannot be reached; try again later", retryable=True)

    def close(self) -> None:
        return


def named_by_header(request: Request) -> str | None:
    return request.headers.get("X-User")


def open_core(folder: Path, **ports: Any) -> AnalyticsCore:
    """Return a core without an actor over two orders, with one chart."""
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.executescript(ORDERS)
    settings = Settings(secret_key=KEY, data_roots=(folder,), store_timeout_s=1)
    core = AnalyticsCore(settings, **ports)
    ada = core.as_user(core.create_first_administrator("ada").id)
    ada.databases.create({"database_name": "shop", "orm_uri": f"sqlite:///{folder}/shop.db"})
    ada.datasets.update(ada.datasets.create({"database": 1, "table_name": "orders"}).id, {"metrics": METRICS})
    chart = {"slice_name": "Cities", "datasource_id": 1, "datasource_type": "table"}
    ada.charts.create({**chart, "query_context": json.dumps(CITIES)})
    ada.dashboards.create({"dashboard_title": "Sales"})
    ada.embedded.create(1, {"allowed_domains": ["https://shop.example"]})
    return core


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    """A core whose jobs a test runs itself."""
    with open_core(tmp_path_factory.mktemp("service"), jobs=Runner()) as core:
        yield core


@pytest.fixture(scope="module")
def service(core: AnalyticsCore) -> FastAPI:
    return create_app(core, who_is_this=named_by_header, pages=["https://shop.example"])


@pytest.fixture(scope="module")
def client(service: FastAPI) -> Iterator[TestClient]:
    with TestClient(service) as client:
        yield client


def error_of(answer: Any) -> dict[str, Any]:
    """Return the first item of an error body, which has the contract's shape."""
    body = answer.json()
    assert set(body) == {"message", "errors"}, body
    return dict(body["errors"][0])


# ------------------------------------------------------------------------------------------------------------ who asks
def test_no_one_is_let_in_until_the_service_is_told_who_asks(core: AnalyticsCore) -> None:
    app = create_app(core)
    client = TestClient(app)  # without a lifespan: the core stays open
    bodies = {"/charts/data": CITIES, "/charts/jobs": CITIES, "/guest-tokens": {"resources": [], "rls": []}}
    ids = {"chart_id": 1, "job_id": "x", "dashboard_id": 1, "database_id": 1}
    answers = {
        (method, path): client.request(
            method, path.format_map(ids), params={"state": "x"}, headers=ADA, json=bodies.get(path)
        )
        for path, methods in app.openapi()["paths"].items()
        for method in methods
        if not path.startswith("/health/")
    }
    assert len(answers) == 11
    assert {call: answer.status_code for call, answer in answers.items() if answer.status_code != 401} == {}
    assert {answer.headers["www-authenticate"] for answer in answers.values()} == {"Bearer"}


def test_someone_whom_the_core_does_not_know_is_401(client: TestClient) -> None:
    assert client.post("/charts/1/data", headers={"X-User": "eve"}).status_code == 401
    assert client.post("/charts/1/data").json()["message"] == "sign in first"


def test_administrators_mint_tokens_with_which_guests_read_their_dashboard(client: TestClient) -> None:
    rules = [{"clause": "city = 'Bonn'"}]
    request = {"resources": [{"type": "dashboard", "id": "1"}], "rls": rules}
    token = client.post("/guest-tokens", headers=ADA, json=request).json()["token"]
    guest = {"Authorization": f"Bearer {token}", "Origin": "https://shop.example"}
    assert client.get("/dashboards/1", headers=guest).json()["dashboard_title"] == "Sales"
    assert client.post("/guest-tokens", headers=guest, json=request).status_code == 401


def test_what_browsers_send_to_other_origins_unasked_is_refused(client: TestClient) -> None:
    forged = client.post("/charts/data", headers={**ADA, "Content-Type": "text/plain"}, content=json.dumps(CITIES))
    assert forged.status_code == 422
    assert "application/json" in error_of(forged)["message"]


def test_pages_of_named_origins_alone_may_ask(client: TestClient) -> None:
    def allowed_origin(origin: str) -> str | None:
        asking = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        return client.options("/charts/1/data", headers=asking).headers.get("access-control-allow-origin")

    assert (allowed_origin("https://shop.example"), allowed_origin("https://evil.example")) == (
        "https://shop.example",
        None,
    )


def test_pages_of_every_origin_are_refused_at_the_start(core: AnalyticsCore) -> None:
    with pytest.raises(SettingsError, match="name them"):
        create_app(core, pages=["*"])


# -------------------------------------------------------------------------------------------------------------- answers
@for_each(
    ("format", "kind", "begins"),
    [("json", "application/json", b'{"result"'), ("csv", "text/csv", b"\xef\xbb\xbfcity,")],
)
def test_rows_come_in_the_format_that_was_asked_for(client: TestClient, format: str, kind: str, begins: bytes) -> None:
    answer = client.post("/charts/data", headers=ADA, json={**CITIES, "result_format": format})
    assert answer.headers["content-type"].startswith(kind)
    assert answer.content.startswith(begins)


def test_a_job_is_submitted_read_and_cancelled(client: TestClient, core: AnalyticsCore) -> None:
    job = client.post("/charts/jobs", headers=ADA, json=CITIES).json()
    waiting = client.get(job["result_url"], headers=ADA)
    assert (waiting.status_code, waiting.headers["retry-after"], waiting.json()["state"]) == (202, "2", "pending")
    core.run_job(job["job_id"])
    assert client.get(f"/jobs/{job['job_id']}", headers=ADA).json()["status"] == "success"
    rows = client.get(job["result_url"], headers=ADA).json()["result"][0]["data"]
    assert {row["city"]: row["count"] for row in rows} == {"Bonn": 1, "Köln": 1}
    other = client.post("/charts/1/jobs", headers=ADA).json()
    assert client.delete(f"/jobs/{other['job_id']}", headers=ADA).json()["state"] == "stopped"
    stopped = client.get(other["result_url"], headers=ADA)
    assert (stopped.status_code, error_of(stopped)["level"]) == (400, "error")


def test_what_may_pass_is_503_and_says_when_to_try_again(tmp_path: Path) -> None:
    with open_core(tmp_path, jobs=Runner(is_away=True)) as core:
        answer = TestClient(create_app(core, who_is_this=named_by_header)).post("/charts/1/jobs", headers=ADA)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert error_of(answer)["error_type"] == "ASYNC_WORKERS_ERROR"


def test_a_failure_shows_nothing_of_itself_and_the_log_has_its_id(
    core: AnalyticsCore, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_request: Request) -> str:
        raise RuntimeError("the text of a driver")

    with caplog.at_level(logging.INFO, "fastapi_host"):
        answer = TestClient(create_app(core, who_is_this=broken)).post("/charts/1/data?code=of-oauth")
    assert (answer.status_code, "of a driver" in answer.text) == (500, False)
    assert error_of(answer)["error_type"] == "GENERIC_BACKEND_ERROR"
    assert "of a driver" in caplog.text
    assert "of-oauth" not in "".join(record.getMessage() for record in caplog.records if record.name == "fastapi_host")
    assert answer.headers["x-request-id"]


@for_each(("given", "is_taken"), [("a-proxy.gave_it-1", True), ("short", False), ("with a\tspace of its own", False)])
def test_the_id_of_a_proxy_is_taken_where_it_is_one(client: TestClient, given: str, is_taken: bool) -> None:
    assert (client.get("/health/live", headers={"X-Request-ID": given}).headers["x-request-id"] == given) is is_taken


def test_a_body_that_is_too_long_is_refused(client: TestClient) -> None:
    answer = client.post("/charts/data", headers=ADA, json={**CITIES, "note": "x" * MOST_BODY_BYTES})
    assert answer.status_code == 413
    assert error_of(answer)["message"] == "a body has 1000000 bytes at the most"


def test_a_slash_too_many_leads_to_no_host_that_the_request_names(client: TestClient) -> None:
    answer = client.get("/health/live/", headers={"Host": "evil.example"}, follow_redirects=False)
    assert (answer.status_code, answer.headers.get("location")) == (404, None)


# --------------------------------------------------------------------------------------------------------------- health
def test_it_is_not_ready_while_the_store_is_away(tmp_path: Path) -> None:
    core = open_core(tmp_path)
    client = TestClient(create_app(core))
    assert client.get("/health/ready").json() == {"status": "ok", "problem": None}
    core.close()
    gone = client.get("/health/ready")
    assert (gone.status_code, gone.json()["problem"]) == (503, "the store does not answer")
    assert client.get("/health/live").status_code == 200


ENVIRON = {
    "ANALYTICS_CORE_STORE": "sqlite://",
    "ANALYTICS_CORE_BROKER": "redis://127.0.0.1:1/0",
    "ANALYTICS_CORE_SECRET_KEY": KEY,
    "HOST_REDIS": "redis://127.0.0.1:1/1",
}


@for_each("missing", ["ANALYTICS_CORE_STORE", "ANALYTICS_CORE_BROKER", "ANALYTICS_CORE_SECRET_KEY", "HOST_REDIS"])
def test_a_core_is_made_of_variables_all_of_which_must_be_there(missing: str) -> None:
    make_core(ENVIRON).close()
    environ = {name: value for name, value in ENVIRON.items() if name != missing}
    with pytest.raises(SettingsError, match="secret_key" if missing.endswith("SECRET_KEY") else missing):
        make_core(environ)


@for_each(
    "wrong", [{"HOST_REDIS": ""}, {"HOST_PAGES": "*"}, {"HOST_DRAIN_S": "soon"}, {"ANALYTICS_CORE_SECRET_KEY": "x"}]
)
def test_what_cannot_start_says_why_and_has_no_server_try_again(
    wrong: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SystemExit) as ended:
        make_service(environ={**ENVIRON, **wrong})
    assert ended.value.code == STARTUP_FAILURE
    assert "the service cannot start: " in caplog.text


# -------------------------------------------------------------------------------------------------------------- OpenAPI
def test_bodies_have_the_shapes_of_the_library(service: FastAPI) -> None:
    paths = service.openapi()["paths"]
    bodies = {
        path: method["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for path, methods in paths.items()
        for method in methods.values()
        if "requestBody" in method
    }
    query = "ChartDataQueryContext"
    assert bodies == {"/charts/data": query, "/charts/jobs": query, "/guest-tokens": "GuestTokenCreate"}


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(payload=contexts() | JUNK)
def test_no_body_makes_the_service_fail(client: TestClient, payload: Any) -> None:
    body = json.dumps(payload).encode("utf-8", "surrogatepass")
    answer = client.post("/charts/data", headers={**ADA, "Content-Type": "application/json"}, content=body)
    assert answer.status_code in (200, 400, 403, 404, 422), answer.text
    assert answer.status_code == 200 or error_of(answer)


EXAMPLES = 5
"""Of each operation, such as fit its schema, and as many that do not."""

OF_ANY_TEXT = ("/health/live", "/health/ready", "/jobs/{job_id}", "/jobs/{job_id}/result")
"""Operations whose parameters nothing breaks."""


@pytest.fixture(scope="module")
def openapi(service: FastAPI) -> Any:
    """The service's own description, by which schemathesis asks it."""
    try:
        import schemathesis
    except ImportError:
        skip_or_fail("schemathesis is missing")
    return schemathesis.openapi.from_asgi("/openapi.json", service)


def rules() -> list[Any]:
    """Return what must be true of every answer."""
    from schemathesis.specs.openapi import checks

    of_answers = [checks.content_type_conformance, checks.response_schema_conformance]
    return [not_a_server_error, checks.status_code_conformance, *of_answers, checks.negative_data_rejection]


def not_a_server_error(_context: Any, response: Any, _case: Any) -> None:
    assert response.status_code < 500, response.text


@pytest.mark.slow
def test_every_answer_is_one_that_openapi_shows(openapi: Any) -> None:
    from schemathesis import GenerationMode

    tried = set()
    for found in openapi.get_all_operations():
        operation = found.ok()
        modes = [GenerationMode.POSITIVE] if operation.path in OF_ANY_TEXT else list(GenerationMode)
        for mode in modes:

            @settings(suppress_health_check=list(HealthCheck), phases=[Phase.generate], max_examples=EXAMPLES)
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                tried.add(case.operation.label)
                case.call_and_validate(headers=ADA, checks=rules())

            check()
    assert len(tried) == 13


@pytest.mark.slow
def test_rows_of_every_kind_are_as_openapi_shows(openapi: Any) -> None:
    operation = openapi["/charts/data"]["POST"]
    for kind, written in product(ResultType, ResultFormat):
        if written is ResultFormat.JSON or kind is not ResultType.QUERY:  # a statement alone is no table
            body = {**CITIES, "result_type": kind.value, "result_format": written.value}
            case = operation.Case(body=body, media_type="application/json")
            assert case.call_and_validate(headers=ADA, checks=rules()[:-1]).status_code == 200, body
    for path, values in (
        ("/charts/{chart_id}/data", {"chart_id": 1}),
        ("/dashboards/{dashboard_id}", {"dashboard_id": 1}),
    ):
        (operation,) = openapi[path].values()
        assert (
            operation.Case(path_parameters=values).call_and_validate(headers=ADA, checks=rules()[:-1]).status_code
            == 200
        )
