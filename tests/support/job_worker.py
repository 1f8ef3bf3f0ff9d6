"""A process that submits, runs or reads jobs of a store, for tests of jobs over processes.

    python job_worker.py STORE_URL DATA_ROOT

It reads lines of JSON `[verb, argument...]` and answers each with a line of JSON. Jobs are submitted to a queue that
nobody reads (`submit`), to the process's own threads (`submit_here`), or run when it is told to (`run`).
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core.errors import AnalyticsError

KEY = "a-test-key-that-is-long-enough-9f3a"
LEASE_S = 2.0


class QueueOfOthers:
    """A host's queue: it hands ids on to workers elsewhere, which a test plays."""

    is_local = False

    def start(self, run_job: Callable[[str], None]) -> None:
        return

    def submit(self, job_id: str, *, queue: str = "") -> None:
        return

    def close(self) -> None:
        return


class Chosen(QueueOfOthers):
    """Hands jobs to threads of this process or to the queue, as each is submitted."""

    def __init__(self) -> None:
        self.is_local = False
        self._threads = ThreadJobRunner(workers=2)

    def start(self, run_job: Callable[[str], None]) -> None:
        self._threads.start(run_job)

    def submit(self, job_id: str, *, queue: str = "") -> None:
        if self.is_local:
            self._threads.submit(job_id, queue=queue)


def open_core(url: str, root: str, runner: Any = None) -> AnalyticsCore:
    """Return the core of a store, on which nobody acts."""
    settings = Settings(secret_key=KEY, data_roots=(Path(root),), job_lease_s=LEASE_S)
    return AnalyticsCore(settings, metadata_url=url, jobs=runner)


class Worker:
    """The verbs."""

    def __init__(self, url: str, root: str) -> None:
        self.runner = Chosen()
        self.core = open_core(url, root, self.runner)
        self.acting = self.core.as_user(1)

    def submit(self, payload: Any) -> str:
        self.runner.is_local = False
        return self.acting.charts.submit(payload).job_id

    def submit_here(self, payload: Any) -> str:
        self.runner.is_local = True
        return self.acting.charts.submit(payload).job_id

    def run(self, job_id: str) -> None:
        threading.Thread(target=self.core.run_job, args=(job_id,), daemon=True).start()

    def state(self, job_id: str) -> str:
        return self.acting.jobs.get(job_id).state.value

    def payload(self, job_id: str) -> Any:
        return self.acting.charts.job(job_id).to_payload()

    def result(self, job_id: str) -> Any:
        try:
            answer = self.acting.charts.job(job_id).result(timeout_s=20).raise_for_error()
        except AnalyticsError as error:
            return [type(error).__name__, error.message]
        return answer.results[0].data

    def cancel(self, job_id: str) -> None:
        self.acting.jobs.cancel(job_id)

    def execute(self, client_id: str, sql: str) -> None:
        payload = {"database_id": 1, "sql": sql, "client_id": client_id}
        threading.Thread(target=self.acting.sql.execute, args=(payload,), daemon=True).start()

    def execute_in_background(self, client_id: str, sql: str) -> None:
        self.runner.is_local = True
        self.acting.sql.execute({"database_id": 1, "sql": sql, "client_id": client_id, "runAsync": True})

    def executions(self) -> dict[str, str]:
        return {self.acting.queries.get(one.id).client_id: one.status for one in self.acting.queries.list()}

    def error_message(self, client_id: str) -> str | None:
        return self.acting.queries.get(client_id).error_message

    def stop(self, client_id: str) -> None:
        self.acting.queries.stop(client_id)


def main() -> None:
    """Answer one line after the other."""
    worker = Worker(*sys.argv[1:])
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        print(json.dumps(getattr(worker, verb)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
