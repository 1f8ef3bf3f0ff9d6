"""The page on pictures lists the fields of a form that the picture of each kind reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.form_fields import table

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pictures.md"


@pytest.mark.slow
def test_the_page_lists_the_fields_that_each_kind_reads() -> None:
    # `python -m tests.support.form_fields` prints the table
    assert table() in PAGE.read_text(encoding="utf-8")
