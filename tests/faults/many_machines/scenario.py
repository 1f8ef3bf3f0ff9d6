"""A service on many machines under load, any of whose processes is killed at random: what its users are promised.

PostgreSQL holds the store and what people ask; what it acknowledged survives. Redis is broker, cache and lock, and
keeps nothing on disk: each time it is killed all messages are gone, and `tick` hands their jobs over again. Users ask
the web processes of the example host; reports go to a mail server, which counts what arrives.

Variables: `MACHINES_SECONDS` is for how long something is killed (180), `MACHINES_SEED` chooses what and when (the one
of a run is printed), `MACHINES_LOGS` names a folder that keeps what the processes log.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from tests.faults.many_machines import judge
from tests.faults.many_machines.fleet import Fleet, servers
from tests.faults.many_machines.load import ORDERS, Load
from tests.faults.tally import Tally
from tests.support.mail_server import MailServer, mail_server
from tests.support.reports import TOTAL, mail
from tests.support.servers import LOOPBACK, PrivateServer

from analytics_core import AnalyticsCore, Settings
from analytics_core.testing import Outbox

SECONDS = 180.0
WARM_UP_S = 10.0
SCHEDULES = 200
KEY = "a-test-key-that-is-long-enough-9f3a"
LEASE_S = 5.0
MINUTE = timedelta(minutes=1)
MOST_MB = 25.0
"""By how much the memory of a process that is warm may grow."""


def many_machines(folder: Path) -> Tally:
    """Kill PostgreSQL, Redis, workers, web processes and callers of tick at random for three minutes under load."""
    tally = Tally(name="many machines")
    seconds = float(os.environ.get("MACHINES_SECONDS", SECONDS))
    seed = int(os.environ.get("MACHINES_SEED", random.SystemRandom().randrange(10**6)))
    logs = Path(os.environ.get("MACHINES_LOGS") or folder)
    print(f"{tally.name}: seed {seed}, {seconds:g} s", flush=True)
    with servers(folder) as (postgres, redis), mail_server() as mails:
        urls = {name: postgres.make_database() for name in ("store", "shop")}
        with _filled(postgres, urls) as core:
            fleet = Fleet(postgres, redis, _environment(urls["store"], redis.url, mails.port), logs)
            try:
                _run(tally, core, fleet, mails, seconds, seed)
            finally:
                fleet.close()
            _judge_fleet(tally, fleet)
    return tally


def _run(tally: Tally, core: AnalyticsCore, fleet: Fleet, mails: MailServer, seconds: float, seed: int) -> None:
    load = Load(fleet.ports, seed=seed)
    fleet.start()
    fleet.wait_until_up()
    due = _make_schedules(core.as_user("admin"), datetime.now(UTC), seconds)
    load.start()
    time.sleep(WARM_UP_S)
    fleet.disturb(seconds, random.Random(seed))
    fleet.wait_until_up()
    load.stop()
    quiet_s = judge.wait_until_quiet(core, max(moment for moments in due.values() for moment in moments))
    tally.require(quiet_s < judge.QUIET_S, "jobs or runs are still open")
    tally.reported.append(f"{tally.name}: {quiet_s:.0f} s after the clients all is quiet")
    judge.judge_answers(tally, load.noted)
    judge.judge_jobs(tally, core)
    judge.judge_reports(tally, core, due, mails.mails)
    made = core.as_user("admin").sql("SELECT mark, COUNT(*) AS n FROM marks GROUP BY mark", row_limit=100_000)
    judge.judge_changes(tally, load.noted, made.rows())
    counts = {"answers": load.noted.counts["answered"], "changes": len(made.rows()), "kills": fleet.found.kills.total()}
    for name, fewest in (("answers", 10 * seconds), ("changes", seconds / 10), ("kills", seconds / 10)):
        tally.require(
            counts[name] >= fewest, f"only {counts[name]} {name}, fewer than {fewest:g}: too little was tried"
        )


def _judge_fleet(tally: Tally, fleet: Fleet) -> None:
    """Report what was killed, which must have ended and come back in order, and how memory grew."""
    found = fleet.found
    tally.reported.append(f"{tally.name}: {sum(found.kills.values())} taken away: {judge.listed(found.kills)}")
    tally.reported.append(f"{tally.name}: {', '.join(found.course)}")
    for what in found.wrong:
        tally.require(False, what)
    tally.reported += [f"{tally.name}: {what}" for what in found.own_ends]
    growths = found.growths()
    for name, (warm_mb, end_mb, age_s) in sorted(growths.items()):
        tally.reported.append(f"{tally.name}: {name}: {warm_mb:.0f} MB when warm, {end_mb:.0f} MB after {age_s:.0f} s")
        tally.require(end_mb - warm_mb < MOST_MB, f"{name} grew from {warm_mb:.0f} to {end_mb:.0f} MB")


@contextmanager
def _filled(postgres: PrivateServer, urls: Mapping[str, str]) -> Iterator[AnalyticsCore]:
    """Give a core of a new store over the shop, for whoever looks at what became of all."""
    database = urls["shop"].rpartition("/")[2]
    with psycopg.connect(host="127.0.0.1", port=postgres.port, user="postgres", dbname=database) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, region VARCHAR(10), amount INTEGER)")
        connection.execute("CREATE TABLE marks (mark VARCHAR(20))")
        connection.cursor().executemany("INSERT INTO orders VALUES (%s, %s, %s)", ORDERS)
    settings = Settings(secret_key=KEY, allowed_networks=LOOPBACK)
    with AnalyticsCore(settings, metadata_url=urls["store"], notifiers=[Outbox()]) as core:
        core.create_first_administrator("admin", email="admin@example.com")
        admin = core.as_user("admin")
        fields = {"expose_in_sqllab": True, "allow_run_async": True, "allow_dml": True}
        admin.databases.create({"database_name": "shop", "sqlalchemy_uri": urls["shop"], **fields})
        admin.datasets.create({"database": 1, "table_name": "orders"})
        form = {"viz_type": "table", "datasource": "1__table", "groupby": ["region"], "metrics": [TOTAL]}
        chart = {"datasource_id": 1, "datasource_type": "table", "params": json.dumps(form)}
        admin.charts.create({"slice_name": "By region", "viz_type": "table", **chart})
        yield core


def _make_schedules(admin: AnalyticsCore, now: datetime, seconds: float) -> Mapping[int, Sequence[datetime]]:
    """Make the schedules and return when each is due: a third in each of three minutes, every fourth in all of them."""
    first = now.replace(second=0, microsecond=0) + MINUTE
    last = now + timedelta(seconds=max(seconds, 75.0))
    moments = [first + number * MINUTE for number in range(int(seconds // 60) + 2)]
    moments = [moment for moment in moments if now + timedelta(seconds=10) < moment < last]
    due = {}
    for number in range(SCHEDULES):
        chosen = moments if number % 4 == 0 else moments[number % len(moments) :][:1]
        payload = {
            "name": f"r{number}",
            "type": "Report",
            "crontab": f"{','.join(str(moment.minute) for moment in chosen)} * * * *",
            "report_format": "TEXT",
            "chart": 1,
            "recipients": [mail(f"r{number}@example.com")],
            "extra": {"missed": "all", "subject": "{{ name }} due {{ scheduled }}"},
        }
        due[admin.reports.create(payload).id] = chosen
    return due


def _environment(store: str, redis: str, mail_port: int) -> Mapping[str, str]:
    values = {
        "STORE": store,
        "BROKER": redis,
        "SECRET_KEY": KEY,
        "ALLOWED_NETWORKS": ",".join(LOOPBACK),
        "JOB_LEASE_S": str(LEASE_S),
        "STORE_TIMEOUT_S": "5",
        "STATEMENT_TIMEOUT_S": "10",
        "REQUEST_TIMEOUT_S": "20",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mail_port),
        "SMTP_SENDER": "reports@example.com",
        "SMTP_SECURITY": "none",
    }
    return {**os.environ, "HOST_REDIS": redis, **{f"ANALYTICS_CORE_{name}": value for name, value in values.items()}}
