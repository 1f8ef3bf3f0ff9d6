"""Frames for tests."""

from __future__ import annotations

from typing import Any

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn


def frame_of(columns: dict[str, Any], **kinds: ValueKind) -> Frame:
    """Return a frame of lists or Arrow arrays by name; kinds are unknown unless given."""
    return Frame(
        columns=tuple(
            FrameColumn(name=name, kind=kinds.get(name, ValueKind.UNKNOWN), values=values)
            for name, values in columns.items()
        )
    )
