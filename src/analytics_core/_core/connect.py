"""`connect`: the short door to a core, for notebooks."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from analytics_core._core.adapters.progress_bars import progress_display
from analytics_core._core.facade import AnalyticsCore
from analytics_core._core.wiring.parts import added_by_packages
from analytics_core._engine.engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.execution.connection_uri import check_uri
from analytics_core._engine.execution.handed_over import HandedTables
from analytics_core._notebook.sources.in_memory import enough_memory
from analytics_core._notebook.sources.reading import FileReading, ReadingFields
from analytics_core._notebook.sources.registering import add_database, add_datasets, url_of, warn_of_guesses
from analytics_core._notebook.sources.taking import DatabaseFile, Source, Taken, taken
from analytics_core._records.budget import Budget
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core.errors import ConnectionUriError, SettingsError, nearest
from analytics_core.models.database import OAuth2Client
from analytics_core.models.dataset import DatasetDescription
from analytics_core.models.enums import RelativeTime
from analytics_core.ports import Progress

_NAME: Final = "main"
"""What the database of `connect` is called."""


class SettingsFields(TypedDict, total=False):
    """The fields of `Settings` as keyword arguments of `connect`: each may be left out. A test holds both equal."""

    secret_key: Secret | str | None
    previous_secret_keys: tuple[Secret | str, ...]
    default_row_limit: int
    max_row_limit: int
    samples_row_limit: int
    stream_row_limit: int | None
    max_result_bytes: int
    statement_timeout_s: float
    request_timeout_s: float
    max_statements_per_request: int
    max_cells_per_request: int
    max_sql_length_per_request: int
    store_timeout_s: float
    migrate_on_open: bool
    cache_timeout_s: int
    cache_max_bytes: int
    relative_start: RelativeTime
    relative_end: RelativeTime
    date_range_offsets: bool
    enable_templates: bool
    data_roots: tuple[Path, ...]
    allowed_drivers: frozenset[str]
    allowed_networks: tuple[str, ...]
    environment_passwords: bool
    max_fragment_length: int
    strict_queries: bool
    allowed_functions: Mapping[str, AbstractSet[str]]
    max_in_values: int
    max_queries_per_context: int
    max_items_per_list: int
    max_time_offsets: int
    max_annotation_layers: int
    max_annotations: int
    max_list_count: int | None
    job_workers: int
    job_workers_per_database: int | None
    jobs_max_bytes: int
    max_jobs: int
    job_lease_s: float
    job_wait_s: float
    job_expiry_s: float
    pool_size: int
    upload_timeout_s: float
    upload_max_bytes: int
    upload_max_unpacked_bytes: int
    upload_max_rows: int
    upload_max_columns: int
    upload_max_cell_length: int
    metadata_freshness_s: float
    sql_query_keep_s: int
    form_data_keep_s: int
    dataset_health_check: Callable[[DatasetDescription], str | None] | None
    guest_token_life_s: float
    guest_token_max_life_s: float
    guest_token_max_bytes: int
    guest_token_audience: str
    guest_roles: tuple[str, ...]
    available_domains: tuple[str, ...]
    url_for: Callable[[str, Mapping[str, Any]], str | None] | None
    oauth2_clients: Mapping[str, OAuth2Client | Mapping[str, Any]]
    oauth2_jwt_algorithm: str
    oauth2_timeout_s: float
    oauth2_redirect_origins: tuple[str, ...]
    oauth2_http_hosts: tuple[str, ...]
    oauth2_ca_file: Path | None
    alert_min_interval_s: float
    report_min_interval_s: float
    report_on_time_s: float
    max_active_reports_per_owner: int
    budgets: tuple[Budget | Mapping[str, Any], ...]


class ConnectFields(SettingsFields, ReadingFields, total=False):
    """The keyword arguments of `connect`: fields of `Settings`, and how files are read."""


def connect(
    url: Source, *, lazy: bool = False, progress: bool | Progress | None = None, **settings: Unpack[ConnectFields]
) -> AnalyticsCore:
    """Return a core for notebooks: records in memory, a random key, what was given registered as database 1.

    User 1, an administrator, acts and owns everything. What is given may be

    - a URL of SQLAlchemy (`sqlite:///shop.db`, `postgresql://user:password@host/name`): its file may be opened, or its
      host and port be reached, no other that is not public. The database is asked once, so that a wrong URL shows here;
    - a path: of an SQLite or DuckDB database; of a Parquet, CSV, TSV, JSON, NDJSON, XLSX or Arrow file; a glob of such
      files, which are one dataset; a folder of them, or a list of paths, which are a dataset each;
    - a frame: a `DataFrame` of pandas or Polars, a `LazyFrame` (it is collected), an Arrow table, dataset or reader (it
      is read), whatever gives an Arrow stream, or a list of dicts; the dataset is called `data`;
    - a dict of these: each key names a dataset;
    - an open DuckDB connection, or an engine of SQLAlchemy, which stay open when the core is closed.

    All but a URL becomes datasets at once: a file is called as it is without its ending, and of a database each table
    is one, unless there are more than a hundred. Nothing stays open when this fails.

    Args:
        url: what to connect.
        lazy: do not open a database before the first question; its tables are then no datasets yet.
        progress: whether bars on standard error show how far long work has come, or what shows it; None: where somebody
            watches, in a notebook or a terminal, and tqdm is installed (extra `notebook`).
        settings: fields of `Settings`; and how CSV files and sheets are read: `delimiter`, `decimal_character`
            (`.` or `,`), `thousands_character`, `date_format` as `strptime` has it, `encoding`, `header_row` (None:
            there is none), and `skip_rows`, those above the header. Where a file leaves its names, dates or numbers
            open, a UserWarning and the dataset's description say how they were read.

    Raises:
        SourceError: it cannot be connected, for lack of memory too; the message says what would work.
        ConnectionUriError: the URL is malformed or not allowed.
        MissingExtraError: the driver, what reads the file, or tqdm, is not installed; the message names the extra.
        DatabaseError: the database does not answer, or refuses: what is wrong, diagnosed.
        SettingsError: a setting is unknown or must not be.
    """
    chosen = _chosen(settings)
    with enough_memory():
        source = taken(url, FileReading(settings=chosen, **_reading(settings)))
        address = url_of(source) if isinstance(source, DatabaseFile) else source if isinstance(source, str) else ""
        chosen, engines = _with_server_of(source, chosen)
        files = [source.path] if isinstance(source, DatabaseFile) else _file_of(address)
        core = AnalyticsCore(chosen, allowed_files=files, progress=progress_display(progress), engines=engines)
        try:
            acting = core.as_user(core.create_first_administrator("admin", first_name="Admin").id)
            _register(acting, source, address, lazy=lazy)
        except BaseException:  # whatever happens, an interruption too, what was opened here is closed
            core.close()
            raise
    return acting


def _chosen(settings: Mapping[str, Any]) -> Settings:
    """Return the settings of a core for notebooks."""
    fields_given = {name: value for name, value in settings.items() if name not in ReadingFields.__annotations__}
    _check_setting_names(fields_given)
    # who may make connections here has this process
    return Settings(**{"secret_key": secrets.token_urlsafe(32), "environment_passwords": True, **fields_given})


def _reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those arguments of `connect` that say how files are read."""
    return {name: given[name] for name in ReadingFields.__annotations__ if name in given}


def _register(core: AnalyticsCore, source: Taken, address: str, *, lazy: bool) -> None:
    """Store the database of what was given; but for a URL, its datasets too."""
    if isinstance(source, str | DatabaseFile):
        database = {"database_name": _NAME, "orm_uri": address}
        database_id = core.databases.create(database).id or 1
        if not lazy:
            core.databases.test_connection(database)
    else:
        database_id = add_database(core, core._runtime.content, source, name=_NAME)
    if not isinstance(source, str) and (isinstance(source, HandedTables) or not lazy):
        add_datasets(core, database_id, source)
    if isinstance(source, HandedTables):
        warn_of_guesses(source.tables, stacklevel=3)  # the line that calls `connect`


def _file_of(url: str) -> tuple[Path, ...]:
    """Return the file that a `scheme:///path` URL names, if it names one."""
    _, separator, rest = url.partition(":///")
    path = rest.partition("?")[0]
    if separator and path and path != ":memory:":
        with suppress(OSError, RuntimeError, ValueError):  # links in a circle: the URL is refused later
            return (Path(path).resolve(),)
    return ()


def _with_server_of(source: Taken, settings: Settings) -> tuple[Settings, EngineRegistry | None]:
    """Return settings that let the server of a URL be reached, and the engines among which its own was looked for.

    Of anything but a URL that is the settings as they are, and None.
    """
    if not isinstance(source, str):
        return settings, None
    engines = installed_engines(added_by_packages()[ENGINES])
    networks = (*settings.allowed_networks, *_server_of(source, settings, engines))
    return replace(settings, allowed_networks=networks), engines


def _server_of(url: str, settings: Settings, engines: EngineRegistry) -> tuple[str, ...]:
    """Return host and port of a URL that names a server, as `Settings.allowed_networks` takes them."""
    try:
        checked = check_uri(url, settings=settings, specs=engines.get)
    except ConnectionUriError:  # told, or a file that is not allowed, when the database is created
        return ()
    if checked.server is None:
        return ()
    host, port = checked.server
    named = f"[{host}]" if ":" in host else host
    return (named if port is None else f"{named}:{port}",)


def _check_setting_names(given: Mapping[str, Any]) -> None:
    """Raise SettingsError for a name that is no field of `Settings`, with the argument that comes nearest."""
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            close = nearest(name, (*known, *ReadingFields.__annotations__))
            near = f"; did you mean {close[0]!r}?" if close else f"; it has: {', '.join(known)}"
            raise SettingsError(f"Settings has no field {name!r}{near}")
