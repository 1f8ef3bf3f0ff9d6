"""What every `MetadataStore` must keep about secrets: they lie sealed, each for its own place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from analytics_core._records.repositories import ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core.errors import StaleVersionError, StoredDataError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import (
    NOBODY,
    StoreSuite,
    a_database,
    a_job,
    a_schedule,
    a_token,
    a_user,
)


class MemoryBox:
    """Keeps what it seals in memory and gives a number for it (port `SecretBox`); `sealed` is what it was given."""

    def __init__(self) -> None:
        self.sealed: list[tuple[str, str]] = []

    def seal(self, text: str, *, context: str) -> str:
        """Return the number of the text."""
        self.sealed.append((text, context))
        return f"box.{len(self.sealed)}"

    def open(self, sealed: str, *, context: str) -> str:
        """Return the text; StoredDataError when it is not here, or not for this context."""
        number = int(sealed.removeprefix("box.")) if sealed.startswith("box.") else 0
        if not 0 < number <= len(self.sealed) or self.sealed[number - 1][1] != context:
            raise StoredDataError("not sealed in this box, or for another place")
        return self.sealed[number - 1][0]

    def empty(self) -> None:
        """Forget everything."""
        self.sealed.clear()


class SecretConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use `clock` and `secret_box`, and start empty."""

    @pytest.fixture
    def secret_box(self) -> MemoryBox:
        """Return the box in which the store must seal."""
        return MemoryBox()

    def test_without_the_box_the_store_does_not_know_its_secrets(
        self, store: MetadataStore, secret_box: MemoryBox
    ) -> None:
        """Whoever copies the store has no password; neither in what was added nor in what was changed."""
        with store.unit_of_work() as unit:
            added = unit.databases.add(a_database(ssh_tunnel=Secret("t1")), actor_id=None)
        with store.unit_of_work() as unit:
            unit.databases.update(replace(added, uri=Secret("u2"), ssh_tunnel=Secret("t2")), actor_id=None)
        assert {text for text, _ in secret_box.sealed} >= {added.uri.reveal(), "t1", "u2", "t2"}
        secret_box.empty()
        with pytest.raises(StoredDataError), store.unit_of_work() as unit:
            unit.databases.get(added.id).uri.reveal()

    def test_each_secret_is_sealed_for_its_own_place(self, store: MetadataStore, secret_box: MemoryBox) -> None:
        """One that is moved to another record or field stays shut."""
        same = Secret("same")
        with store.unit_of_work() as unit:
            for name in ("a", "b"):
                unit.databases.add(a_database(name, uri=same, ssh_tunnel=same), actor_id=None)
        assert len({context for _, context in secret_box.sealed}) == 4

    def test_the_claims_of_a_job_are_sealed_for_that_job(self, store: MetadataStore, secret_box: MemoryBox) -> None:
        """They say what somebody may see; those of another job open nothing here."""
        with store.unit_of_work() as unit:
            for name in ("first", "second"):
                unit.jobs.append(a_job(name, claims=Secret("same")), actor_id=None)
        with store.unit_of_work() as unit:
            job = unit.jobs.find(job_id="first")
            assert job is not None
            unit.jobs.update(replace(job, cancel_requested=True), actor_id=None)
        texts = {text for text, _ in secret_box.sealed}
        assert (texts, len({context for _, context in secret_box.sealed})) == ({"same"}, 2)
        with store.unit_of_work() as unit:
            assert [job.claims for job in unit.jobs.list(ListQuery())[1]] == [Secret("same")] * 2
        secret_box.empty()
        with store.unit_of_work() as unit:
            job = unit.jobs.find(job_id="first")
            assert job is not None
            assert job.claims is not None
            with pytest.raises(StoredDataError):
                job.claims.reveal()

    def test_who_holds_tokens_for_a_while_changes_nothing_of_them(self, store: MetadataStore) -> None:
        """`changed_on` says when tokens were stored; the version still tells two who would hold them apart."""
        with store.unit_of_work() as unit:
            database = unit.databases.append(a_database("a"), actor_id=None)
            before = unit.oauth2_tokens.add(a_token(NOBODY, database), actor_id=NOBODY)
            until = unit.now() + timedelta(seconds=30)
            held = unit.oauth2_tokens.update(replace(before, refresh_until=until), actor_id=None)
            assert replace(held, refresh_until=None, audit=before.audit) == before
            assert held.audit == replace(before.audit, version=before.audit.version + 1)
            with pytest.raises(StaleVersionError):
                unit.oauth2_tokens.update(replace(before, refresh_until=until), actor_id=None)
            renewed = unit.oauth2_tokens.update(replace(held, refresh_token=Secret("r2")), actor_id=None)
            assert before.audit.changed_on is not None
            assert renewed.audit.changed_on is not None
            assert renewed.audit.changed_on > before.audit.changed_on

    def test_the_tokens_of_a_user_are_sealed_for_that_user_and_database(
        self, store: MetadataStore, secret_box: MemoryBox
    ) -> None:
        """Whoever writes another user or database beside them has nothing."""
        same = {"access_token": Secret("same"), "refresh_token": Secret("same")}
        with store.unit_of_work() as unit:
            ids = [unit.databases.append(a_database(name), actor_id=None) for name in ("a", "b")]
            secret_box.empty()
            for user_id, database_id in ((NOBODY, ids[0]), (NOBODY, ids[1]), (NOBODY + 1, ids[0])):
                unit.oauth2_tokens.append(a_token(user_id, database_id, **same), actor_id=None)
        assert {text for text, _ in secret_box.sealed} == {"same"}
        assert len({context for _, context in secret_box.sealed}) == 6

    def test_the_tokens_for_a_database_go_with_it(self, store: MetadataStore) -> None:
        """And those of a user with the user; those of others stay."""
        with store.unit_of_work() as unit:
            ids = [unit.databases.append(a_database(name), actor_id=None) for name in ("a", "b")]
            user_id = unit.users.append(a_user(), actor_id=None)
            for of_whom, database_id in ((NOBODY, ids[0]), (NOBODY, ids[1]), (user_id, ids[1])):
                unit.oauth2_tokens.append(a_token(of_whom, database_id), actor_id=None)
        with store.unit_of_work() as unit:
            unit.databases.delete(ids[0])
            unit.users.delete(user_id)
        with store.unit_of_work() as unit:
            assert [(t.user_id, t.database_id) for t in unit.oauth2_tokens.list(ListQuery())[1]] == [(NOBODY, ids[1])]

    def test_absent_secrets_are_not_sealed(self, secret_box: MemoryBox, unit: UnitOfWork) -> None:
        """None stays None; an empty text is a secret."""
        none = unit.databases.add(a_database("a"), actor_id=None)
        empty = unit.databases.add(a_database("b", ssh_tunnel=Secret("")), actor_id=None)
        assert (none.ssh_tunnel, empty.ssh_tunnel) == (None, Secret(""))
        assert len(secret_box.sealed) == 3

    def test_all_secrets_are_sealed_anew_and_nothing_else_changes(
        self, store: MetadataStore, secret_box: MemoryBox
    ) -> None:
        """Each for its own place, so that what they were sealed with before may go."""
        with store.unit_of_work() as unit:
            options = {"ssh_tunnel": Secret("t"), "secret_extra": Secret("x")}
            first = unit.databases.append(a_database("a", uri=Secret("u"), **options), actor_id=None)
            unit.databases.add(a_database("b", uri=Secret("v")), actor_id=None)
            unit.jobs.append(a_job(), actor_id=None)
            unit.jobs.append(a_job("second", claims=Secret("c")), actor_id=None)
            unit.oauth2_tokens.append(a_token(NOBODY, first, refresh_token=Secret("r")), actor_id=None)
            unit.report_schedules.append(a_schedule(recipients=Secret("p")), actor_id=None)
        with store.unit_of_work() as unit:
            before = unit.databases.list(ListQuery())
            jobs = unit.jobs.list(ListQuery())
        sealed = list(secret_box.sealed)
        assert store.reseal_secrets() == 7
        assert sorted(secret_box.sealed[len(sealed) :]) == sorted(sealed)
        secret_box.sealed[: len(sealed)] = [("gone", "gone")] * len(sealed)
        with store.unit_of_work() as unit:
            assert unit.databases.list(ListQuery()) == before
            assert unit.jobs.list(ListQuery()) == jobs
            assert [job.claims for job in jobs[1]] == [None, Secret("c")]
            assert {one.uri.reveal() for one in before[1]} == {"u", "v"}
            assert [token.refresh_token for token in unit.oauth2_tokens.list(ListQuery())[1]] == [Secret("r")]
            assert [one.recipients for one in unit.report_schedules.list(ListQuery())[1]] == [Secret("p")]
