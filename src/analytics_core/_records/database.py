"""A stored database connection; as whom, and for what, a database is connected to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from analytics_core._records.audit import Audit
from analytics_core._records.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A database that users query; `uri` holds the whole connection URI, password included, and is sealed at rest.

    `extra` is the contract's JSON text (no secret in it). `cache_timeout` is in seconds; None: the global one.
    """

    id: int = 0
    uuid: str
    database_name: str
    uri: Secret
    engine: str
    driver: str | None = None
    configuration_method: str = "orm_form"
    expose_in_sqllab: bool = True
    allow_ctas: bool = False
    allow_cvas: bool = False
    allow_dml: bool = False
    allow_file_upload: bool = False
    allow_run_async: bool = False
    impersonate_user: bool = False
    force_ctas_schema: str | None = None
    cache_timeout: int | None = None
    extra: str | None = None
    ssh_tunnel: Secret | None = None
    external_url: str | None = None
    is_managed_externally: bool = False
    audit: Audit = field(default_factory=Audit)


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
