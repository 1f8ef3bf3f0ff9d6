"""What guests may call, what they may ask of lists, and what answers leave out for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from analytics_core._records.people import GuestVisit
from analytics_core._resources.batches import read_once
from analytics_core._resources.listing import MOST_FILTERS, Filters, Listing, Order, Page
from analytics_core._results.answer import ChartData
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import GuestAccessError
from analytics_core.models.base import Answer

_MAY = (
    "guests read the dashboards of their token with dashboards.get, list, charts, datasets and filter_values, and "
    "their charts with charts.get, list, data, submit and job"
)


def reject(name: str) -> NoReturn:
    """Raise GuestAccessError for something that guests may not do."""
    raise GuestAccessError(f"guests may not use {name}; {_MAY}")


class GuestNamespace:
    """What guests may do with one namespace: the methods that a subclass has.

    What the namespace has beyond them, now or later, is refused when it is called.
    """

    _namespace: type

    def __init__(self, runtime: Runtime, visit: GuestVisit) -> None:
        self._runtime = runtime
        self._visit = visit

    def _find_actor(self) -> Actor:
        """Return the guest who acts, with what their token opens now."""
        return self._runtime.guests.actor(self._visit)

    if not TYPE_CHECKING:  # for type checkers, what is refused is not there

        def __getattr__(self, name: str) -> Callable[..., NoReturn]:
            if name.startswith("_") or not hasattr(self._namespace, name):
                raise AttributeError(name)

            def rejected(*_args: Any, **_options: Any) -> NoReturn:
                reject(f"{self._namespace.__name__.lower()}.{name}")

            return rejected

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._namespace)})


_OF_PEOPLE: Final = frozenset({"owner_ids", "role_ids", "created_by", "changed_by", "last_saved_by"})


def without_people(listing: Listing, filters: Filters, order_by: Order) -> tuple[Filters, Order]:
    """Refuse to filter or order by people: what a guest does not see they must not find out either.

    Looks at the query that the store would be asked, and returns what can be read a second time.
    """
    given, order = read_once(filters, most=MOST_FILTERS), read_once(order_by, most=MOST_FILTERS)
    query = listing.query(filters=given, order_by=order, page=0, page_size=1, ids=None)
    for column in (*(item.col for item in query.filters), *(column for column, _ in query.order_by)):
        if column in _OF_PEOPLE:
            reject(f"a filter or an order by {column}")
    return given, order


Shown = TypeVar("Shown", bound=Answer)

_HIDDEN: Final[Mapping[str, Any]] = {
    "owners": (),
    "roles": (),
    "changed_by": None,
    "changed_by_name": None,
    "created_by": None,
    "created_by_name": None,
    "last_saved_by": None,
    "database": None,
    "default_endpoint": None,
    "fetch_values_predicate": None,
    "health_check_message": None,
    "perm": None,
    "select_star": None,
    "sql": None,
    "template_params": None,
}


def for_guest(answer: Shown) -> Shown:
    """Return an answer without people, roles, connections and the SQL of datasets."""
    given = answer.model_fields_set
    changes: dict[str, Any] = {name: empty for name, empty in _HIDDEN.items() if name in given}
    for part in ("columns", "metrics"):
        if part in given:
            changes[part] = tuple(_without_sql(item) for item in getattr(answer, part) or ())
    return answer.model_copy(update=changes)


def page_for_guest(page: Page[Shown]) -> Page[Shown]:
    """Return a page of a list without the same."""
    return Page(count=page.count, result=tuple(for_guest(item) for item in page))


def without_statements(answer: ChartData) -> ChartData:
    """Return the answer to a query without its SQL: values and row rules stand in it."""
    return replace(answer, results=tuple(replace(result, query="") for result in answer.results))


def _without_sql(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {name: None if name == "expression" else value for name, value in item.items()}
    fields = getattr(type(item), "model_fields", {})
    return item.model_copy(update={"expression": None}) if "expression" in fields else item
