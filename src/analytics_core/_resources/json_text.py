"""JSON texts inside records: read without failing, since older hosts may have stored anything."""

from __future__ import annotations

import json
from typing import Any


def json_object(text: str | None) -> dict[str, Any]:
    """Return the object that a JSON text holds; empty when it holds anything else."""
    try:
        content = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
