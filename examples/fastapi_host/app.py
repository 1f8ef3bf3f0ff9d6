"""A FastAPI service that shows one dashboard to many tenants, each inside its own rows.

Its staff authorize it at the provider of a database, so that it reaches the database on their behalf. Run it with
`fastapi dev examples/fastapi_host/app.py` (it takes `pip install "analytics-core" "fastapi[standard]"`);
docs/how-to/embed-dashboards.md and docs/how-to/oauth.md walk through it.
"""

import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Cookie, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError
from analytics_core.testing.sample_data import make_shop

TENANTS = {"key-of-acme": ("acme", "France"), "key-of-bolt": ("bolt", "Germany")}
"""The host's own keys, and for each the tenant with the country whose orders are theirs."""

STAFF = {"session-of-ada": "admin"}
"""The host's own sessions, and for each the user who is signed in."""

Bearer = Annotated[str, Header(alias="Authorization")]
Origin = Annotated[str | None, Header()]
Session = Annotated[str, Cookie()]
Question = Annotated[dict[str, Any] | None, Body()]


def create_app(
    core: AnalyticsCore,
    *,
    dashboard_id: int,
    tenants: Mapping[str, tuple[str, str]],
    staff: Mapping[str, str] | None = None,
) -> FastAPI:
    """Return the service; `core` acts as an administrator. Plain functions run in FastAPI's worker threads."""
    app = FastAPI()
    add_authorization(app, core, staff or {})

    @app.exception_handler(AnalyticsError)
    def reject(_request: Request, error: AnalyticsError) -> JSONResponse:
        return JSONResponse(error.to_payload(), status_code=error.status)

    @app.post("/guest-token")
    def mint(authorization: Bearer) -> dict[str, str]:
        known = tenants.get(authorization.removeprefix("Bearer "))
        if known is None:
            raise HTTPException(status_code=401, detail="sign in first")
        tenant, country = known
        request = {
            "user": {"username": tenant},
            "resources": [{"type": "dashboard", "id": str(dashboard_id)}],
            "rls": [{"clause": "country = {{ value('country') }}", "values": {"country": country}}],
        }
        return {"token": core.embedded.guest_token(request)}

    @app.get("/dashboard")
    def dashboard(authorization: Bearer, origin: Origin = None) -> dict[str, Any]:
        guest = core.as_guest(authorization.removeprefix("Bearer "), origin=origin)
        return guest.dashboards.get(dashboard_id).to_payload()

    @app.post("/charts/{chart_id}/data")
    def chart_data(
        chart_id: int,
        authorization: Bearer,
        origin: Origin = None,
        query: Annotated[dict[str, Any] | None, Body()] = None,
    ) -> Response:
        guest = core.as_guest(authorization.removeprefix("Bearer "), origin=origin)
        answer = guest.charts.data(query if query is not None else chart_id).raise_for_error()
        return Response(answer.to_json(), media_type="application/json")

    return app


def add_authorization(app: FastAPI, core: AnalyticsCore, staff: Mapping[str, str]) -> None:
    """Add the two routes by which somebody who is signed in authorizes the service at the provider of a database."""

    def signed_in(session: str) -> AnalyticsCore:
        if session not in staff:
            raise HTTPException(status_code=401, detail="sign in first")
        return core.as_user(staff[session])

    @app.get("/oauth/{database_id}/start")
    def start(database_id: int, session: Session = "", redirect_to: str | None = None) -> RedirectResponse:
        return RedirectResponse(signed_in(session).oauth.start(database_id, redirect_to).url)

    @app.get("/oauth/callback")
    def callback(
        state: str, code: str | None = None, error: str | None = None, session: Session = ""
    ) -> RedirectResponse:
        done = signed_in(session).oauth.callback(state=state, code=code, error=error)
        return RedirectResponse(done.redirect_to or "/dashboard")


def make_demo(folder: Path, **settings: Any) -> FastAPI:
    """Return the service over the sample shop, with one chart on one dashboard."""
    core = analytics_core.connect(make_shop(folder / "shop.db"), **settings)
    core.datasets.create({"database": 1, "table_name": "orders"})
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["country"], "metrics": ["count"]}]}
    chart = {"slice_name": "Orders", "datasource_id": 1, "datasource_type": "table"}
    made = core.charts.create({**chart, "query_context": json.dumps(question)})
    layout = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": made.id}}}
    dashboard = core.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
    core.embedded.create(dashboard.id, {"allowed_domains": ["https://shop.example"]})
    return create_app(core, dashboard_id=dashboard.id, tenants=TENANTS, staff=STAFF)


@cache
def _demo() -> FastAPI:
    return make_demo(Path(tempfile.mkdtemp()))


def __getattr__(name: str) -> FastAPI:
    """Make the demo when a server asks for `app`, not when a test imports the module."""
    if name != "app":
        raise AttributeError(name)
    return _demo()


def __dir__() -> list[str]:
    """Name `app` too: the command of FastAPI looks for it here."""
    return [*globals(), "app"]
