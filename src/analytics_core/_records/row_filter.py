"""A condition on the rows that an actor may see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """One row rule as it binds an actor: `clause` is an SQL condition, `name` tells people which rule it is.

    Conditions that share a `group_key` are ORed; groups and keyless ones are ANDed (contract, row-level security).
    """

    name: str
    clause: str
    group_key: str | None = None
