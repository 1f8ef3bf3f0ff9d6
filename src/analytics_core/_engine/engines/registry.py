"""Finds the spec of an engine by its name or by a connection URI's backend name.

The engines of this package and those of others come in by the same door: each is an `EngineSpec` that is checked when
it is registered. A module of `specs` names its own in `ENGINES`; a package names one by an entry point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from types import MappingProxyType

from sqlglot.dialects.dialect import Dialect, Dialects

from analytics_core._engine.engines import specs as home
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._tools.once import Once
from analytics_core.errors import SettingsError, UnknownEngineError

ENTRY_POINTS = "analytics_core.engines"
"""The group of entry points by which a package adds engines: each names one `EngineSpec`."""


class EngineRegistry:
    """The engines that can be used, by name and alias; it never changes once made.

    Args:
        specs: a later spec replaces an earlier one of the same name.
        modules: those of `specs`, by the names of files, whose engines are known too, and replaced by these; each is
            loaded when its engine is first asked for, all of them when no file has the name that is looked for.

    Raises:
        SettingsError: a spec lacks what the gate must know of its engine.
    """

    __slots__ = ("_given", "_made_all", "_modules")

    def __init__(self, specs: Iterable[EngineSpec], *, modules: Iterable[str] = ()) -> None:
        self._given: Mapping[str, EngineSpec] = MappingProxyType({spec.name: spec for spec in map(_checked, specs)})
        self._modules = {name: Once(partial(_specs_of, name)) for name in modules}
        self._made_all = Once(self._all)

    def _all(self) -> Mapping[str, EngineSpec]:
        shipped = {name: spec for made in self._modules.values() for name, spec in made().items()}
        return MappingProxyType({**shipped, **self._given})

    def find(self, name: str) -> EngineSpec | None:
        """Return the spec with this name or alias, in any case; None where no engine answers to it."""
        name = name.lower()
        if name in self._given:
            return self._given[name]
        if name in self._modules and name in self._modules[name]():
            return self._modules[name]()[name]
        specs = self._made_all()
        aliases = {alias: spec for spec in specs.values() for alias in spec.aliases}
        return specs.get(name, aliases.get(name))

    def get(self, name: str) -> EngineSpec:
        """Return the spec with this name or alias, in any case.

        Raises:
            UnknownEngineError: no engine answers to the name; the message lists those that there are.
        """
        spec = self.find(name)
        if spec is None:
            raise UnknownEngineError(name, place="the registry of engines", known=self.names())
        return spec

    def names(self) -> tuple[str, ...]:
        """Return the names of all engines, sorted; aliases are left out."""
        return tuple(sorted(self._made_all()))

    def with_spec(self, spec: EngineSpec) -> EngineRegistry:
        """Return a registry that also knows `spec`, in place of one of the same name."""
        return EngineRegistry([*self._given.values(), spec], modules=self._modules)


def installed_engines(entries: Iterable[EntryPoint] | None = None) -> EngineRegistry:
    """Return the registry of our engines and of those that installed packages add, which replace ours by name.

    Args:
        entries: the entry points of the group; None: they are looked for, which takes long.

    Raises:
        SettingsError: an entry point cannot be loaded, or names something else than a whole `EngineSpec`.
    """
    found = entry_points(group=ENTRY_POINTS) if entries is None else entries
    return EngineRegistry(map(_loaded, found), modules=(module.name for module in iter_modules(home.__path__)))


def _specs_of(module: str) -> Mapping[str, EngineSpec]:
    """Return the specs of a file of `specs`, by name."""
    own: Iterable[EngineSpec] = getattr(import_module(f"{home.__name__}.{module}"), "ENGINES", ())
    return {spec.name: spec for spec in map(_checked, own)}


def _loaded(entry: EntryPoint) -> EngineSpec:
    try:
        spec = entry.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(spec, EngineSpec):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must name an EngineSpec")
    return spec


def _checked(spec: EngineSpec) -> EngineSpec:
    """Return a spec whose guards stand: a gap would show only when somebody goes through it."""
    revealing = spec.guards.revealing
    problems = {
        "its name and aliases must be in lower case": any(name != name.lower() for name in (spec.name, *spec.aliases)),
        f"sqlglot has no dialect {spec.dialect!r}": not _is_dialect(spec.dialect),
        "guards.denied_functions is empty; name the functions that no user's SQL may call": (
            not spec.guards.denied_functions
        ),
        "guards.revealing is empty; name the relations or schemas that show what others hold or run": (
            not (revealing.relations or revealing.schemas)
        ),
    }
    for problem, found in problems.items():
        if found:
            raise SettingsError(f"the engine {spec.name!r} cannot be registered: {problem}")
    return spec


def _is_dialect(name: str) -> bool:
    """Tell without loading those of sqlglot, which takes long."""
    return name in {known.value for known in Dialects} or Dialect.get(name) is not None
