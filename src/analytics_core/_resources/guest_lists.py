"""What guests may ask of a list."""

from __future__ import annotations

from typing import Final

from analytics_core._resources.batches import read_once
from analytics_core._resources.guest_door import refuse
from analytics_core._resources.listing import MOST_FILTERS, Filters, Listing, Order

_OF_PEOPLE: Final = frozenset({"owner_ids", "role_ids", "created_by", "changed_by", "last_saved_by"})


def without_people(listing: Listing, filters: Filters, order_by: Order) -> tuple[Filters, Order]:
    """Refuse to filter or order by people: what a guest does not see they must not find out either.

    Looks at the query that the store would be asked, and returns what can be read a second time.
    """
    given, order = read_once(filters, most=MOST_FILTERS), read_once(order_by, most=MOST_FILTERS)
    query = listing.query(filters=given, order_by=order, page=0, page_size=1, ids=None)
    for column in (*(item.col for item in query.filters), *(column for column, _ in query.order_by)):
        if column in _OF_PEOPLE:
            refuse(f"a filter or an order by {column}")
    return given, order
