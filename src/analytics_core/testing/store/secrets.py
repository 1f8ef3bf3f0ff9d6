"""What a store must keep of secrets: they lie sealed, each for its own place."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from analytics_core._records.repositories import ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core.errors import StaleVersionError, StoredDataError
from analytics_core.ports import MetadataStore
from analytics_core.testing.store.cases import for_each
from analytics_core.testing.store.fixtures import MemoryBox, StoreSuite
from analytics_core.testing.store.kinds import KINDS, NamedIds, filled
from analytics_core.testing.store.records import NO_USER, a_database, a_job, a_schedule, a_token

_SEALED = ("databases", "jobs", "oauth2_tokens", "report_schedules")


class SecretConformance(StoreSuite):
    """The store must seal by the fixture `secret_box`."""

    def test_every_kind_with_secrets_is_here(self, named: NamedIds) -> None:
        """So that none lies open."""
        assert tuple(kind for kind in KINDS if _secrets(filled(kind, named))) == _SEALED

    @for_each("kind", _SEALED)
    def test_each_secret_is_sealed_for_its_own_place(
        self, store: MetadataStore, secret_box: MemoryBox, named: NamedIds, kind: str
    ) -> None:
        """Moved to another record or field it stays shut; without the box the store knows none, old or new."""
        full, bare = filled(kind, named), KINDS[kind].bare(named)
        names = _secrets(full)
        same, new = (dict.fromkeys(names, Secret(text)) for text in ("same", "new"))
        with store.unit_of_work() as unit:
            repository: Any = getattr(unit, kind)
            first, second = (repository.add(replace(record, **same), actor_id=None) for record in (full, bare))
            repository.update(replace(first, **new), actor_id=None)
            repository.update(second, actor_id=None)
        places = {text: {place for sealed, place in secret_box.sealed if sealed == text} for text in ("same", "new")}
        assert (len(places["same"]), len(places["new"])) == (2 * len(names), len(names))
        assert places["new"] < places["same"]
        for record, text in ((first, "new"), (second, "same")):
            with store.unit_of_work() as unit:
                stored = getattr(unit, kind).get(record.id)
                assert {name: getattr(stored, name).reveal() for name in names} == dict.fromkeys(names, text)
        secret_box.empty()
        for record, name in itertools.product((first, second), names):
            with pytest.raises(StoredDataError), store.unit_of_work() as unit:
                getattr(getattr(unit, kind).get(record.id), name).reveal()

    def test_who_holds_tokens_for_a_while_changes_nothing_of_them(self, store: MetadataStore) -> None:
        """`changed_on` says when tokens were stored; the version still tells two who would hold them apart."""
        with store.unit_of_work() as unit:
            database = unit.databases.append(a_database("a"), actor_id=None)
            before = unit.oauth2_tokens.add(a_token(NO_USER, database), actor_id=NO_USER)
            until = unit.now() + timedelta(seconds=30)
            waiting = unit.oauth2_tokens.update(replace(before, refresh_until=until), actor_id=None)
            assert replace(waiting, refresh_until=None, audit=before.audit) == before
            assert waiting.audit == replace(before.audit, version=before.audit.version + 1)
            with pytest.raises(StaleVersionError):
                unit.oauth2_tokens.update(replace(before, refresh_until=until), actor_id=None)
            renewed = unit.oauth2_tokens.update(replace(waiting, refresh_token=Secret("r2")), actor_id=None)
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
            for user_id, database_id in ((NO_USER, ids[0]), (NO_USER, ids[1]), (NO_USER + 1, ids[0])):
                unit.oauth2_tokens.append(a_token(user_id, database_id, **same), actor_id=None)
        assert {text for text, _ in secret_box.sealed} == {"same"}
        assert len({context for _, context in secret_box.sealed}) == 6

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
            unit.oauth2_tokens.append(a_token(NO_USER, first, refresh_token=Secret("r")), actor_id=None)
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


def _secrets(record: Any) -> list[str]:
    return [one.name for one in fields(record) if isinstance(getattr(record, one.name), Secret)]
