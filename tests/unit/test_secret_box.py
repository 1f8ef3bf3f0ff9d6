"""Keys of the secret box: rotation, refusal, and what its texts give away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.secret import Secret
from analytics_core.errors import PayloadFormatError, StoredDataError

OLD, NEW = Secret("the old key, long enough"), Secret("the new key, long enough")
BOX = AesGcmSecretBox(NEW)


def test_after_rotation_the_previous_key_still_opens():
    sealed = AesGcmSecretBox(OLD).seal("hunter2", context="c")
    assert AesGcmSecretBox(NEW, previous_keys=(OLD,)).open(sealed, context="c") == "hunter2"


def test_after_rotation_the_new_key_seals():
    sealed = AesGcmSecretBox(NEW, previous_keys=(OLD,)).seal("hunter2", context="c")
    assert AesGcmSecretBox(NEW).open(sealed, context="c") == "hunter2"
    with pytest.raises(StoredDataError):
        AesGcmSecretBox(OLD).open(sealed, context="c")


def test_an_unknown_key_is_named_as_the_reason_and_the_way_out_is_said():
    sealed = AesGcmSecretBox(OLD).seal("hunter2", context="c")
    with pytest.raises(StoredDataError, match="previous_secret_keys"):
        AesGcmSecretBox(NEW).open(sealed, context="c")


def test_the_key_listed_twice_is_harmless():
    assert AesGcmSecretBox(NEW, previous_keys=(NEW,)).open(BOX.seal("x", context="c"), context="c") == "x"


def test_a_text_that_no_store_can_hold_is_refused_with_a_typed_error():
    with pytest.raises(PayloadFormatError):
        BOX.seal("\ud800", context="c")


def test_neither_key_nor_text_shows_in_the_boxs_own_texts():
    text = repr(BOX) + str(vars(BOX))
    assert NEW.reveal() not in text


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])), context=st.text(st.characters(exclude_categories=["Cs"]))
)
def test_every_text_comes_back_in_its_context(text, context):
    assert BOX.open(BOX.seal(text, context=context), context=context) == text


@given(st.text())
def test_no_foreign_text_opens(junk):
    with pytest.raises(StoredDataError):
        BOX.open(junk, context="c")
