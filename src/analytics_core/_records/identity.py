"""As whom, and for what, a database is connected to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from analytics_core._records.secret import Secret


class Access(StrEnum):
    """What a connection may do: read, or also change data, which is asked for by name."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user whom a database sees, in place of the account of its URI.

    Attributes:
        username: the name to connect with.
        token: the user's own proof, where the database wants one; None: the account of the URI speaks for them.
    """

    username: str
    token: Secret | None = None
