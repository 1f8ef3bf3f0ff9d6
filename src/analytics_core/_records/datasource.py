"""A stored database, as whom and for what it is connected to; a stored dataset with its columns and metrics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from analytics_core._records.audit import StoredRecord
from analytics_core._records.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(StoredRecord):
    """A database that users query; `uri` holds the whole connection URI, password included, and is sealed at rest.

    `extra` is the contract's JSON text; what is secret of it is the JSON text `secret_extra`, sealed at rest.
    `cache_timeout` is in seconds; None: the global one.
    """

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
    secret_extra: Secret | None = None
    ssh_tunnel: Secret | None = None
    external_url: str | None = None
    is_managed_externally: bool = False

    @property
    def may_change(self) -> bool:
        """Whether anything at all may write to it: SQL, what SQL makes, or files."""
        return self.allow_dml or self.allow_file_upload or self.allow_ctas or self.allow_cvas

    def sets(self, option: str) -> bool:
        """Tell whether a switch of `extra` is on, or may be meant to be: it says something else than false or null."""
        try:
            options = json.loads(self.extra or "{}")
        except (ValueError, RecursionError):  # stored by an older host
            return True
        return not isinstance(options, dict) or options.get(option) not in (None, False)


class Access(StrEnum):
    """What a connection may do: read, or also change data, which is asked for by name."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user whom a database sees, in place of the account of its URI.

    Attributes:
        username: the user's name, to connect with where the database impersonates.
        user_id: whose own token is the proof, on a database with OAuth 2.0; None: the account of the URI speaks for
            them.
        authorization: the record of their tokens; None: they have not signed in.
        token: that token, once it is there.
    """

    username: str
    user_id: int | None = None
    authorization: int | None = None
    token: Secret | None = None

    @property
    def key(self) -> str:
        """What tells the answers to one user from those to another, and from those before they signed in anew.

        A renewed token changes nothing.
        """
        if self.user_id is None:
            return self.username
        return f"{self.username} (by the token of user {self.user_id}, authorization {self.authorization})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetColumn:
    """A column of a dataset; `expression` is set for calculated ones, `type` is the engine's own type text.

    `nullable`, `leads_index` (an index begins with it) and `collation` are what reflection said; None: unknown. So is
    `stored_type`, the type of a column that is stored; None: computed when it is read (a view's), or unknown.
    `python_date_format` is `epoch_s`, `epoch_ms` or strftime text.
    """

    id: int = 0
    uuid: str | None = None
    column_name: str
    verbose_name: str | None = None
    description: str | None = None
    expression: str | None = None
    extra: str | None = None
    type: str | None = None
    advanced_data_type: str | None = None
    python_date_format: str | None = None
    filterable: bool = True
    groupby: bool = True
    is_active: bool = True
    is_dttm: bool = False
    nullable: bool | None = None
    leads_index: bool | None = None
    collation: str | None = None
    stored_type: str | None = None
    created_on: datetime | None = None
    changed_on: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetMetric:
    """A saved metric: a named aggregate expression in the SQL of the dataset's engine."""

    id: int = 0
    uuid: str | None = None
    metric_name: str
    expression: str
    verbose_name: str | None = None
    description: str | None = None
    metric_type: str | None = None
    d3format: str | None = None
    currency: str | None = None
    warning_text: str | None = None
    extra: str | None = None
    created_on: datetime | None = None
    changed_on: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(StoredRecord):
    """A physical table (`sql` is None) or a virtual one (`sql` is a SELECT).

    `offset` is in hours and shifts every moment of the dataset. `cache_timeout` is in seconds; None: the database's.
    `always_filter_main_dttm` also bounds the main time column when a query is bounded on another one. `primary_key`
    names the columns of the table's key, in its order, as the database told them last; empty: none is known.
    """

    uuid: str
    database_id: int
    table_name: str
    schema: str | None = None
    catalog: str | None = None
    sql: str | None = None
    description: str | None = None
    extra: str | None = None
    default_endpoint: str | None = None
    fetch_values_predicate: str | None = None
    filter_select_enabled: bool = True
    is_sqllab_view: bool = False
    is_managed_externally: bool = False
    external_url: str | None = None
    main_dttm_col: str | None = None
    always_filter_main_dttm: bool = False
    offset: int = 0
    cache_timeout: int | None = None
    template_params: str | None = None
    primary_key: tuple[str, ...] = ()
    columns: tuple[DatasetColumn, ...] = ()
    metrics: tuple[DatasetMetric, ...] = ()
    owner_ids: tuple[int, ...] = ()
