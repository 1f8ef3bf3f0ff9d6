"""The example site of Django answers whoever is signed in, and guests, inside their rows, and refuses others."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.test import Client, override_settings

APP = Path(__file__).parents[2] / "examples" / "django_host" / "app.py"
CHART = "/charts/1/data"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """Return the site, which configures Django for the process."""
    spec = importlib.util.spec_from_file_location("django_host_example", APP)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where Django finds its URLs
    spec.loader.exec_module(module)
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):  # the others are slow
        yield module
    module.site().close()


@pytest.fixture
def client(example: ModuleType) -> Client:
    example.site()
    return Client(headers={"Host": "localhost"}, enforce_csrf_checks=True)


def signed_in(client: Client, name: str) -> Client:
    form = client.get("/login")
    token = form.cookies["csrftoken"].value
    wanted = {"username": name, "password": name, "csrfmiddlewaretoken": token}
    assert client.post("/login?next=" + CHART, wanted).headers["Location"] == CHART
    return client


def countries(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["country"] for row in answer.json()["result"][0]["data"]]


@pytest.mark.parametrize(("name", "country"), [("anna", "France"), ("bert", "Germany")])
def test_whoever_signs_in_sees_their_rows(client: Client, name: str, country: str) -> None:
    assert countries(signed_in(client, name).get(CHART)) == [country]


def test_a_query_of_the_page_needs_the_token_of_django_and_stays_inside_the_rows(client: Client) -> None:
    signed_in(client, "anna")
    query = {"columns": ["country"], "metrics": ["count"]}
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
    assert client.post(CHART, question, content_type="application/json").status_code == 403
    token = {"X-CSRFToken": client.cookies["csrftoken"].value}
    assert countries(client.post(CHART, question, content_type="application/json", headers=token)) == ["France"]


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b"5"])
def test_what_is_no_query_is_a_typed_refusal(client: Client, body: bytes) -> None:
    signed_in(client, "anna")
    token = {"X-CSRFToken": client.cookies["csrftoken"].value}
    refused = client.post(CHART, body, content_type="application/json", headers=token)
    assert (refused.status_code, refused.json()["errors"][0]["error_type"]) == (422, "INVALID_PAYLOAD_FORMAT_ERROR")


def test_nobody_and_unknown_charts_get_typed_refusals(client: Client) -> None:
    refused = client.get(CHART)
    assert (refused.status_code, refused.json()["errors"][0]["error_type"]) == (401, "GENERIC_COMMAND_ERROR")
    assert client.get("/guest-token").status_code == 401
    missing = signed_in(client, "anna").get("/charts/99/data")
    assert (missing.status_code, missing.json()["errors"][0]["error_type"]) == (404, "OBJECT_DOES_NOT_EXIST_ERROR")


def test_guests_see_the_dashboard_in_the_rows_of_who_minted(example: ModuleType, client: Client) -> None:
    token = signed_in(client, "bert").get("/guest-token").json()["token"]
    guest = Client(headers={"Host": "localhost", "Authorization": f"Bearer {token}"})
    assert guest.get("/dashboard").json()["charts"] == ["Orders"]
    assert countries(guest.get(CHART)) == ["Germany"]
    assert Client(headers={"Host": "localhost", "Authorization": "Bearer x"}).get("/dashboard").status_code == 401


def test_health_needs_no_session(client: Client) -> None:
    assert client.get("/health").status_code == 200
