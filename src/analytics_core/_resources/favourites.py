"""The stars that an actor gives to charts and dashboards."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.tag import Favourite
from analytics_core._security.actor import Actor
from analytics_core.errors import AlreadyExistsError
from analytics_core.models.chart_answers import FavoriteStatus, FavoriteStatuses
from analytics_core.models.parsing import parse
from analytics_core.models.tag import RecordIds, TagTarget


def add_star(unit: UnitOfWork, actor: Actor, *, target: TagTarget, target_id: int) -> None:
    """Store the actor's star on a record; a star that is there stays."""
    if unit.favourites.find(user_id=actor.id, target=target.value, target_id=target_id) is not None:
        return
    try:
        unit.favourites.append(Favourite(user_id=actor.id, target=target.value, target_id=target_id), actor_id=actor.id)
    except AlreadyExistsError:  # another session of the same user was faster
        return


def remove_star(unit: UnitOfWork, actor: Actor, *, target: TagTarget, target_id: int) -> None:
    """Remove the actor's star from a record, if there is one."""
    star = unit.favourites.find(user_id=actor.id, target=target.value, target_id=target_id)
    if star is not None:
        unit.favourites.delete(star.id)


def star_statuses(unit: UnitOfWork, actor: Actor, *, target: TagTarget, ids: Iterable[int]) -> FavoriteStatuses:
    """Return for each id whether the actor gave a star to it (contract, `GetFavStarIdsSchema`).

    Raises:
        PayloadSchemaError: an id that is no integer, or more than a thousand of them.
    """
    asked = parse(RecordIds, {"ids": list(ids)}, shape="GetFavStarIdsSchema").ids
    wanted = tuple(dict.fromkeys(asked))
    starred: set[int] = set()
    if wanted:
        conditions = (
            ListFilter(col="user_id", op="eq", val=actor.id),
            ListFilter(col="target", op="eq", val=target.value),
            ListFilter(col="target_id", op="in", val=wanted),
        )
        _, stars = unit.favourites.list(ListQuery(filters=conditions, page_size=len(wanted)))
        starred = {star.target_id for star in stars}
    return FavoriteStatuses(result=tuple(FavoriteStatus(id=key, value=key in starred) for key in wanted))
