"""The metadata store is no data, where its tables lie in a database that people may read or upload into."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.execution import KEY, LOOPBACK
from tests.support.uploading import driver_url

from analytics_core import AnalyticsCore, Settings, errors

ENGINES = ["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mariadb"))]


@pytest.fixture(params=ENGINES, scope="module")
def owner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    """Give the administrator of a core whose database 1 is its own store, of which no road here changes anything."""
    engine, folder = request.param, tmp_path_factory.mktemp("own")
    url = f"sqlite:///{folder}/meta.db"
    if engine != "sqlite":
        url = request.getfixturevalue(f"make_{engine}_database")()
    with AnalyticsCore(
        Settings(secret_key=KEY, data_roots=(folder,), allowed_networks=LOOPBACK), metadata_url=driver_url(url)
    ) as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        core.databases.create({"database_name": "own", "orm_uri": url, "allow_file_upload": True})
        yield core


def virtual(sql: str) -> Callable[[AnalyticsCore], object]:
    return lambda core: core.datasets.create({"database": 1, "table_name": "v", "sql": sql})


ROADS: dict[str, Callable[[AnalyticsCore], object]] = {
    "dataset": lambda core: core.datasets.create({"database": 1, "table_name": "ac_users"}),
    "dataset in capitals": lambda core: core.datasets.create({"database": 1, "table_name": "AC_USERS"}),
    "virtual": virtual("SELECT * FROM ac_users"),
    "quoted": virtual('SELECT * FROM (SELECT 1 AS a) AS t, "ac_databases"'),
    "within": virtual("SELECT (SELECT max(password) FROM AC_Databases) AS a"),
    "with": virtual("WITH ac_users AS (SELECT * FROM ac_users) SELECT * FROM ac_users"),
    "samples": lambda core: core.databases.samples(1, "ac_oauth2_tokens"),
    "table": lambda core: core.databases.table(1, "ac_oauth2_tokens"),
    "select_star": lambda core: core.databases.select_star(1, "ac_users"),
    **{
        f"upload {mode}": lambda core, mode=mode: core.databases.upload(1, b"id\n1\n", "ac_users", if_exists=mode)
        for mode in ("fail", "replace", "append")
    },
    "upload in capitals": lambda core: core.databases.upload(1, b"id\n1\n", "Ac_Users", if_exists="replace"),
}


@pytest.mark.parametrize("road", sorted(ROADS))
def test_no_road_leads_to_the_store(owner: AnalyticsCore, road: str) -> None:
    with pytest.raises(errors.AnalyticsError) as caught:
        ROADS[road](owner)
    assert "metadata store" in caught.value.message
    assert owner.users.list().count == 1


def test_another_name_of_the_file_leads_there_neither(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "data")
    store = tmp_path / "data" / "meta.db"
    with AnalyticsCore(Settings(secret_key=KEY, data_roots=(tmp_path,)), metadata_url=f"sqlite:///{store}") as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        os.symlink(store, tmp_path / "link.db")
        for number, path in enumerate([f"{tmp_path}/data/../data/meta.db", f"{tmp_path}/link.db"], start=1):
            core.databases.create({"database_name": path, "orm_uri": f"sqlite:///{path}"})
            with pytest.raises(errors.AnalyticsError, match="metadata store"):
                core.databases.samples(number, "ac_users")
