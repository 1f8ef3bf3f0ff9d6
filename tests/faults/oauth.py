"""Tokens that many processes renew at once, and processes that are killed while they do."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.faults.servers import own_server
from tests.faults.tally import BEYOND_S, Tally
from tests.support.oauth_provider import Provider, provider, settings_for
from tests.support.small_core import KEY, small_core
from tests.support.token_asker import Asker, ask_all, expire

from analytics_core import AnalyticsCore
from analytics_core._engine.oauth.token_renewal import STORE_MARGIN_S

PROCESSES, THREADS, ANSWER_S, TIMEOUT_S = 4, 50, 1.0, 1.5
ROUNDS, KILLS = 5, 8


def renewed_tokens(folder: Path) -> Tally:
    """Ask with 200 callers of four processes for a stale token, then kill whoever renews it at any moment."""
    tally = Tally(name="oauth")
    with own_server("postgresql") as server, provider(None) as guard, ExitStack() as started:
        settings: dict[str, Any] = settings_for(guard, secret_key=KEY, oauth2_timeout_s=TIMEOUT_S)
        choices = {name: value for name, value in settings.items() if name != "secret_key"}
        url = server.url("postgres")
        with small_core(folder, metadata_url=url, **choices) as small:
            core = small.core
            core.oauth.callback(**guard.authorize(core.oauth.start(1).url))
            askers = [Asker(url, THREADS, settings, started) for _ in range(PROCESSES)]
            tally.require([one.read() for one in askers] == ["ready"] * PROCESSES, "a process did not start")
            ask_all(askers)
            guard.delay_s = ANSWER_S
            for _ in range(ROUNDS):
                _renew(tally, core, guard, askers)
            guard.rotates = False  # else the answer that a killed process never read was the last
            for number in range(KILLS):
                _kill(tally, core, guard, askers, Asker(url, 1, settings, started), random.Random(number))
    return tally


def _renew(tally: Tally, core: AnalyticsCore, guard: Provider, askers: list[Asker]) -> None:
    expire(core, guard)
    _check(tally, guard, ask_all(askers), limit_s=ANSWER_S)
    tally.require(dict(guard.requests) == {"refresh_token": 1}, f"asked the provider {dict(guard.requests)}")


def _kill(
    tally: Tally, core: AnalyticsCore, guard: Provider, askers: list[Asker], dying: Asker, chance: random.Random
) -> None:
    expire(core, guard)
    dying.read()
    dying.go()
    time.sleep(chance.uniform(0, ANSWER_S))
    dying.process.kill()
    _check(tally, guard, ask_all(askers), limit_s=TIMEOUT_S + STORE_MARGIN_S + ANSWER_S)
    tally.require(guard.requests["refresh_token"] <= 2, f"asked the provider {dict(guard.requests)}")


def _check(tally: Tally, guard: Provider, reports: list[dict[str, Any]], *, limit_s: float) -> None:
    answers = [answer for one in reports for answer in one["answers"]]
    tally.require(len(answers) == PROCESSES * THREADS, "a caller got no answer")
    tally.require(set(answers) <= set(guard.issued), f"got {set(answers) - set(guard.issued)}")
    took_s = max(one["took_s"] for one in reports)
    tally.slowest_s = max(tally.slowest_s, took_s)
    if took_s > limit_s + BEYOND_S:
        tally.late += 1
        tally.reported.append(f"oauth: the last caller waited {took_s:.1f} s, the limit is {limit_s:g} s")
