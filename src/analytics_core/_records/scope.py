"""Which records somebody reaches, said so that a store can make it a condition of its own statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Records of one kind: those to which at least one way leads; without any way there are none.

    A way holds where its kind has what it needs: `database_ids` and `schemas` (pairs of a database's id and a name)
    are ways to datasets, `drawn_from` is one to charts, `audience` one to dashboards.
    """

    everything: bool = False
    ids: frozenset[int] = frozenset()
    owner_id: int | None = None
    database_ids: frozenset[int] = frozenset()
    schemas: frozenset[tuple[int, str]] = frozenset()
    drawn_from: Scope | None = None
    audience: Audience | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no way leads anywhere, so that nothing need be read."""
        return self == _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Published dashboards that name none of the roles or one of these, and of whose charts one is drawn from these.

    A dashboard without charts needs no dataset.
    """

    role_ids: frozenset[int]
    datasets: Scope


_NOTHING = Scope()
