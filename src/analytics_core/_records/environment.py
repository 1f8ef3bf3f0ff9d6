"""Fields of settings as variables of an environment write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from analytics_core.errors import SettingsError, nearest
from analytics_core.models.enums import RelativeTime

PREFIX: Final = "ANALYTICS_CORE_"
"""What the names of all variables begin with."""

OF_THE_COMMAND_LINE: Final = ("store", "acting_as", "broker")
"""Further variables, which are no settings: the metadata store, who acts, and the broker of jobs."""

_FLAGS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def _flag(text: str) -> bool:
    return _FLAGS[text.strip().lower()]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _objects(text: str) -> tuple[Any, ...]:
    return tuple(_names(json.loads(text)))


def _functions(text: str) -> dict[str, frozenset[str]]:
    return {engine: frozenset(_names(names)) for engine, names in _object(text).items()}


def _names(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


_READERS: Final[Mapping[str, tuple[Callable[[str], Any], str]]] = {
    "int": (int, "a whole number"),
    "int | None": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (_flag, "true or false"),
    "str": (str, "a text"),
    "Path | str | None": (Path, "the path of a file"),
    "Literal['starttls', 'tls', 'none']": (str, "starttls, tls or none"),
    "Secret | str | None": (str, "a text"),
    "RelativeTime": (RelativeTime, f"one of {', '.join(RelativeTime)}"),
    "tuple[Secret | str, ...]": (_listed, "texts with commas between"),
    "tuple[str, ...]": (_listed, "texts with commas between"),
    "frozenset[str]": (lambda text: frozenset(_listed(text)), "texts with commas between"),
    "tuple[Path, ...]": (lambda text: tuple(map(Path, _listed(text))), "folders with commas between"),
    "tuple[Budget | Mapping[str, Any], ...]": (_objects, "a JSON list of objects"),
    "Path | None": (Path, "the path of a file"),
    "Mapping[str, AbstractSet[str]]": (_functions, "a JSON object of lists of names"),
    "Mapping[str, OAuth2Client | Mapping[str, Any]]": (_object, "a JSON object of clients"),
}
"""By the type of a field as it is written: what reads it, and how its values are called."""


def values_of(environ: Mapping[str, str], types: Mapping[str, str], *, prefix: str = PREFIX) -> dict[str, Any]:
    """Return the fields that variables with this prefix name, by their types.

    Raises:
        SettingsError: a value that is none, a field that no variable can give, or a name that comes near a field's.
    """
    found = {}
    for variable, text in sorted(environ.items()):
        name = variable.removeprefix(prefix).lower()
        if not variable.startswith(prefix) or not text or name in OF_THE_COMMAND_LINE:
            continue
        if name not in types:
            close = nearest(name, types)
            if close:
                raise SettingsError(f"{variable} is no setting; did you mean {prefix}{close[0].upper()}?")
            continue
        if types[name] not in _READERS:
            raise SettingsError(f"{variable} is a function, which no variable can give: hand it to Settings in code")
        read, called = _READERS[types[name]]
        try:
            found[name] = read(text)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise SettingsError(f"{variable} must be {called}") from None
    return found
