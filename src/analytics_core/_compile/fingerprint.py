"""A hash that is equal for equal plans and differs for different ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from analytics_core._compile.plan import QueryPlan


def fingerprint(plan: QueryPlan, *parts: str | int | Sequence[str] | None) -> str:
    """Return the SHA-256 of a plan and further parts of its identity, as hexadecimal text.

    The printed form of a plan is canonical: frozen records of texts, numbers, moments and enums, each quoted by
    `repr`, so that two different plans never print alike.
    """
    return hashlib.sha256(repr((plan, *parts)).encode()).hexdigest()
