"""Alerts and reports: when they are due, which states their runs go through, what is sent, and by whom.

In come schedules and the time; out go messages, and the log of what became of each. Schedules, states and verdicts are
pure; rows and pictures come by the road of a question.
"""

from typing import Final

ENTRY_POINTS: Final = "analytics_core.notifiers"
"""The group of entry points by which packages add notifiers: each names what makes one, without arguments."""
