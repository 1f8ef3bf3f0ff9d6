"""A core with something of everything in it: what the examples of the documentation are run on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from analytics_core._core.adapters.job_runners import InlineJobRunner
from analytics_core._core.facade import AnalyticsCore
from analytics_core._records.settings import Settings
from analytics_core.models.database import OAuth2ContentType
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.outbox import Outbox
from analytics_core.testing.sample_data import make_shop

NOW: Final = datetime(2025, 1, 1, 9, tzinfo=UTC)
"""What time it is for an example: the shop's last order is of the day before."""

_KEY: Final = "an-example-key-that-keeps-nothing-secret-9f3a"
_CLIENT: Final = {
    "id": "analytics",
    "secret": "what-the-provider-gave",
    "scope": "openid offline_access",
    "authorization_request_uri": "https://login.example/authorize",
    "token_request_uri": "https://login.example/token",
}


def example_core(folder: str | Path = ".", *, outbox: Outbox | None = None) -> AnalyticsCore:
    """Return a core on a small shop, as the examples of docstrings have it under the name `core`.

    Ada, an administrator, acts; Grace is an analyst, who sees orders of Germany alone. There are the databases `shop`
    and `warehouse` (which people sign in to), the datasets `orders` (with a metric `revenue`) and `big_orders`
    (virtual), two charts on the dashboard `sales`, an annotation, a style sheet, a tag, a row rule and a report. It is
    nine o'clock of the first of January 2025.

    Args:
        folder: where its files lie, `example.db` and `shop.db`; made where it is not there. Where they are already, the
            same core is opened again.
        outbox: keeps what reports send.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> core = example_core(folder.name)
        >>> [chart.slice_name for chart in core.charts.list(order_by="id")]
        ['Revenue by country', 'Revenue by month']
        >>> core.close()
        >>> folder.cleanup()
    """
    home = Path(folder).resolve()
    home.mkdir(exist_ok=True)
    store, shop = home / "example.db", home / "shop.db"
    is_new = not store.exists()
    core = AnalyticsCore(
        Settings(
            secret_key=_KEY,
            data_roots=(home,),
            oauth2_clients={"warehouse": _CLIENT},
            oauth2_redirect_origins=("https://app.example",),
            available_domains=("app.example",),
            url_for=_address,
        ),
        metadata_url=f"sqlite:///{store}",
        notifiers=[Outbox() if outbox is None else outbox],
        clock=FixedClock(NOW),
        jobs=InlineJobRunner(),
        token_endpoint=_Provider(),
    )
    if is_new:
        core.create_first_administrator("ada", first_name="Ada", last_name="Lovelace", email="ada@example.com")
        _fill(core.as_user("ada"), make_shop(shop, days=120))
    return core.as_user("ada")


def _address(kind: str, values: Mapping[str, Any]) -> str | None:
    return f"https://app.example/{kind}/{'/'.join(str(value) for value in values.values() if value is not None)}"


class _Provider:
    """Answers as a provider of OAuth 2.0 that agrees to everything (port `TokenEndpoint`)."""

    def request(
        self,
        uri: str,  # noqa: ARG002 - the port's names
        fields: Mapping[str, str],
        *,
        content_type: OAuth2ContentType,  # noqa: ARG002 - the port's names
        timeout_s: float,  # noqa: ARG002 - the port's names
    ) -> dict[str, Any]:
        """Return tokens whose text tells what they were given for."""
        return {"access_token": f"token for {fields['grant_type']}", "expires_in": 3600, "refresh_token": "renew-me"}


def _fill(core: AnalyticsCore, shop: str) -> None:
    for name in ("shop", "warehouse"):
        core.databases.create({"database_name": name, "sqlalchemy_uri": shop})
    core.datasets.create({"database": 1, "table_name": "orders"})
    revenue = {"metric_name": "revenue", "expression": "SUM(amount)", "verbose_name": "Revenue"}
    core.datasets.update(1, {"main_dttm_col": "order_date", "metrics": [revenue]})
    core.datasets.create({"database": 1, "table_name": "big_orders", "sql": "SELECT * FROM orders WHERE amount > 100"})
    orders = core.dataset("orders")
    orders.query("revenue").by("country").top(3).chart("bar").save_as("Revenue by country")
    orders.query("revenue").during(grain="month").chart("line").save_as("Revenue by month")
    _fill_pages(core)
    _fill_people(core)


def _fill_pages(core: AnalyticsCore) -> None:
    country = {
        "id": "country",
        "name": "Country",
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "country"}}],
    }
    core.dashboards.create(
        {
            "dashboard_title": "Sales",
            "slug": "sales",
            "published": True,
            "json_metadata": json.dumps({"native_filter_configuration": [country]}),
        }
    )
    for chart_id in (1, 2):
        core.charts.update(chart_id, {"dashboards": [1]})
    core.annotation_layers.create({"name": "Holidays"})
    core.annotations.create(
        1, {"short_descr": "Christmas", "start_dttm": "2024-12-25T00:00:00Z", "end_dttm": "2024-12-26T00:00:00Z"}
    )
    core.css_templates.create({"template_name": "Quiet", "css": ".header { color: gray; }"})
    core.tags.create({"name": "key figures"})
    core.tags.tag("chart", 1, ["key figures"])


def _fill_people(core: AnalyticsCore) -> None:
    analysts = core.roles.create({"name": "Analysts"})
    core.roles.grant(analysts.id, on=core.datasets.get("orders"))
    core.users.create({"username": "grace", "first_name": "Grace", "last_name": "Hopper", "roles": [analysts.id]})
    core.row_level_security.create(
        {
            "name": "Germany alone",
            "filter_type": "Regular",
            "clause": "country = 'Germany'",
            "tables": [1],
            "roles": [analysts.id],
        }
    )
    core.reports.create(
        {
            "name": "Sales of the week",
            "type": "Report",
            "crontab": "0 9 * * MON",
            "chart": 1,
            "report_format": "TEXT",
            "recipients": [{"type": "Email", "recipient_config_json": {"target": "bob@example.com"}}],
        }
    )
