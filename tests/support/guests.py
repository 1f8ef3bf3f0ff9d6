"""A small shop of two tenants behind one embedded dashboard, and the guests of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import sqlalchemy as sa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from tests.support.servers import LOOPBACK
from tests.support.templates import copied_file, furnish

from analytics_core import AnalyticsCore, Settings
from analytics_core._engine.rights.policy import Policy
from analytics_core.ports import Observer, Renderer
from analytics_core.testing import Outbox
from analytics_core.testing.clock import FixedClock

KEY = "k3y-of-the-embedding-host-0123456789"
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
AUDIENCE = "analytics_core"
RULE = {"clause": "tenant = {{ value('tenant') }}", "values": {"tenant": "acme"}}
ROWS = (
    (1, "acme", "Bonn", 10, "2024-01-01"),
    (2, "acme", "Kiel", 20, "2024-02-01"),
    (3, "acme", "Bonn", 30, "2024-03-01"),
    (4, "globex", "Oslo", 1_000, "2024-01-01"),
    (5, "globex", "Rome", 2_000, "2024-02-01"),
    (6, "globex' OR '1'='1", "Pisa", 4_000, "2024-03-01"),
)
QUERY = {
    "columns": ["city"],
    "metrics": ["revenue"],
    "orderby": [["revenue", False]],
    "row_limit": 100,
    "time_range": "2024-01-01 : 2025-01-01",
    "granularity": "day",
}
FILTERS = [
    {
        "id": "NATIVE_FILTER-city",
        "filterType": "filter_select",
        "targets": [{"datasetId": 1, "column": {"name": "city"}}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": [2]},
    },
    {"id": "NATIVE_FILTER-time", "filterType": "filter_time", "targets": [{}], "chartsInScope": [1]},
]


@dataclass(frozen=True, kw_only=True)
class GuestWorld:
    """A host's core; dashboard 1 has the charts 1 (by city) and 2 (raw rows) on dataset 1; dashboard 2 has chart 3."""

    host: AnalyticsCore
    admin: AnalyticsCore
    clock: FixedClock
    uuid: str

    def request(self, *rules: Mapping[str, Any], **user: Any) -> dict[str, Any]:
        """Return a request for a token of dashboard 1."""
        resources = [{"type": "dashboard", "id": self.uuid}]
        return {"resources": resources, "rls": list(rules), "user": {"username": "guest", **user}}

    def token(self, tenant: str | None = None, *, life_s: float | None = None, **user: Any) -> str:
        """Return a token of a tenant's guest; None: of all rows."""
        rules = () if tenant is None else ({**RULE, "values": {"tenant": tenant}},)
        request = self.request(*rules, **user)
        return self.admin.embedded.guest_token(request, life_s=life_s, all_rows=tenant is None)

    def guest(self, tenant: str | None = "acme", *, origin: str | None = None, **user: Any) -> AnalyticsCore:
        """Return the core of a tenant's guest."""
        return self.host.as_guest(self.token(tenant, **user), origin=origin)


@contextmanager
def guest_world(
    url: str,
    *,
    metadata_url: str = "sqlite://",
    policy: Policy | None = None,
    observer: Observer | None = None,
    renderer: Renderer | None = None,
    more: Callable[[AnalyticsCore], object] | None = None,
    **settings: Any,
) -> Iterator[GuestWorld]:
    """Fill the database of `url` and give the world over it; `more` stores further content as the administrator."""
    engine, _, file = url.partition(":///")
    if file and not Path(file).exists():  # else the test has put other tables there
        copied_file(Path(file), f"guests {engine}", lambda _file: fill(url))
    else:
        fill(url)
    clock = FixedClock(NOW)
    choices = Settings(**{"secret_key": KEY, "metadata_freshness_s": 0, "allowed_networks": LOOPBACK, **settings})
    with AnalyticsCore(
        choices,
        metadata_url=metadata_url,
        clock=clock,
        policy=policy,
        observer=observer,
        renderer=renderer,
        notifiers=[Outbox()],
        allowed_files=[file] if file else [],
    ) as host:
        if policy or observer or renderer or not file or metadata_url != "sqlite://":
            _create_content(host, url, more)
        else:
            key = f"guests {engine} {more} {sorted(settings.items())}"
            furnish(host, key, lambda: _create_content(host, url, more), file=Path(file))
        admin = host.as_user(1)
        yield GuestWorld(host=host, admin=admin, clock=clock, uuid=admin.embedded.get(1).uuid or "")


def _create_content(host: AnalyticsCore, url: str, more: Callable[[AnalyticsCore], object] | None) -> None:
    admin = host.as_user(host.create_first_administrator("admin").id)
    admin.databases.create({"database_name": "shop", "orm_uri": url})
    dataset = admin.datasets.create({"database": 1, "table_name": "sales"})
    admin.datasets.create({"database": 1, "table_name": "secrets"})
    metrics = [
        {"metric_name": "count", "expression": "COUNT(*)"},
        {"metric_name": "revenue", "expression": "SUM(amount)"},
    ]
    admin.datasets.update(dataset.id, {"metrics": metrics})
    for name, query in (("by city", QUERY), ("rows", {"columns": ["id", "city"], "row_limit": 2})):
        admin.charts.create(chart(name, 1, query))
    admin.charts.create(chart("hidden", 2, {"columns": ["word"]}))
    admin.charts.create(chart("lonely", 1, QUERY))
    admin.dashboards.create(dashboard("shown", 1, 2))
    admin.dashboards.create(dashboard("other", 3))
    admin.embedded.create(1, {"allowed_domains": []})
    admin.embedded.create(2, {"allowed_domains": []})
    if more is not None:
        more(admin)


def people_of(world: GuestWorld) -> dict[str, AnalyticsCore]:
    """Return an owner and a reader who may query database 1, and a stranger without a grant."""
    role = world.admin.roles.create({"name": "analysts"})
    world.admin.roles.grant(role, on=("database", 1))
    roles = {"owner": [role.id], "reader": [role.id], "stranger": []}
    return {
        name: world.host.as_user(world.admin.users.create({"username": name, "roles": role_ids}).id)
        for name, role_ids in roles.items()
    }


def fill(url: str) -> None:
    """Make the tables `sales` and `secrets`."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    statements = [
        "CREATE TABLE sales (id INTEGER, tenant VARCHAR(30), city VARCHAR(20), amount INTEGER, day DATE)",
        *(f"INSERT INTO sales VALUES ({i}, '{sql_text(t)}', '{c}', {a}, '{d}')" for i, t, c, a, d in ROWS),
        "CREATE TABLE secrets (word VARCHAR(20))",
        "INSERT INTO secrets VALUES ('hidden-word')",
    ]
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def sql_text(text: str) -> str:
    """Return a text with its quotes doubled."""
    return text.replace("'", "''")


def chart(name: str, dataset: int, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a chart with one query."""
    return {
        "slice_name": name,
        "viz_type": "table",
        "datasource_id": dataset,
        "datasource_type": "table",
        "params": json.dumps({"metrics": ["revenue"]}),
        "query_context": json.dumps(context(query, dataset=dataset)),
    }


def context(query: Mapping[str, Any], *, dataset: int = 1, **options: Any) -> dict[str, Any]:
    """Return a query context."""
    return {"datasource": {"id": dataset, "type": "table"}, "queries": [dict(query)], **options}


def requested(chart_id: int = 1, *, base: Mapping[str, Any] = QUERY, **changes: Any) -> dict[str, Any]:
    """Return a guest's query context for a chart: the stored query with changes."""
    return context({**base, **changes}, form_data={"slice_id": chart_id})


def dashboard(title: str, *chart_ids: int) -> dict[str, Any]:
    """Return the payload of a published dashboard with these charts."""
    layout: dict[str, Any] = {"ROOT_ID": {"type": "ROOT", "children": [f"CHART-{key}" for key in chart_ids]}}
    for key in chart_ids:
        layout[f"CHART-{key}"] = {"type": "CHART", "children": [], "meta": {"chartId": key}}
    metadata = {"native_filter_configuration": FILTERS if 1 in chart_ids else []}
    return {
        "dashboard_title": title,
        "published": True,
        "position_json": json.dumps(layout),
        "json_metadata": json.dumps(metadata),
    }


def signing_key(secret: str = KEY, *, purpose: str = "analytics_core/guest-token/v1") -> bytes:
    """Return the key of a purpose, derived as the library does, without its code."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret.encode())


def claims(world: GuestWorld, **changes: Any) -> dict[str, Any]:
    """Return the claims of a good token with changes; None takes a claim away."""
    issued = world.clock.now().timestamp()
    good = {
        "type": "guest",
        "aud": AUDIENCE,
        "iat": issued,
        "exp": issued + 300,
        "jti": "0123456789abcdef0123",
        "sub": "guest",
        "user": {"username": "guest"},
        "resources": [{"type": "dashboard", "id": world.uuid}],
        "rls_rules": [RULE],
        "all_rows": False,
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def forged(world: GuestWorld, *, key: Any = None, algorithm: str = "HS256", headers: Any = None, **changes: Any) -> str:
    """Return a token that the library did not sign."""
    return jwt.encode(claims(world, **changes), key or signing_key(), algorithm=algorithm, headers=headers)


def later(world: GuestWorld, seconds: float) -> None:
    """Move the clock of the world."""
    world.clock.advance(timedelta(seconds=seconds))
