"""The service over a sample shop, for two tenants and one person of its staff.

Its keys and sessions are written down here, so they open the sample shop alone: `make_service` knows none of them.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Header, HTTPException, Request

import analytics_core
from analytics_core.testing.sample_data import make_shop

from .app import create_app
from .bodies import GuestToken

TENANTS = {"key-of-acme": ("acme", "France"), "key-of-bolt": ("bolt", "Germany")}
"""The demo's own keys, and for each the tenant with the country whose orders are theirs."""

STAFF = {"session-of-ada": "admin"}
"""The demo's own sessions, and for each the user who is signed in."""


def who_is_this(request: Request) -> str | None:
    """Tell whose session it is; a service of yours asks its own sign-in."""
    return STAFF.get(request.cookies.get("session", ""))


def make_demo(folder: Path | None = None, **settings: Any) -> FastAPI:
    """Return the service over the sample shop, with one chart on one dashboard, which two tenants see."""
    shop = make_shop((folder or Path(tempfile.mkdtemp())) / "shop.db")
    core = analytics_core.connect(shop, **settings)
    core.datasets.create({"database": 1, "table_name": "orders"})
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["country"], "metrics": ["count"]}]}
    chart = {"slice_name": "Orders", "datasource_id": 1, "datasource_type": "table"}
    made = core.charts.create({**chart, "query_context": json.dumps(question)})
    layout = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": made.id}}}
    dashboard = core.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
    core.embedded.create(dashboard.id, {"allowed_domains": ["https://shop.example"]})
    app = create_app(core, who_is_this=who_is_this)

    @app.post("/guest-token")
    def mint(authorization: Annotated[str, Header()] = "") -> GuestToken:
        known = TENANTS.get(authorization.removeprefix("Bearer "))
        if known is None:
            raise HTTPException(401, "sign in first")
        tenant, country = known
        request = {
            "user": {"username": tenant},
            "resources": [{"type": "dashboard", "id": str(dashboard.id)}],
            "rls": [{"clause": "country = {{ value('country') }}", "values": {"country": country}}],
        }
        return GuestToken(token=core.embedded.guest_token(request))

    return app
