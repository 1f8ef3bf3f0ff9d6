"""The advanced data types of this package, and those that installed packages add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from types import MappingProxyType

from analytics_core._compile.advanced_types.base import AdvancedDataType
from analytics_core._compile.advanced_types.internet_address import INTERNET_ADDRESS
from analytics_core._compile.advanced_types.port import PORT
from analytics_core.errors import SettingsError

ENTRY_POINTS = "analytics_core.advanced_data_types"
"""The group of entry points by which a package adds types: each names one `AdvancedDataType`."""


def installed_advanced_types(entries: Iterable[EntryPoint]) -> Mapping[str, AdvancedDataType]:
    """Return all types by name; a package's own goes before the built-in one of the same name.

    Args:
        entries: the entry points of the group.

    Raises:
        SettingsError: an entry point cannot be loaded or names something else than an `AdvancedDataType`.
    """
    added = (_loaded(entry) for entry in entries)
    return MappingProxyType({kind.name: kind for kind in (INTERNET_ADDRESS, PORT, *added)})


def _loaded(entry: EntryPoint) -> AdvancedDataType:
    try:
        kind = entry.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(kind, AdvancedDataType):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must name an AdvancedDataType")
    return kind
