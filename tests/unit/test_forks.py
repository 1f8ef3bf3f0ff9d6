"""What is told of forks is known as long as it lives, and goes without a callback."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor

from analytics_core._tools.forks import LivingObjects, forkable_lock, forkable_rlock, tell_of_forks


class Survivor:
    """Something that a fork concerns."""

    def before_fork(self) -> None:
        """Have nothing to let go of."""

    def after_fork(self) -> None:
        """Have nothing to start anew."""


def test_no_code_runs_as_one_goes_in_which_an_interrupt_would_be_lost() -> None:
    survivor = Survivor()
    tell_of_forks(survivor)
    for one in (survivor, forkable_lock(), forkable_rlock()):
        assert [reference.__callback__ for reference in weakref.getweakrefs(one)] == [None]


def test_those_that_live_are_known_in_their_order_and_the_others_forgotten() -> None:
    living = LivingObjects[Survivor]()
    first, last = Survivor(), Survivor()
    living.add(first)
    for _ in range(10_000):
        living.add(Survivor())
    living.add(last)
    assert list(living) == [first, last]
    assert len(living) <= 2_000


def test_none_is_lost_where_threads_add_while_others_are_forgotten() -> None:
    living = LivingObjects[Survivor]()

    def add(_: int) -> list[Survivor]:
        survivors = []
        for number in range(3_000):
            one = Survivor()
            living.add(one)
            if number % 30 == 0:
                survivors.append(one)
        return survivors

    with ThreadPoolExecutor(4) as threads:
        added = [one for found in threads.map(add, range(4)) for one in found]
    assert {id(one) for one in living} == {id(one) for one in added}
