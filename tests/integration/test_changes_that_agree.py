"""Changes that do not depend on what the caller read all happen, however many sessions make them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core._content.changes import until_accepted
from analytics_core.errors import AnalyticsError, StaleVersionError

SESSIONS = 6
STORES = ["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mariadb"))]


@pytest.fixture(params=STORES)
def shop(request: pytest.FixtureRequest, tmp_path: Path, reused_store: Callable[[str], str]) -> Iterator[SmallCore]:
    store = f"sqlite:///{tmp_path}/meta.db" if request.param == "sqlite" else reused_store(request.param)
    with small_core(tmp_path, metadata_url=store) as made:
        made.orders()
        made.core.charts.create({"slice_name": "x", "datasource_id": 1, "datasource_type": "table"})
        yield made


def _at_once(act: Callable[[int], Any]) -> list[AnalyticsError]:
    """Do something in several sessions in the same moment, and return what was refused."""
    rejected: list[AnalyticsError] = []
    gate = threading.Barrier(SESSIONS)

    def session(number: int) -> None:
        gate.wait()
        try:
            act(number)
        except AnalyticsError as error:
            rejected.append(error)

    threads = [threading.Thread(target=session, args=(number,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rejected


@pytest.mark.slow
def test_grants_given_at_once_are_all_given(shop: SmallCore) -> None:
    role = shop.core.roles.create({"name": "analysts"})
    for turn in range(3):
        assert _at_once(lambda n, turn=turn: shop.core.roles.grant(role, on=("schema", 1, f"s{turn}.{n}"))) == []
    assert len(shop.core.roles.get(role.id).grants) == 3 * SESSIONS


@pytest.mark.slow
def test_a_dashboard_embedded_in_many_sessions_is_embedded_once(shop: SmallCore) -> None:
    domains = [f"https://{n}.example" for n in range(SESSIONS)]

    def embed(number: int, board: int) -> None:
        shop.core.embedded.create(board, {"allowed_domains": [domains[number]]})

    for _ in range(5):
        board = shop.core.dashboards.create({"dashboard_title": "x"}).id
        assert _at_once(partial(embed, board=board)) == []
        (domain,) = shop.core.embedded.get(board).allowed_domains or ()
        assert domain in domains


def test_a_star_taken_in_many_sessions_is_gone_and_logged_once(shop: SmallCore) -> None:
    for turn in range(1, 6):
        shop.core.charts.add_favourite(1)
        assert _at_once(lambda _n: shop.core.charts.remove_favourite(1)) == []
        taken = [{"col": "action", "op": "eq", "val": "chart.remove_favourite"}]
        assert shop.core.logs.list(taken).count == turn


@pytest.mark.slow
def test_columns_deleted_in_many_sessions_are_all_gone(shop: SmallCore) -> None:
    columns = shop.core.datasets.get(1).columns
    names = [f"c{n}" for n in range(SESSIONS)]
    more = [{"column_name": name, "expression": "amount"} for name in names]
    existing = [{"id": column.id, "column_name": column.column_name} for column in columns]
    made = shop.core.datasets.update(1, {"columns": [*existing, *more]})
    calculated = [column.id for column in made.columns if column.column_name in names]
    assert _at_once(lambda n: shop.core.datasets.delete_column(1, calculated[n])) == []
    assert [column.id for column in shop.core.datasets.get(1).columns] == [column.id for column in columns]


@pytest.mark.long
@pytest.mark.slow
def test_changes_that_say_nothing_of_what_was_read_are_all_accepted(shop: SmallCore) -> None:
    core = shop.core
    tag = core.tags.create({"name": "t"})
    dashboard = core.dashboards.create({"dashboard_title": "d"})
    form = {"datasource_id": 1, "datasource_type": "table", "form_data": "{}"}
    key = core.explore.create_form_data(form)
    acts: list[Callable[[int], Any]] = [
        lambda n: core.charts.update(1, {"description": f"{n}"}),
        lambda n: core.datasets.update(1, {"description": f"{n}"}),
        lambda _: core.datasets.refresh(1),
        lambda n: core.dashboards.update(dashboard.id, {"css": f"/* {n} */"}),
        lambda n: core.tags.update(tag.id, {"description": f"{n}"}),
        lambda n: core.databases.update(1, {"cache_timeout": n}),
        lambda n: core.explore.update_form_data(key, {**form, "form_data": f'{{"n": {n}}}'}),
    ]
    for act in acts:
        assert [_at_once(act) for _ in range(3)] == [[], [], []]


@pytest.mark.slow
def test_copies_of_a_ruled_dataset_made_at_once_are_all_made_and_bound(shop: SmallCore) -> None:
    core = shop.core
    base = core.datasets.create({"database": 1, "table_name": "big", "sql": "SELECT * FROM orders"})
    rule = {"name": "r", "clause": "amount > 1", "filter_type": "Regular", "roles": [1], "tables": [base.id]}
    rule_id = core.row_level_security.create(rule).id

    def copy(number: int, turn: int) -> None:
        core.datasets.duplicate({"base_model_id": base.id, "table_name": f"copy {turn}.{number}"})

    for turn in range(3):
        assert _at_once(partial(copy, turn=turn)) == []
    assert len(core.row_level_security.get(rule_id).tables) == 1 + 3 * SESSIONS


@pytest.mark.parametrize(("stale", "tries"), [(None, 10), ("chart", 10), ("dashboard", 1)])
def test_a_change_is_repeated_where_others_changed_the_kind_that_it_names(stale: str | None, tries: int) -> None:
    tried: list[int] = []

    def change() -> None:
        tried.append(1)
        raise StaleVersionError("chart", 1)

    with pytest.raises(StaleVersionError):
        until_accepted(change, stale=stale)
    assert len(tried) == tries
