"""What an operation is, and how one is found by its name; its module, and pandas, is loaded on first use.

Those of this package are the ones that have options in `models.postprocessing`, each the function `apply` of the module
of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.frames import ENTRY_POINTS
from analytics_core.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from analytics_core.models.postprocessing import OperationOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameWithNotes:
    """A frame with notes: what was done otherwise than asked, as sentences without a full stop."""

    frame: pd.DataFrame
    notes: tuple[str, ...]


Apply = Callable[["pd.DataFrame", Any], "pd.DataFrame | FrameWithNotes"]
"""A frame and its checked options in, a new frame out, with notes or without; the input is never changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of post-processing.

    Args:
        name: what `operation` says in a payload.
        options: the shape of its options.
        apply: the function; it raises PostProcessingError for what the frame cannot serve.
    """

    name: str
    options: type[OperationOptions]
    apply: Apply


_PACKAGE = f"{__package__}.operations"
_ALIASES: Final[Mapping[str, str]] = MappingProxyType({"prophet": "forecast"})


class Operations(Mapping[str, Operation]):
    """The operations by name; it never changes once made.

    Args:
        added: further operations, or others in place of those that come with the package.
    """

    __slots__ = ("_added",)

    def __init__(self, added: Mapping[str, Operation] | None = None) -> None:
        self._added: Mapping[str, Operation] = MappingProxyType(dict(added or {}))

    def __getitem__(self, name: str) -> Operation:
        if name in self._added:
            return self._added[name]
        home = _ALIASES.get(name, name)
        options = _own().get(home)
        if options is None:
            raise KeyError(name)
        return Operation(name=home, options=options, apply=import_module(f"{_PACKAGE}.{home}").apply)

    def __contains__(self, name: object) -> bool:
        return name in self._added or name in _own() or name in _ALIASES

    def __iter__(self) -> Iterator[str]:
        """Yield the names without aliases, sorted."""
        return iter(sorted({*_own(), *self._added}))

    def __len__(self) -> int:
        return len({*_own(), *self._added})


def _own() -> Mapping[str, type[OperationOptions]]:
    """Return the options of the operations of this package, by name."""
    from analytics_core.models.postprocessing import OPTIONS

    return OPTIONS


def installed_operations(entries: Iterable[EntryPoint]) -> Operations:
    """Return the operations of this package and those that installed packages add.

    Args:
        entries: the entry points of the group.

    Raises:
        SettingsError: an entry point cannot be loaded or names something else than an `Operation`.
    """
    return Operations({entry.name: _loaded(entry) for entry in entries})


def _loaded(entry: EntryPoint) -> Operation:
    try:
        operation = entry.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(operation, Operation):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must name an Operation")
    return operation
