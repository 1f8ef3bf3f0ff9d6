"""Closes a core again and again while threads ask it; run as a process of its own: `ENGINE_URL STORE_URL ROUNDS`.

Prints what the threads saw besides answers and typed errors; a crash of the process is seen by its exit code.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from random import Random

from tests.support.servers import LOOPBACK

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import AnalyticsError

KEY = "a-test-key-that-is-long-enough-9f3a"
THREADS = 4


def main(url: str, store: str, rounds: int) -> int:
    """Close after a short random time, `rounds` times; return how many unexpected errors there were."""
    dice, wrong = Random(5), 0
    for number in range(rounds):
        wrong += _round(url, store.replace("{}", str(number)), dice.random() * 0.06)
    return wrong


def _round(url: str, store: str, pause_s: float) -> int:
    found: list[BaseException] = []
    roots = (Path(url.partition(":///")[2]).parent,) if ":///" in url else ()
    host = AnalyticsCore(
        Settings(secret_key=KEY, data_roots=roots, allowed_networks=LOOPBACK), metadata_url=store, allowed_files=[]
    )
    core = host.as_user(host.create_first_administrator("admin").id)
    core.databases.create({"database_name": "shop", "orm_uri": url})
    dataset = core.datasets.create({"database": 1, "table_name": "visits"}).id
    context = {"datasource": {"id": dataset, "type": "table"}, "queries": [{"columns": ["city"], "row_limit": 5}]}

    def ask(place: int) -> None:
        try:
            for number in range(200):
                if place == 0:
                    with core.charts.batches(context) as stream:
                        list(stream)
                elif place == 1:
                    core.datasets.list()
                else:
                    core.charts.data(context, force=number % 2 == 0).raise_for_error()
        except AnalyticsError:
            pass
        except BaseException as error:  # all that is no typed error is what this looks for
            found.append(error)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    threading.Event().wait(pause_s)
    host.close()
    for thread in threads:
        thread.join(30)
        if thread.is_alive():
            found.append(TimeoutError("a thread goes on 30 s after the core was closed"))
    for error in found:
        print(f"{type(error).__name__}: {error}", flush=True)
    return len(found)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1], sys.argv[2], int(sys.argv[3])), 1))
