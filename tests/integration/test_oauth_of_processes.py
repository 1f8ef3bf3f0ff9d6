"""A token that is over is renewed once for all processes of a store; one that is killed blocks nobody for long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support.oauth_provider import Provider, provider, settings_for
from tests.support.small_core import KEY, small_core
from tests.support.token_asker import Asker, ask_all, expire

from analytics_core import AnalyticsCore
from analytics_core._engine.oauth.token_renewal import STORE_MARGIN_S

pytestmark = pytest.mark.slow

PROCESSES, THREADS, ANSWER_S = 4, 50, 1.0
BEYOND_S = 2.0
STORES = [
    "file",
    pytest.param("postgres", marks=[pytest.mark.server, pytest.mark.long]),
    pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
]


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:///{tmp_path}/meta.db"
    return str(request.getfixturevalue(f"make_{request.param}_database")())


@pytest.fixture(params=["http", "https"])
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Provider]:
    with provider(tmp_path if request.param == "https" else None) as made:
        yield made


@pytest.fixture
def started() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def settings(guard: Provider) -> dict[str, Any]:
    made = settings_for(guard, secret_key=KEY, oauth2_timeout_s=5.0)
    return {**made, "oauth2_ca_file": str(guard.ca_file) if guard.ca_file else None}


@pytest.fixture
def core(url: str, guard: Provider, settings: dict[str, Any], tmp_path: Path) -> Iterator[AnalyticsCore]:
    """A core in whose store there is one token, which is fresh."""
    choices = {name: value for name, value in settings.items() if name != "secret_key"}
    with small_core(tmp_path, metadata_url=url, **choices) as small:
        small.core.oauth.callback(**guard.authorize(small.core.oauth.start(1).url))
        yield small.core


@pytest.mark.parametrize("guard", ["https"], indirect=True)
def test_two_hundred_callers_of_four_processes_make_one_request(
    url: str, core: AnalyticsCore, guard: Provider, settings: dict[str, Any], started: ExitStack
) -> None:
    askers = [Asker(url, THREADS, settings, started) for _ in range(PROCESSES)]
    assert [asker.read() for asker in askers] == ["ready"] * PROCESSES
    fresh = ask_all(askers)
    assert {answer for one in fresh for answer in one["answers"]} == set(guard.issued)
    expire(core, guard)
    guard.delay_s = ANSWER_S
    reports = ask_all(askers)
    assert dict(guard.requests) == {"refresh_token": 1}
    assert {answer for one in reports for answer in one["answers"]} == set(guard.issued)
    assert [len(one["answers"]) for one in reports] == [THREADS] * PROCESSES
    # What so many look-ups take on this machine now has nothing to do with the refresh.
    looked_up_s, took_s = (max(one["took_s"] for one in round_) for round_ in (fresh, reports))
    assert took_s <= looked_up_s + ANSWER_S + BEYOND_S, (looked_up_s, took_s)


@pytest.mark.long
@pytest.mark.parametrize("guard", ["http"], indirect=True)
def test_a_process_that_is_killed_while_it_renews_blocks_nobody_beyond_the_end_of_its_lock(
    url: str, core: AnalyticsCore, guard: Provider, settings: dict[str, Any], started: ExitStack
) -> None:
    expire(core, guard)
    settings["oauth2_timeout_s"] = 1.0
    guard.misbehaviour = "hanging"
    dying = Asker(url, 1, settings, started)
    waiting = [Asker(url, 5, settings, started) for _ in range(2)]
    assert [asker.read() for asker in (dying, *waiting)] == ["ready"] * 3
    dying.go()
    wait_until(lambda: guard.requests["refresh_token"] == 1)
    began = time.monotonic()
    dying.process.kill()
    guard.misbehaviour = None
    for asker in waiting:
        asker.go()
    reports = [asker.reported() for asker in waiting]
    assert time.monotonic() - began <= 1.0 + STORE_MARGIN_S + BEYOND_S
    assert {answer for one in reports for answer in one["answers"]} == set(guard.issued)
    assert dict(guard.requests) == {"refresh_token": 2}


def wait_until(condition: Callable[[], bool], *, longest_s: float = 20.0) -> None:
    end = time.monotonic() + longest_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
