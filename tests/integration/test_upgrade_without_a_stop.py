"""Two revisions of the code use one store at once, under load, before, while and after it is migrated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.extended_copy import PROJECT, copy_of_the_source, run, steps_of_a_field, take

from analytics_core._content.storage.migrate import HEAD
from analytics_core._content.storage.store_engine import make_store_engine
from analytics_core._content.storage.tables import CHARTS
from analytics_core.testing.sample_data import make_shop

pytestmark = [pytest.mark.slow, pytest.mark.server]

NEXT = f"{int(HEAD) + 1:04}"
SCRIPT = PROJECT / "tests" / "support" / "upgrade_process.py"


@pytest.fixture(params=["postgres", *(pytest.param(store, marks=pytest.mark.long) for store in ("file", "mariadb"))])
def url(request, tmp_path):
    if request.param == "file":
        return f"sqlite:///{tmp_path}/meta.db"
    return request.getfixturevalue(f"make_{request.param}_database")()


@pytest.fixture
def later(tmp_path):
    """The code of a later release: charts have headlines, which a revision brings."""
    copy = copy_of_the_source(tmp_path / "later")
    for step in steps_of_a_field():
        take(step, copy)
    return copy


class Loaded:
    """A process of one code that uses the store without a pause."""

    def __init__(self, source: Path, *arguments: str, cwd: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, "-W", "error", str(SCRIPT), *arguments]
        self.process = subprocess.Popen(command, env={"PYTHONPATH": str(source)}, cwd=cwd, **pipes)

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, command: str):
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.answer()


@contextmanager
def started(source: Path, url: str, name: str, migrates: str, shop: Path) -> Iterator[Loaded]:
    loaded = Loaded(source, url, str(shop), name, migrates, cwd=shop.parent)
    try:
        yield loaded
    finally:
        loaded.process.communicate(timeout=60)


def test_two_releases_use_one_store_before_while_and_after_it_is_migrated(url, later, tmp_path):
    make_shop(shop := tmp_path / "shop.db")
    new_code, store = later / "src", ("-m", "analytics_core", "migrate", "--store", url)
    with started(PROJECT / "src", url, "old", "migrates", shop) as old:
        assert old.answer() == HEAD
        with started(new_code, url, "new", "as it is", shop) as new:
            assert [new.answer(), old.ask("rounds 5"), new.ask("rounds 5")] == [HEAD] * 3
            assert new.ask("headline 1").startswith(
                "StoreOutdatedError: the metadata store has no place for headline of charts yet"
            )
            assert "ALTER TABLE ac_charts ADD COLUMN headline" in run(later, *store, "--dry-run")
            assert new.ask("rounds 2") == HEAD
            assert run(later, *store) == f"{NEXT}: Charts have headlines.\n"
            assert [old.ask("rounds 5"), new.ask("rounds 5")] == [NEXT] * 2
            assert new.ask("headline 1") == "Up"
            assert (old.ask("change 1")["cache_timeout"], new.ask("change 1")["headline"]) == (1, "Up")
            with started(PROJECT / "src", url, "late", "migrates", shop) as late:
                assert [late.answer(), late.ask("rounds 3")] == [NEXT] * 2
                ends = {name: process.ask("end") for name, process in (("old", old), ("new", new), ("late", late))}
    assert {name: end["errors"] for name, end in ends.items()} == {"old": [], "new": [], "late": []}
    acknowledged = {int(key): name for end in ends.values() for key, name in end["stored"].items()}
    assert len(acknowledged) == sum(end["rounds"] for end in ends.values())
    engine = make_store_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(sa.select(CHARTS.c.id, CHARTS.c.slice_name, CHARTS.c.description)).all()
    engine.dispose()
    assert {row.id: row.slice_name for row in rows if row.description is not None} == acknowledged
