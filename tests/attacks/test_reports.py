"""Alerts and reports: nobody gets rows, secrets or rights by them, and nobody stops those of others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.reports import ReportWorld, mail, report_world

from analytics_core import AnalyticsCore
from analytics_core.errors import AccessError, PayloadSchemaError
from analytics_core.testing import InlineJobRunner

MOST_SECONDS = 5.0
"""What hung takes less than a second now."""


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


# ------------------------------------------------------------------------------------------------------ bounded time
@pytest.mark.parametrize("text", ["{{" * 5_000, "{{" + " " * 9_998, "{{ " * 3_333, "{" * 10_000, "{{ name }}" * 1_000])
@pytest.mark.parametrize("key", ["subject", "body"])
def test_a_template_of_braces_and_blanks_is_read_soon(people: TwoReaders, key: str, text: str) -> None:
    started = time.monotonic()
    made = people.world.report(people.mallory, extra={key: text})
    people.mallory.reports.dry_run(made.id)
    assert time.monotonic() - started < MOST_SECONDS


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extra", {f"key {number}": None for number in range(101)}),
        ("extra", {"mine": "x" * 100_000}),
        ("selected_tabs", list(range(50_000))),
    ],
)
def test_what_each_run_reads_is_bounded(people: TwoReaders, field: str, value: object) -> None:
    with pytest.raises(PayloadSchemaError, match=field):
        people.world.report(people.mallory, **{field: value})
