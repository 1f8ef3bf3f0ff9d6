"""Bring a dashboard into another store: `FROM_KEY=... TO_KEY=... python promote_content.py FROM_URL TO_URL SLUG`."""

import os
import sys
from pathlib import Path

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import AnalyticsError


def found(records, **named):
    """Return the id of the one record of this name, None when there is none."""
    filters = [{"col": k, "op": "is_null" if v is None else "eq", "val": v is None or v} for k, v in named.items()]
    page = records.list(filters)
    if page.count > 1:
        sys.exit(f"{page.count} records are named {named}; rename all but one")
    return page.result[0].id if page.count else None


def promote_dataset(dev, prod, dataset_id):
    old, payload = dev.datasets.get(dataset_id), dev.datasets.export_payload(dataset_id)
    database = found(prod.databases, database_name=old.database.database_name)
    if database is None:
        sys.exit(f"dataset {old.table_name!r} needs a database {old.database.database_name!r} in production")
    named = {"table_name": old.table_name, "schema": old.schema_name}
    new = found(prod.datasets, database_id=database, **named)
    new = new or prod.datasets.create({"database": database, "sql": old.sql, **named}).id
    prod.datasets.update(new, {"sql": old.sql})
    there = {column.column_name for column in prod.datasets.refresh(new).columns}
    if lacking := [c.column_name for c in old.columns if not c.expression and c.column_name not in there]:
        sys.exit(f"dataset {old.table_name!r} has no columns {', '.join(lacking)} in production")
    return prod.datasets.update(new, payload).id


def promote_chart(dev, prod, chart_id, dataset_ids):
    payload = dev.charts.export_payload(chart_id, dataset_ids=dataset_ids)
    named = {name: payload[name] for name in ("slice_name", "datasource_id", "datasource_type")}
    new = found(prod.charts, **named) or prod.charts.create(named).id
    return prod.charts.update(new, payload).id


def attached(prod, board, chart_ids):
    """Put charts on the dashboard that have no place in its layout, and leave them on their other dashboards."""
    for missing in chart_ids - {chart.id for chart in prod.dashboards.charts(board)}:
        others = [other.id for other in prod.charts.get(missing).dashboards]
        prod.charts.update(missing, {"dashboards": [*others, board]})
    return board


def promote(dev, prod, slug):
    """Make or update the dashboard in production, and return its id there; a new one is a draft."""
    source = dev.dashboards.get(slug)
    if not source.slug:
        sys.exit("the dashboard has no slug, by which a second run would know it; give it one")
    board = source.id
    names = [chart.slice_name for chart in dev.dashboards.charts(board)]
    if len(set(names)) < len(names):
        sys.exit("two charts of the dashboard have the same name; rename one")
    datasets = {old.id: promote_dataset(dev, prod, old.id) for old in dev.dashboards.datasets(board)}
    charts = {old.id: promote_chart(dev, prod, old.id, datasets) for old in dev.dashboards.charts(board)}
    payload = dev.dashboards.export_payload(board, chart_ids=charts, dataset_ids=datasets)
    new = found(prod.dashboards, slug=payload["slug"])
    there = prod.dashboards.update(new, payload) if new else prod.dashboards.create(payload)
    return attached(prod, there.id, set(charts.values()))


def opened(metadata_url, key):
    settings = Settings(secret_key=os.environ[key], data_roots=(Path.cwd(),))
    return AnalyticsCore(settings, metadata_url=metadata_url, acting_as=os.environ.get("ACTING_AS", "admin"))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: FROM_KEY=... TO_KEY=... python {sys.argv[0]} FROM_URL TO_URL DASHBOARD_SLUG")
    with opened(sys.argv[1], "FROM_KEY") as dev, opened(sys.argv[2], "TO_KEY") as prod:
        try:
            print("dashboard", promote(dev, prod, sys.argv[3]))
        except AnalyticsError as error:
            sys.exit(str(error))
