"""What a question, a change, a page, a guest and a start cost with many rules, datasets and people, against with few.

Each call is timed by the clock, in turns on the small store and on the large one; the ratio of medians counts.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.many_records import engine_of, fill_many
from tests.support.servers import ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from analytics_core.testing.sample_data import make_shop
from benchmarks.report import Ratio, Unmeasured
from benchmarks.timing import Call, medians_in_turns

SMALL, LARGE = 100, 10_000
GOAL = 1.5
ROUNDS, WARM_UP = 15, 2


class Store:
    """A filled store, and what is done on it."""

    def __init__(self, url: str, shop: str, size: int) -> None:
        self.url = url
        self.settings = Settings(secret_key=secrets.token_urlsafe(32), data_roots=(Path(shop).parent,))
        self.core = AnalyticsCore(self.settings, metadata_url=url)
        first = self.core.create_first_administrator("admin", first_name="Ada")
        fill_many(self.core, people=size, datasets=size, roles=20, rules=size, charts=200, dashboards=100)
        with engine_of(self.core).connect() as connection:
            connection.exec_driver_sql("ANALYZE")
            connection.commit()
        self.admin_id = first.id
        self.admin = self.core.as_user(first.id)
        self._numbers = count()
        database = self.admin.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{shop}"})
        self.dataset = self.admin.datasets.create({"database": database.id, "table_name": "orders"}).id
        role = self.admin.roles.create({"name": "readers"})
        self.admin.roles.grant(role, on=("database", database.id))
        self.reader_id = self.admin.users.create({"username": "reader", "roles": [role.id]}).id
        rule = {"name": "web", "clause": "channel = 'web'", "filter_type": "Regular"}
        bound = {"roles": [role.id], "tables": [self.dataset]}
        self.rule = self.admin.row_level_security.create({**rule, **bound}).id
        self.token = self._token()

    def question(self, core: AnalyticsCore) -> Any:
        """Ask one question that no cache answers."""
        query = {"columns": ["category"], "metrics": [{"expressionType": "SQL", "sqlExpression": "COUNT(*)"}]}
        context = {"datasource": {"id": self.dataset, "type": "table"}, "queries": [query], "force": True}
        return core.charts.data(context).raise_for_error()

    def calls(self) -> dict[str, tuple[Call, Call]]:
        """Return what is done: what comes before each round, and what is timed."""
        admin = self.admin
        return {
            "start": (_nothing, self._start),
            "first question of a process": (_nothing, self._first_question),
            "question": (_nothing, lambda: self.question(self.core.as_user(self.reader_id))),
            "question after a rule has changed": (
                self._change_rule,
                lambda: self.question(self.core.as_user(self.reader_id)),
            ),
            "change of a rule": (_nothing, self._change_rule),
            "change of a chart": (_nothing, lambda: admin.charts.update(7, {"description": self._next()})),
            "change of a dataset": (
                _nothing,
                lambda: admin.datasets.update(self.dataset, {"description": self._next()}),
            ),
            "page of datasets": (_nothing, self.core.as_user(self.reader_id).datasets.list),
            "page of charts": (_nothing, self.core.as_user(self.reader_id).charts.list),
            "page of rules": (_nothing, admin.row_level_security.list),
            "page of people": (_nothing, admin.users.list),
            "guest's token": (_nothing, self._token),
            "guest's question": (_nothing, self._guest_question),
        }

    def close(self) -> None:
        """Close the core."""
        self.core.close()

    def _next(self) -> str:
        return f"text {next(self._numbers)}"

    def _start(self) -> None:
        AnalyticsCore(self.settings, metadata_url=self.url).close()

    def _first_question(self) -> None:
        with AnalyticsCore(self.settings, metadata_url=self.url) as core:
            self.question(core.as_user(self.reader_id))

    def _change_rule(self) -> None:
        self.admin.row_level_security.update(self.rule, {"description": self._next()})

    def _token(self) -> str:
        if not hasattr(self, "_embedded"):
            chart = {"slice_name": "embedded", "datasource_id": self.dataset, "datasource_type": "table"}
            board = self.admin.dashboards.create({"dashboard_title": "embedded"})
            self.admin.charts.create(chart | {"dashboards": [board.id]})
            self._embedded = self.admin.embedded.create(board.id, {"allowed_domains": []}).uuid
        resource = {"type": "dashboard", "id": self._embedded}
        rules = [{"dataset": self.dataset, "clause": "channel = 'app'"}]
        return self.admin.embedded.guest_token({"resources": [resource], "rls": rules, "user": {"username": "g"}})

    def _guest_question(self) -> None:
        self.core.as_guest(self.token).dashboards.list()


def _nothing() -> None:
    return


def compare(stores: tuple[str, ...] = ("sqlite", "postgres")) -> Iterator[Ratio | Unmeasured]:
    """Fill two stores of each kind, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers, ExitStack() as stack:
        shop = make_shop(Path(folder) / "shop.db").removeprefix("sqlite:///")
        for kind in stores:
            try:
                urls = [
                    f"sqlite:///{folder}/{size}.db" if kind == "sqlite" else servers.postgres().make_database()
                    for size in (SMALL, LARGE)
                ]
            except ServerMissingError as missing:
                yield Unmeasured(name=f"growth: {kind}", why=str(missing))
                continue
            filled = [Store(url, shop, size) for url, size in zip(urls, (SMALL, LARGE), strict=True)]
            for store in filled:
                stack.callback(store.close)
            yield from _growth(filled, kind)


def _growth(filled: list[Store], kind: str) -> Iterator[Ratio]:
    small, large = (store.calls() for store in filled)
    for name in small:
        few, many = medians_in_turns(small[name], large[name], rounds=ROUNDS, warm_up=WARM_UP)
        note = f"{few * 1000:.1f} ms with {SMALL}, {many * 1000:.1f} ms with {LARGE} rules, datasets and people"
        yield Ratio(name=f"growth of a {name}: {kind}", value=many / few, goal=GOAL, note=note)
