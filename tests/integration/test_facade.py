"""`AnalyticsCore` from outside: who acts and when, its life from opening to closing, and no secret in any text."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pytest
from tests.support.cases import for_each
from tests.support.shop import (
    KEY,
    NOW,
    ORDERS,
    SIZE,
    add_reader,
    ask,
    axis,
    column_put,
    context,
    hosted_core,
    orders_core,
    rows,
    shop_url,
)

import analytics_core
from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._core.adapters.job_runners import InlineJobRunner
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.datasource import Database
from analytics_core._records.people import User
from analytics_core._records.secret import Secret
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.sample_data import make_shop

COUNT: dict[str, Any] = {"metrics": ["count"]}
SECRET = "hunter2:p@ss/w%rd"
SECRET_FORMS = (SECRET, "hunter2", "hunter2%3Ap%40ss%2Fw%25rd")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop_url(tmp_path_factory.mktemp("facade"))


@pytest.fixture(scope="module")
def host(url: str) -> Iterator[AnalyticsCore]:
    with hosted_core(url) as host:
        yield host


# ---------------------------------------------------------------------------------------------------------- who acts
@for_each(
    "namespace",
    [
        "databases",
        "datasets",
        "charts",
        "dashboards",
        "tags",
        "users",
        "roles",
        "logs",
        "explore",
        "permalinks",
        "cache",
    ],
)
def test_without_an_acting_user_nothing_can_be_called(host: AnalyticsCore, namespace: str) -> None:
    with pytest.raises(errors.ActorRequiredError) as rejection:
        getattr(host, namespace)
    assert rejection.value.status == 401


@pytest.mark.parametrize("key", [1, "admin"])
def test_a_user_acts_by_id_or_name(host: AnalyticsCore, key: Any) -> None:
    assert rows(host.as_user(key), COUNT) == [(len(ORDERS),)]


def test_a_user_acts_by_their_record(host: AnalyticsCore) -> None:
    admin = User(id=1, username="admin", role_ids=(1,))
    assert rows(host.as_user(admin), COUNT) == [(len(ORDERS),)]


@for_each("key", [0, -1, 999, True, "", "nobody", "ADMIN ", "admin' OR '1'='1"])
def test_who_is_not_known_does_not_act(host: AnalyticsCore, key: Any) -> None:
    with pytest.raises(errors.ActorRequiredError):
        host.as_user(key)


def test_a_record_without_an_id_does_not_act(host: AnalyticsCore) -> None:
    with pytest.raises(errors.ActorRequiredError, match="no id"):
        host.as_user(User(username="ghost"))


def test_who_was_switched_off_does_not_act_any_more(url: str) -> None:
    with hosted_core(url) as host:
        anna = add_reader(host, "anna")
        assert rows(anna, COUNT)
        admin = host.as_user("admin")
        admin.users.update(2, {"active": False})
        with pytest.raises(errors.ActorRequiredError):
            anna.charts.data(context(COUNT))
        with pytest.raises(errors.ActorRequiredError):
            host.as_user("anna")


def test_acting_as_names_the_user_of_every_call(url: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/meta.db"
    hosted_core(url, metadata_url=store).close()
    with AnalyticsCore(
        Settings(secret_key=KEY), metadata_url=store, acting_as="admin", allowed_files=[url[10:]]
    ) as core:
        assert rows(core, COUNT) == [(len(ORDERS),)]


def test_one_core_serves_many_actors_at_once(host: AnalyticsCore) -> None:
    admin, reader = host.as_user("admin"), add_reader(host, "beside", on=None)
    assert rows(admin, COUNT)
    with pytest.raises(errors.DatasetAccessError):
        rows(reader, COUNT)
    assert rows(admin, COUNT)
    with pytest.raises(errors.ActorRequiredError):
        _ = host.charts


def test_the_first_administrator_is_made_once(host: AnalyticsCore) -> None:
    with pytest.raises(errors.AlreadyExistsError):
        host.create_first_administrator("second")


# -------------------------------------------------------------------------------------------------------- when it is
def test_as_of_moves_now_and_keeps_the_actor(url: str) -> None:
    with hosted_core(url, clock=FixedClock(NOW)) as host:
        then = host.as_user("admin").as_of(datetime(2024, 7, 1, tzinfo=UTC))
        query = {**COUNT, "granularity": "order_date", "time_range": "Last 7 days"}
        assert ask(then, query).to_dttm == round(datetime(2024, 7, 1, tzinfo=UTC).timestamp() * 1000)
        assert ask(host.as_user("admin"), query).to_dttm == round(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)
        with pytest.raises(errors.ActorRequiredError):
            _ = host.as_of(NOW).charts
        job = then.charts.submit(context(query))
        assert job.result(timeout_s=20).results[0].to_dttm == ask(then, query).to_dttm


# ---------------------------------------------------------------------------------------------------------- settings
@for_each("key", [None, "", "short", "changeme", "a" * 40])
def test_a_missing_or_weak_key_does_not_start(key: str | None) -> None:
    with pytest.raises(errors.SettingsError):
        AnalyticsCore(Settings(secret_key=key))


def test_connect_opens_its_own_file_and_no_other(url: str, tmp_path: Path) -> None:
    with orders_core(url) as core:
        other = make_shop(tmp_path / "other.db", days=3)
        with pytest.raises(errors.ConnectionUriError):
            core.databases.create({"database_name": "other", "orm_uri": other})
        assert rows(core, COUNT) == [(len(ORDERS),)]


def test_connect_tells_of_a_file_that_another_program_has_locked(tmp_path: Path) -> None:
    url = make_shop(tmp_path / "locked.db", days=3)
    with closing(sqlite3.connect(tmp_path / "locked.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(errors.DatabaseError, match="is locked by another program"):
            analytics_core.connect(url, statement_timeout_s=0.2)


def test_a_connection_that_was_never_made_is_not_logged_as_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with duckdb.connect(tmp_path / "held.duckdb"), pytest.raises(errors.DatabaseError, match="open in this process"):
        analytics_core.connect(tmp_path / "held.duckdb")
    assert not caplog.records


def test_connect_takes_settings(url: str) -> None:
    with analytics_core.connect(url, default_row_limit=3) as core:
        core.datasets.create({"database": 1, "table_name": "orders"})
        assert ask(core, {"columns": ["id"], "metrics": None}).rowcount == 3


# -------------------------------------------------------------------------------------------------- closing, opening
def test_a_core_that_is_closed_and_opened_again_keeps_all(url: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/meta.db"
    query = {"columns": [axis("P1M"), "big"], "metrics": ["count"], "granularity": "order_date"}
    with hosted_core(url, metadata_url=store) as host:
        admin = host.as_user("admin")
        column_put(admin, {"big": {"expression": "quantity > 2", "type": "BOOLEAN"}})
        saved = {"slice_name": "monthly", "datasource_id": 1, "datasource_type": "table"}
        chart = admin.charts.create({**saved, "query_context": json.dumps(context(query)), "cache_timeout": 9})
        anna = add_reader(host, "anna")
        before = anna.charts.data(chart.id).raise_for_error().to_payload()["result"][0]
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store, allowed_files=[url[10:]]) as again:
        after = again.as_user("anna").charts.data(chart.id).raise_for_error().to_payload()["result"][0]
        assert after == before
        assert again.as_user("admin").charts.get(chart.id).slice_name == "monthly"
        assert again.as_user("admin").datasets.get(1).metrics[0].metric_name == "count"


def test_another_key_does_not_open_the_store_and_an_older_one_does(url: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/meta.db"
    hosted_core(url, metadata_url=store).close()
    other = "another key for tests, 9876543210"
    options: dict[str, Any] = {"metadata_url": store, "allowed_files": [url[10:]], "acting_as": "admin"}
    with AnalyticsCore(Settings(secret_key=other), **options) as core, pytest.raises(errors.StoredDataError):
        rows(core, COUNT)
    with AnalyticsCore(Settings(secret_key=other, previous_secret_keys=(KEY,)), **options) as core:
        assert rows(core, COUNT) == [(len(ORDERS),)]


def test_databases_whose_key_is_lost_are_listed_entered_again_and_deleted(url: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"metadata_url": f"sqlite:///{tmp_path}/meta.db", "allowed_files": [url[10:]]}
    with hosted_core(url, metadata_url=options["metadata_url"]) as core:
        core.as_user("admin").databases.create({"database_name": "spare", "orm_uri": url})
    settings = Settings(secret_key="another key for tests, 9876543210")
    with AnalyticsCore(settings, **options, acting_as="admin") as core:
        core.databases.create({"database_name": "readable", "orm_uri": url})
        names = ["shop", "spare", "readable"]
        assert [found.database_name for found in core.databases.list(order_by="id").result] == names
        with pytest.raises(errors.StoredDataError, match=r"uri of database 1: .*previous_secret_keys"):
            core.databases.update(1, {"cache_timeout": 5})
        core.databases.update(1, {"orm_uri": url})
        core.databases.delete(2)
        assert rows(core, COUNT) == [(len(ORDERS),)]


def test_secrets_are_sealed_anew_so_that_the_older_key_can_be_dropped(url: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"metadata_url": f"sqlite:///{tmp_path}/meta.db", "allowed_files": [url[10:]]}
    hosted_core(url, metadata_url=options["metadata_url"]).close()
    other = "another key for tests, 9876543210"
    with (
        AnalyticsCore(Settings(secret_key=other), **options) as core,
        pytest.raises(errors.StoredDataError, match="uri of database 1"),
    ):
        core.reseal_secrets()
    with AnalyticsCore(Settings(secret_key=other, previous_secret_keys=(KEY,)), **options) as core:
        core.as_user("admin").users.create({"username": "anna"})
        with pytest.raises(errors.AccessError):
            core.as_user("anna").reseal_secrets()
        assert core.reseal_secrets() == core.as_user("admin").reseal_secrets() == 1
    with AnalyticsCore(Settings(secret_key=other), **options, acting_as="admin") as core:
        assert rows(core, COUNT) == [(len(ORDERS),)]


def test_closing_twice_is_as_good_as_once(url: str) -> None:
    core = orders_core(url)
    core.close()
    core.close()


NAMESPACES = sorted(name for name, member in inspect.getmembers(AnalyticsCore) if isinstance(member, property))


def test_a_closed_core_answers_nothing_on_any_road_not_even_from_its_caches(url: str) -> None:
    core = orders_core(url, metadata_freshness_s=3600)
    other = core.as_user(User(id=77, username="of the host", role_names=("Administrators",)))
    parts = {name: getattr(core, name) for name in NAMESPACES}
    for requested in (core, other):
        assert rows(requested, COUNT) == [(len(ORDERS),)]
    core.close()
    assert len(NAMESPACES) >= 16
    for requested in (core, other, core.as_of(datetime(2024, 1, 1, tzinfo=UTC))):
        for name in NAMESPACES:
            with pytest.raises(errors.StoreUnavailableError, match="closed"):
                getattr(requested, name)
    for road in (
        *(namespace.list for name, namespace in parts.items() if hasattr(namespace, "list") and name != "annotations"),
        lambda: parts["charts"].data(context(COUNT)),
        lambda: parts["charts"].explain(context(COUNT)),
        lambda: parts["annotations"].list(1),
        lambda: core.as_user(1),
        lambda: core.create_first_administrator("again"),
    ):
        with pytest.raises(errors.StoreUnavailableError, match="closed"):
            road()


class BrokenRunner(InlineJobRunner):
    """A runner of a host that fails where a core is wired, when its store is open already."""

    store: MetadataStore

    def start(self, run_job: Any) -> None:
        self.store = run_job.__self__._store
        raise RuntimeError("no queue")


def test_a_core_that_cannot_be_made_leaves_its_store_closed(tmp_path: Path) -> None:
    runner = BrokenRunner()
    with pytest.raises(RuntimeError, match="no queue"):
        AnalyticsCore(Settings(secret_key=KEY), metadata_url=f"sqlite:///{tmp_path}/meta.db", jobs=runner)
    with pytest.raises(errors.StoreUnavailableError, match="closed"):
        runner.store.revision()


def test_a_core_that_cannot_be_made_leaves_the_store_of_its_host_open(tmp_path: Path) -> None:
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=f"sqlite:///{tmp_path}/meta.db") as other:
        store = other._runtime.content.store
        with pytest.raises(RuntimeError, match="no queue"):
            AnalyticsCore(Settings(secret_key=KEY), store=store, jobs=BrokenRunner())
        assert store.revision() == 0


# ------------------------------------------------------------------------------------------------- no secret in texts
@pytest.fixture
def seeded(url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[tuple[AnalyticsCore, Path, Any]]:
    """A core with a store in a file and a second database whose URI holds a password; logs at the lowest level."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="sqlalchemy")
    file = tmp_path / "meta.db"
    with hosted_core(url, metadata_url=f"sqlite:///{file}") as host:
        admin = host.as_user("admin")
        uri = f"postgresql+psycopg://joe:{SECRET_FORMS[2]}@127.0.0.1:1/shop?application_name=x"
        admin.databases.create({"database_name": "far away", "orm_uri": uri})
        yield host, file, caplog


def texts_of(error: BaseException) -> list[str]:
    found = []
    seen: BaseException | None = error
    while seen is not None:
        found += [str(seen), repr(seen), repr(seen.args), repr(vars(seen))]
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, errors.AnalyticsError):
        found.append(json.dumps(error.to_payload(), default=str))
    return found


def assert_no_secret(*texts: str) -> None:
    for text in texts:
        for form in (*SECRET_FORMS, KEY):
            assert form not in text


def test_no_secret_in_what_a_core_shows(seeded: Any) -> None:
    host, _, _ = seeded
    admin = host.as_user("admin")
    objects = [host, admin, admin._runtime, admin._runtime.parts.settings, admin.databases, admin.databases.get(2)]
    objects += [admin.databases.list(), admin.databases.connection(2), admin.datasets.get(1)]
    for item in objects:
        assert_no_secret(str(item), repr(item))
    with admin._runtime.content.store.unit_of_work() as unit:
        record = unit.databases.get(2)
    assert SECRET_FORMS[2] in record.uri.reveal()
    assert_no_secret(str(record), repr(record), f"{record.uri}", f"{record.uri!r:>40}", repr(copy.copy(record)))
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(record)


def test_no_secret_in_errors_and_logs(seeded: Any, tmp_path: Path) -> None:
    host, _, caplog = seeded
    admin, encoded = host.as_user("admin"), SECRET_FORMS[2]
    calls = [
        lambda: admin.datasets.create({"database": 2, "table_name": "orders"}),
        lambda: admin.databases.test_connection({"orm_uri": f"postgresql+psycopg://joe:{encoded}@127.0.0.1:1/x"}),
        lambda: admin.databases.create({"database_name": "bad", "orm_uri": f"no-such-engine://joe:{encoded}@h/x"}),
        lambda: admin.databases.create({"database_name": "bad", "orm_uri": f"postgresql://joe:{SECRET}@[h/x"}),
        lambda: admin.databases.create({"database_name": "bad", "orm_uri": f"postgresql://joe:{SECRET}@h/x"}),
        lambda: admin.databases.update(2, {"orm_uri": f"sqlite:////etc/passwd?password={encoded}"}),
        lambda: admin.databases.create({"database_name": "far away", "orm_uri": f"postgresql://j:{encoded}@h/x"}),
    ]
    for call in calls:
        with pytest.raises(errors.AnalyticsError) as rejection:
            call()
        assert_no_secret(*texts_of(rejection.value))
    nope = {"expressionType": "SQL", "sqlExpression": "SUM(nope(id))", "label": "x"}
    result = admin.charts.data(context({"columns": ["country"], "metrics": [nope]})).results[0]
    assert result.failure is not None
    assert result.failure.__cause__ is None
    assert_no_secret(str(result), repr(result), *texts_of(result.failure))
    assert any(record.name.startswith("sqlalchemy.engine") for record in caplog.records)
    assert_no_secret(*(record.getMessage() for record in caplog.records), caplog.text)


def test_stored_secrets_are_not_in_the_bytes_of_the_store(seeded: Any) -> None:
    _, file, _ = seeded
    stored = b"".join(path.read_bytes() for path in file.parent.iterdir() if path.is_file())
    assert b"far away" in stored
    for form in (*SECRET_FORMS, KEY, "joe:"):
        assert form.encode() not in stored


@pytest.mark.server
@pytest.mark.parametrize("make_database", ["make_postgres_database", "make_mariadb_database"])
def test_the_store_may_be_a_server(make_database: str, url: str, request: pytest.FixtureRequest) -> None:
    store = request.getfixturevalue(make_database)()
    with hosted_core(url, metadata_url=store) as host:
        before = rows(add_reader(host, "anna"), COUNT)
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store, allowed_files=[url[10:]]) as again:
        assert rows(again.as_user("anna"), COUNT) == before


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_every_result_type_is_answered_by_servers(server: str, request: pytest.FixtureRequest) -> None:
    url = make_shop(request.getfixturevalue(server), **{**SIZE, "days": 60})
    with orders_core(url) as core:
        for result_type in ("full", "results", "query", "samples", "columns", "timegrains", "drill_detail"):
            query = {"columns": ["country"], "metrics": ["count"], "row_limit": 5}
            data = core.charts.data(context(query, result_type=result_type)).raise_for_error()
            assert json.loads(data.to_json())["result"]
            if result_type != "query":
                assert data.to_csv()


def test_a_clock_that_is_put_back_keeps_nobody_active(tmp_path: Path) -> None:
    """Freshness counts seconds that pass, not the time of day."""
    clock, store = FixedClock(NOW), f"sqlite:///{tmp_path}/meta.db"
    with hosted_core(shop_url(tmp_path), metadata_url=store, clock=clock) as host:
        reader = add_reader(host, "reader")
        assert reader.charts.data(context({"metrics": ["count"]})).results[0].error is None
        with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store) as other:
            other.as_user("admin").users.update(2, {"active": False})
        clock.advance(timedelta(hours=-1))
        clock.advance(timedelta(seconds=2))
        with pytest.raises(errors.ActorRequiredError):
            reader.charts.data(context({"metrics": ["count"]}))


# --------------------------------------------------------------------------------------------- what a host hands over
class Empty:
    """Is false, and has no length, as many containers that a host may pass are."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class EmptyClock(Empty, FixedClock):
    """A clock that is false."""


class EmptyCache(Empty, MemoryCache):
    """A cache without entries that is false."""


class EmptyRunner(Empty, InlineJobRunner):
    """A runner without work that is false."""


class EmptyPolicy(Empty, Policy):
    """A policy that is false."""


class EmptyBox(Empty, AesGcmSecretBox):
    """A secret box that is false, and tells how often it was asked to seal."""

    requested = 0

    def seal(self, text: str, *, context: str) -> str:
        self.requested += 1
        return super().seal(text, context=context)


class EmptyDirectory(Empty):
    """A directory of one person that is false."""

    def find(self, key: int | str) -> User | None:
        return User(id=7, username="ann") if key in (7, "ann") else None


class EmptyEngines(Empty, EngineRegistry):
    """A registry that is false."""


def test_what_a_host_hands_over_is_used_also_when_it_is_false() -> None:
    ports: dict[str, Any] = {
        "clock": EmptyClock(NOW),
        "cache": EmptyCache(max_bytes=1_000_000, clock=FixedClock(NOW)),
        "jobs": EmptyRunner(),
        "policy": EmptyPolicy(),
        "users": EmptyDirectory(),
        "engines": EmptyEngines([installed_engines(()).get("sqlite"), installed_engines(()).get("postgresql")]),
    }
    box = EmptyBox(Secret(KEY))
    with AnalyticsCore(Settings(secret_key=KEY), acting_as="ann", secret_box=box, **ports) as core:
        runtime = core._runtime.parts
        found = (runtime.clock, runtime.cache, runtime.jobs, runtime.policy, runtime.people, runtime.registry)
        assert [mine is given for mine, given in zip(found, ports.values(), strict=True)] == [True] * len(found)
        uri = "postgresql+psycopg://ann:s3cr3t-word@localhost/shop"
        with runtime.store.unit_of_work() as unit:
            shop = Database(uuid=str(uuid4()), database_name="shop", engine="postgresql", uri=Secret(uri))
            unit.databases.add(shop, actor_id=None)
        assert box.requested > 0
