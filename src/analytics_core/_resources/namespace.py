"""The base of every namespace of a core: each public call acts with the rights that its actor has at that moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.listing import Item
from analytics_core._resources.lists import Lists, ResourceLists
from analytics_core._resources.reader import Reader
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import StoredDataError


class Namespace:
    """What one actor may do with one part of a core.

    One that `live` made may be kept: each public call is made on a namespace made anew, with the actor as they are
    then, so that nobody acts who was deactivated since or with a role that they lost. One call has one actor from its
    beginning to its end; what goes on after it (an iterator, a job) asks `_anew` again.
    """

    _make: Callable[[], Self] | None = None
    _is_call = False

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in tuple(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, _acting_now(member))
            elif isinstance(member, property) and isinstance(member.fget, FunctionType):
                setattr(cls, name, property(_acting_now(member.fget)))

    def _reader(self, unit: UnitOfWork) -> Reader:
        """Return what the actor may read in this unit of work."""
        return Reader(unit, self._runtime.policy, self._actor)

    def _lists(self, resource: ResourceLists[Item]) -> Lists[Item]:
        """Return the lists and look-ups of a resource, as the actor may ask for them."""
        return Lists(self._runtime, self._actor, resource)

    def _anew(self) -> Self:
        """Return this namespace with the rights that its actor has now, for one call; itself, if it is not live."""
        if self._make is None:
            return self
        made = self._make()
        made._make, made._is_call = self._make, True
        return made


Part = TypeVar("Part", bound=Namespace)


def live(make: Callable[[], Part]) -> Part:
    """Return what `make` returns, which is asked again for each public call."""
    namespace = make()
    namespace._make = make
    return namespace


def _unreadable(error: ValidationError) -> StoredDataError:
    """Return the error of a stored record that breaks the shape of its answer: somebody else wrote into the store."""
    fields = ", ".join(sorted({".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)}))
    return StoredDataError(
        f"the metadata store holds a value that {error.title} cannot have, in {fields}; mend the record"
    )


def _acting_now(method: FunctionType) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Namespace, *args: Any, **options: Any) -> Any:
        try:
            return method(self if self._is_call else self._anew(), *args, **options)
        except ValidationError as error:  # of an answer: what callers pass is read by `models.parsing`
            raise _unreadable(error) from None

    return call
