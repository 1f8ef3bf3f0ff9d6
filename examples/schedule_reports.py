"""Makes a report and an alert on the sample shop, lets a week pass, and shows what would have been sent to whom."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_urlsafe

from analytics_core import AnalyticsCore, Settings
from analytics_core.testing import FixedClock, Outbox
from analytics_core.testing.sample_data import make_shop

MONDAY = datetime(2025, 3, 3, 12, tzinfo=UTC)
FORM = {"viz_type": "table", "groupby": ["country"], "metrics": ["count"], "row_limit": 5}
TO_BOB = {"type": "Email", "recipient_config_json": {"target": "Bob <bob@example.com>"}}
TO_CHANNEL = {"type": "Chat", "recipient_config_json": {"target": "#sales"}}


def main() -> None:
    """Let a week pass in a moment."""
    outbox, clock = Outbox(), FixedClock(MONDAY)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(secret_key=token_urlsafe(32), data_roots=(Path(folder),))
        with AnalyticsCore(settings, notifiers=[outbox], clock=clock) as core:
            schedule(core, make_shop(Path(folder) / "shop.db"))
            for _ in range(7):
                clock.advance(timedelta(days=1))
                print(f"{clock.now():%a}", core.scheduler.tick())
    for entry in outbox.sent:
        files = ", ".join(file.name for file in entry.message.attachments)
        print(entry.recipient.to[0], "|", entry.message.subject, "|", files)


def schedule(core: AnalyticsCore, url: str) -> None:
    """Store a report of each day, and an alert that fires at once and then keeps still for three days."""
    ada = core.as_user(core.create_first_administrator("ada", email="ada@example.com").id)
    shop = ada.databases.create({"database_name": "shop", "sqlalchemy_uri": url})
    orders = ada.datasets.create({"database": shop.id, "table_name": "orders"})
    source = {"datasource_id": orders.id, "datasource_type": "table", "params": json.dumps(FORM)}
    chart = ada.charts.create({"slice_name": "Orders by country", **source})
    daily = {"crontab": "0 9 * * *", "timezone": "Europe/Berlin", "chart": chart.id}
    ada.reports.create(
        {**daily, "name": "Orders", "type": "Report", "report_format": "CSV", "recipients": [TO_BOB, TO_CHANNEL]}
    )
    alert = {
        "database": shop.id,
        "sql": "SELECT COUNT(*) FROM orders WHERE returned = 1",
        "validator_type": "Operator",
        "validator_config_json": {"op": ">", "threshold": 100},
        "grace_period": 3 * 86_400,
    }
    ada.reports.create(
        {**daily, **alert, "name": "Many returns", "type": "Alert", "report_format": "TEXT", "recipients": [TO_BOB]}
    )


if __name__ == "__main__":
    main()
