"""Several writers count in one record of each kind; each says what it read, and nobody's step is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.guests import GuestWorld, guest_world
from tests.support.lives import LIVES, Key, Life

from analytics_core.errors import StaleVersionError

WRITERS, STEPS = 4, 12
ON_SERVERS = ("users", "tags")  # one kind with lists of its own, one without, stand for all
CASES = [
    *(("file", name) for name in LIVES),
    *(
        pytest.param(server, name, marks=marks)
        for server, marks in (("postgres", [pytest.mark.server]), ("mariadb", [pytest.mark.server, pytest.mark.long]))
        for name in ON_SERVERS
    ),
]


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    """A world in each kind of store, whose clock stands still: what is later is not told by the clock."""
    folder = tmp_path_factory.mktemp("writers")
    url = f"sqlite:///{folder}/store.db"
    if request.param != "file":
        url = request.getfixturevalue(f"make_{request.param}_database")()
    with guest_world(f"sqlite:///{folder}/shop.db", metadata_url=url) as made:
        made.admin.roles.create({"name": "analysts"})
        yield made


def count_up(world: GuestWorld, life: Life, key: Key, chance: random.Random) -> int:
    """Add one as often as asked, each time to what was read just now; return how often somebody was faster."""
    accepted = rejected = 0
    while accepted < STEPS:
        read = life.get(world.admin, key)
        try:
            life.change(world.admin, key, str(int(life.word(read)) + 1), unchanged_since=read.changed_on)
            accepted += 1
        except StaleVersionError:
            rejected += 1
            time.sleep(chance.uniform(0, 0.01))
    return rejected


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("world", "name"), CASES, indirect=["world"])
def test_writers_of_one_record_lose_no_step(world: GuestWorld, name: str) -> None:
    life = LIVES[name]
    key = life.make(world.admin)
    life.change(world.admin, key, "0")
    action = f"{name.removesuffix('s')}.update"
    logged = updates_in_the_log(world, action)
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(count_up, world, life, key, random.Random(number)) for number in range(WRITERS)]
        rejected = sum(writer.result() for writer in writers)
    assert life.read(world.admin, key) == str(WRITERS * STEPS)
    assert rejected > 0  # they did get in each other's way
    assert updates_in_the_log(world, action) - logged == WRITERS * STEPS


def updates_in_the_log(world: GuestWorld, action: str) -> int:
    """Return how many updates of a kind were acknowledged."""
    return world.admin.logs.list(filters=[{"col": "action", "op": "eq", "val": action}], page_size=1).count
