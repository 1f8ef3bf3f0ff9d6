"""What a host hands a core, checked against the ports that it shall keep."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.rights.policy import Policy
from analytics_core.errors import SettingsError
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    Lock,
    MetadataStore,
    NetworkPolicy,
    Notifier,
    Observer,
    Progress,
    Renderer,
    RowFilterSource,
    SecretBox,
    Sleeper,
    TokenEndpoint,
    UserDirectory,
)

_PORTS: Mapping[str, type] = MappingProxyType(
    {
        "cache": Cache,
        "clock": Clock,
        "connector": Connector,
        "engines": EngineRegistry,
        "jobs": JobRunner,
        "lock": Lock,
        "network": NetworkPolicy,
        "observer": Observer,
        "policy": Policy,
        "progress": Progress,
        "renderer": Renderer,
        "secret_box": SecretBox,
        "sleeper": Sleeper,
        "store": MetadataStore,
        "token_endpoint": TokenEndpoint,
        "users": UserDirectory,
    }
)


def check_ports(arguments: Mapping[str, Any]) -> None:
    """Refuse what a host hands the core, by name, that does not have what its port needs; None: the library's own.

    Raises:
        SettingsError: which, and what it lacks.
    """
    sources = [
        *(("row_filters", RowFilterSource, source) for source in arguments["row_filters"]),
        *(("notifiers", Notifier, notifier) for notifier in arguments["notifiers"]),
    ]
    for name, port, given in (*((name, port, arguments[name]) for name, port in _PORTS.items()), *sources):
        members = (member for member in dir(port) if not member.startswith("_"))
        lacking = [] if given is None else [member for member in members if not _has(given, member)]
        if lacking:
            raise SettingsError(f"{name}: a {port.__name__} has {', '.join(lacking)}, which {given!r:.100} has not")


def _has(given: object, member: str) -> bool:
    """Whether an object has a member; one that fails to give it, as a proxy of a server that is away, has it."""
    try:
        getattr(given, member)
    except AttributeError:
        return False
    except Exception:  # a host's own object; it is told where it is asked, as a part that is away
        return True
    return True
