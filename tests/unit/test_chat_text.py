"""A message as the text of a chat: bounded, escaped, and calling nobody, whatever stands in it."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from analytics_core._records.message import Attachment, Message
from analytics_core._reports.chat import chat_text

ODD = st.lists(st.sampled_from((*"&<>@!|*_ \nab", "@here", "@CHANNEL", "<!here>")), max_size=900).map("".join)


def message(text: str, link: str | None = None) -> Message:
    return Message(key="k", subject="Sales", text=text, link=link)


@given(text=ODD | st.text(max_size=3_000), files=st.integers(0, 60))
def test_a_text_is_bounded_escaped_and_calls_nobody(text: str, files: int) -> None:
    omitted = [Attachment(name="a&b<c>.csv" * 10, content_type="text/csv", content=b"x")] * files
    found = chat_text(message(text), max_characters=1_000, omitted=omitted, why="It takes none")
    assert len(found) <= 1_000
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)|@(all|channel|everyone|group|here)\b", found, re.IGNORECASE)
    assert found.startswith("Sales")


@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="@\0"), max_size=300))
def test_a_short_text_is_all_there(text: str) -> None:
    full_text = html.unescape(chat_text(message(text.replace("&", "+")), max_characters=10_000))
    assert full_text == "\n\n".join(part for part in ("Sales", text.replace("&", "+").strip()) if part)


def test_a_cut_text_says_where_the_rest_is() -> None:
    found = chat_text(message("x" * 9_000, link="https://bi.example.com/7?a&b"), max_characters=1_000)
    assert found.endswith("x…\n\nThe rest of this text is too long for a chat; see https://bi.example.com/7?a&amp;b.")
    assert len(found) == 1_000


def test_an_empty_text_leaves_the_subject() -> None:
    assert chat_text(message("  \n"), max_characters=1_000) == "Sales"


def test_files_that_are_left_out_are_named_behind_the_text_with_the_reason() -> None:
    files = [Attachment(name="a.csv", content_type="text/csv", content=b"x")]
    named = "Sales\n\nup 3 %\n\nNot attached: a.csv (1 bytes). "
    assert chat_text(message("up 3 %"), max_characters=1_000, omitted=files, why="It takes none") == (
        f"{named}It takes none."
    )
    assert chat_text(message("up 3 %"), max_characters=1_000, omitted=files) == f"{named}."


def test_a_text_that_just_fits_is_all_there_and_a_longer_one_is_cut_between_its_escapes() -> None:
    exact = "x" * (1_000 - len("Sales\n\n"))
    assert chat_text(message(exact), max_characters=1_000) == f"Sales\n\n{exact}"
    tail = "…\n\nThe rest of this text is too long for a chat."
    for sign, written in (("x", "x"), ("&", "&amp;"), ("<", "&lt;")):
        found = chat_text(message(sign * 1_000), max_characters=1_000)
        count, rest = divmod(1_000 - len("Sales\n\n") - len(tail), len(written))
        assert found == f"Sales\n\n{written * count}{tail}", sign
        assert len(found) == 1_000 - rest
