"""What a dashboard of twelve charts takes, beside its charts asked one after the other, and several at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from tests.support.servers import LOOPBACK, ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from benchmarks.report import Ratio, Unmeasured
from benchmarks.timing import paired_ratio

CHARTS = 12
ROWS = 1_000_000
AT_A_TIME = 4
MOST_OVERHEAD = 1.1
LEAST_GAIN = 2.0
WAIT_S = 0.05


def compare() -> Iterator[Ratio | Unmeasured]:
    """Fill a table on PostgreSQL, make a dashboard over it, measure; no cache is read."""
    with private_servers() as servers:
        try:
            url = servers.postgres().make_database()
        except ServerMissingError as missing:
            yield Unmeasured(name="dashboard of 12 charts", why=str(missing))
            return
        _fill(url)
        settings = Settings(secret_key="a-key-of-the-benchmark-0123456789", allowed_networks=LOOPBACK)
        with AnalyticsCore(settings, metadata_url="sqlite://") as host:
            core = host.as_user(host.create_first_administrator("admin").id)
            core.databases.create({"database_name": "shop", "orm_uri": url})
            yield from _beside_its_charts(core, 1, _charts(core, "sales"))
            yield _several_at_a_time(core, 1, note="two cores are the most that statements of one process can gain")
            _charts(core, "far_sales")
            yield _several_at_a_time(core, 2, note=f"each statement waits {WAIT_S} s, as on a server far away")


def _beside_its_charts(core: AnalyticsCore, dashboard: int, charts: list[int]) -> Iterator[Ratio]:
    def one_by_one() -> Any:
        return [core.charts.data(chart, force=True) for chart in charts]

    yield Ratio(
        name=f"dashboard of {CHARTS} charts, one at a time: over its charts' own time",
        value=paired_ratio(lambda: _requested(core, dashboard, 1), one_by_one, rounds=5),
        goal=MOST_OVERHEAD,
    )


def _several_at_a_time(core: AnalyticsCore, dashboard: int, *, note: str) -> Ratio:
    several, one = (_requested(core, dashboard, parallel) for parallel in (AT_A_TIME, 1))
    return Ratio(
        name=f"dashboard of {CHARTS} charts, PostgreSQL: one at a time over {AT_A_TIME}",
        value=1 / paired_ratio(lambda: several, one, rounds=5),
        goal=LEAST_GAIN,
        at_least=True,
        note=note,
    )


def _requested(core: AnalyticsCore, dashboard: int, parallel: int) -> Callable[[], Any]:
    return lambda: core.dashboards.data(dashboard, parallel=parallel, force=True).raise_for_error()


def _charts(core: AnalyticsCore, table: str) -> list[int]:
    dataset = core.datasets.create({"database": 1, "table_name": table}).id
    count = {"expressionType": "SQL", "sqlExpression": "SUM(amount)", "label": "n"}
    made = []
    for number in range(CHARTS):
        query = {"columns": ["city"], "metrics": [count], "filters": [{"col": "number", "op": "!=", "val": number}]}
        context = {"datasource": {"id": dataset, "type": "table"}, "queries": [query]}
        chart = {"slice_name": f"chart {number}", "datasource_id": dataset, "datasource_type": "table"}
        made.append(core.charts.create({**chart, "query_context": json.dumps(context)}).id)
    places = {f"CHART-{key}": {"type": "CHART", "children": [], "meta": {"chartId": key}} for key in made}
    layout = {"ROOT_ID": {"type": "ROOT", "children": list(places)}, **places}
    core.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
    return made


def _fill(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    rows = f"SELECT n, MOD(n, 40), MOD(n, 97) FROM generate_series(1, {ROWS}) AS n"
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE sales AS SELECT n AS number, 'city ' || c AS city, a AS amount "
            f"FROM ({rows}) AS made (n, c, a)"
        )
        connection.exec_driver_sql(
            "CREATE VIEW far_sales AS SELECT number, city, amount FROM sales, "
            f"(SELECT pg_sleep({WAIT_S}) OFFSET 0) AS wait WHERE number <= 1000"
        )
        connection.exec_driver_sql("CREATE INDEX ON sales (number)")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE sales")
        database = sa.engine.make_url(url).database
        connection.exec_driver_sql(f'ALTER DATABASE "{database}" SET max_parallel_workers_per_gather = 0')
    engine.dispose()
