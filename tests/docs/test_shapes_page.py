"""The reference page of the shapes lists each shape with its model."""

from __future__ import annotations

import re
from pathlib import Path

from analytics_core.models import SHAPES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "shapes.md"


def test_the_page_lists_every_shape_with_its_model() -> None:
    listed = dict(re.findall(r"^\| `(\S+)` \| `(\S+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {name: model.__name__ for name, model in SHAPES.items()}
