"""The gallery of charts shows every kind that is drawn, and is what its script makes."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analytics_core import AnalyticsCore, Settings
from analytics_core._pictures.specification import KINDS
from analytics_core.testing import FakeRenderer
from analytics_core.testing.sample_data import make_shop

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
    assert [kind for text, _, kind in PICTURES if re.search("ot drawn|no answer|No data", text)] == []
    assert min(len(text) for text, *_ in PICTURES) > 20


def script() -> Any:
    """Return the script of the gallery as a module."""
    spec = importlib.util.spec_from_file_location("gallery", PROJECT / "examples" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_picture_still_shows_what_the_gallery_says(tmp_path: Path) -> None:
    """The specifications alone; the test below draws them, too."""
    url = make_shop(tmp_path / "shop.db", orders_per_day=6)
    settings = Settings(secret_key="a-test-key-that-is-long-enough-9f3a", data_roots=(tmp_path,))
    with AnalyticsCore(settings, renderer=FakeRenderer()) as host:
        core = host.as_user(host.create_first_administrator("ada").id)
        core.databases.create({"database_name": "shop", "sqlalchemy_uri": url})
        found = [(text, theme, kind) for kind, theme, _, text in script().pictures(core)]
    assert [(re.sub(r"[\[\]*_`<>]", " ", text), theme, kind) for text, theme, kind in found] == PICTURES


@pytest.mark.long
def test_the_gallery_is_what_its_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "examples/gallery.py", str(tmp_path)], cwd=PROJECT, check=True, timeout=600)
    assert (tmp_path / "gallery.md").read_text(encoding="utf-8") == PAGE
    made = {path.name: path.read_bytes() for path in (tmp_path / "gallery").iterdir()}
    assert made == {path.name: path.read_bytes() for path in (FOLDER / "gallery").iterdir()}
