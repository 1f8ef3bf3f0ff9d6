"""The recorded charts whose form data are known."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def recorded_cases(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield each recorded chart with its form data and the payload that the front end made of them."""
    for path in sorted((folder / "cases").iterdir()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        case: dict[str, Any] = json.loads(data)
        if "form_data" in case:
            yield case
