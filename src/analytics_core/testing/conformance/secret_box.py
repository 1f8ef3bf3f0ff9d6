"""What every `SecretBox` must keep."""

from __future__ import annotations

import zlib

import pytest

from analytics_core.errors import StoredDataError
from analytics_core.ports import SecretBox

_TEXTS = ("", "hunter2", "postgresql://u:p%40ss@h/db?x=1", "pässwörd 😀 \x00 \n", "x" * 100_000)


class SecretBoxConformance:
    """Subclass it and override the fixtures `box` and `box_of_another_key`."""

    @pytest.fixture
    def box(self) -> SecretBox:
        """Return the box under test."""
        raise NotImplementedError("override the fixture `box`")

    @pytest.fixture
    def box_of_another_key(self) -> SecretBox:
        """Return a box like the one under test that holds another key, and that key alone."""
        raise NotImplementedError("override the fixture `box_of_another_key`")

    @pytest.mark.parametrize("text", _TEXTS, ids=lambda text: f"{len(text)} characters")
    def test_what_was_sealed_opens_in_the_same_context(self, box: SecretBox, text: str) -> None:
        """Sealing loses nothing."""
        assert box.open(box.seal(text, context="databases.uri:1"), context="databases.uri:1") == text

    @pytest.mark.parametrize("other", ["databases.uri:2", "databases.uri:", "", "databases.uri:11", "DATABASES.uri:1"])
    def test_a_seal_opens_in_no_other_context(self, box: SecretBox, other: str) -> None:
        """A sealed text that is moved to another record stays shut."""
        sealed = box.seal("hunter2", context="databases.uri:1")
        with pytest.raises(StoredDataError):
            box.open(sealed, context=other)

    def test_sealed_text_does_not_show_the_secret(self, box: SecretBox) -> None:
        """Neither the secret nor its length class is a substring of the seal."""
        assert "hunter2" not in box.seal("hunter2 hunter2", context="c")

    def test_equal_texts_seal_differently(self, box: SecretBox) -> None:
        """Nobody can tell equal passwords from their seals."""
        assert box.seal("hunter2", context="c") != box.seal("hunter2", context="c")

    def test_a_seal_is_encrypted_and_not_just_written_in_another_way(self, box: SecretBox) -> None:
        """Two seals of one text have nothing in common, and no pattern of the text is left in them."""
        text = "hunter2 " * 2_000
        first, second = (box.seal(text, context="c") for _ in range(2))
        alike = sum(one == other for one, other in zip(first, second, strict=False))
        assert alike < len(first) / 2
        assert len(zlib.compress(first.encode())) > len(first) / 2

    def test_a_box_of_another_key_opens_nothing(self, box: SecretBox, box_of_another_key: SecretBox) -> None:
        """What protects the secrets is the key, and not the code."""
        for sealing, opening in ((box, box_of_another_key), (box_of_another_key, box)):
            sealed = sealing.seal("hunter2", context="c")
            with pytest.raises(StoredDataError) as rejection:
                opening.open(sealed, context="c")
            assert "hunter2" not in str(rejection.value)

    def test_any_changed_character_is_noticed(self, box: SecretBox) -> None:
        """Tampering gives StoredDataError, never another text."""
        sealed = box.seal("hunter2", context="c")
        for position, character in enumerate(sealed):
            changed = sealed[:position] + ("B" if character == "A" else "A") + sealed[position + 1 :]
            with pytest.raises(StoredDataError):
                box.open(changed, context="c")

    @pytest.mark.parametrize("junk", ["", ".", "..", "hunter2", "ac1", "ac1..", "ac1.00000000.", "ä.ö.ü", "\ud800"])
    def test_text_that_was_never_sealed_is_refused(self, box: SecretBox, junk: str) -> None:
        """A plain text in the place of a seal is not passed through."""
        with pytest.raises(StoredDataError) as rejection:
            box.open(junk, context="c")
        assert "hunter2" not in str(rejection.value)
