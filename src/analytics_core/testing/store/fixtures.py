"""What the tests of the suite are given: a store with its clock and box, and records that others name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analytics_core._records.repositories import UnitOfWork
from analytics_core.errors import StoredDataError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.kinds import NamedIds, store_named
from analytics_core.testing.store.records import START


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


class StoreSuite:
    """Fixtures; `store` must be overridden, use `clock` and `secret_box`, and start empty for each test."""

    @pytest.fixture
    def clock(self) -> FixedClock:
        """Return the clock that the store must use."""
        return FixedClock(START)

    @pytest.fixture
    def secret_box(self) -> MemoryBox:
        """Return the box in which the store must seal."""
        return MemoryBox()

    @pytest.fixture
    def store(self, clock: FixedClock) -> MetadataStore:
        """Return the store under test."""
        raise NotImplementedError("override the fixture `store`")

    @pytest.fixture
    def named(self, store: MetadataStore) -> NamedIds:
        """Return what records may name."""
        with store.unit_of_work() as unit:
            return store_named(unit)

    @pytest.fixture
    def unit(self, store: MetadataStore) -> Iterator[UnitOfWork]:
        """Give the one unit of work of a test that needs no second one."""
        with store.unit_of_work() as unit:
            yield unit
