"""A host whose jobs go to Celery, and workers of it as processes: what the tests of `analytics_core.celery` share.

`make_core` is what both call: `python -m analytics_core worker --core tests.support.celery_world:make_core` reads where
store, broker and files are from the variable `CELERY_WORLD`.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.support.servers import LOOPBACK
from tests.support.shop import context, shop_url

from analytics_core import AnalyticsCore, Settings
from analytics_core.celery import CeleryJobRunner, celery_app
from analytics_core.ports import AddressLookup, Delivery, DeliveryState, Message, Recipient

KEY = "a-test-key-that-is-long-enough-9f3a"
WORKERS_LEASE_S = 3.0
"""On a busy machine a process may not be heard of for a while."""

HOSTS_LEASE_S = 0.25
"""Half of after how many seconds the host hands a job over again."""

VISIBILITY_S = 1.0
PATIENCE_S = 60.0
PROJECT = Path(__file__).resolve().parents[2]
COUNT = context({"metrics": ["count"]})
SLOW_CHART = context({"metrics": ["count"]}, dataset=2)
SLOW = """
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < (SELECT most FROM knob)) SELECT x FROM n
"""
ENDLESS, SHORT = 2_000_000_000, 5


class GateNotifier:
    """Writes a line for what it hands over, and returns when there is no file `gate` (port `Notifier`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, addresses: AddressLookup) -> None:
        return

    def takes(self, recipient: Recipient) -> bool:
        return True

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        with (self._folder / "journal").open("a") as journal:
            journal.write(f"{message.subject}\n")
        while (self._folder / "gate").exists():
            time.sleep(0.02)
        return [Delivery(address=one, state=DeliveryState.DELIVERED) for one in only or recipient.addresses]

    def close(self) -> None:
        return


def make_core() -> AnalyticsCore:
    """Return the core of the world that the variable names."""
    return open_core(**json.loads(os.environ["CELERY_WORLD"]), lease_s=WORKERS_LEASE_S)


def open_core(
    folder: str,
    broker: str,
    store: str,
    *,
    lease_s: float = HOSTS_LEASE_S,
    make_runner: Callable[[Any], CeleryJobRunner] = CeleryJobRunner,
) -> AnalyticsCore:
    """Return a core whose jobs go to the broker."""
    app = celery_app(broker, visibility_timeout_s=VISIBILITY_S)
    app.conf.broker_transport_options["unacked_restore_interval"] = 0.5
    settings = Settings(secret_key=KEY, data_roots=(Path(folder),), job_lease_s=lease_s, allowed_networks=LOOPBACK)
    return AnalyticsCore(settings, metadata_url=store, jobs=make_runner(app), notifiers=[GateNotifier(Path(folder))])


class Worker:
    """A worker as operators start it, with so many processes for jobs."""

    def __init__(self, folder: Path, place: dict[str, str], *, concurrency: int) -> None:
        self._concurrency = concurrency
        self._log = folder / f"worker-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "analytics_core", "worker", "--concurrency", str(concurrency)]
        command += ["--core", "tests.support.celery_world:make_core"]
        environment = {**os.environ, "CELERY_WORLD": json.dumps(place)}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=PROJECT, env=environment)

    def ready(self) -> Worker:
        assert until(lambda: " ready." in self.log() or self.process.poll() is not None), self.log()
        assert self.process.poll() is None, self.log()
        return self

    def log(self) -> str:
        return self._log.read_text()

    def children(self) -> list[int]:
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def kill_children(self) -> None:
        """Kill the processes that run jobs."""
        killed = self.children()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: len(set(self.children()) - set(killed)) == self._concurrency)

    def stop(self, number: signal.Signals = signal.SIGKILL) -> int:
        """End the worker, and return its exit code."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


class World:
    """The host of a store in a file, with a shop, a chart that takes as long as `knob` says, and a broker.

    `is_new`: the store is made; else it is there already, and another broker hands out its jobs.
    """

    def __init__(self, folder: Path, broker: str, *, is_new: bool = True) -> None:
        self.folder = folder
        self.place = {"folder": str(folder), "broker": broker, "store": f"sqlite:///{folder}/meta.db"}
        self._file = folder / "shop.db"
        self.core = open_core(**self.place)
        if is_new:
            self._fill(shop_url(folder))
        self.admin = self.core.as_user("admin")

    def _fill(self, url: str) -> None:
        with closing(sqlite3.connect(self._file)) as shop, shop:
            shop.execute("CREATE TABLE marks (mark TEXT)")
            shop.execute("CREATE TABLE knob (most INTEGER)")
            shop.execute("INSERT INTO knob VALUES (?)", (ENDLESS,))
        self.core.create_first_administrator("admin")
        admin = self.core.as_user("admin")
        fields = {"expose_in_sqllab": True, "allow_run_async": True, "allow_dml": True}
        admin.databases.create({"database_name": "shop", "orm_uri": url, **fields})
        admin.datasets.create({"database": 1, "table_name": "orders"})
        admin.datasets.create({"database": 1, "table_name": "slow", "sql": SLOW})
        for dataset in (1, 2):
            form = json.dumps({"viz_type": "table", "datasource": f"{dataset}__table", "metrics": ["count"]})
            chart = {"slice_name": f"chart {dataset}", "viz_type": "table", "datasource_id": dataset, "params": form}
            admin.charts.create({**chart, "datasource_type": "table"})

    def worker(self, *, concurrency: int = 2) -> Worker:
        return Worker(self.folder, self.place, concurrency=concurrency)

    def marks(self) -> int:
        """Return how many rows were inserted."""
        with closing(sqlite3.connect(self._file)) as shop:
            return int(shop.execute("SELECT COUNT(*) FROM marks").fetchone()[0])

    def turn(self, most: int) -> None:
        """Have the slow chart take as many steps."""
        with closing(sqlite3.connect(self._file)) as shop, shop:
            shop.execute("UPDATE knob SET most = ?", (most,))

    def gate(self, *, is_closed: bool) -> None:
        """Have notifiers wait after they handed something over, or go on."""
        (self.folder / "gate").touch() if is_closed else (self.folder / "gate").unlink(missing_ok=True)

    def sent(self, name: str) -> int:
        """Return how many messages of a report were handed over."""
        journal = self.folder / "journal"
        return sum(name in line for line in journal.read_text().splitlines()) if journal.exists() else 0

    def create_report(self, name: str, *, chart: int = 1, crontab: str = "0 0 1 1 *") -> int:
        """Create a report and return its id."""
        fields = {"type": "Report", "crontab": crontab, "report_format": "TEXT", "chart": chart, "name": name}
        target = {"type": "Email", "recipient_config_json": {"target": "bob@example.com"}}
        return int(self.admin.reports.create({**fields, "recipients": [target]}).id)

    def start_report(self, name: str, *, chart: int = 1) -> int:
        """Have a report sent, and return its id."""
        schedule = self.create_report(name, chart=chart)
        self.admin.reports.run_now(schedule)
        return schedule

    def run(self, schedule_id: int) -> Any:
        """Return the one run of a schedule, after a look for what others left behind."""
        self.core.scheduler.tick()
        (run,) = self.admin.reports.executions(schedule_id).result
        return run


def until(condition: Callable[[], Any]) -> bool:
    """Return whether something becomes true in time."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def is_running(job: Any) -> bool:
    """Wait until a job runs, and return whether it does."""
    return until(lambda: job.state != "pending") and job.state == "running"
