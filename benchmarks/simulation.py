"""What a tick, questions and pages cost where a store holds a million schedules and rules, and ten million log entries.

Two stores on one private PostgreSQL, a small one and a large one, which the server fills by copies of records that the
library wrote. Each call is timed by the clock, in turns on both; the ratio of medians counts.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.support.many_records import engine_of
from tests.support.reports import KEY, NOON, NoPause, mail
from tests.support.servers import ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.storage import tables
from analytics_core.testing import InlineJobRunner, Outbox
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.sample_data import make_shop
from benchmarks.growth import _nothing
from benchmarks.report import Ratio, Unmeasured
from benchmarks.timing import Call, medians_in_turns

GOAL = 1.5
ROUNDS, WARM_UP = 15, 3
_BATCH = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many records a store holds; each tenant is a role with one user and rules, each schedule has had one run."""

    schedules: int
    tenants: int
    rules: int
    logs: int


SMALL = Size(schedules=100, tenants=10, rules=2_000, logs=2_000)
LARGE = Size(schedules=1_000_000, tenants=100_000, rules=1_000_000, logs=10_000_000)


class SimulatedStore:
    """A store of a size, and what is done on it; half of the rules, of all tenants, are on one dataset."""

    def __init__(self, url: str, shop: str, size: Size) -> None:
        self.clock = FixedClock(NOON)
        self.core = AnalyticsCore(
            Settings(secret_key=KEY, data_roots=(Path(shop).parent,), max_list_count=1_000),
            metadata_url=url,
            clock=self.clock,
            notifiers=[Outbox()],
            jobs=InlineJobRunner(),
            sleeper=NoPause(),
        )
        first = self.core.create_first_administrator("admin", first_name="Ada")
        self.admin = admin = self.core.as_user(first.id)
        database = admin.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{shop}"})
        datasets = [
            admin.datasets.create({"database": database.id, "table_name": name}).id for name in ("orders", "customers")
        ]
        self.dataset = datasets[0]
        role = admin.roles.create({"name": "tenant"})
        for dataset in datasets:
            admin.roles.grant(role, on=("dataset", dataset))
        self.tenant = admin.users.create({"username": "tenant", "roles": [role.id]}).id
        for dataset in datasets:
            rule = {"name": f"rule on {dataset}", "clause": "id > 0", "filter_type": "Regular"}
            admin.row_level_security.create({**rule, "roles": [role.id], "tables": [dataset]})
        chart = admin.charts.create(
            {
                "slice_name": "orders",
                "datasource_id": self.dataset,
                "datasource_type": "table",
                "query_context": json.dumps(self._question()),
            }
        )
        report = {"type": "Report", "chart": chart.id, "report_format": "TEXT", "recipients": [mail("bob@example.com")]}
        self.yearly = admin.reports.create({**report, "name": "yearly", "crontab": "0 0 1 1 *"}).id
        admin.reports.create({**report, "name": "hourly", "crontab": "0 * * * *"})
        self.clock.advance(timedelta(hours=1))
        self.core.scheduler.tick()
        admin.logs.create({"action": "view", "dashboard_id": None})
        _fill(self.core, size)

    def calls(self) -> dict[str, tuple[Call, Call]]:
        """Return what is done: what comes before each round, and what is timed."""
        admin, tenant = self.admin, self.core.as_user(self.tenant)
        return {
            "tick with nothing due": (_nothing, self.core.scheduler.tick),
            "tick with one report due": (lambda: self.clock.advance(timedelta(hours=1)), self.core.scheduler.tick),
            "question of a tenant": (self._forget, lambda: tenant.charts.data(self._question()).raise_for_error()),
            "simulation of a tenant's rules": (
                _nothing,
                lambda: admin.row_level_security.simulate(self.tenant, self.dataset),
            ),
            "page of reports": (_nothing, admin.reports.list),
            "page of rules": (_nothing, admin.row_level_security.list),
            "page of people": (_nothing, admin.users.list),
            "page of roles": (_nothing, admin.roles.list),
            "page of the latest log entries": (_nothing, admin.logs.list),
            "page of a report's runs": (_nothing, lambda: admin.reports.executions(self.yearly)),
            "view that is logged": (_nothing, lambda: admin.logs.create({"action": "view"})),
            "change of a report": (
                _nothing,
                lambda: admin.reports.update(self.yearly, {"description": secrets.token_hex(4)}),
            ),
        }

    def _question(self) -> dict[str, Any]:
        count_rows = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "count"}
        query = {"columns": ["category"], "metrics": [count_rows]}
        return {"datasource": {"id": self.dataset, "type": "table"}, "queries": [query], "force": True}

    def _forget(self) -> None:
        """Let the store be read anew."""
        self.admin.users.update(self.tenant, {"first_name": secrets.token_hex(4)})


def _fill(core: AnalyticsCore, size: Size) -> None:
    """Multiply what the store holds; the server copies a record with other numbers and names."""
    role = "(SELECT min(id) FROM ac_roles WHERE name = 'tenant')"
    with engine_of(core).connect() as connection:
        connection.exec_driver_sql("SET session_replication_role = replica")  # else each reference is looked up

        def multiply(table: sa.Table, count: int, where: str, **changed: str) -> None:
            names = [column.name for column in table.columns if column.name != "id" or "id" in changed]
            quoted = [connection.dialect.identifier_preparer.quote(name) for name in names]
            values = [changed.get(name, f"t.{text}") for name, text in zip(names, quoted, strict=True)]
            for first in range(1, count + 1, _BATCH):  # a store's statement has a time limit
                last = min(first + _BATCH - 1, count)
                connection.exec_driver_sql(
                    f"INSERT INTO {table.name} ({', '.join(quoted)}) SELECT {', '.join(values)} FROM (SELECT * FROM "
                    f"{table.name} WHERE {where} LIMIT 1) t, generate_series({first}, {last}) n"
                )

        new, uuid = "1000 + n", "gen_random_uuid()::text"
        many = {"tenants": size.tenants, "rules": size.rules, "schedules": size.schedules}
        multiply(tables.ROLES, many["tenants"], f"id = {role}", id=new, name="'tenant ' || n")
        multiply(tables.USERS, many["tenants"], "username = 'tenant'", id=new, username="'tenant ' || n")
        multiply(tables.USER_ROLES, many["tenants"], f"role_id = {role}", user_id=new, role_id=new)
        multiply(tables.ROLE_GRANTS, many["tenants"], f"role_id = {role}", role_id=new)
        multiply(tables.ROW_RULES, many["rules"], "id = 1", id=new, name="'rule ' || n")
        on = "row_rule_id = 1"
        multiply(tables.ROW_RULE_DATASETS, many["rules"], on, row_rule_id=new, dataset_id="1 + mod(n, 2)")
        of = f"1001 + mod(n / 2, {size.tenants})"
        multiply(tables.ROW_RULE_ROLES, many["rules"], on, row_rule_id=new, role_id=of)
        multiply(tables.REPORT_SCHEDULES, many["schedules"], "id = 1", id=new, uuid=uuid, name="'report ' || n")
        owned = "report_schedule_id = 1"
        multiply(tables.REPORT_SCHEDULE_OWNERS, many["schedules"], owned, report_schedule_id=new)
        multiply(tables.REPORT_PROGRESS, many["schedules"], "schedule_id = 1", schedule_id=new)
        multiply(tables.REPORT_EXECUTIONS, many["schedules"], "schedule_id = 2", schedule_id=new, uuid=uuid)
        multiply(tables.LOGS, size.logs, "action = 'view'", dttm="t.dttm - n * interval '1 second'")
        for table in (tables.ROLES, tables.USERS, tables.ROW_RULES, tables.REPORT_SCHEDULES):
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), (SELECT max(id) FROM {table.name}))"
            )
        connection.commit()
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def compare(small: Size = SMALL, large: Size = LARGE) -> Iterator[Ratio | Unmeasured]:
    """Fill two stores, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers, ExitStack() as stack:
        shop = make_shop(Path(folder) / "shop.db").removeprefix("sqlite:///")
        try:
            urls = [servers.postgres().make_database() for _ in range(2)]
        except ServerMissingError as missing:
            yield Unmeasured(name="simulation: postgres", why=str(missing))
            return
        stores = [SimulatedStore(url, shop, size) for url, size in zip(urls, (small, large), strict=True)]
        for store in stores:
            stack.callback(store.core.close)
        of_small, of_large = (store.calls() for store in stores)
        for name in of_small:
            few, many = medians_in_turns(of_small[name], of_large[name], rounds=ROUNDS, warm_up=WARM_UP)
            note = f"{few * 1000:.1f} ms and {many * 1000:.1f} ms"
            yield Ratio(name=f"simulation: {name}", value=many / few, goal=GOAL, note=note)
