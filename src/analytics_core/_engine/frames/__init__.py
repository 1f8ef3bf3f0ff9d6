"""Result frames and what is done with them after the statement ran."""

from typing import Final

ENTRY_POINTS: Final = "analytics_core.operations"
"""The group of entry points by which a package adds operations: each names one `Operation`."""
