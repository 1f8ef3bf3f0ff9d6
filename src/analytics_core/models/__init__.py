"""The contract's shapes as pydantic models; loaded on first use."""

from __future__ import annotations
