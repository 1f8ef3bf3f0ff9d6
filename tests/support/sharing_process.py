"""A process with a core on a shared store and a Redis server, for tests of what processes share.

    python sharing_process.py STORE_URL REDIS_URL DATA_ROOT

Each line of its input is a request: a JSON object `{"dataset": 1, "force": false}`. Each answer is a line of output:
`{"cached": ..., "rows": ..., "error": ...}`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from analytics_core import AnalyticsCore, Settings
from analytics_core.ports import Observation, Observer
from analytics_core.redis import RedisCache, RedisLock

SECRET_KEY = "Xq8hz3kWv0TnB5yLr7uC2dGf9sJm4aPe"
PATIENT_S = 20.0


class Costs:
    """Notes how long each question took beside its statements, in milliseconds (port `Observer`)."""

    def __init__(self) -> None:
        self.own_ms: list[float] = []

    def observe(self, observation: Observation) -> None:
        """Take note of a question."""
        self.own_ms.append(observation.total_ms - observation.steps_ms.get("database", 0.0))

    def close(self) -> None:
        """Need nothing."""


def open_core(
    store_url: str, redis_url: str, root: str, *, observer: Observer | None = None, **options: float
) -> AnalyticsCore:
    """Return a core of the service; `timeout_s` is what a call of Redis may take."""
    return AnalyticsCore(
        Settings(secret_key=SECRET_KEY, data_roots=(Path(root),)),
        metadata_url=store_url,
        acting_as="ada",
        cache=RedisCache(redis_url, **options),
        lock=RedisLock(redis_url, **options),
        observer=observer,
    )


def answer(core: AnalyticsCore, dataset: int, *, force: bool = False) -> dict[str, Any]:
    """Ask for the rows of a dataset with the column `n`, and tell what came."""
    payload = {
        "datasource": {"id": dataset, "type": "table"},
        "force": force,
        "queries": [{"columns": ["n"], "row_limit": 10}],
    }
    result = core.charts.data(payload).results[0]
    return {"cached": result.is_cached, "rows": [list(row) for row in result.rows()], "error": result.error}


def main(store_url: str, redis_url: str, root: str) -> None:
    core = open_core(store_url, redis_url, root, timeout_s=PATIENT_S)
    core.charts.list()  # what a first call loads
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(core, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
