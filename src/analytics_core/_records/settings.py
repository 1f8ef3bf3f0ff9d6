"""Every default of the library in one frozen record; the environment is read where a host hands it over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from analytics_core._records.budget import Budget
from analytics_core._records.environment import values_of
from analytics_core._records.secret import Secret
from analytics_core.errors import PayloadError, SettingsError
from analytics_core.models.database import OAuth2Client
from analytics_core.models.dataset import DatasetDescription
from analytics_core.models.enums import RelativeTime
from analytics_core.models.parsing import parse

_SHORTEST_KEY = 16
_FUNCTION = re.compile(r"\w+")


def _checked_key(key: str | Secret | None, name: str) -> Secret:
    text = key.reveal() if isinstance(key, Secret) else key
    if not text:
        raise SettingsError(f"Settings.{name} is required; make one with secrets.token_urlsafe(32)")
    if not isinstance(text, str):
        raise SettingsError(f"Settings.{name} must be text; make one with secrets.token_urlsafe(32)")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise SettingsError(f"Settings.{name} is not valid Unicode; make one with secrets.token_urlsafe(32)")
    if len(text) < _SHORTEST_KEY or can_be_guessed(text):
        raise SettingsError(f"Settings.{name} is weak; make one with secrets.token_urlsafe(32)")
    return Secret(text)


def _checked_older_key(key: str | Secret | None) -> Secret:
    """Return a previous key: whoever guesses one signs guest tokens, so it must be as strong as the present one."""
    if not (key.reveal() if isinstance(key, Secret) else key):
        raise SettingsError("Settings.previous_secret_keys holds an empty key; leave it out")
    return _checked_key(key, "previous_secret_keys")


_LISTS: Final = (tuple, list, AbstractSet)
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "int | None": ((int, type(None)), "a whole number, or None"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "True or False"),
    "str": ((str,), "a text"),
    "Secret | str | None": ((Secret, str, type(None)), "a text"),
    "tuple[Secret | str, ...]": (_LISTS, "a tuple of texts"),
    "tuple[str, ...]": (_LISTS, "a tuple of texts"),
    "tuple[Budget | Mapping[str, Any], ...]": (_LISTS, "a tuple of budgets, such as (Budget(rows_per_day=10**6),)"),
    "tuple[Path, ...]": (_LISTS, "a tuple of folders, such as (Path('data'),)"),
    "frozenset[str]": (_LISTS, "a set of texts"),
    "Mapping[str, AbstractSet[str]]": ((Mapping,), "a map of engines to sets of names"),
    "Mapping[str, OAuth2Client | Mapping[str, Any]]": ((Mapping,), "a map of databases or engines to clients"),
    "Path | None": ((str, Path, type(None)), "the path of a file, or None"),
}
"""Type of a setting, as it is written below: the types that a value may have, and how they are called."""


def _check_types(settings: Settings) -> None:
    """Refuse a number, a flag or a list that is given as text, as settings read from an environment are."""
    for setting in fields(settings):
        types, called = _TYPES.get(str(setting.type), ((object,), ""))
        value = getattr(settings, setting.name)
        if not isinstance(value, types) or (isinstance(value, bool) and called and bool not in types):
            raise SettingsError(f"Settings.{setting.name} must be {called}, not {type(value).__name__}")


def _checked_folders(roots: Iterable[Any]) -> tuple[Path, ...]:
    if not all(isinstance(root, str | Path) for root in roots):
        raise SettingsError("Settings.data_roots must be a tuple of folders, such as (Path('data'),)")
    return tuple(map(Path, roots))


def _check_functions(functions: Mapping[str, Any]) -> None:
    """Refuse what is no set of names: a text would allow its letters."""
    for engine, names in functions.items():
        is_list = isinstance(names, _LISTS)
        if not is_list or not all(isinstance(name, str) and _FUNCTION.fullmatch(name) for name in names):
            raise SettingsError(
                f"Settings.allowed_functions of {engine!r} must be a set of names of functions or types, such as "
                "{'earth_distance'}"
            )


def _checked_budgets(budgets: Iterable[Any]) -> tuple[Budget, ...]:
    known = [budget_field.name for budget_field in fields(Budget)]
    for given in budgets:
        if not isinstance(given, Budget | Mapping):
            raise SettingsError(f"Settings.budgets must hold Budget records, not {type(given).__name__}")
        if isinstance(given, Mapping) and (strange := sorted(set(map(str, given)) - set(known))):
            raise SettingsError(f"Settings.budgets: a Budget has no {strange[0]!r}; it has {', '.join(known)}")
    return tuple(given if isinstance(given, Budget) else Budget(**given) for given in budgets)


_STATE_ALGORITHMS: Final = ("HS256", "HS384", "HS512")
"""Both ends of a state are ours, so that both know the key."""


def _checked_clients(clients: Mapping[str, Any]) -> Mapping[str, OAuth2Client]:
    """Return the clients as records, whose secrets are masked in every printed form."""
    checked = {}
    for name, client in clients.items():
        try:
            checked[name] = parse(OAuth2Client, client, shape=f"Settings.oauth2_clients of {name!r}")
        except PayloadError as error:
            raise SettingsError(error.message) from None
    return checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a host may choose. Times end in `_s` (seconds), sizes in `_bytes`; every limit may be lowered or raised.

    Args:
        secret_key: seals stored secrets and cache entries, signs tokens; at least 16 characters, not a well-known one.
        previous_secret_keys: keys that still open what they sealed and signed (rotation); as strong as `secret_key`.
        default_row_limit: rows of a query that names none (`row_limit` null).
        max_row_limit: the cap that no query passes, also with `row_limit` 0.
        samples_row_limit: rows of `samples` when none is named (`drill_detail` has the default of every query).
        stream_row_limit: the cap of a stream of batches (`charts.batches`, `sql.batches`), whose rows are not held in
            memory; None: `max_row_limit`.
        max_result_bytes: bytes a result may take while it is fetched; crossing it stops the statement.
        statement_timeout_s: seconds a statement may take on a user's database, connecting included; whoever asks is
            answered at most two seconds later, even where the database says nothing.
        request_timeout_s: seconds that all statements of one request may take together; no statement begins after them,
            and one that runs then is stopped.
        max_statements_per_request: statements of one request: queries, comparisons, annotation layers, look-ups.
        max_cells_per_request: cells (rows times columns) that the results of one request may have together.
        max_sql_length_per_request: characters of custom SQL that one request may bring, 20 more for each expression;
            what was parsed lately is free.
        store_timeout_s: seconds that each wait on the metadata store may take: for a connection, an answer, a lock.
        migrate_on_open: whether a core that opens a store brings its tables up to date; if not, it uses them as they
            are until `python -m analytics_core migrate` is called. A new store is made at once.
        cache_timeout_s: seconds a result is kept when nobody says otherwise; 0: for ever, -1: not at all.
        cache_max_bytes: size of the built-in memory cache; answers of more than a quarter of it are not kept.
        relative_start: what an open start of a relative range runs from.
        relative_end: what an open end of a relative range runs to.
        date_range_offsets: whether `time_offsets` may hold date ranges.
        enable_templates: whether `{{ }}` in custom SQL and virtual datasets is rendered.
        data_roots: folders whose files file-based engines may open.
        allowed_drivers: exact driver names beyond the built-in list.
        allowed_networks: what connections that people configure may reach besides public addresses: networks,
            addresses and host names, each with or without a port (`10.1.0.0/16`, `[fd12::1]:5432`, `db.internal:5432`);
            a name is allowed wherever it leads.
        environment_passwords: whether PostgreSQL connections without a password use those of this process
            (`PGPASSWORD`, the file `.pgpass`), which then go to whichever server people name. `connect` sets it.
        max_fragment_length: characters of one custom SQL field.
        strict_queries: whether a question is refused that holds keys which nobody reads or parts that have no effect;
            `charts.data(..., strict=...)` goes before it.
        allowed_functions: functions and types, by engine name (`{"postgresql": {"earth_distance"}}`), that people
            without the right to write SQL may use in the fragments of their queries, besides those of the engine's
            own list; what the engine's deny-list names stays refused.
        max_in_values: members of one IN list.
        max_queries_per_context: queries that one query context may hold.
        max_items_per_list: columns, metrics, filters, sort keys, post-processing steps and annotation layers that one
            query may name, each.
        max_time_offsets: ranges that one query may be compared with (`time_offsets`); one named twice counts once.
        max_annotation_layers: annotation layers with data that one query may name.
        max_list_count: records that a list counts: the `count` of a page is no higher. None: all, which takes a second
            for some millions.
        max_annotations: annotations that one layer gives to a query; the ledger tells of those that it leaves out.
        job_workers: threads of the built-in background runner.
        job_workers_per_database: threads of it that jobs on one database, or reports to one receiver, may take; None:
            as many as they leave to the others (of 8 the first one 4, a second one 2).
        jobs_max_bytes: what the results of finished jobs may take in the metadata store; the oldest go first.
        max_jobs: jobs that may wait or run at a time, in all processes of a store; as many finished ones are kept.
        job_lease_s: seconds after which the jobs of a process that died are lost, and others take up the runs of
            reports that it claimed.
        job_wait_s: seconds after which a job that no worker took is lost; it may wait on in a process that lives.
        job_expiry_s: seconds for which a finished job is kept.
        pool_size: connections kept open for each database and identity.
        upload_timeout_s: seconds that an upload may take, from reading the file to the last row.
        upload_max_bytes: of a file that is uploaded.
        upload_max_unpacked_bytes: of a workbook or a Parquet file, unpacked.
        upload_max_rows: of a file.
        upload_max_columns: of a file.
        upload_max_cell_length: characters of one text in a file; of CSV at the most `csv.field_size_limit()`.
        metadata_freshness_s: seconds for which users, roles, databases, datasets and the charts of questions count as
            unchanged once they were read; changes made through the same core count at once, those of other processes
            after this time; 0: ask the store each time.
        sql_query_keep_s: seconds for which the record of an execution of the SQL editor is kept from its start on
            (`core.prune` removes older ones).
        form_data_keep_s: seconds for which stored form data of the explore view is kept after its last change.
        dataset_health_check: says what is wrong with a dataset (its description goes in, a message or None comes out),
            shown as `health_check_message`.
        guest_token_life_s: seconds for which a guest token opens its dashboards, when nobody says otherwise.
        guest_token_max_life_s: the longest life that may be asked for; tokens that live longer are refused.
        guest_token_max_bytes: the longest token that is made or read.
        guest_token_audience: what guest tokens are for; a token of another audience is refused.
        guest_roles: the names of the roles that guests have; they count for row rules, their grants open nothing.
        available_domains: the domains that the host answers on (`embedded.available_domains`).
        url_for: builds the addresses of the host's pages (`ports.UrlFor`); None: those fields are null. The provider of
            a database leads people back to `url_for("oauth2_callback", {})`, unless its client names a `redirect_uri`.
        oauth2_clients: registrations at the providers of databases (the contract's client configuration), by the name
            of a database or of an engine; a client that the database itself names goes before them.
        oauth2_jwt_algorithm: signs the state of an authorization; one of HS256, HS384, HS512.
        oauth2_timeout_s: seconds that one request to a token endpoint may take in all.
        oauth2_redirect_origins: origins of pages that people may be led back to after an authorization
            (`core.oauth.start(..., redirect_to=)`), for example `https://app.example`.
        oauth2_http_hosts: hosts of providers that may be reached by plain http, for example `127.0.0.1`.
        oauth2_ca_file: certificates of authorities that providers' servers are checked by; None: those of the system.
        alert_min_interval_s: seconds that must lie between two runs of an alert; less than 120 asks nothing.
        report_min_interval_s: likewise of a report.
        report_on_time_s: seconds after its due time for which a run still counts as on time, where a schedule skips
            the runs that were missed.
        budgets: what statements on users' data may spend (`Budget`); a map of its fields is one, too.
        max_active_reports_per_owner: active alerts and reports that one person may own; administrators are not bound.
    """

    secret_key: Secret | str | None = None
    previous_secret_keys: tuple[Secret | str, ...] = ()
    default_row_limit: int = 50_000
    max_row_limit: int = 100_000
    samples_row_limit: int = 1_000
    stream_row_limit: int | None = None
    max_result_bytes: int = 1_000_000_000
    statement_timeout_s: float = 60.0
    request_timeout_s: float = 300.0
    max_statements_per_request: int = 1_000
    max_cells_per_request: int = 50_000_000
    max_sql_length_per_request: int = 100_000
    store_timeout_s: float = 20.0
    migrate_on_open: bool = True
    cache_timeout_s: int = 86_400
    cache_max_bytes: int = 256 * 1024 * 1024
    relative_start: RelativeTime = RelativeTime.TODAY
    relative_end: RelativeTime = RelativeTime.TODAY
    date_range_offsets: bool = True
    enable_templates: bool = True
    data_roots: tuple[Path, ...] = ()
    allowed_drivers: frozenset[str] = frozenset()
    allowed_networks: tuple[str, ...] = ()
    environment_passwords: bool = False
    max_fragment_length: int = 20_000
    strict_queries: bool = False
    allowed_functions: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    max_in_values: int = 50_000
    max_queries_per_context: int = 100
    max_items_per_list: int = 1_000
    max_time_offsets: int = 20
    max_annotation_layers: int = 50
    max_annotations: int = 10_000
    max_list_count: int | None = None
    job_workers: int = 8
    job_workers_per_database: int | None = None
    jobs_max_bytes: int = 256 * 1024 * 1024
    max_jobs: int = 1_000
    job_lease_s: float = 30.0
    job_wait_s: float = 3_600.0
    job_expiry_s: float = 86_400.0
    pool_size: int = 5
    upload_timeout_s: float = 600.0
    upload_max_bytes: int = 500_000_000
    upload_max_unpacked_bytes: int = 1_000_000_000
    upload_max_rows: int = 10_000_000
    upload_max_columns: int = 1_000
    upload_max_cell_length: int = 100_000
    metadata_freshness_s: float = 1.0
    sql_query_keep_s: int = 30 * 86_400
    form_data_keep_s: int = 7 * 86_400
    dataset_health_check: Callable[[DatasetDescription], str | None] | None = None
    guest_token_life_s: float = 300.0
    guest_token_max_life_s: float = 3_600.0
    guest_token_max_bytes: int = 8_192
    guest_token_audience: str = "analytics_core"  # noqa: S105 - a name, not a secret
    guest_roles: tuple[str, ...] = ()
    available_domains: tuple[str, ...] = ()
    url_for: Callable[[str, Mapping[str, Any]], str | None] | None = None
    oauth2_clients: Mapping[str, OAuth2Client | Mapping[str, Any]] = field(default_factory=dict, repr=False)
    oauth2_jwt_algorithm: str = "HS256"
    oauth2_timeout_s: float = 30.0
    oauth2_redirect_origins: tuple[str, ...] = ()
    oauth2_http_hosts: tuple[str, ...] = ()
    oauth2_ca_file: Path | None = None
    alert_min_interval_s: float = 0.0
    report_min_interval_s: float = 0.0
    report_on_time_s: float = 300.0
    max_active_reports_per_owner: int = 1_000
    budgets: tuple[Budget | Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        _check_types(self)
        object.__setattr__(self, "data_roots", _checked_folders(self.data_roots))
        object.__setattr__(self, "secret_key", _checked_key(self.secret_key, "secret_key"))
        older = tuple(map(_checked_older_key, self.previous_secret_keys))
        object.__setattr__(self, "previous_secret_keys", older)
        positive = (
            *("default_row_limit", "max_row_limit", "samples_row_limit", "max_result_bytes"),
            *(
                "max_annotations",
                "max_queries_per_context",
                "max_items_per_list",
                "form_data_keep_s",
                "sql_query_keep_s",
            ),
            *("max_statements_per_request", "max_cells_per_request", "max_sql_length_per_request", "max_jobs"),
            *("upload_max_bytes", "upload_max_unpacked_bytes", "upload_max_rows"),
            *("upload_max_columns", "upload_max_cell_length", "max_active_reports_per_owner"),
        )
        for name in positive:
            if getattr(self, name) < 1:
                raise SettingsError(f"Settings.{name} must be at least 1")
        for name in ("stream_row_limit", "max_list_count"):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise SettingsError(f"Settings.{name} must be at least 1, or None")
        longer_than_nothing = (
            *("statement_timeout_s", "request_timeout_s", "store_timeout_s"),
            *("job_lease_s", "job_wait_s", "job_expiry_s", "oauth2_timeout_s", "upload_timeout_s"),
            "report_on_time_s",
        )
        for name in longer_than_nothing:
            if not getattr(self, name) > 0:
                raise SettingsError(f"Settings.{name} must be more than 0")
        object.__setattr__(self, "budgets", _checked_budgets(self.budgets))
        _check_functions(self.allowed_functions)
        object.__setattr__(self, "oauth2_clients", _checked_clients(self.oauth2_clients))
        if self.oauth2_jwt_algorithm not in _STATE_ALGORITHMS:
            raise SettingsError(f"Settings.oauth2_jwt_algorithm must be one of {', '.join(_STATE_ALGORITHMS)}")
        if not 0 < self.guest_token_life_s <= self.guest_token_max_life_s:
            raise SettingsError("Settings.guest_token_life_s must be more than 0, and at most guest_token_max_life_s")
        if not self.guest_token_audience:
            raise SettingsError("Settings.guest_token_audience must not be empty")

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Return the settings that variables such as `ANALYTICS_CORE_SECRET_KEY` name, by the names of the fields.

        Numbers and flags (`true`, `false`) are written as such, lists with commas between, `allowed_functions` and
        `oauth2_clients` as JSON. An empty variable counts as none. Functions, such as `url_for`, cannot be given so.

        Args:
            environ: variables by name, such as `os.environ`; those of other names are left alone.

        Raises:
            SettingsError: a value that is none, which the message names by its variable and does not repeat; or a
                variable whose name comes near that of a field.
        """
        return cls(**values_of(environ, {setting.name: str(setting.type) for setting in fields(cls)}))

    @property
    def key(self) -> Secret:
        """Return the secret key, checked."""
        assert isinstance(self.secret_key, Secret)  # noqa: S101 - made so by __post_init__; tells the type checker
        return self.secret_key

    @property
    def clients(self) -> Mapping[str, OAuth2Client]:
        """Return `oauth2_clients`, checked."""
        return {name: client for name, client in self.oauth2_clients.items() if isinstance(client, OAuth2Client)}

    @property
    def checked_budgets(self) -> tuple[Budget, ...]:
        """Return `budgets`, checked."""
        return tuple(budget for budget in self.budgets if not isinstance(budget, Mapping))

    @property
    def older_keys(self) -> tuple[Secret, ...]:
        """Return the keys that still open what they sealed."""
        return tuple(key if isinstance(key, Secret) else Secret(key) for key in self.previous_secret_keys)


_NOT_LETTERS: Final = re.compile(r"[^a-z0-9]")

_PLACEHOLDERS: Final = (
    *("changeme", "changethis", "replaceme", "replacethis", "placeholder", "insecure", "notasecret", "notsecret"),
    *("thisisasecret", "thisisthesecret", "thisismysecret", "thisismyscret", "yoursecret", "yourown", "mysecretkey"),
    *("testnondev", "nondevsecret", "secretkeyhere", "your256bitsecret", "temporarykey", "temporarysecret"),
    *("donotuse", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1q2w3e4r"),
)
"""What stands in the defaults, templates and manuals from which such keys are copied, without case and signs."""

_WORDS: Final = re.compile(
    "secret|scret|password|passphrase|pass|default|random|generated|complex|secure|security|session|cookie|token|guest"
    "|guests|admin|administrator|user|analytics|superset|flask|django|fastapi|example|sample|change|insert|replace"
    "|test|tests|testing|dev|development|prod|production|staging|local|demo|your|own|this|that|here|some|very|super"
    "|strong|long|the|my|is|to|me|in|of|for|and|key|keys|jwt|core|app|embed|embedded|web|server|host"
)
_FEWEST_OTHERS: Final = 6
"""So many characters must be left beside such words, half of them no sequence and no repetition."""

_FEWEST_UNFORESEEN: Final = 10
_FEWEST_DIFFERENT: Final = 6


def can_be_guessed(key: str) -> bool:
    """Tell whether a key is a well-known one, made of the usual words, or a pattern."""
    plain = _NOT_LETTERS.sub("", key.casefold())
    if any(placeholder in plain for placeholder in _PLACEHOLDERS) or len(set(key)) < _FEWEST_DIFFERENT:
        return True
    rest = _WORDS.sub("", plain) if plain else key
    return len(rest) < _FEWEST_OTHERS or 2 * _unforeseen(rest) < _FEWEST_OTHERS or _unforeseen(key) < _FEWEST_UNFORESEEN


def _unforeseen(text: str) -> int:
    """Count the characters that neither go on with a sequence (`1234`, `aaaa`) nor repeat what stood before."""
    count, position = 0, 0
    while position < len(text):
        repeated = _repeated(text, position)
        if repeated:
            position += repeated
            continue
        count += not _goes_on(text, position)
        position += 1
    return count


def _repeated(text: str, position: int) -> int:
    """Return how many characters from here stood together before; three at least, else 0."""
    length = 3
    while position + length <= len(text) and text[position : position + length] in text[: position + length - 1]:
        length += 1
    return length - 1 if length > 3 else 0


def _goes_on(text: str, position: int) -> bool:
    """Whether a character goes on with the step of the two before it."""
    if position < 2:
        return False
    before, last, this = map(ord, text[position - 2 : position + 1])
    return this - last == last - before and abs(this - last) <= 1
