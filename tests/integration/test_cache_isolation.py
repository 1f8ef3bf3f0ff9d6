"""What keeps cached answers apart, and what a key opens: nothing by itself.

Beside tests/integration/test_cache.py (parts of the key) and tests/integration/test_guests.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.annotated import chart, layer
from tests.support.tenant_world import KEY, TENANT_CLAUSE, TenantWorld, rule, tenant_world

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._content.jobs.job import Job
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User

QUERY: Mapping[str, Any] = {"columns": ["id"], "row_limit": 100}


class CountingCache:
    """Keeps everything, and counts who reads and writes."""

    def __init__(self) -> None:
        self.retained: dict[str, bytes] = {}
        self.calls: list[tuple[str, str]] = []

    def get(self, key: str) -> bytes | None:
        """Return what is kept."""
        self.calls.append(("get", key))
        return self.retained.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: float | None) -> None:
        """Keep a value."""
        self.calls.append(("set", key))
        self.retained[key] = bytes(value)

    def delete(self, key: str) -> None:
        """Forget a value."""
        self.retained.pop(key, None)


class Source:
    """A host's own row filters, which may fail or say something else."""

    def __init__(self) -> None:
        self.clause: str | None = None
        self.dataset: int | None = None
        self.fails = False

    def row_filters(self, user: User, dataset: Dataset) -> list[RowFilter]:
        """Return the filter, or fail as a directory that is down."""
        if self.fails:
            raise errors.SettingsError("the directory of tenants is down")
        is_meant = self.dataset in (None, dataset.id)
        return [RowFilter(name="host", clause=self.clause)] if self.clause and is_meant else []


class Bench:
    """The tenants' sales behind a cache that can be looked at."""

    def __init__(self, world: TenantWorld, folder: Path) -> None:
        self.world = world
        self.cache, self.source = CountingCache(), Source()
        settings = Settings(secret_key=KEY, data_roots=(folder,), metadata_freshness_s=0)
        self.host = AnalyticsCore(
            settings, metadata_url=world.metadata_url, cache=self.cache, row_filters=[self.source]
        )

    def as_user(self, name: str) -> AnalyticsCore:
        return self.host.as_user(name)

    def result(self, who: str, dataset: int, **options: Any) -> Any:
        requested = {"datasource": {"id": dataset, "type": "table"}, "queries": [dict(QUERY)], **options}
        return self.as_user(who).charts.data(requested).results[0]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with tenant_world("sqlite", f"sqlite:///{tmp_path}/shop.db", tmp_path) as world:
        world.admin.row_level_security.create(rule(world))
        world.virtual("made", "SELECT id FROM sales")
        bench = Bench(world, tmp_path)
        yield bench
        bench.host.close()


DATASETS = (1, 2)
"""The table, and SQL that reads it."""


# --------------------------------------------------------------------------------------- rules that cannot be computed
def break_stored_rules(bench: Bench) -> None:
    bench.world.break_rules()


def lose_the_attribute(bench: Bench) -> None:
    acme = next(user for user in bench.world.admin.users.list() if user.username == "acme")
    bench.world.admin.users.update(acme.id, {"attributes": {}})


def misread_the_clause(bench: Bench) -> None:
    bench.world.admin.datasets.update(1, {"columns": [{"column_name": "id"}]})


def fail_at_the_host(bench: Bench) -> None:
    bench.source.fails = True


def failure_of(bench: Bench, dataset: int, *, force: bool) -> errors.AnalyticsError | None:
    """Return what stopped the question: all of it, or its one query."""
    try:
        result = bench.result("acme", dataset, force=force)
    except errors.AnalyticsError as error:
        return error
    assert result.rowcount == 0
    failure: errors.AnalyticsError | None = result.failure
    return failure


@pytest.mark.slow
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(
    "spoil", [break_stored_rules, lose_the_attribute, misread_the_clause, fail_at_the_host], ids=lambda f: f.__name__
)
def test_without_an_identity_of_rules_the_cache_is_neither_read_nor_written(
    bench: Bench, spoil: Any, dataset: int, force: bool
) -> None:
    assert len(bench.result("acme", dataset).data) == 3
    assert bench.result("acme", dataset).is_cached
    spoil(bench)
    entries = dict(bench.cache.retained)
    bench.cache.calls.clear()
    assert isinstance(failure_of(bench, dataset, force=force), errors.AnalyticsError)
    assert bench.cache.calls == []
    assert bench.cache.retained == entries


# --------------------------------------------------------------------------------------------------- what a key is of
@pytest.mark.slow
def test_every_rule_that_binds_is_in_the_key_also_those_inside_sql(bench: Bench) -> None:
    for dataset in DATASETS:
        keys = [bench.result(who, dataset).cache_key for who in ("acme", "bolt", "admin")]
        bench.source.clause = "id > 0"
        keys += [bench.result(who, dataset).cache_key for who in ("acme", "bolt", "admin")]
        bench.source.clause = None
        assert len(set(keys)) == len(keys)
        assert bench.result("acme", dataset).cache_key == keys[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a', 'b",), ("a", "b")),
        (("a,b",), ("a", "b")),
        (("x') OR ('1'='1",), ("x",)),
        (("",), ("None",)),
    ],
)
def test_values_of_rules_that_look_alike_have_keys_of_their_own(
    bench: Bench, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """The encoding is unambiguous: no value can be written so that it reads as two, or as a piece of the rule."""
    admin = bench.world.admin
    admin.row_level_security.update(1, {"clause": "tenant IN ({{ current_user_attribute('tenant') }})"})
    keys = []
    for values in (first, second):
        acme = next(user for user in admin.users.list() if user.username == "acme")
        admin.users.update(acme.id, {"attributes": {"tenant": list(values)}})
        keys += [bench.result("acme", dataset).cache_key for dataset in DATASETS]
    assert len(set(keys)) == 4


def test_values_that_a_template_used_are_in_the_key(bench: Bench) -> None:
    made = bench.world.virtual("templated", "SELECT id FROM sales WHERE region = '{{ url_param('land', 'north') }}'")
    keys = set()
    for land in ("north", "south", "south' OR '1'='1"):
        requested = {**QUERY, "url_params": {"land": land}}
        question = {"datasource": {"id": made, "type": "table"}, "queries": [requested]}
        keys.add(bench.as_user("acme").charts.explain(question).queries[0].cache_key)
    assert len(keys) == 3


def test_a_changed_rule_or_attribute_is_another_key_and_the_old_one_is_never_asked(bench: Bench) -> None:
    before = {dataset: bench.result("acme", dataset).cache_key for dataset in DATASETS}
    bench.world.admin.row_level_security.update(1, {"clause": f"{TENANT_CLAUSE} AND amount < 15"})
    bench.cache.calls.clear()
    for dataset in DATASETS:
        assert [row["id"] for row in bench.result("acme", dataset).data] == [1]
    assert not {key for _, key in bench.cache.calls} & set(before.values())


# ------------------------------------------------------------------------------------------- a key is no authorisation
def test_whoever_knows_a_cache_key_gets_nothing_by_it(bench: Bench) -> None:
    """No call of the library takes a cache key; the question is asked again, as the one who asks."""
    key = bench.result("acme", 1).cache_key
    bench.world.admin.users.create({"username": "stranger", "roles": []})
    stranger = bench.as_user("stranger")
    bench.cache.calls.clear()
    for requested in (
        {"datasource": {"id": 1, "type": "table"}, "queries": [dict(QUERY)], "cache_key": key},
        {"datasource": {"id": 1, "type": "table"}, "queries": [{**QUERY, "cache_key": key}], "result_type": "results"},
    ):
        with pytest.raises(errors.DatasetAccessError):
            stranger.charts.data(requested)
    assert bench.cache.calls == []
    with pytest.raises(errors.JobNotFoundError):
        stranger.charts.job(str(key))
    with pytest.raises(errors.NotFoundError):
        stranger.permalinks.get_for_chart(str(key))
    with pytest.raises(errors.NotFoundError):
        stranger.explore.get_form_data(str(key))


@pytest.mark.slow
def test_a_finished_job_is_read_by_who_may_still_read_its_dataset(bench: Bench) -> None:
    for dataset in DATASETS:
        requested = {"datasource": {"id": dataset, "type": "table"}, "queries": [dict(QUERY)]}
        job = bench.as_user("acme").charts.submit(requested)
        assert len(job.result(timeout_s=20).results[0].data) == 3
        assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
        for other in ("bolt", "admin"):
            with pytest.raises(errors.JobNotFoundError):
                bench.as_user(other).charts.job(job.job_id)
        bench.world.admin.roles.revoke("tenants", on=("database", 1))
        with pytest.raises(errors.DatasetAccessError):
            bench.as_user("acme").charts.job(job.job_id)
        bench.world.admin.roles.grant("tenants", on=("database", 1))
        assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id


@pytest.mark.slow
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_finished_job_is_not_read_once_the_host_rules_otherwise_also_inside_sql(bench: Bench, dataset: int) -> None:
    bench.source.clause, bench.source.dataset = "amount < 25", 1
    job = bench.as_user("acme").charts.submit(driver_options(dataset))
    assert len(job.result(timeout_s=20).results[0].data) == 2
    assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
    bench.source.clause = "amount < 15"
    assert_is_lost(bench, job)
    bench.source.fails = True
    assert_is_lost(bench, job)


@pytest.mark.slow
def test_a_finished_job_is_not_read_once_a_chart_of_its_layers_is_not_for_its_owner(bench: Bench) -> None:
    """The rows of a layer are those of the chart that it names, under the rules of that chart's dataset."""
    admin = bench.world.admin
    goals = admin.datasets.create({"database": 1, "table_name": "targets"}).id
    admin.row_level_security.create(rule(bench.world, name="goals", tables=[goals]))
    job = bench.as_user("acme").charts.submit(
        driver_options(1, annotation_layers=[layer(chart(admin, QUERY, dataset=goals), "table")])
    )
    assert [item.records for item in job.result(timeout_s=20).results[0].annotations] == [({"id": 1},)]
    assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
    admin.row_level_security.update(2, {"clause": f"{TENANT_CLAUSE} AND goal > 7"})
    assert_is_lost(bench, job)
    admin.row_level_security.update(2, {"clause": TENANT_CLAUSE})
    assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
    admin.roles.revoke("tenants", on=("database", 1))
    admin.roles.grant("tenants", on=("dataset", 1))
    assert_is_lost(bench, job)


def test_a_job_whose_query_failed_is_found_with_its_failure(bench: Bench) -> None:
    job = bench.as_user("acme").charts.submit(driver_options(2, columns=["nope"]))
    assert job.wait(20)
    assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
    with pytest.raises(errors.UnknownColumnError):
        job.result().raise_for_error()


def driver_options(dataset: int, **query: Any) -> dict[str, Any]:
    return {"datasource": {"id": dataset, "type": "table"}, "queries": [{**QUERY, **query}]}


def assert_is_lost(bench: Bench, job: Job) -> None:
    with pytest.raises((errors.JobNotFoundError, errors.SettingsError)):
        bench.as_user("acme").charts.job(job.job_id)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", DATASETS)
def test_a_finished_job_is_not_read_once_other_rules_bind_its_owner(bench: Bench, dataset: int) -> None:
    requested = {"datasource": {"id": dataset, "type": "table"}, "queries": [dict(QUERY)]}
    job = bench.as_user("acme").charts.submit(requested)
    assert job.wait(20)
    bench.world.admin.row_level_security.update(1, {"clause": f"{TENANT_CLAUSE} AND amount < 15"})
    with pytest.raises(errors.JobNotFoundError):
        bench.as_user("acme").charts.job(job.job_id)
    bench.world.admin.row_level_security.update(1, {"clause": TENANT_CLAUSE})
    assert bench.as_user("acme").charts.job(job.job_id).job_id == job.job_id
    lose_the_attribute(bench)
    with pytest.raises(errors.AnalyticsError):
        bench.as_user("acme").charts.job(job.job_id).result()
