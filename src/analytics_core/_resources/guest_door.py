"""The namespaces as guests meet them: a few methods answer, every other one refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from analytics_core.errors import GuestAccessError

_MAY = (
    "guests read the dashboards of their token with dashboards.get, list, charts, datasets and filter_values, and "
    "their charts with charts.get, list and data"
)


def refuse(name: str) -> NoReturn:
    """Raise GuestAccessError for something that guests may not do."""
    raise GuestAccessError(f"guests may not use {name}; {_MAY}")


class GuestDoor:
    """What guests may do with one namespace: the methods that a subclass has.

    What the namespace has beyond them, now or later, is refused when it is called.
    """

    _namespace: type

    if not TYPE_CHECKING:  # for type checkers, what is refused is not there

        def __getattr__(self, name: str) -> Callable[..., NoReturn]:
            if name.startswith("_") or not hasattr(self._namespace, name):
                raise AttributeError(name)

            def refused(*_args: Any, **_options: Any) -> NoReturn:
                refuse(f"{self._namespace.__name__.lower()}.{name}")

            return refused

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._namespace)})
