"""A core with one chart to be sent, an outbox, and a clock that tests move."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.templates import copied_file, furnish

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.models.report import ReportExecutionLogListItem
from analytics_core.ports import JobRunner, Message, Notifier, Observer, Renderer
from analytics_core.testing import FakeRenderer, InlineJobRunner, Outbox
from analytics_core.testing.clock import FixedClock

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = "a-test-key-that-is-long-enough-9f3a"
HOUR = timedelta(hours=1)
TOTAL: Final = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM", "label": "total"}
ROWS = [(1, "2026-01-01", "EU", 10.5), (2, "2026-01-02", "US", 20.0), (3, "2026-01-03", "US", 1.0)]


class NoPause:
    """A sleeper that does not sleep, and counts for how long it should."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def sleep(self, seconds: float) -> None:
        """Return at once."""
        self.slept_s += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWorld:
    """The core that nobody acts on, its administrator's, and what they send."""

    host: AnalyticsCore
    admin: AnalyticsCore
    outbox: Outbox
    clock: FixedClock
    file: Path

    def report(self, core: AnalyticsCore | None = None, **changes: Any) -> Any:
        """Create a report on the chart that is due at each full hour."""
        payload = {"name": "orders", "type": "Report", "crontab": "0 * * * *", "report_format": "TEXT", "chart": 1}
        return (core or self.admin).reports.create({**payload, "recipients": [mail("bob@example.com")], **changes})

    def alert(self, core: AnalyticsCore | None = None, **changes: Any) -> Any:
        """Create an alert on the number of orders that is due at each full hour; it fires."""
        fields = {
            "type": "Alert",
            "name": "many orders",
            "database": 1,
            "sql": "SELECT COUNT(*) AS n FROM orders",
            "validator_type": "Operator",
            "validator_config_json": {"op": ">", "threshold": 2},
        }
        return self.report(core, **{**fields, **changes})

    def last_message(self) -> Message:
        """Return the last message that was sent."""
        return self.outbox.sent[-1].message

    def person(self, name: str, *grants: Any, **facts: Any) -> AnalyticsCore:
        """Return the core as somebody new sees it."""
        role = self.admin.roles.create({"name": f"role of {name}"})
        for grant in grants:
            self.admin.roles.grant(role, on=grant)
        user = self.admin.users.create({"username": name, "first_name": name, "roles": [role.id], **facts})
        return self.host.as_user(user.id)

    def pass_time(self, step: timedelta = HOUR) -> Any:
        """Let time pass, and look for what is due."""
        self.clock.advance(step)
        return self.host.scheduler.tick()

    def runs(self, schedule: Any) -> list[ReportExecutionLogListItem]:
        """Return the runs of a schedule, the earliest first."""
        return list(self.admin.reports.executions(schedule.id, order_by="scheduled_dttm", page_size=1_000))

    def states(self, schedule: Any) -> list[str]:
        """Return how the runs of a schedule ended, the earliest first."""
        return [run.state for run in self.runs(schedule)]

    def deliveries(self, schedule: Any) -> list[tuple[str, str]]:
        """Return addresses and states of the last run's deliveries."""
        last = self.runs(schedule)[-1].id
        with self.host._runtime.content.store.unit_of_work() as unit:
            of_run = ListQuery(filters=(ListFilter(col="execution_id", op="eq", val=last),))
            return [(one.address, one.state) for one in unit.report_deliveries.list(of_run)[1]]

    def run_sql(self, script: str) -> None:
        """Change the data as their owner would."""
        with closing(sqlite3.connect(self.file)) as connection:
            connection.executescript(script)


def mail(target: str, **more: str) -> dict[str, Any]:
    """Return a recipient by e-mail."""
    return {"type": "Email", "recipient_config_json": {"target": target, **more}}


def chat(target: str) -> dict[str, Any]:
    """Return a recipient in a chat."""
    return {"type": "Chat", "recipient_config_json": {"target": target}}


def form(dataset_id: int, **more: Any) -> str:
    """Return the form of a table of sums by region."""
    fields = {"viz_type": "table", "datasource": f"{dataset_id}__table", "query_mode": "aggregate"}
    return json.dumps({**fields, "groupby": ["region"], "metrics": [TOTAL], "order_by_cols": [], **more})


def filtered_dashboard(core: AnalyticsCore, **more: Any) -> int:
    """Create a dashboard of the first chart with a filter of regions, and return its id."""
    native = {
        "id": "NATIVE_FILTER-r",
        "name": "Region",
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "region"}}],
        "defaultDataMask": {"filterState": {}},
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
    }
    layout = {
        "ROOT_ID": {"id": "ROOT_ID", "type": "ROOT", "children": ["TAB-1"]},
        "TAB-1": {"id": "TAB-1", "type": "TAB", "children": ["CHART-1"], "meta": {"text": "Regions"}},
        "CHART-1": {"id": "CHART-1", "type": "CHART", "children": [], "meta": {"chartId": 1}},
    }
    metadata = json.dumps({"native_filter_configuration": [native]})
    fields = {"dashboard_title": "Shop", "position_json": json.dumps(layout), "json_metadata": metadata}
    return core.dashboards.create({**fields, **more}).id


@contextmanager
def report_world(
    folder: Path,
    *,
    jobs: JobRunner | None = None,
    settings: Mapping[str, Any] | None = None,
    url: str = "sqlite://",
    notifiers: Sequence[Notifier] = (),
    renderer: Renderer | None = None,
    observer: Observer | None = None,
) -> Iterator[ReportWorld]:
    """Give a world whose clock stands at noon of the first of May; the outbox takes what no other notifier takes."""
    file, clock, outbox = copied_file(folder / "shop.db", "reports", _make), FixedClock(NOON), Outbox()
    chosen = Settings(secret_key=KEY, data_roots=(folder,), **{"metadata_freshness_s": 0, **(settings or {})})
    with AnalyticsCore(
        chosen,
        metadata_url=url,
        clock=clock,
        notifiers=[*notifiers, outbox],
        jobs=jobs,
        sleeper=NoPause(),
        renderer=FakeRenderer() if renderer is None else renderer,
        observer=observer,
    ) as host:
        if url != "sqlite://":
            _create_content(host, file)
        else:
            furnish(host, f"reports {settings}", lambda: _create_content(host, file), file=file)
        yield ReportWorld(host=host, admin=host.as_user(1), outbox=outbox, clock=clock, file=file)


def _make(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, day DATE, region VARCHAR(10), amount REAL)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ROWS)
        connection.commit()


def _create_content(host: AnalyticsCore, file: Path) -> None:
    admin = host.as_user(host.create_first_administrator("ada", email="ada@example.com").id)
    admin.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{file}"})
    dataset = admin.datasets.create({"database": 1, "table_name": "orders"})
    fields = {"datasource_id": dataset.id, "datasource_type": "table", "params": form(dataset.id)}
    admin.charts.create({"slice_name": "By region", "viz_type": "table", **fields})


@pytest.fixture
def renderer() -> FakeRenderer:
    """A renderer that keeps what it is asked for."""
    return FakeRenderer()


@pytest.fixture
def drawing_world(tmp_path: Path, renderer: FakeRenderer) -> Iterator[ReportWorld]:
    """A world whose jobs are done at once and whose pictures `renderer` draws."""
    with report_world(tmp_path, jobs=InlineJobRunner(), renderer=renderer) as made:
        yield made


def until(condition: Callable[[], Any], *, seconds: float = 60) -> bool:
    """Wait until something holds; return whether it does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())
