"""Compares text with a golden file; ANALYTICS_CORE_UPDATE_GOLDEN=1 writes the file instead, for review as a diff."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden" / "golden_files"


def check_golden(name: str, text: str) -> None:
    """Fail unless `text` is what the golden file `name` holds."""
    path = FOLDER / name
    if os.environ.get("ANALYTICS_CORE_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{name} is missing; run again with ANALYTICS_CORE_UPDATE_GOLDEN=1 and review it"
    assert text == path.read_text(encoding="utf-8")
