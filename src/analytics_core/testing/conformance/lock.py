"""What every `Lock` must keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import pytest

from analytics_core.ports import ExtendableLock, Lock

Pass = Callable[[float], None]

_SHORT_S = 0.5
_LONG_S = 600.0


class LockConformance:
    """Subclass it and override the fixtures `lock` and `let_pass`."""

    @pytest.fixture
    def lock(self) -> Lock:
        """Return the lock under test; nobody holds anything."""
        raise NotImplementedError("override the fixture `lock`")

    @pytest.fixture
    def let_pass(self) -> Pass:
        """Return a function that lets some seconds pass for the lock: moves its clock, or sleeps."""
        raise NotImplementedError("override the fixture `let_pass`")

    def test_one_holds_it_until_they_give_it_back(self, lock: Lock) -> None:
        """Nobody else gets it meanwhile, nor the holder once more; None comes at once."""
        lease = lock.acquire("door", ttl_s=_LONG_S)
        assert lease is not None
        assert lease.name == "door"
        assert lock.acquire("door", ttl_s=_LONG_S) is None
        assert lock.release(lease) is True
        assert lock.acquire("door", ttl_s=_LONG_S) is not None

    def test_names_that_look_alike_are_different_locks(self, lock: Lock) -> None:
        """Case, blanks and accents count, and names may be long."""
        names = ("door", "DOOR", "door ", "dóor", "do\u0301or", "door:1", "d" * 250, "d" * 249)
        leases = [lock.acquire(name, ttl_s=_LONG_S) for name in names]
        assert [lease is not None and lease.name for lease in leases] == list(names)

    def test_it_ends_by_itself(self, lock: Lock, let_pass: Pass) -> None:
        """A holder that died keeps nobody out, and one that slept has nothing to give back."""
        first = lock.acquire("door", ttl_s=_SHORT_S)
        assert first is not None
        let_pass(_SHORT_S + 0.1)
        second = lock.acquire("door", ttl_s=_LONG_S)
        assert second is not None
        assert lock.release(first) is False
        assert lock.acquire("door", ttl_s=_LONG_S) is None  # the second holder's
        assert lock.release(second) is True

    def test_a_lease_that_is_over_is_not_held_although_nobody_took_the_lock(self, lock: Lock, let_pass: Pass) -> None:
        """Its holder learns that somebody may have been there."""
        lease = lock.acquire("door", ttl_s=_SHORT_S)
        assert lease is not None
        let_pass(_SHORT_S + 0.1)
        assert lock.release(lease) is False

    def test_only_the_owner_gives_it_back(self, lock: Lock) -> None:
        """Whoever guesses name and number does not know the owner's value; a second release does nothing."""
        lease = lock.acquire("door", ttl_s=_LONG_S)
        other = lock.acquire("window", ttl_s=_LONG_S)
        assert lease is not None
        assert other is not None
        assert len({lease.owner, other.owner, "", "door"}) == 4
        for wrong in ("", "door", str(lease.fencing_number), other.owner):
            assert lock.release(replace(lease, owner=wrong)) is False
        assert lock.acquire("door", ttl_s=_LONG_S) is None
        assert [lock.release(lease), lock.release(lease)] == [True, False]

    def test_fencing_numbers_grow(self, lock: Lock, let_pass: Pass) -> None:
        """Each lease has a higher one than all before, whether those were given back or over."""
        numbers = []
        for is_given_back in (True, False, True, False, True):
            lease = lock.acquire("door", ttl_s=_LONG_S if is_given_back else _SHORT_S)
            assert lease is not None
            numbers.append(lease.fencing_number)
            if is_given_back:
                assert lock.release(lease)
            else:
                let_pass(_SHORT_S + 0.1)
        assert all(earlier < later for earlier, later in pairwise(numbers))

    def test_many_ask_and_one_gets_it(self, lock: Lock) -> None:
        """Again and again, however they meet."""
        with ThreadPoolExecutor(max_workers=8) as pool:
            for _ in range(5):
                leases = [one for one in pool.map(lambda _: lock.acquire("door", ttl_s=_LONG_S), range(16)) if one]
                assert len(leases) == 1
                assert lock.release(leases[0])


class ExtendableLockConformance(LockConformance):
    """Subclass it for a lock whose leases can be extended; the same fixtures."""

    @pytest.fixture
    def lock(self) -> ExtendableLock:
        """Return the lock under test; nobody holds anything."""
        raise NotImplementedError("override the fixture `lock`")

    def test_an_extended_lease_lasts(self, lock: ExtendableLock, let_pass: Pass) -> None:
        """From the call on, not from the former end."""
        lease = lock.acquire("door", ttl_s=_SHORT_S)
        assert lease is not None
        assert lock.extend(lease, ttl_s=_LONG_S) is True
        let_pass(_SHORT_S + 0.1)
        assert lock.acquire("door", ttl_s=_LONG_S) is None
        assert lock.release(lease) is True

    def test_an_extended_lease_may_end_earlier_and_ends_by_itself(self, lock: ExtendableLock, let_pass: Pass) -> None:
        """The last call counts."""
        lease = lock.acquire("door", ttl_s=_LONG_S)
        assert lease is not None
        assert lock.extend(lease, ttl_s=_SHORT_S) is True
        let_pass(_SHORT_S + 0.1)
        assert lock.acquire("door", ttl_s=_LONG_S) is not None

    def test_a_lease_that_is_over_is_not_extended(self, lock: ExtendableLock, let_pass: Pass) -> None:
        """Whether it was given back or its time has passed; whoever holds the lock by then goes on holding it."""
        first = lock.acquire("door", ttl_s=_SHORT_S)
        assert first is not None
        let_pass(_SHORT_S + 0.1)
        assert lock.extend(first, ttl_s=_LONG_S) is False
        second = lock.acquire("door", ttl_s=_LONG_S)
        assert second is not None
        assert lock.extend(first, ttl_s=_SHORT_S) is False
        let_pass(_SHORT_S + 0.1)
        assert lock.release(second) is True
        assert lock.extend(second, ttl_s=_LONG_S) is False
