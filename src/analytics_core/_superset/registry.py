"""The chart kinds by name: ours, those that installed packages add, and the one that serves all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from analytics_core._records.chart_form import OLD_CHART_KINDS, column_label
from analytics_core._superset import ENTRY_POINTS, kinds
from analytics_core._superset.base_query import axis_columns, base_query, has_axis, mark_axis
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, distinct
from analytics_core.errors import SettingsError, nearest

_LONGEST_NAME: Final = 100


class ChartKinds(Mapping[str, ChartKind]):
    """The chart kinds by name; it never changes once made.

    Args:
        added: further kinds, or others in place of ours.
    """

    __slots__ = ("_kinds",)

    def __init__(self, added: Mapping[str, ChartKind] | None = None) -> None:
        self._kinds = MappingProxyType({**{kind.name: kind for kind in _own()}, **(added or {})})

    def __getitem__(self, name: str) -> ChartKind:
        return self._kinds[name] if name in self._kinds else self._kinds[OLD_CHART_KINDS[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._kinds or name in OLD_CHART_KINDS

    def __iter__(self) -> Iterator[str]:
        """Yield the names that kinds have today, sorted."""
        return iter(sorted(self._kinds))

    def __len__(self) -> int:
        return len(self._kinds)

    def kind_of(self, form_name: str | None) -> ChartKind:
        """Return the kind of a name, or the one that asks for what every form says."""
        if form_name is not None and form_name in self:
            return self[form_name]
        close = nearest(form_name, self) if form_name is not None and len(form_name) <= _LONGEST_NAME else ()
        return replace(_ANY, note=_UNKNOWN.format(hint=f" (did you mean {close[0]!r}?)" if close else ""))


def installed_chart_kinds(entries: Iterable[EntryPoint]) -> ChartKinds:
    """Return our chart kinds and those that installed packages add.

    Args:
        entries: the entry points of the group.

    Raises:
        SettingsError: an entry point cannot be loaded or names something else than a `ChartKind`.
    """
    return ChartKinds({entry.name: _loaded(entry) for entry in entries})


def _loaded(entry: EntryPoint) -> ChartKind:
    try:
        kind = entry.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(kind, ChartKind):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must name a ChartKind")
    return kind


def _own() -> Iterator[ChartKind]:
    for module in iter_modules(kinds.__path__):
        yield from import_module(f"{kinds.__name__}.{module.name}").KINDS


def _any(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    if has_axis(form):
        query.put_list("columns", distinct((*axis_columns(form), *query.list("columns")), column_label))
        mark_axis(form, query)
    return [query]


_UNKNOWN: Final = "its kind is not known here{hint}; it asks for the columns and metrics that its form names"
_ANY: Final = ChartKind(name="", build=_any)
