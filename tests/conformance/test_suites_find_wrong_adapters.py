"""The suites are worth their while: an adapter that breaks one promise fails the test that asks for it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import inspect
import os
import pkgutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_backed import StoreLock
from analytics_core._core.adapters.caches import MemoryCache
from analytics_core._core.adapters.progress_bars import SilentProgress
from analytics_core._records.people import User
from analytics_core._records.repositories import ListFilter, ListQuery, Scope, UnitOfWork
from analytics_core.errors import StaleVersionError, StoredDataError
from analytics_core.ports import Delivery, DeliveryState, Destination, Lease, Message, Recipient
from analytics_core.testing import Outbox, conformance
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.cache import CacheConformance
from analytics_core.testing.conformance.clock import ClockConformance
from analytics_core.testing.conformance.lock import ExtendableLockConformance
from analytics_core.testing.conformance.network_policy import NetworkPolicyConformance
from analytics_core.testing.conformance.notifier import NotifierConformance, ReceivedMessage
from analytics_core.testing.conformance.progress import ProgressConformance
from analytics_core.testing.conformance.secret_box import SecretBoxConformance
from analytics_core.testing.conformance.user_directory import UserDirectoryConformance
from analytics_core.testing.store import StoreConformance
from analytics_core.testing.store.fixtures import MemoryBox
from analytics_core.testing.store.kinds import KINDS, store_named
from analytics_core.testing.store.records import START
from analytics_core.testing.store.scopes import store_visible


def test_failures_of_every_suite_show_their_values() -> None:
    names = [module.name for module in pkgutil.iter_modules(conformance.__path__)]
    suites = {name for name in names if any(_is_suite(name, thing) for thing in vars(_module(name)).values())}
    assert suites == set(conformance._SUITES)


def _module(name: str) -> Any:
    return importlib.import_module(f"{conformance.__name__}.{name}")


def _is_suite(name: str, thing: object) -> bool:
    return isinstance(thing, type) and thing.__name__.endswith("Conformance") and thing.__module__.endswith(name)


# ----------------------------------------------------------------------------------------------------------- cache
class InMilliseconds(MemoryCache):
    """Takes seconds for milliseconds."""

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep the value a thousand times too short."""
        super().set(key, value, timeout_s=None if timeout_s is None else max(1, timeout_s // 1_000))


class AtMostAMonth(MemoryCache):
    """Takes what is longer than a month for a moment of 1970, as some servers do."""

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep the value, unless it should live long."""
        if timeout_s is None or timeout_s <= 30 * 86_400:
            super().set(key, value, timeout_s=timeout_s)


class ForgetsTooMuch(MemoryCache):
    """Empties itself for one entry."""

    def delete(self, key: str) -> None:
        """Forget everything."""
        for each in tuple(self._entries):
            super().delete(each)


class OtherBytes(MemoryCache):
    """Gives bytes that are none."""

    def get(self, key: str) -> Any:
        """Return what compares equal."""
        found = super().get(key)
        return None if found is None else bytearray(found)


@pytest.mark.parametrize("wrong", [InMilliseconds, AtMostAMonth])
def test_a_cache_with_other_times_is_found(wrong: type[MemoryCache]) -> None:
    clock = FixedClock(START)
    cache = wrong(max_bytes=2_000_000, clock=clock)
    with pytest.raises(AssertionError):
        CacheConformance().test_an_entry_lives_for_its_time(
            cache, lambda seconds: clock.advance(timedelta(seconds=seconds)) and None
        )


def test_a_cache_that_forgets_too_much_or_gives_other_bytes_is_found() -> None:
    options: Any = {"max_bytes": 2_000_000, "clock": FixedClock(START)}
    with pytest.raises(AssertionError):
        CacheConformance().test_deleted_entries_are_gone(ForgetsTooMuch(**options))
    with pytest.raises(AssertionError):
        CacheConformance().test_stored_bytes_come_back_unchanged(OtherBytes(**options), b"value")


# ------------------------------------------------------------------------------------------------------------- locks
class ByName(StoreLock):
    """Gives a lock back to whoever knows its name."""

    def release(self, lease: Lease) -> bool:
        """Take the owner's value from the store."""
        with self._store.unit_of_work() as unit:
            lock = unit.locks.find(name=lease.name)
        return lock is not None and super().release(replace(lease, owner=lock.owner))


class ForEver(StoreLock):
    """Takes no end for an end."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Hold it a thousand times as long."""
        return super().acquire(name, ttl_s=ttl_s * 1_000)


class CountsHolders(StoreLock):
    """Numbers leases by what is held now."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Begin anew when everything was given back."""
        lease = super().acquire(name, ttl_s=ttl_s)
        return lease and replace(lease, fencing_number=1)


class LooksFirst(StoreLock):
    """Looks and takes in two steps."""

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Free what is in the way."""
        with self._store.unit_of_work() as unit:
            is_locked = unit.locks.find(name=name) is not None
        time.sleep(0.05)
        if is_locked:
            return None
        with self._store.unit_of_work() as unit:
            unit.locks.delete_matching([ListFilter(col="name", op="eq", val=name)])
        return super().acquire(name, ttl_s=ttl_s)


class ExtendsWhatIsOver(StoreLock):
    """Says of each lease that it lasts."""

    def extend(self, lease: Lease, *, ttl_s: float) -> bool:
        """Extend nothing."""
        return True


@for_each(
    ("wrong", "test"),
    [
        (ExtendsWhatIsOver, "an_extended_lease_lasts"),
        (ExtendsWhatIsOver, "a_lease_that_is_over_is_not_extended"),
        (ByName, "only_the_owner_gives_it_back"),
        (ForEver, "it_ends_by_itself"),
        (ForEver, "a_lease_that_is_over_is_not_held_although_nobody_took_the_lock"),
        (CountsHolders, "fencing_numbers_grow"),
        (LooksFirst, "many_ask_and_one_gets_it"),
    ],
)
def test_a_wrong_lock_is_found(store: SqlMetadataStore, wrong: type[StoreLock], test: str) -> None:
    run = getattr(ExtendableLockConformance(), f"test_{test}")
    with pytest.raises(AssertionError):
        run(wrong(store), time.sleep) if "let_pass" in inspect.signature(run).parameters else run(wrong(store))


# ---------------------------------------------------------------------------------------------------------- progress
class SwallowsErrors(SilentProgress):
    """Ends the work without a word."""

    @contextmanager
    def bar(self, work: str, *, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
        """Take an error for the end."""
        with suppress(Exception), super().bar(work, total=total, unit=unit) as tell:
            yield tell


def test_progress_that_swallows_errors_is_found() -> None:
    with pytest.raises(pytest.fail.Exception):
        ProgressConformance().test_what_stops_the_work_goes_on_upwards(SwallowsErrors(), ValueError)


# ------------------------------------------------------------------------------------------------- clock, secret box
class LondonClock:
    """Is right in winter."""

    def now(self) -> datetime:
        """Return a moment of January as London writes it."""
        return datetime(2026, 1, 15, tzinfo=ZoneInfo("Europe/London"))

    def monotonic(self) -> float:
        """Return what is set back at every look."""
        self.looks = getattr(self, "looks", 0) + 1
        return -float(self.looks)


def test_seconds_that_run_backwards_are_found() -> None:
    with pytest.raises(AssertionError):
        ClockConformance().test_seconds_do_not_run_backwards(LondonClock())


def test_a_clock_of_another_zone_is_found_in_winter_too() -> None:
    with pytest.raises(AssertionError):
        ClockConformance().test_now_is_aware_and_in_utc(LondonClock())


class SignsOnly:
    """Writes secrets in another way and signs them, with a key that is in the code."""

    def seal(self, text: str, *, context: str) -> str:
        """Return the text as base64 with a number used once and a signature."""
        body = base64.b64encode(os.urandom(12) + text.encode()).decode()
        return f"{body}.{self._signature(body, context)}"

    def open(self, sealed: str, *, context: str) -> str:
        """Return the text that was signed for the context."""
        body, _, signature = sealed.partition(".")
        if not hmac.compare_digest(signature, self._signature(body, context)):
            raise StoredDataError("not sealed here")
        return base64.b64decode(body)[12:].decode()

    def _signature(self, body: str, context: str) -> str:
        return hmac.digest(b"in the code", f"{context}.{body}".encode(), hashlib.sha256).hex()


def test_a_box_that_only_signs_or_has_its_key_in_the_code_is_found() -> None:
    suite, box = SecretBoxConformance(), SignsOnly()
    suite.test_what_was_sealed_opens_in_the_same_context(box, "hunter2")
    suite.test_equal_texts_seal_differently(box)
    suite.test_sealed_text_does_not_show_the_secret(box)
    with pytest.raises(AssertionError):
        suite.test_a_seal_is_encrypted_and_not_just_written_in_another_way(box)
    with pytest.raises(pytest.fail.Exception):
        suite.test_a_box_of_another_key_opens_nothing(box, SignsOnly())


# ----------------------------------------------------------------------------------------------------------- network
class LooksAtTextAlone:
    """Refuses what looks private, and forgets the other forms of an address."""

    def may_reach(self, destination: Destination) -> bool:
        """Compare the beginning of the address as it is written."""
        return not str(destination.address).startswith(("10.", "127.", "192.168.", "169.254."))


def test_a_policy_that_compares_texts_is_found() -> None:
    suite = NetworkPolicyConformance()
    suite.test_the_metadata_services_of_clouds_are_never_reached(LooksAtTextAlone(), "169.254.169.254")
    with pytest.raises(AssertionError):
        suite.test_the_metadata_services_of_clouds_are_never_reached(LooksAtTextAlone(), "fd00:ec2::254")


# --------------------------------------------------------------------------------------------------------- notifiers
class WrongOutbox(Outbox):
    """Keeps messages as `send_wrongly` says."""

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Send it wrongly."""
        return self.send_wrongly(message, recipient, only)

    def send_wrongly(self, message: Message, recipient: Recipient, only: Any) -> Sequence[Delivery]:
        """Break a promise."""
        return super().send(message, recipient, only=only)

    def takes(self, recipient: Recipient) -> bool:
        """Take mail alone."""
        return recipient.kind == "Email"


class ToAll(WrongOutbox):
    """Sends again to those who have it."""

    def send_wrongly(self, message, recipient, only):
        return super().send_wrongly(message, recipient, None)


class ToTheFirst(WrongOutbox):
    """Forgets all others."""

    def send_wrongly(self, message, recipient, only):
        return super().send_wrongly(message, recipient, only)[:1]


class KeyOfTheRest(WrongOutbox):
    """Makes a recipient of those who are left, and so another key."""

    def send_wrongly(self, message, recipient, only):
        addresses = [one for one in recipient.to if only is None or one in only]
        return super().send_wrongly(message, replace(recipient, to=tuple(addresses)), None) if addresses else ()


class Optimist(WrongOutbox):
    """Takes what may have arrived for delivered."""

    def send_wrongly(self, message, recipient, only):
        return [changed(one, UNKNOWN=DeliveryState.DELIVERED) for one in super().send_wrongly(message, recipient, only)]


class Insistent(WrongOutbox):
    """Takes what may have arrived for what did not."""

    def send_wrongly(self, message, recipient, only):
        found = super().send_wrongly(message, recipient, only)
        return [changed(one, UNKNOWN=DeliveryState.UNAVAILABLE) for one in found]


class Talkative(WrongOutbox):
    """Repeats what the receiver said."""

    def send_wrongly(self, message, recipient, only):
        return [replace(one, reason="554 hunter2") for one in super().send_wrongly(message, recipient, only)]


class NeverEnds(WrongOutbox):
    """Is not closed."""

    def close(self) -> None:
        """Go on."""


class TakesEverybody(WrongOutbox):
    """Takes what it cannot deliver."""

    def takes(self, recipient: Recipient) -> bool:
        return True


class ReadsFilesOnce(WrongOutbox):
    """Reads from where the last one stopped."""

    def send_wrongly(self, message, recipient, only):
        if message.attachments and not message.attachments[0].content.read():
            self.fail_next(state=DeliveryState.REFUSED)
        return super().send_wrongly(message, recipient, only)


class OneAtATime(WrongOutbox):
    """Keeps what it sends where other threads write too."""

    def send_wrongly(self, message, recipient, only):
        self.message = message
        time.sleep(0.01)
        return super().send_wrongly(self.message, recipient, only)


class Hangs(WrongOutbox):
    """Waits for whatever hangs."""

    def send_wrongly(self, message, recipient, only):
        time.sleep(2.1)
        return super().send_wrongly(message, recipient, only)


def changed(delivery: Delivery, **states: DeliveryState) -> Delivery:
    return replace(delivery, state=states.get(delivery.state.name, delivery.state))


def run_on_an_outbox(outbox: Outbox, test: str) -> None:
    """Run a test of the suite, with what it asks for."""

    def received() -> list[ReceivedMessage]:
        return [
            ReceivedMessage(
                text=f"{entry.message.subject} {entry.message.text}",
                addresses=entry.recipient.to if entry.only is None else entry.only,
                key=entry.message.key_for(entry.recipient),
            )
            for entry in outbox.sent
        ]

    facts: dict[str, Any] = {
        "notifier": outbox,
        "started": outbox,
        "recipient": Recipient(kind="Email", to=("a@example.com", "b@example.com")),
        "stranger": Recipient(kind="Carrier pigeon", to=("loft 7",)),
        "received": received,
        "behave": lambda state: None if state is DeliveryState.DELIVERED else outbox.fail_next(state=state),
        "state": DeliveryState.UNKNOWN,
        "connects": True,
        "lookups": [],
        "hang": lambda: 0.0,
    }
    run = getattr(NotifierConformance(), f"test_{test}")
    run(**{name: facts[name] for name in inspect.signature(run).parameters})


WRONG_NOTIFIERS: list[tuple[type[Outbox], str]] = [
    (TakesEverybody, "it_takes_its_recipients_alone"),
    (ToTheFirst, "a_message_arrives_at_each_address"),
    (ToAll, "only_the_addresses_that_are_asked_for_get_it"),
    (KeyOfTheRest, "a_copy_has_the_key_of_the_first_and_another_message_another"),
    (ReadsFilesOnce, "files_can_be_sent_again"),
    (OneAtATime, "many_threads_send_at_once"),
    (Optimist, "what_became_of_it_is_told_without_words_of_the_receiver"),
    (Insistent, "what_became_of_it_is_told_without_words_of_the_receiver"),
    (Talkative, "what_became_of_it_is_told_without_words_of_the_receiver"),
    (WrongOutbox, "it_connects_to_allowed_addresses_alone"),
    (WrongOutbox, "addresses_are_asked_for"),
    (Hangs, "it_takes_no_longer_than_its_limit"),
    (NeverEnds, "nothing_is_sent_after_close"),
]


@pytest.mark.slow
@for_each(("wrong", "test"), WRONG_NOTIFIERS)
def test_a_wrong_notifier_is_found(wrong: type[Outbox], test: str) -> None:
    with pytest.raises(AssertionError):
        run_on_an_outbox(wrong(), test)


# ------------------------------------------------------------------------------------------------------------ people
class ReadsDigitsAsIds:
    """Takes a name of digits for an id, as code does that reads keys from a web address."""

    people = (User(id=7, username="ada", attributes=(("tenant", "acme"),)), User(id=8, username="7"))

    def find(self, key: int | str) -> User | None:
        """Return whom the key may mean."""
        wanted = int(key) if str(key).isdigit() else key
        return next((person for person in self.people if wanted in (person.id, person.username)), None)


def test_a_directory_in_which_a_name_can_be_an_id_is_found() -> None:
    directory = ReadsDigitsAsIds()
    UserDirectoryConformance().test_nobody_is_found_for_what_names_nobody(directory)
    with pytest.raises(AssertionError):
        UserDirectoryConformance().test_a_name_of_digits_is_a_name(directory, directory.people)


# ------------------------------------------------------------------------------------------------------------ stores
class Wrong:
    """A store whose repositories of one kind (empty: all) break one promise; `change` sees a call before it is made."""

    def __init__(self, store: SqlMetadataStore, kind: str, change: Callable[..., Any]) -> None:
        self._store = store
        self._kind = kind
        self._change = change

    @contextmanager
    def unit_of_work(self) -> Iterator[Any]:
        """Open a unit of the true store."""
        with self._store.unit_of_work() as unit:
            yield _Unit(unit, self._kind, self._change)

    def revision(self, *nouns: str) -> int:
        """Return the true revision."""
        return self._store.revision(*nouns)


class _Unit:
    def __init__(self, unit: Any, kind: str, change: Callable[..., Any]) -> None:
        self._unit = unit
        self._kind = kind
        self._change = change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._unit, name)
        if name in ("names", "now") or self._kind not in ("", name):
            return found
        return _Repository(found, self._change)


class _Repository:
    def __init__(self, repository: Any, change: Callable[..., Any]) -> None:
        self._repository = repository
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: self._change(self._repository, name, *args, **options)


def loses(field: str, value: Any) -> Callable[..., Any]:
    """Return what writes a value of its own in a field."""

    def change(repository: Any, name: str, record: Any, **options: Any) -> Any:
        if name in ("add", "append", "update"):
            record = replace(record, **{field: value})
        return getattr(repository, name)(record, **options)

    return change


def writes_over(repository: Any, name: str, record: Any, **options: Any) -> Any:
    """Take whatever version a change brings."""
    if name == "update":
        record = replace(record, audit=replace(record.audit, version=repository.version(record.id)))
    return getattr(repository, name)(record, **options)


@pytest.fixture(scope="module")
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def store(clock: FixedClock) -> Iterator[SqlMetadataStore]:
    with open_store("sqlite://", clock) as store:
        yield store


def of_one_kind(test: str, *arguments: object) -> None:
    """Run what a test of the suite tries for each kind of record for one of them."""
    getattr(StoreConformance, f"test_{test}").__wrapped__(StoreConformance(), *arguments)


class Careless(MemoryBox):
    """What a store makes of its box that keeps secrets as they are."""

    def seal(self, text: str, *, context: str) -> str:
        """Return the text."""
        return text

    def open(self, sealed: str, *, context: str) -> str:
        """Return the text."""
        return sealed


def test_a_store_that_keeps_secrets_as_they_are_is_found(clock: FixedClock) -> None:
    box = Careless()
    with open_store("sqlite://", clock, box=box) as store:
        with store.unit_of_work() as unit:
            named = store_named(unit)
        for kind in ("databases", "jobs"):
            with pytest.raises(AssertionError):
                of_one_kind("each_secret_is_sealed_for_its_own_place", store, box, named, kind)


LOST = [
    ("roles", "is_admin", False),
    ("databases", "impersonate_user", False),
    ("datasets", "fetch_values_predicate", None),
    ("charts", "datasource_type", None),
    ("logs", "user_id", None),
    ("jobs", "lease_until", None),
    ("job_results", "data", b""),
]


@pytest.mark.parametrize(("kind", "field", "value"), LOST, ids=[f"{kind}.{field}" for kind, field, _ in LOST])
def test_a_store_that_loses_a_field_is_found(store: SqlMetadataStore, kind: str, field: str, value: Any) -> None:
    with store.unit_of_work() as unit:
        named = store_named(unit)
    wrong: Any = Wrong(store, kind, loses(field, value))
    with pytest.raises(AssertionError, match=field[:9]):
        of_one_kind("no_field_is_lost_or_made_up", wrong, named, kind)


@pytest.mark.parametrize("kind", ["users", "roles", "databases", "datasets", "tags", "embedded", "jobs"])
def test_a_store_that_writes_over_changes_of_others_is_found(store: SqlMetadataStore, kind: str) -> None:
    with store.unit_of_work() as unit:
        named = store_named(unit)
    wrong: Any = Wrong(store, kind, writes_over)
    with pytest.raises(pytest.fail.Exception, match=StaleVersionError.__name__):
        of_one_kind("nothing_is_written_over_by_an_old_version", wrong, named, kind)


class OfTheClock(Wrong):
    """A store that tells the time of its process."""

    @contextmanager
    def unit_of_work(self) -> Iterator[Any]:
        """Open a unit of the true store with another time."""
        with super().unit_of_work() as unit:
            unit.now = self._store._clock.now
            yield unit


def test_a_store_that_tells_the_time_of_its_process_is_found(store: SqlMetadataStore, clock: FixedClock) -> None:
    wrong: Any = OfTheClock(store, "logs", loses("user_id", None))
    with pytest.raises(AssertionError, match="2027"):
        StoreConformance().test_the_time_of_the_store_is_not_the_clock_of_the_process(wrong, clock)


def widened(**ways: Any) -> Callable[..., Any]:
    """Return what replaces ways of a scope, where it has them."""

    def change(repository: Any, name: str, *args: Any, **options: Any) -> Any:
        requested: Sequence[Any] = [_widened(arg, ways) for arg in args]
        return getattr(repository, name)(*requested, **options)

    return change


def _widened(query: object, ways: dict[str, Any]) -> object:
    if not isinstance(query, ListQuery) or not isinstance(query.ids, Scope):
        return query
    had = {name: way(getattr(query.ids, name)) for name, way in ways.items() if getattr(query.ids, name)}
    return replace(query, ids=replace(query.ids, **had))


EVERYTHING = Scope(everything=True)
WIDER: list[tuple[str, dict[str, Callable[[Any], Any]], str]] = [
    ("datasets", {"schemas": lambda _: frozenset()}, "datasets_are_reached_by_database_schema_owner_and_id"),
    (
        "charts",
        {"drawn_from": lambda _: EVERYTHING},
        "charts_are_reached_through_the_datasets_that_they_are_drawn_from",
    ),
    (
        "dashboards",
        {"audience": lambda audience: replace(audience, datasets=EVERYTHING)},
        "dashboards_are_reached_by_their_audience",
    ),
    (
        "dashboards",
        {"audience": lambda audience: replace(audience, role_ids=frozenset(range(100)))},
        "dashboards_are_reached_by_their_audience",
    ),
]


@pytest.mark.parametrize(("kind", "ways", "test"), WIDER)
def test_a_store_that_reads_a_scope_in_another_way_is_found(
    store: SqlMetadataStore, kind: str, ways: dict[str, Callable[[Any], Any]], test: str
) -> None:
    with store.unit_of_work() as unit:
        scope_ids = store_visible(unit)
    wrong: Any = Wrong(store, kind, widened(**ways))
    with pytest.raises(AssertionError):
        getattr(StoreConformance(), f"test_{test}")(wrong, scope_ids)


def test_every_kind_of_record_that_a_unit_holds_is_in_the_suite() -> None:
    kinds = {name for name, thing in vars(UnitOfWork).items() if isinstance(thing, property)}
    assert kinds == set(KINDS)
