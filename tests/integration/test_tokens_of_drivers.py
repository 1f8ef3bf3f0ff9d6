"""Databases with an OAuth 2.0 client are asked with the token of whoever asks, and with nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from tests.support.oauth_provider import CLIENT_SECRET, Provider, provider
from tests.support.servers import LOOPBACK, MariadbServer, PrivateServer
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore, errors
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core.errors import ErrorType
from analytics_core.testing.clock import FixedClock

pytestmark = pytest.mark.server
WHO = {"postgresql": "SELECT current_user AS who", "mysql": "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1) AS who"}


@dataclass
class Guarded:
    """A database on a server whose accounts are the users, and whose passwords are their tokens."""

    shop: SmallCore
    guard: Provider
    server: PrivateServer
    engine: str
    clock: FixedClock
    database_id: int = 0
    dataset_id: int = 0

    suffix: str = field(default_factory=lambda: uuid4().hex[:12])

    def name(self, person: str) -> str:
        """Return the account of a person, which no other test has: the servers serve them all."""
        return f"{person}_{self.suffix}"

    def make_account(self, name: str) -> None:
        if self.engine == "postgresql":
            known = [row[0] for row in self.server.execute("SELECT rolname FROM pg_roles")]
            if "by_password" not in known:
                with suppress(*self.server.driver_errors()):  # another worker made it meanwhile
                    self.server.execute("CREATE ROLE by_password")
            self.server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'none yet' IN ROLE by_password")
        else:
            self.server.execute(f"CREATE USER {name}@'%' IDENTIFIED BY 'none yet'", f"GRANT ALL ON *.* TO {name}@'%'")

    def set_password(self, name: str, password: str) -> None:
        if self.engine == "postgresql":
            self.server.execute(f"ALTER ROLE {name} PASSWORD '{password}'")
        else:
            self.server.execute(f"ALTER USER {name}@'%' IDENTIFIED BY '{password}'")

    def sign_in(self, core: AnalyticsCore, name: str) -> str:
        """Let a user sign in at the provider, and the server know their token."""
        core.oauth.callback(**self.guard.authorize(core.oauth.start(self.database_id).url, name))
        token = self.guard.issued[-1]
        self.set_password(name, token)
        return token

    @property
    def question(self) -> dict[str, Any]:
        source = {"id": self.dataset_id, "type": "table"}
        return {"datasource": source, "queries": [{"columns": ["who"], "metrics": []}]}

    def who(self, core: AnalyticsCore, **options: Any) -> str:
        (row,) = core.charts.data({**self.question, **options}).raise_for_error().results[0].data
        return str(row["who"]).removesuffix(f"_{self.suffix}")


@pytest.fixture
def world(tls_server: PrivateServer, tmp_path: Path) -> Iterator[Guarded]:
    engine = "mysql" if isinstance(tls_server, MariadbServer) else "postgresql"
    clock = FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    with provider() as guard:
        settings: dict[str, Any] = {"oauth2_http_hosts": ("127.0.0.1",), "allowed_networks": LOOPBACK}
        with small_core(tmp_path, ports={"clock": clock}, **settings) as shop:
            made = Guarded(shop=shop, guard=guard, server=tls_server, engine=engine, clock=clock)
            url = sa.make_url(tls_server.make_database()).set(username="nobody", password=None)
            database = shop.core.databases.create(
                {
                    "database_name": "guarded",
                    "orm_uri": url.render_as_string(hide_password=False),
                    "impersonate_user": True,
                    "extra": json.dumps({"oauth2_client_info": guard.client()}),
                }
            )
            made.database_id = database.id
            made.dataset_id = _dataset_of(made)
            yield made


def _dataset_of(world: Guarded) -> int:
    """Make the dataset as somebody did who had signed in."""
    with world.shop.core._runtime.content.store.unit_of_work() as unit:
        record = Dataset(
            uuid=str(uuid4()),
            database_id=world.database_id,
            table_name="who",
            sql=WHO[world.engine],
            columns=(DatasetColumn(column_name="who", type="VARCHAR(80)"),),
        )
        return unit.datasets.add(record, actor_id=1).id


def stranger(world: Guarded, person: str) -> AnalyticsCore:
    """Return a user who may read the database, and who has not signed in."""
    return world.shop.reader(("database", world.database_id), username=world.name(person))


def user(world: Guarded, person: str) -> AnalyticsCore:
    """Return a user who may read the database, and who has signed in."""
    core = stranger(world, person)
    world.make_account(world.name(person))
    world.sign_in(core, world.name(person))
    return core


def test_each_user_is_asked_for_by_their_own_token_and_no_answer_is_shared(world: Guarded) -> None:
    ada, ben = user(world, "ada"), user(world, "ben")
    assert [world.who(ada), world.who(ben), world.who(ada)] == ["ada", "ben", "ada"]
    assert [ada.charts.data(world.question).results[0].is_cached, world.who(ben)] == [True, "ben"]


def test_who_has_not_signed_in_is_sent_to_the_provider(world: Guarded) -> None:
    ben = stranger(world, "ben")
    with pytest.raises(errors.OAuth2RedirectError) as rejection:
        ben.charts.data(world.question).raise_for_error()
    assert rejection.value.extra["url"].startswith(f"{world.guard.url}/authorize?")
    assert rejection.value.error_type is ErrorType.OAUTH2_REDIRECT
    with pytest.raises(errors.OAuth2RedirectError):
        ben.databases.schemas(world.database_id)


def test_a_token_that_the_database_refuses_is_told_with_the_way_to_sign_in(world: Guarded) -> None:
    ada = user(world, "ada")
    world.set_password(world.name("ada"), "another one")
    with pytest.raises(errors.DatabaseError) as rejection:
        ada.charts.data({**world.question, "force": True}).raise_for_error()
    types = [item.error_type for item in rejection.value.items()]
    assert types[-1] is ErrorType.OAUTH2_REDIRECT
    assert types[0] in (ErrorType.CONNECTION_INVALID_PASSWORD_ERROR, ErrorType.CONNECTION_ACCESS_DENIED_ERROR)
    assert rejection.value.items()[-1].extra["url"].startswith(world.guard.url)
    assert world.guard.issued[-1] not in f"{rejection.value!r} {rejection.value.to_payload()}"


def test_a_token_that_is_over_is_renewed_and_connections_are_made_with_the_new_one(world: Guarded) -> None:
    ada = user(world, "ada")
    assert world.who(ada) == "ada"
    world.clock.advance(timedelta(hours=2))
    world.guard.requests.clear()
    first = ada.oauth.access_token(world.database_id)
    assert first == world.guard.issued[-1]
    world.set_password(world.name("ada"), first)
    assert world.who(ada, force=True) == "ada"
    assert dict(world.guard.requests) == {"refresh_token": 1}


def test_who_takes_their_token_back_is_not_asked_for_any_more(world: Guarded) -> None:
    ada = user(world, "ada")
    assert world.who(ada) == "ada"
    assert ada.databases.schemas(world.database_id)
    ada.oauth.forget(world.database_id)
    for options in ({}, {"force": True}):  # what was kept of their answers is not shown to who signed out
        with pytest.raises(errors.OAuth2RedirectError):
            ada.charts.data({**world.question, **options}).raise_for_error()
    with pytest.raises(errors.OAuth2RedirectError):
        ada.databases.schemas(world.database_id)


def test_a_job_asks_with_the_token_of_who_submitted_it(world: Guarded) -> None:
    ada, ben = user(world, "ada"), user(world, "ben")
    jobs = [core.charts.submit(world.question, force=True) for core in (ada, ben)]
    assert all(job.wait(30) for job in jobs)
    rows = [job.result().results[0].data for job in jobs]
    assert rows == [[{"who": world.name("ada")}], [{"who": world.name("ben")}]]
    ada.oauth.forget(world.database_id)
    late = ada.charts.submit(world.question, force=True)
    assert late.wait(30)
    with pytest.raises(errors.OAuth2RedirectError):
        late.result().raise_for_error()


def test_lists_of_names_belong_to_one_user(world: Guarded) -> None:
    extra = {"oauth2_client_info": world.guard.client(), "metadata_cache_timeout": {"schema_cache_timeout": 0}}
    world.shop.core.databases.update(world.database_id, {"extra": json.dumps(extra)})
    ada = user(world, "ada")
    assert ada.databases.schemas(world.database_id)
    ben = stranger(world, "ben")
    with pytest.raises(errors.OAuth2RedirectError):
        ben.databases.schemas(world.database_id)


def test_guests_ask_no_database_in_the_name_of_its_users(world: Guarded) -> None:
    admin = world.shop.core
    chart = admin.charts.create(
        {
            "slice_name": "who",
            "datasource_id": world.dataset_id,
            "datasource_type": "table",
            "query_context": json.dumps(world.question),
        }
    )
    board = admin.dashboards.create({"dashboard_title": "who"})
    admin.charts.update(chart.id, {"dashboards": [board.id]})
    embedded = admin.embedded.create(board.id, {"allowed_domains": []})
    payload = {"user": {}, "resources": [{"type": "dashboard", "id": embedded.uuid}], "rls": []}
    guest = admin.as_guest(admin.embedded.guest_token(payload, all_rows=True))
    with pytest.raises(errors.AccessError):
        guest.charts.data(chart.id).raise_for_error()


def test_the_secrets_of_extra_are_sealed_masked_and_kept_when_the_mask_comes_back(world: Guarded) -> None:
    admin = world.shop.core
    extra = admin.databases.connection(world.database_id).extra
    assert extra is not None
    client = json.loads(extra)["oauth2_client_info"]
    assert (client["id"], client["secret"]) == (world.guard.client()["id"], "XXXXXXXXXX")
    everything = [admin.databases.get(world.database_id), *admin.databases.list().result]
    assert CLIENT_SECRET not in f"{extra} {everything} {[one.to_payload() for one in everything]}"
    admin.databases.update(world.database_id, {"extra": extra})
    assert world.who(user(world, "ada")) == "ada"  # the secret is still there
    elsewhere = {**client, "token_request_uri": "https://evil.example/token"}
    for stolen in (elsewhere, {**client, "id": "XXXXXXXXXX"}, {**client, "id": "another"}):
        with pytest.raises(errors.PayloadSchemaError):
            admin.databases.update(world.database_id, {"extra": json.dumps({"oauth2_client_info": stolen})})
    with admin._runtime.content.store.unit_of_work() as unit:
        assert unit.databases.get(world.database_id).extra is None


def test_tokens_go_when_the_database_is_reached_elsewhere(world: Guarded) -> None:
    ada = user(world, "ada")
    assert [summary.database_id for summary in ada.oauth.list()] == [world.database_id]
    url = sa.make_url(world.server.make_database()).set(username="nobody", host="localhost")
    world.shop.core.databases.update(world.database_id, {"orm_uri": url.render_as_string(hide_password=False)})
    assert ada.oauth.list() == ()
    with pytest.raises(errors.OAuth2RedirectError):
        ada.charts.data(world.question).raise_for_error()
