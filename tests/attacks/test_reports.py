"""Alerts and reports: nobody gets rows, secrets or rights by them, and nobody stops those of others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from tests.support.many_records import engine_of
from tests.support.reports import HOUR, NOON, ReportWorld, chat, mail, report_world

from analytics_core import AnalyticsCore
from analytics_core._records.report import ReportExecution, RunCause
from analytics_core.errors import AccessError, AnalyticsError, InUseError, PayloadSchemaError, StoredDataError
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
    with report_world(tmp_path, jobs=InlineJobRunner()) as world:
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
    people.mallory.reports.update(made.id, {"extra": {"run_as": people.mallory_id}})
    (_, message), *_ = people.mallory.reports.dry_run(made.id).messages
    assert "US" not in message.text


# ------------------------------------------------------------------------------------------------------ bounded time
@pytest.mark.parametrize("text", ["{{" * 5_000, "{{" + " " * 9_998, "{{ " * 3_333, "{" * 10_000, "{{ name }}" * 1_000])
@pytest.mark.parametrize("key", ["subject", "body"])
def test_a_template_of_braces_and_blanks_is_read_soon(people: TwoReaders, key: str, text: str) -> None:
    started = time.process_time()
    with suppress(PayloadSchemaError):  # braces that are not closed
        made = people.world.report(people.mallory, extra={key: text})
        people.mallory.reports.dry_run(made.id)
    assert time.process_time() - started < MOST_SECONDS


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


# ------------------------------------------------------------------------------------------------- those of others
DEEP = "[" * 100_000 + "]" * 100_000
UNREADABLE = [
    ("crontab", "x"),
    ("crontab", "\u0660 * * * *"),
    ("timezone", "Nowhere/Land"),
    ("timezone", "../../etc/passwd"),
    ("timezone", "\0"),
    ("extra", "{"),
    ("extra", "[]"),
    ("extra", DEEP),
    ("extra", '{"run_as": 1}'),
    ("recipients", "{}"),
    ("selected_tabs", DEEP),
    ("report_format", "ZZZ"),
    ("type", "ZZZ"),
    ("log_retention", 2_147_483_647),
    ("log_retention", -2_147_483_648),
    ("grace_period", -2_147_483_648),
    ("working_timeout", 2_147_483_647),
]


def write(people: TwoReaders, schedule_id: int, field: str, value: object) -> None:
    """Write into a schedule as somebody does who has the store."""
    with engine_of(people.world.host).begin() as store:
        store.exec_driver_sql(f"UPDATE ac_report_schedules SET {field} = ? WHERE id = ?", (value, schedule_id))


@pytest.mark.parametrize(("field", "value"), UNREADABLE)
def test_a_schedule_that_nobody_can_read_stops_no_others(people: TwoReaders, field: str, value: object) -> None:
    world = people.world
    broken = world.report(people.mallory, name="broken", crontab="*/30 * * * *")
    write(people, broken.id, field, value)
    good = world.report(people.victim, name="good")
    world.pass_time()
    world.pass_time()
    assert world.states(good) == ["Success", "Success"]


@pytest.mark.parametrize(("field", "value"), UNREADABLE)
def test_a_schedule_that_nobody_can_read_is_a_typed_error(people: TwoReaders, field: str, value: object) -> None:
    broken = people.world.report(people.mallory, name="broken")
    write(people, broken.id, field, value)
    reports = people.mallory.reports
    for ask in (reports.get, reports.next_runs, reports.dry_run, reports.run_now, lambda _id: reports.list()):
        with suppress(AnalyticsError):
            ask(broken.id)


@pytest.mark.parametrize(("field", "value"), UNREADABLE)
def test_a_check_goes_on_past_a_schedule_that_nobody_can_read(people: TwoReaders, field: str, value: object) -> None:
    broken = people.world.report(people.mallory, name="broken")
    write(people, broken.id, field, value)
    checked = [one for one in people.world.admin.check().records if one.name == "broken"]
    assert len(checked) == 1
    keeps_it_from_running = field not in {"type", "log_retention", "grace_period", "working_timeout"}
    assert bool(checked[0].problems) is keeps_it_from_running


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"messages": 5}', '{"revision": 1, "messages": [{}]}', DEEP])
def test_a_manifest_that_nobody_can_read_is_a_typed_error(people: TwoReaders, content: str) -> None:
    made = people.world.report(people.mallory)
    run = people.mallory.reports.run_now(made.id)
    with engine_of(people.world.host).begin() as store:
        store.exec_driver_sql("UPDATE ac_report_executions SET manifest = ?", (content,))
    with pytest.raises(StoredDataError, match="cannot be read"):
        people.mallory.reports.replay(made.id, run.id)


def test_a_schedule_that_was_unreadable_is_due_again_when_it_is_saved(people: TwoReaders) -> None:
    world = people.world
    made = world.report(people.mallory)
    write(people, made.id, "timezone", "Nowhere/Land")
    world.pass_time()
    write(people, made.id, "timezone", "UTC")
    people.mallory.reports.update(made.id, {"description": "mended"})
    world.pass_time()
    assert world.states(made) == ["Missed", "Success"]


@pytest.mark.parametrize("days", [1_000_000, 2_147_483_647])
def test_a_log_that_is_kept_for_ages_stops_no_others(people: TwoReaders, days: int) -> None:
    world = people.world
    theirs = world.report(people.mallory, name="theirs", log_retention=days)
    good = world.report(people.victim, name="good")
    world.pass_time()
    assert (world.states(theirs), world.states(good)) == (["Success"], ["Success"])


def test_a_late_run_whose_name_has_line_breaks_stops_no_others_and_is_told(people: TwoReaders) -> None:
    world = people.world
    world.admin.users.update(people.victim_id, {"email": "victim@example.com\r\nBcc: eve@example.com"})
    late = world.report(people.mallory, name="late\r\nBcc: eve@example.com", owners=[people.victim_id])
    good = world.report(people.victim, name="good")
    with world.host._runtime.content.store.unit_of_work() as unit:
        run = ReportExecution(
            uuid="11111111-1111-4111-8111-111111111111",
            schedule_id=late.id,
            scheduled_dttm=NOON,
            cause=RunCause.DUE,
            start_dttm=NOON,
            late_on=unit.now() - timedelta(seconds=1),
            job_id="gone",
        )
        unit.report_executions.append(run, actor_id=None)
    world.pass_time(HOUR)
    assert world.states(good) == ["Success"]
    (notice,) = [sent for sent in world.outbox.sent if sent.message.subject.startswith("Error occurred")]
    assert notice.message.subject == "Error occurred for Report: late Bcc: eve@example.com"
    assert notice.recipient.to == ("mallory@example.com",)


@pytest.mark.parametrize("after", [datetime.max.replace(tzinfo=UTC), datetime(9999, 12, 30), datetime.min])
@pytest.mark.parametrize("crontab", ["* * * * *", "0 0 29 2 *", "0 0 29 2 1#5"])
def test_next_runs_end_with_the_calendar(people: TwoReaders, crontab: str, after: datetime) -> None:
    made = people.world.report(people.mallory, crontab=crontab)
    assert len(people.mallory.reports.next_runs(made.id, 1_000, after=after)) <= 1_000


# --------------------------------------------------------------------------------------------------- secret addresses
HOOK, MASKED = "https://hooks.example.com/services/secret", "https://hooks.example.com/XXXXXXXXXX"
OTHER_HOOK = "https://hooks.example.com/services/another"


def sent_to(people: TwoReaders) -> list[str]:
    people.world.pass_time()
    return [sent.recipient.to[0] for sent in people.world.outbox.sent]


def test_a_masked_address_is_not_told_as_one_of_another_kind(people: TwoReaders) -> None:
    made = people.world.report(people.victim, owners=[people.mallory_id], recipients=[chat(HOOK)])
    for recipient in (mail(MASKED), mail("a@example.com", ccTarget=MASKED)):
        for person, error in ((people.mallory, AccessError), (people.victim, PayloadSchemaError)):
            with pytest.raises(error) as refused:
                person.reports.update(made.id, {"recipients": [recipient]})
            assert "secret" not in str(refused.value)


def test_two_web_hooks_of_one_host_stay_two(people: TwoReaders) -> None:
    made = people.world.report(people.victim, recipients=[chat(HOOK), chat(OTHER_HOOK)])
    people.victim.reports.update(made.id, {"recipients": [chat(MASKED), chat(MASKED), mail("bob@example.com")]})
    assert sent_to(people) == [HOOK, OTHER_HOOK, "bob@example.com"]


def test_a_new_web_hook_of_the_same_host_is_not_taken_for_the_stored_one(people: TwoReaders) -> None:
    made = people.world.report(people.victim, recipients=[chat(HOOK)])
    people.victim.reports.update(made.id, {"recipients": [chat(OTHER_HOOK), chat(MASKED)]})
    assert sent_to(people) == [OTHER_HOOK, HOOK]


def test_a_masked_address_that_stands_for_none_or_for_several_is_refused(people: TwoReaders) -> None:
    with pytest.raises(PayloadSchemaError, match="give the whole address"):
        people.world.report(people.victim, recipients=[chat(MASKED)])
    made = people.world.report(people.victim, recipients=[chat(HOOK), chat(OTHER_HOOK)])
    with pytest.raises(PayloadSchemaError, match="give the whole address"):
        people.victim.reports.update(made.id, {"recipients": [chat(MASKED)]})


@pytest.mark.parametrize(
    "targets",
    [[",".join(f"a{number}@example.com" for number in range(1_001))], [",".join(["a"] * 300)] * 4, ["," * 500_001]],
)
def test_addresses_are_counted_whatever_they_stand_in(people: TwoReaders, targets: list[str]) -> None:
    with pytest.raises(PayloadSchemaError, match="at most"):
        people.world.report(people.mallory, recipients=[mail(target) for target in targets])


# ------------------------------------------------------------------------------------------------- rights of somebody
def test_who_goes_does_not_leave_reports_that_run_as_an_administrator(people: TwoReaders) -> None:
    world, first = people.world, 1
    report = world.report(people.mallory, owners=[first], recipients=[mail("mallory@elsewhere.example")])
    with pytest.raises(InUseError, match="run those in their place"):
        world.admin.users.delete(people.mallory_id)
    world.pass_time()
    assert "US" not in world.outbox.sent[-1].message.text
    world.admin.reports.update(report.id, {"owners": [people.victim_id]})
    world.admin.users.delete(people.mallory_id)
    assert [owner.id for owner in world.admin.reports.get(report.id).owners] == [people.victim_id]


def test_whose_rows_a_report_sends_changes_by_their_own_word_alone(people: TwoReaders) -> None:
    """Saves of all kinds by three people, beside a model: who made it, until a saver names themselves."""
    world, draw = people.world, Random(29)
    savers = {1: world.admin, people.mallory_id: people.mallory, people.victim_id: people.victim}
    names = {1: "ada", people.mallory_id: "mallory", people.victim_id: "victim"}
    made = world.report(people.mallory, owners=list(savers), name="0")
    executor: int | None = people.mallory_id
    seen = set()
    for number in range(1, 60):
        saver = draw.choice(list(savers))
        kind = draw.choice(["rename", "pause", "resume", "owners", "recipients", "name oneself", "name another"])
        payload = {
            "rename": {"name": str(number)},
            "pause": {"active": False},
            "resume": {"active": True},
            "owners": {"owners": draw.sample(list(savers), draw.randint(1, 3))},
            "recipients": {"recipients": [mail(f"{number}@example.com")]},
            "name oneself": {"extra": {"run_as": draw.choice([saver, names[saver]])}},
            "name another": {"extra": {"run_as": draw.choice([key for key in savers if key != saver])}},
        }[kind]
        owners = [owner.id for owner in world.admin.reports.get(made.id).owners]
        try:
            after = savers[saver].reports.update(made.id, payload)
        except AccessError:
            is_other = kind == "recipients" and executor not in {None, saver}
            assert saver != 1
            assert saver not in owners or is_other
            continue
        except PayloadSchemaError:
            assert kind == "name another"
            continue
        if kind == "name oneself":
            executor = saver
        elif executor in owners and executor not in {owner.id for owner in after.owners}:
            executor = None
        assert after.executor_id == executor, (number, kind, saver)
        assert (after.extra or {}).get("run_as", "executor") == "executor"
        seen.add((kind, executor))
        run = world.admin.reports.run_now(made.id)
        is_allowed = executor is not None and (executor == 1 or executor in {owner.id for owner in after.owners})
        assert (run.state == "Success") is is_allowed, (number, kind, run.error_message)
        if is_allowed:
            assert ("US" in world.outbox.sent[-1].message.text) is (executor != people.mallory_id)
    assert {executor for _, executor in seen} == {None, *savers}


def test_a_report_whose_executor_left_stops_and_its_owners_hear_how_it_goes_on(people: TwoReaders) -> None:
    world = people.world
    made = world.report(people.mallory, owners=[1, people.mallory_id], recipients=[mail("mallory@elsewhere.example")])
    world.admin.reports.update(made.id, {"active": False})
    world.admin.reports.update(made.id, {"active": True})
    world.pass_time()
    assert "US" not in world.outbox.sent[-1].message.text
    world.outbox.clear()
    world.admin.reports.update(made.id, {"owners": [1]})
    world.pass_time()
    (notice,) = world.outbox.sent
    assert notice.recipient.to == ("ada@example.com",)
    assert "extra.run_as" in notice.message.text
    assert world.states(made) == ["Success", "Error"]


def test_a_new_owner_does_not_have_the_rows_of_another_sent_elsewhere(people: TwoReaders) -> None:
    made = people.world.report(people.victim)
    people.victim.reports.update(made.id, {"owners": [people.mallory_id, people.victim_id]})
    mine = [mail("mallory@example.com")]
    with pytest.raises(AccessError, match=r"change its recipients; so may you .* extra.run_as 'mallory'"):
        people.mallory.reports.update(made.id, {"recipients": mine})
    report = people.mallory.reports.get(made.id)
    again = {"recipients": [one.model_dump() for one in report.recipients], "extra": report.extra, "name": "renamed"}
    assert people.mallory.reports.update(made.id, again).executor_id == people.victim_id
    people.mallory.reports.update(made.id, {"recipients": mine, "extra": {"run_as": "mallory"}})
    people.world.pass_time()
    assert "US" not in people.world.outbox.sent[-1].message.text


def test_a_report_that_an_administrator_makes_for_others_shows_them_no_more_when_they_change_it(
    people: TwoReaders,
) -> None:
    made = people.world.report(owners=[people.mallory_id])
    assert made.executor_id == 1
    with pytest.raises(AccessError, match="rows that user 1 may see"):
        people.mallory.reports.update(made.id, {"report_format": "CSV"})
    people.world.pass_time()
    assert "US" in people.world.outbox.sent[-1].message.text


def test_an_owner_whom_nothing_runs_as_is_deleted(people: TwoReaders) -> None:
    people.world.report(people.victim, owners=[people.mallory_id, people.victim_id])
    people.world.admin.users.delete(people.mallory_id)


def test_a_notice_tells_nobody_the_addresses_of_people_who_were_named_as_owners(people: TwoReaders) -> None:
    failing = {"recipients": [mail("nobody@example.com")], "extra": {"run_as": "recipient"}}
    people.world.report(people.mallory, owners=[1, people.victim_id], **failing)
    people.world.pass_time()
    (notice,) = people.world.outbox.sent
    assert notice.recipient.to == ("mallory@example.com",)
    assert sorted(notice.recipient.bcc) == ["ada@example.com", "victim@example.com"]


def test_a_huge_value_of_an_alert_does_not_fill_the_log(people: TwoReaders) -> None:
    sql = "SELECT replace(hex(printf('%0100000d', 0)), '3', 'many') AS x"
    made = people.world.alert(sql=sql, validator_type="Not Null")
    people.world.pass_time()
    (run,) = people.world.runs(made)
    assert run.state == "Success"
    assert 1_000 < len(run.value_row_json or "") < 2_000
