"""A process whose threads ask for one user's token at once, for tests of refreshes over processes.

    python -m tests.support.token_asker STORE_URL THREADS SETTINGS_AS_JSON

For each line on its standard input all threads ask once, and it answers with JSON: what they got, and how long the last
one took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.oauth_provider import Provider

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import AnalyticsError


class Asker:
    """Such a process, which waits for `go`."""

    def __init__(self, url: str, threads: int, settings: dict[str, Any], started: ExitStack) -> None:
        command = [sys.executable, "-m", "tests.support.token_asker", url, str(threads), json.dumps(settings)]
        root = Path(__file__).resolve().parents[2]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
        started.callback(self.kill)

    def read(self) -> str:
        """Return the next line that it writes."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        """Have all its threads ask."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def reported(self) -> dict[str, Any]:
        """Return what its threads got, and how long the last one took."""
        return dict(json.loads(self.read()))

    def kill(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()


def ask_all(askers: Sequence[Asker]) -> list[dict[str, Any]]:
    """Have all processes ask at once."""
    for asker in askers:
        asker.go()
    return [asker.reported() for asker in askers]


def expire(core: AnalyticsCore, guard: Provider) -> None:
    """Make the one stored token stale, and count the provider's requests anew."""
    guard.requests.clear()
    guard.issued.clear()
    with core._runtime.content.store.unit_of_work() as unit:
        (found,) = unit.oauth2_tokens.list(ListQuery())[1]
        over = replace(found, access_token_expiration=datetime(2020, 1, 1, tzinfo=UTC))
        unit.oauth2_tokens.update(over, actor_id=None)


def main(url: str, threads: str, settings: str) -> None:
    count = int(threads)
    with AnalyticsCore(Settings(**json.loads(settings)), metadata_url=url, acting_as=1) as core:
        begin = threading.Barrier(count + 1)

        def ask(_: int) -> str | None:
            begin.wait()
            try:
                return core.oauth.access_token(1)
            except AnalyticsError as error:
                return f"{type(error).__name__}: {error.message}"

        with ThreadPoolExecutor(max_workers=count) as pool:
            print("ready", flush=True)
            for _ in sys.stdin:
                futures = [pool.submit(ask, number) for number in range(count)]
                began = time.monotonic()
                begin.wait()
                answers = [one.result() for one in futures]
                print(json.dumps({"answers": answers, "took_s": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
