"""Markdown as lines of text."""

from __future__ import annotations

import pytest

from analytics_core._pictures.pages.markdown_lines import lines_height, markdown_lines
from analytics_core._pictures.text_metrics import text_width

TEXT = """# Sales *now*

Some **words** and `code` with [a link](https://x.example) \\
and more.

- one
- two
    1. first

> quoted

```
if a:
    b
```

---
<script>alert(1)</script>
<b>plain</b> words
"""


def test_blocks_become_lines_in_their_order() -> None:
    lines = markdown_lines(TEXT, 600)
    assert [line.text for line in lines] == [
        *("Sales now", "Some words and code with a link", "and more.", "• one", "• two", "1. first", "quoted"),
        *("if a:", "    b", "", "plain words"),
    ]
    assert [line.y for line in lines] == sorted(line.y for line in lines)
    assert (lines[0].size_px, lines[0].is_bold, lines[5].x, lines[7].is_code, lines[9].is_rule) == (
        22,
        True,
        36,
        True,
        True,
    )
    assert [line.text for line in lines if line.is_bold] == ["Sales now"]
    assert lines_height(lines) > lines[-1].y


def test_words_keep_how_they_are_set_where_lines_break() -> None:
    (line,) = markdown_lines("Some **bold *both*** and `code`", 600)
    assert line.text == "Some bold both and code"
    assert [(part.strip(), sorted(style)) for part, style in line.spans] == [
        *(("Some", []), ("bold", ["strong"]), ("both", ["em", "strong"]), ("and", []), ("code", ["code"])),
    ]
    broken = markdown_lines("plain words " * 9 + "**bold words**", 200)
    assert "".join(part for line in broken for part, style in line.spans if style).split() == ["bold", "words"]
    assert [line.is_quote for line in markdown_lines("a\n\n> b", 200)] == [False, True]


def test_a_table_is_lines_of_letters_of_one_width() -> None:
    lines = markdown_lines("| a | long |\n|---|---|\n| 10 | **x** |", 600)
    assert [(line.text, line.is_code) for line in lines] == [("a  │ long", True), ("─────────", True), ("10 │ x", True)]


def test_a_long_paragraph_is_wrapped_at_the_width() -> None:
    lines = markdown_lines("some words " * 60, 200)
    assert len(lines) > 10
    assert all(text_width(line.text, line.size_px) <= 200 for line in lines)


@pytest.mark.slow
def test_texts_beyond_reason_are_cut() -> None:
    assert len(markdown_lines("a\n\n" * 50_000, 200)) <= 500
    assert markdown_lines("> " * 5_000 + "deep", 200) is not None
    assert markdown_lines("", 200) == ()
    assert lines_height(()) == 0
