"""Alerts and reports: nobody gets rows, secrets or rights by them, and nobody stops those of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.reports import ReportWorld, mail, report_world

from analytics_core import AnalyticsCore
from analytics_core.errors import AccessError
from analytics_core.testing import InlineJobRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoReaders:
    """A world with two people: Mallory may see the rows of EU alone, the victim all of them."""

    world: ReportWorld
    mallory: AnalyticsCore
    mallory_id: int
    victim: AnalyticsCore
    victim_id: int


@pytest.fixture
def people(tmp_path: Path) -> Iterator[TwoReaders]:
    with report_world(tmp_path, jobs=InlineJobRunner(), url=f"sqlite:///{tmp_path}/meta.db") as world:
        dataset = world.admin.datasets.get(1)
        mallory = world.person("mallory", dataset, email="mallory@example.com")
        victim = world.person("victim", dataset, email="victim@example.com")
        ids = {user.username: user.id for user in world.admin.users.list()}
        role = next(role.id for role in world.admin.roles.list() if role.name == "role of mallory")
        rule = {"name": "EU", "filter_type": "Regular", "clause": "region = 'EU'", "roles": [role], "tables": [1]}
        world.admin.row_level_security.create(rule)
        yield TwoReaders(
            world=world,
            mallory=mallory,
            mallory_id=ids["mallory"],
            victim=victim,
            victim_id=ids["victim"],
        )


# --------------------------------------------------------------------------------------------- rows of somebody else
def test_a_dry_run_does_not_show_the_rows_of_recipients(people: TwoReaders) -> None:
    world, theirs = people.world, {"recipients": [mail("victim@example.com")], "extra": {"run_as": "recipient"}}
    made = world.report(people.mallory, **theirs)
    with pytest.raises(AccessError, match="rows of somebody else"):
        people.mallory.reports.dry_run(made.id)
    (_, message), *_ = world.admin.reports.dry_run(made.id).messages
    assert "US" in message.text


def test_a_dry_run_shows_a_recipient_their_own_rows(people: TwoReaders) -> None:
    own = {"recipients": [mail("mallory@example.com")], "extra": {"run_as": "recipient"}}
    made = people.world.report(people.mallory, **own)
    (_, message), *_ = people.mallory.reports.dry_run(made.id).messages
    assert "EU" in message.text
    assert "US" not in message.text


def test_a_dry_run_does_not_show_the_rows_of_another_owner_until_one_saves_it_oneself(people: TwoReaders) -> None:
    made = people.world.report(people.victim, owners=[people.mallory_id, people.victim_id])
    with pytest.raises(AccessError, match="rows of somebody else"):
        people.mallory.reports.dry_run(made.id)
    people.mallory.reports.update(made.id, {"description": "mine now"})
    (_, message), *_ = people.mallory.reports.dry_run(made.id).messages
    assert "US" not in message.text
