"""`core.dataset_from`: what is in hand stands beside other datasets, under the same rules, caches and rights."""

from __future__ import annotations

import gc
import json
import os
import pickle
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.integration.test_forked_children import in_child
from tests.support.handed_over import ROWS, duckdb_connection, frame, queried, table, total
from tests.support.small_core import KEY
from tests.support.templates import sample_shop

import analytics_core
from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import (
    AccessError,
    AlreadyExistsError,
    DatabaseAccessError,
    DatabaseError,
    PayloadSchemaError,
    SourceError,
    UnknownColumnError,
)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(sample_shop(tmp_path / "shop.db")) as opened:
        yield opened


@pytest.mark.slow
def test_a_frame_is_a_dataset_beside_those_of_the_database(core: AnalyticsCore) -> None:
    core.datasets.create({"database": 1, "table_name": "products"})
    sales = core.dataset_from(frame(), "sales")
    assert [column.column_name for column in sales.columns] == ["country", "amount", "day"]
    assert sales.main_dttm_col == "day"
    assert [metric.metric_name for metric in sales.metrics] == ["count"]
    assert core.databases.get(core.datasets.get("sales").database.id).database_name == "frames"
    assert queried(core, "sales", total("amount")) == [(12.5,)]
    assert queried(core, "products", "count") == [(12,)]


@pytest.mark.slow
def test_frames_go_into_the_memory_that_connect_made(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name\nAnn\n")
    with analytics_core.connect({"sales": frame()}) as core:
        more = core.dataset_from(ROWS, "rows")
        files = core.dataset_from(tmp_path / "people.csv", "people")
        assert {more.database.id, files.database.id} == {1}
        assert [queried(core, name, "count") for name in ("sales", "rows", "people")] == [[(3,)], [(3,)], [(1,)]]


@pytest.mark.slow
def test_a_name_that_is_taken_is_told(core: AnalyticsCore) -> None:
    core.datasets.create({"database": 1, "table_name": "products"})
    core.dataset_from(frame(), "sales")
    with pytest.raises(AlreadyExistsError, match="replace=True puts this one in its place"):
        core.dataset_from(table(), "sales")
    for replace in (False, True):
        with pytest.raises(AlreadyExistsError, match="of another database, and stays"):
            core.dataset_from(frame(), "products", replace=replace)
    with pytest.raises(SourceError, match="no name of a dataset"):
        core.dataset_from(frame(), "a.b")


@pytest.mark.slow
def test_another_frame_takes_the_place_and_kept_answers_go(core: AnalyticsCore) -> None:
    sales = core.dataset_from(frame(), "sales")
    assert queried(core, "sales", total("amount")) == [(12.5,)]
    again = core.dataset_from(pl.DataFrame({"amount": [1, 2], "shop": ["a", "b"]}), "sales", replace=True)
    assert again.id == sales.id
    assert [column.column_name for column in again.columns] == ["amount", "shop"]
    assert queried(core, "sales", total("amount")) == [(3,)]
    with pytest.raises(UnknownColumnError):
        queried(core, "sales", columns=("country",))
    assert core.dataset_from(frame(), "new", replace=True).table_name == "new"


@pytest.mark.slow
def test_sql_over_a_frame_that_was_replaced_gives_the_new_rows(core: AnalyticsCore) -> None:
    database = core.dataset_from(frame(), "sales").database.id
    sql = {"database": database, "table_name": "big", "sql": "SELECT * FROM sales WHERE amount > 5"}
    big = core.datasets.create(sql).id
    assert queried(core, big, "count") == [(1,)]
    core.dataset_from(frame().assign(amount=9), "sales", replace=True)
    assert queried(core, big, "count") == [(3,)]


@pytest.mark.slow
def test_a_frame_that_cannot_be_read_leaves_the_one_before(core: AnalyticsCore) -> None:
    core.dataset_from(frame(), "sales")
    with pytest.raises(SourceError):
        core.dataset_from(pd.DataFrame({"a": [object()]}), "sales", replace=True)
    assert queried(core, "sales", "count") == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sales", "new"])
def test_a_frame_that_no_dataset_can_be_made_of_is_not_held(core: AnalyticsCore, name: str) -> None:
    core.dataset_from(frame(), "sales")
    (before,) = core._runtime.parts.connector.handed_tables().values()  # type: ignore[attr-defined]
    with pytest.raises(PayloadSchemaError, match=r"^column 'x{9}"):
        core.dataset_from(pd.DataFrame({"x" * 300: [1]}), name, replace=True)
    (after,) = core._runtime.parts.connector.handed_tables().values()  # type: ignore[attr-defined]
    assert dict(after.tables) == dict(before.tables)
    assert queried(core, "sales", total("amount")) == [(12.5,)]


def test_later_changes_of_a_frame_are_not_seen() -> None:
    rows, batch = frame(), table()
    with analytics_core.connect({"sales": rows, "arrow": batch}) as core:
        rows.loc[0, "amount"] = 1_000.0
        rows["more"] = 1
        assert queried(core, "sales", total("amount")) == [(12.5,)]
        assert queried(core, "arrow", total("amount")) == [(12.5,)]


@pytest.mark.slow
def test_a_frame_is_freed_with_its_core() -> None:
    class Watched(pd.DataFrame):
        pass

    rows = Watched(frame())
    with analytics_core.connect({"sales": rows, "arrow": table(), "polars": pl.DataFrame({"a": [1]})}) as core:
        assert queried(core, "sales", "count") == [(3,)]
        (handed,) = core._runtime.parts.connector.handed_tables().values()  # type: ignore[attr-defined]
        references = [weakref.ref(one.data) for one in handed.tables.values()]
        del handed
        gc.collect()
        assert [gone() is None for gone in references] == [False] * 3
    references.append(weakref.ref(rows))
    del rows, core
    gc.collect()
    assert [gone() is None for gone in references] == [True] * 4


# ------------------------------------------------------------------------------------------------------ rights, rules
def reader(core: AnalyticsCore, dataset: Any) -> tuple[AnalyticsCore, int]:
    role = core.roles.create({"name": "readers"})
    core.roles.grant(role, on=dataset)
    user = core.users.create({"username": "ann", "first_name": "Ann", "roles": [role.id]})
    return core.as_user(user.id), role.id or 0


@pytest.mark.slow
def test_only_an_administrator_hands_over(core: AnalyticsCore) -> None:
    ann, role = reader(core, core.datasets.create({"database": 1, "table_name": "products"}))
    with pytest.raises(AccessError):
        ann.dataset_from(frame(), "sales")
    assert not core._runtime.parts.connector.handed_tables()  # type: ignore[attr-defined]
    core.roles.grant(role, on=core.dataset_from(frame(), "sales"))
    for replace in (False, True):
        with pytest.raises(AccessError):
            ann.dataset_from(frame(), "sales", replace=replace)
    assert queried(ann, "sales", "count") == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["frame", "file", "connection"])
def test_row_rules_hold(way: str, tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "sales.csv", index=False)
    given = {"frame": {"sales": frame()}, "file": tmp_path / "sales.csv", "connection": duckdb_connection()}[way]
    with analytics_core.connect(given) as core:
        sales = core.datasets.get("sales")
        ann, role = reader(core, sales)
        rule = {
            "name": "west",
            "filter_type": "Regular",
            "tables": [sales.id],
            "roles": [role],
            "clause": "country = 'France'",
        }
        core.row_level_security.create(rule)
        assert queried(ann, "sales", "count", columns=("country",)) == [("France", 2)]
        assert queried(core, "sales", "count") == [(3,)]


def test_guests_see_the_rows_of_their_token() -> None:
    with analytics_core.connect({"sales": frame()}) as core:
        sales = core.datasets.get("sales").id
        context = {
            "datasource": {"id": sales, "type": "table"},
            "queries": [{"columns": ["country"], "metrics": ["count"]}],
        }
        named = {"slice_name": "by country", "datasource_id": sales, "datasource_type": "table"}
        chart = core.charts.create({**named, "query_context": json.dumps(context)}).id or 0
        place = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": chart}}}
        board = core.dashboards.create({"dashboard_title": "board", "position_json": json.dumps(place)}).id or 0
        embedded = core.embedded.create(board, {"allowed_domains": []})
        resources = [{"type": "dashboard", "id": embedded.uuid}]
        token = core.embedded.guest_token({"resources": resources, "rls": [{"clause": "country = 'Italy'"}]})
        guest = core.as_guest(token)
        assert guest.charts.data(chart).raise_for_error().results[0].rows() == [("Italy", 1)]


# ---------------------------------------------------------------------------------------------------- other processes
@pytest.fixture
def service(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=f"sqlite:///{tmp_path}/meta.db") as made:
        made.create_first_administrator("admin")
        yield made.as_user("admin")


def another(tmp_path: Path) -> AnalyticsCore:
    return AnalyticsCore(Settings(secret_key=KEY), metadata_url=f"sqlite:///{tmp_path}/meta.db", acting_as="admin")


@pytest.mark.slow
def test_another_process_is_told_and_may_hand_over_anew(service: AnalyticsCore, tmp_path: Path) -> None:
    sales = service.dataset_from(frame(), "sales")
    with another(tmp_path) as other:
        with pytest.raises(DatabaseError, match="handed over to another process, which this one cannot see"):
            queried(other, "sales", "count")
        with pytest.raises(AlreadyExistsError, match="replace=True"):
            other.dataset_from(frame(), "sales")
        again = other.dataset_from(frame().iloc[:1], "sales", replace=True)
        assert again.id == sales.id
        assert queried(other, "sales", "count", row_limit=5) == [(1,)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_is_told_and_the_parent_goes_on(service: AnalyticsCore) -> None:
    service.dataset_from(frame(), "sales")
    queried(service, "sales", "count")

    def use() -> None:
        with pytest.raises(DatabaseError, match="handed over to another process"):
            queried(service, "sales", total("amount"))

    in_child(use)
    assert queried(service, "sales", total("amount")) == [(12.5,)]


def test_a_core_that_was_closed_holds_nothing(service: AnalyticsCore) -> None:
    service.dataset_from(frame(), "sales")
    service._runtime.parts.connector.close()
    with pytest.raises(DatabaseError, match="hand it over here too"):
        queried(service, "sales", "count")


def test_a_database_called_frames_by_somebody_else_is_left_alone(service: AnalyticsCore) -> None:
    service.databases.create({"database_name": "frames", "orm_uri": "duckdb://"})
    with pytest.raises(AlreadyExistsError, match="rename the database that has it"):
        service.dataset_from(frame(), "sales")


def test_a_connector_of_the_hosts_own_takes_nothing() -> None:
    class Own:
        def engine(self, *_arguments: Any, **_named: Any) -> Any: ...

        def dispose(self, database_id: int) -> None: ...

        def close(self) -> None: ...

    with AnalyticsCore(Settings(secret_key=KEY), connector=Own()) as made:
        made.create_first_administrator("admin")
        with pytest.raises(SourceError, match="make a core without connector="):
            made.as_user("admin").dataset_from(frame(), "sales")


@pytest.mark.slow
def test_what_was_handed_over_is_read_under_no_other_name(core: AnalyticsCore) -> None:
    database = core.dataset_from(frame(), "sales").database.id
    core.databases.update(database, {"impersonate_user": True})
    with pytest.raises(DatabaseAccessError, match="nobody is impersonated"):
        queried(core, "sales", "count")


def test_the_error_for_what_is_not_taken_is_copied_as_others_are() -> None:
    with pytest.raises(SourceError) as caught:
        analytics_core.connect(7)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message
