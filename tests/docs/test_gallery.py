"""The gallery of charts shows every kind that is drawn, and is what its script makes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from analytics_core._pictures.specification import KINDS

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "docs" / "reference"
PAGE = (FOLDER / "gallery.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"^!\[(.+) \((light|dark)\)\]\(gallery/(.+)-(?:light|dark)\.svg\)$", PAGE, re.MULTILINE)


def test_the_gallery_shows_every_kind_light_and_dark() -> None:
    assert {(kind, theme) for _, theme, kind in PICTURES} == {
        (kind, theme) for kind in KINDS for theme in ("light", "dark")
    }
    stored = {path.name for path in (FOLDER / "gallery").iterdir()}
    assert stored == {f"{kind}-{theme}.svg" for kind in KINDS for theme in ("light", "dark")}
    assert sum(path.stat().st_size for path in (FOLDER / "gallery").iterdir()) < 3_000_000


def test_every_picture_of_the_gallery_is_one_of_its_kind_and_is_told_in_words() -> None:
    assert [kind for told, _, kind in PICTURES if re.search("ot drawn|no answer|No data", told)] == []
    assert min(len(told) for told, *_ in PICTURES) > 20


@pytest.mark.long
def test_the_gallery_is_what_its_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "examples/gallery.py", str(tmp_path)], cwd=PROJECT, check=True, timeout=600)
    assert (tmp_path / "gallery.md").read_text(encoding="utf-8") == PAGE
    made = {path.name: path.read_bytes() for path in (tmp_path / "gallery").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (FOLDER / "gallery").iterdir()}
