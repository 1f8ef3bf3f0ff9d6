"""The page on queries lists every operator, aggregate and grain."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import pytest

from analytics_core.models.enums import Aggregate, FilterOperator, TimeGrain

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "query.md"


@pytest.mark.parametrize("names", [Aggregate, FilterOperator, TimeGrain])
def test_the_page_lists_all(names: type[StrEnum]) -> None:
    text = PAGE.read_text()
    assert [name.value for name in names if f"`{name.value}`" not in text] == []
