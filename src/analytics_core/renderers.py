"""What draws pictures of charts and dashboards, to be handed to a core."""

from __future__ import annotations

from analytics_core._core.adapters.vega_renderer import VegaRenderer
from analytics_core.models.enums import PictureFormat

__all__ = ["PictureFormat", "VegaRenderer"]
