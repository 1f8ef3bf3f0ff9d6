"""The example host answers over HTTP: tokens for its tenants, rows for their guests, typed refusals."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from examples.fastapi_host import app as example
from examples.fastapi_host.demo import make_demo, who_is_this
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.support.cases import for_each
from tests.support.oauth_provider import provider, settings_for
from tests.support.templates import sample_shop

from analytics_core import connect

PAGE = "https://shop.example"
CHART, QUERY = "/charts/1/data", "/charts/data"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(make_demo(tmp_path_factory.mktemp("host"))) as client:
        yield client


def token(client: TestClient, key: str = "key-of-acme") -> str:
    answer = client.post("/guest-token", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    return str(answer.json()["token"])


def as_guest(token: str, origin: str | None = PAGE) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **({"Origin": origin} if origin else {})}


def countries(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [row["country"] for row in answer.json()["result"][0]["data"]]


@pytest.mark.slow
def test_the_command_of_fastapi_finds_the_service() -> None:
    found = [name for name in dir(example) if isinstance(getattr(example, name), FastAPI)]
    assert found == ["app"]  # as `fastapi dev` looks for it
    assert example.app is example.app
    with TestClient(example.app) as client:
        assert countries(client.post(CHART, headers=as_guest(token(client)))) == ["France"]


@pytest.mark.slow
def test_each_tenant_gets_its_own_rows(client: TestClient) -> None:
    for key, country in (("key-of-acme", "France"), ("key-of-bolt", "Germany")):
        assert countries(client.post(CHART, headers=as_guest(token(client, key)))) == [country]


def test_somebody_unknown_gets_no_token(client: TestClient) -> None:
    assert client.post("/guest-token", headers={"Authorization": "Bearer guess"}).status_code == 401


def test_the_dashboard_is_shown(client: TestClient) -> None:
    answer = client.get("/dashboards/1", headers=as_guest(token(client)))
    assert answer.json()["dashboard_title"] == "Sales"
    assert answer.json()["charts"] == ["Orders"]


@for_each(
    ("path", "origin", "body", "status"),
    [
        (CHART, "https://evil.example", None, 403),
        (CHART, None, None, 403),
        ("/charts/2/data", PAGE, None, 403),
        (QUERY, PAGE, {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["city"]}]}, 403),
        (QUERY, PAGE, {"queries": "all"}, 422),
    ],
)
def test_refusals_have_the_status_and_the_body_of_the_contract(
    client: TestClient, path: str, origin: str | None, body: Any, status: int
) -> None:
    answer = client.post(path, headers=as_guest(token(client), origin), json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"message", "errors"}
    assert answer.json()["errors"][0]["error_type"]


@pytest.mark.parametrize("bad", ["", "x.y.z", "key-of-acme"])
def test_a_bad_token_is_401(client: TestClient, bad: str) -> None:
    assert client.post(CHART, headers=as_guest(bad)).status_code == 401


def test_requests_at_once_stay_apart(client: TestClient) -> None:
    expected = {token(client, "key-of-acme"): "France", token(client, "key-of-bolt"): "Germany"}

    def fits(number: int) -> bool:
        key = list(expected)[number % 2]
        return countries(client.post(CHART, headers=as_guest(key))) == [expected[key]]

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert all(pool.map(fits, range(24)))


def test_staff_authorize_the_service_at_a_provider(tmp_path: Path) -> None:
    with provider() as guard:
        clients = {"guarded": guard.client(redirect_uri="http://testserver/oauth/callback")}
        core = connect(sample_shop(tmp_path / "shop.db"), **settings_for(guard, oauth2_clients=clients))
        core.databases.create({"database_name": "guarded", "orm_uri": "postgresql://u@127.0.0.1:1/x"})
        made = example.create_app(core, who_is_this=who_is_this)
        staff = {"session": "session-of-ada"}
        page = {"redirect_to": "https://app.example/sales"}
        with TestClient(made, cookies=staff, follow_redirects=False) as client:
            begun = client.get("/oauth/2/start", params=page)
            assert begun.status_code == 307
            back = client.get("/oauth/callback", params=guard.authorize(begun.headers["location"]))
            assert (back.status_code, back.headers["location"]) == (307, "https://app.example/sales")
            begun = client.get("/oauth/2/start")
            refused = client.get("/oauth/callback", params={"state": "a.b.c", "code": "x"})
            assert refused.status_code == 400
            assert refused.json()["errors"][0]["error_type"] == "OAUTH2_REDIRECT_ERROR"
            elsewhere = client.get("/oauth/2/start", params={"redirect_to": "https://evil.example/"})
            assert elsewhere.status_code == 400
        with TestClient(made, follow_redirects=False) as anonymous:
            assert anonymous.get("/oauth/2/start").status_code == 401
            given = guard.authorize(begun.headers["location"])
            assert anonymous.get("/oauth/callback", params=given).status_code == 401
        assert guard.requests["authorization_code"] == 1


def test_a_server_finds_the_app() -> None:
    assert {route.path for route in example.app.routes} >= {"/guest-token", "/charts/{chart_id}/data"}
    with pytest.raises(AttributeError):
        example.no_such_name  # noqa: B018 - reading it is the act
