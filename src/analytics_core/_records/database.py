"""A stored database connection."""

from __future__ import annotations

from dataclasses import dataclass, field

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
