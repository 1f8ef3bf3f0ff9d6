"""A process whose threads ask for one user's token at once, for tests of refreshes over processes.

    python token_asker.py STORE_URL THREADS SETTINGS_AS_JSON

For each line on its standard input all threads ask once, and it answers with JSON: what they got, and how long the last
one took.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import AnalyticsError


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
                told = [pool.submit(ask, number) for number in range(count)]
                began = time.monotonic()
                begin.wait()
                answers = [one.result() for one in told]
                print(json.dumps({"answers": answers, "took_s": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
