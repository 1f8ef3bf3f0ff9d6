"""Turns on a bounded number of places: what one queue, receiver or owner may take, and who comes next."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from analytics_core._content.jobs.turns import Turns


def taken(turns: Turns[int]) -> list[str]:
    """Return the queues of all work whose turn it is."""
    found = []
    while (turn := turns.take()) is not None:
        found.append(turn[0])
    return found


def turns_of(queues: Sequence[str], *, places: int = 8, most_per_queue: int | None = None) -> Turns[int]:
    """Return turns for which ten pieces of work wait in each queue."""
    made: Turns[int] = Turns(places, most_per_queue=most_per_queue)
    for number in range(10):
        for queue in queues:
            made.add(queue, number)
    return made


def test_a_queue_leaves_as_many_places_as_it_takes() -> None:
    turns = turns_of(["a"])
    assert taken(turns) == ["a"] * 4
    for later, count in (("b", 2), ("c", 1), ("d", 1), ("e", 0)):
        for number in range(10):
            turns.add(later, number)
        assert taken(turns) == [later] * count


def test_queues_that_come_together_share_alike() -> None:
    found = taken(turns_of(["a", "b"]))
    assert (found.count("a"), found.count("b")) == (3, 3)


def test_a_place_that_is_given_back_goes_to_whoever_has_the_least() -> None:
    turns = turns_of(["a"])
    taken(turns)
    turns.add("b", 1)
    assert taken(turns) == ["b"]
    turns.end("a")
    turns.add("b", 2)
    assert taken(turns) == ["b"]


def test_a_bound_per_queue_takes_the_place_of_the_rule() -> None:
    assert taken(turns_of(["a"], most_per_queue=7)) == ["a"] * 7
    assert sorted(taken(turns_of(["a", "b"], most_per_queue=7))) == ["a"] * 4 + ["b"] * 4


def test_an_owner_leaves_places_of_a_receiver_to_the_others() -> None:
    turns = turns_of(["mail / user 1"])
    assert taken(turns) == ["mail / user 1"] * 3
    turns.add("mail / user 2", 1)
    assert taken(turns) == ["mail / user 2"]
    turns.add("hook / user 2", 1)
    assert taken(turns) == ["hook / user 2"]


def test_work_for_two_receivers_takes_a_place_of_each() -> None:
    turns = turns_of(["mail + hook / user 1"])
    assert len(taken(turns)) == 3
    turns.add("mail / user 2", 1)
    turns.add("hook / user 3", 1)
    assert taken(turns) == ["mail / user 2", "hook / user 3"]
    turns.add("mail / user 3", 1)
    assert taken(turns) == []


@given(
    places=st.integers(1, 12),
    names=st.lists(st.sampled_from(["a", "b / x", "b / y", "a + b / x", ""]), min_size=1, max_size=30),
    ends=st.randoms(use_true_random=False),
)
def test_all_work_gets_its_turn_once_and_never_more_than_there_are_places(
    places: int, names: list[str], ends: st.DrawFn
) -> None:
    turns: Turns[int] = Turns(places)
    for number, name in enumerate(names):
        turns.add(name, number)
    at_work: list[str] = []
    done: list[int] = []
    while turns or at_work:
        while (turn := turns.take()) is not None:
            at_work.append(turn[0])
            done.append(turn[1])
        assert 0 < len(at_work) <= places
        turns.end(at_work.pop(ends.randrange(len(at_work))))  # type: ignore[attr-defined]
    assert sorted(done) == list(range(len(names)))


@given(waiting=st.lists(st.sampled_from("abc"), max_size=3), at_work=st.lists(st.sampled_from("abc"), max_size=4))
def test_a_queue_is_free_where_nothing_waits_and_its_work_would_begin_at_once(
    waiting: list[str], at_work: list[str]
) -> None:
    turns: Turns[int] = Turns(4)
    for queue in at_work:
        turns.add(queue, 0)
    taken(turns)
    for queue in waiting:
        turns.add(queue, 1)
    is_free, others_wait = turns.is_free("a"), bool(turns)
    turns.add("a", 2)
    comes_next = turns.take() == ("a", 2)
    assert is_free == (comes_next and not others_wait)
