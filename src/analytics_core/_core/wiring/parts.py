"""The parts of a core: those of its host, and the library's own where it handed none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distribution, distributions
from pathlib import Path
from typing import Any, Final, Protocol, get_args, get_origin, get_type_hints

from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._core.adapters.caches import GuardedCache, MemoryCache
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._core.adapters.token_endpoint import HttpsTokenEndpoint, place_of
from analytics_core._core.adapters.vega_renderer import VegaRenderer, can_draw
from analytics_core._engine.compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._engine.engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.frames import ENTRY_POINTS as OPERATIONS
from analytics_core._engine.network import AddressFinder, system_lookup
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.settings import Settings
from analytics_core._reports import ENTRY_POINTS as NOTIFIERS
from analytics_core._superset import ENTRY_POINTS as CHART_KINDS
from analytics_core.errors import DatabaseError, SettingsError, TokenEndpointError
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    MetadataStore,
    NetworkPolicy,
    Notifier,
    Renderer,
    SecretBox,
    TokenEndpoint,
)

_FILE: Final = "entry_points.txt"
GROUPS = (ADVANCED_DATA_TYPES, CHART_KINDS, ENGINES, NOTIFIERS, OPERATIONS)

Added = Mapping[str, Iterable[EntryPoint]]
"""The entry points of our groups, which installed packages have."""


def added_by_packages() -> Added:
    """Return the entry points of our groups, looked for once a core.

    Files that do not name a group of ours are not parsed, which takes a third of the time of `entry_points()`.
    """
    ours = [each for each in distributions() if _names_a_group(each)]
    first = [each for each in ours if each.read_text(_FILE) == distribution(each.name).read_text(_FILE)]
    found = EntryPoints(dict.fromkeys(point for each in first for point in each.entry_points))
    return {group: found.select(group=group) for group in GROUPS}


def _names_a_group(package: Distribution) -> bool:
    text = package.read_text(_FILE) or ""
    return any(f"[{group}]" in text for group in GROUPS)


def surroundings(
    constructor: Callable[..., None], arguments: Mapping[str, Any]
) -> tuple[Added, AddressFinder, Clock, EngineRegistry]:
    """Return what the parts of a core stand on: arguments of its constructor, which are checked, or our own.

    Raises:
        SettingsError: as `_check_ports`, and for packages that cannot be loaded.
    """
    _check_ports(constructor, arguments)
    added, clock, engines = added_by_packages(), arguments["clock"], arguments["engines"]
    return (
        added,
        address_finder(arguments["settings"], arguments["network"]),
        SystemClock() if clock is None else clock,
        installed_engines(added[ENGINES]) if engines is None else engines,
    )


def _check_ports(constructor: Callable[..., None], arguments: Mapping[str, Any]) -> None:
    """Refuse what a host hands the core that does not have what its port needs; None: the library's own.

    The annotations of the constructor tell the ports.

    Raises:
        SettingsError: which, and what it lacks.
    """
    for name, port, given in _handed(constructor, arguments):
        lacking = [] if given is None else [member for member in _members(port) if not _has(given, member)]
        if lacking:
            raise SettingsError(f"{name}: a {port.__name__} has {', '.join(lacking)}, which {given!r:.100} has not")


def _handed(constructor: Callable[..., None], arguments: Mapping[str, Any]) -> Iterator[tuple[str, type, object]]:
    """Yield each argument of a constructor that is annotated as a port, or each of several, with its name."""
    for name, hint in get_type_hints(constructor).items():
        several = arguments[name] if get_origin(hint) is Sequence else (arguments.get(name),)
        yield from ((name, port, given) for port in filter(_is_port, get_args(hint)) for given in several)


def _is_port(annotated: Any) -> bool:
    return isinstance(annotated, type) and (Protocol in annotated.__mro__ or annotated in {EngineRegistry, Policy})


def _members(port: type) -> list[str]:
    return [member for member in dir(port) if not member.startswith("_")]


def _has(given: object, member: str) -> bool:
    """Whether an object has a member; one that fails to give it, as a proxy of a server that is away, has it."""
    try:
        getattr(given, member)
    except AttributeError:
        return False
    except Exception:  # a host's own object; it is told where it is asked, as a part that is away
        return True
    return True


def optional_member(given: object, member: str) -> Any:
    """Return what a part of a host has beyond its port; None where it has none, or fails to give it, as a proxy may."""
    try:
        return getattr(given, member, None)
    except Exception:  # a host's own object; it is told where it is asked, as a part that is away
        return None


IN_MEMORY = "sqlite://"
"""The URL of a metadata store in the memory of the process."""


@contextmanager
def opened_store(
    store: MetadataStore | None, url: str, settings: Settings, clock: Clock, secret_box: SecretBox | None
) -> Iterator[MetadataStore]:
    """Give the store of a host, or else the one at a URL, where the settings' keys seal what no host's box does.

    A store of our own is closed when the block fails.

    Raises:
        SettingsError: a store and a URL: records are kept in one place.
    """
    if store is not None:
        if url != IN_MEMORY:
            raise SettingsError("records are kept in one place: give AnalyticsCore either metadata_url or store")
        yield store
        return
    box = AesGcmSecretBox(settings.key, previous_keys=settings.older_keys) if secret_box is None else secret_box
    limits: Any = {"timeout_s": settings.store_timeout_s, "migrates": settings.migrate_on_open}
    own = SqlMetadataStore(url, secret_box=box, clock=clock, **limits)
    try:
        yield own
    except BaseException:  # whatever it is goes on upwards; connections must not stay open
        own.close()
        raise


def memory_or_guarded(cache: Cache | None, settings: Settings, clock: Clock) -> Cache:
    """Return the cache; what a host passed stands behind a guard, since it may raise or hang.

    One that says how long a call of it may take, by `longest_call_s`, is waited for as long.
    """
    if cache is None:
        return MemoryCache(max_bytes=settings.cache_max_bytes, clock=clock)
    if isinstance(cache, MemoryCache):
        return cache
    longest_s = optional_member(cache, "longest_call_s")
    return GuardedCache(cache, wait_s=longest_s) if isinstance(longest_s, int | float) else GuardedCache(cache)


def address_finder(settings: Settings, network: NetworkPolicy | None) -> AddressFinder:
    """Return what finds the addresses that may be reached, by the policy of a host or else the library's own."""
    if network is not None:
        return AddressFinder(network)
    advice = "; a host allows private addresses by Settings.allowed_networks"
    return AddressFinder(PublicNetworkPolicy(settings.allowed_networks), advice=advice)


def pools(
    settings: Settings, engines: EngineRegistry, allowed_files: Iterable[Path | str], addresses: AddressFinder
) -> Connector:
    """Return what reaches users' databases by pools of SQLAlchemy engines."""
    return SqlAlchemyConnector(settings=settings, specs=engines.get, allowed_files=allowed_files, addresses=addresses)


def job_threads(settings: Settings) -> JobRunner:
    """Return what runs background work in threads of this process."""
    return ThreadJobRunner(workers=settings.job_workers, workers_per_queue=settings.job_workers_per_database)


def all_notifiers(given: Iterable[Notifier], added: Added) -> tuple[Notifier, ...]:
    """Return a host's notifiers, and those of installed packages after them."""
    entries = tuple(added[NOTIFIERS])
    if not entries:
        return tuple(given)
    from analytics_core._reports.delivery import installed_notifiers

    return (*given, *installed_notifiers(entries))


def installed_renderer() -> Renderer | None:
    """Return what draws pictures; None where the extra that brings it is not installed."""
    return VegaRenderer() if can_draw() else None


def https_endpoint(settings: Settings, addresses: AddressFinder) -> TokenEndpoint:
    """Return what asks token endpoints by HTTPS, where the network policy and the settings' own clients lead."""
    named = {place_of(client.token_request_uri) for client in settings.clients.values()}

    def resolve(host: str, port: int) -> Sequence[str]:
        if (host, port) in named:  # a host's own code says so, no payload
            return system_lookup(host, port)
        try:
            return addresses.find(host, port, purpose=DestinationPurpose.TOKEN_ENDPOINT)
        except DatabaseError as refusal:
            problem = TokenEndpointError(refusal.message, retryable=refusal.retryable)
        raise problem

    return HttpsTokenEndpoint(settings, resolve=resolve)
