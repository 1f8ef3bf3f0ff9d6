"""What every `UserDirectory` must keep: nobody is taken for somebody else."""

from __future__ import annotations

import pytest

from analytics_core._records.people import User
from analytics_core.ports import BulkUserDirectory, UserDirectory

_NO_USER = "nobody-is-called-like-this"
_ABSENT = (0, -1, 2**31 - 1, 2**70)


class UserDirectoryConformance:
    """Subclass it and override the fixtures `directory` and `people`."""

    @pytest.fixture
    def directory(self) -> UserDirectory:
        """Return the directory under test."""
        raise NotImplementedError("override the fixture `directory`")

    @pytest.fixture
    def people(self) -> tuple[User, User]:
        """Return two people whom the directory knows; the name of the second is the first one's id as a text."""
        raise NotImplementedError("override the fixture `people`")

    def test_somebody_is_found_by_id_and_by_name(self, directory: UserDirectory, people: tuple[User, User]) -> None:
        """It is the same person with the same roles and attributes, each time."""
        for person in people:
            by_id, by_name = directory.find(person.id), directory.find(person.username)
            assert by_id is not None
            assert (by_id.id, by_id.username) == (person.id, person.username)
            assert by_name == by_id == directory.find(person.id)

    def test_ids_are_numbers_above_0_of_one_person_each(self, people: tuple[User, User]) -> None:
        """Records keep them as owner and author; `True` is no id."""
        first, second = people
        assert all(type(person.id) is int and person.id > 0 for person in people)
        assert first.id != second.id

    def test_a_name_of_digits_is_a_name(self, directory: UserDirectory, people: tuple[User, User]) -> None:
        """Or somebody who may choose their name would act as another person."""
        first, second = people
        assert second.username == str(first.id)
        found = directory.find(str(first.id))
        assert found is not None
        assert found.id == second.id

    def test_nobody_is_found_for_what_names_nobody(self, directory: UserDirectory) -> None:
        """None, not an error and not somebody else."""
        for key in (*_ABSENT, "", _NO_USER, f"{_NO_USER}' OR '1' = '1", "%", "x" * 10_000, "\x00"):
            assert directory.find(key) is None


class BulkUserDirectoryConformance(UserDirectoryConformance):
    """The same for a directory that has `find_many`, too; the others are asked for one person at a time."""

    @pytest.fixture
    def directory(self) -> BulkUserDirectory:
        """Return the directory under test."""
        raise NotImplementedError("override the fixture `directory`")

    def test_many_are_found_as_one_by_one(self, directory: BulkUserDirectory, people: tuple[User, User]) -> None:
        """Each once and nobody else."""
        ids = [person.id for person in people]
        found = list(directory.find_many([*ids, ids[0], *_ABSENT]))
        assert sorted((one.id, one.username) for one in found) == sorted((one.id, one.username) for one in people)
        assert list(directory.find_many([])) == []
