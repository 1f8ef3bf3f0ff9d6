"""The stars that an actor gives to charts or to dashboards."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._records.dashboard import Favourite
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.batches import read_once
from analytics_core._resources.changes import LoggedAction, begin_act, repeated
from analytics_core._resources.lists import MOST_VALUES
from analytics_core._resources.reader import Reader
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import AlreadyExistsError, NotFoundError
from analytics_core.models.chart import FavoriteStatus, FavoriteStatuses
from analytics_core.models.dashboard import RecordIds, TagTarget
from analytics_core.models.parsing import parse


class Favourites:
    """One actor's stars on records of one kind."""

    def __init__(self, runtime: Runtime, actor: Actor, target: TagTarget) -> None:
        self._runtime = runtime
        self._actor = actor
        self._target = target

    def add(self, target_id: int) -> None:
        """Give a star to a record that the actor may read; one that is there stays."""
        act = begin_act(self._runtime, self._actor, f"{self._target.value}.add_favourite")
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit, self._runtime.policy, self._actor)
            read = reader.chart if self._target is TagTarget.CHART else reader.dashboard
            read(target_id)
            if self._find(unit, target_id) is None and self._store(unit, target_id):
                self._log(act, unit, target_id)

    @repeated
    def remove(self, target_id: int) -> None:
        """Take the star away, if there is one."""
        act = begin_act(self._runtime, self._actor, f"{self._target.value}.remove_favourite")
        with self._runtime.store.unit_of_work() as unit:
            star = self._find(unit, target_id)
            if star is not None and self._drop(unit, star):
                self._log(act, unit, target_id)

    def status(self, ids: Iterable[int]) -> FavoriteStatuses:
        """Return for each id whether there is a star (contract, `GetFavStarIdsSchema`).

        Raises:
            PayloadSchemaError: an id that is no integer, or more than a thousand of them.
        """
        requested = parse(RecordIds, {"ids": read_once(ids, most=MOST_VALUES)}, shape="GetFavStarIdsSchema").ids
        wanted = tuple(dict.fromkeys(requested))
        if not wanted:
            return FavoriteStatuses(result=())
        conditions = (
            ListFilter(col="user_id", op="eq", val=self._actor.id),
            ListFilter(col="target", op="eq", val=self._target.value),
            ListFilter(col="target_id", op="in", val=wanted),
        )
        with self._runtime.store.unit_of_work() as unit:
            _, stars = unit.favourites.list(ListQuery(filters=conditions, page_size=len(wanted)))
        starred = {star.target_id for star in stars}
        return FavoriteStatuses(result=tuple(FavoriteStatus(id=key, value=key in starred) for key in wanted))

    def _find(self, unit: UnitOfWork, target_id: int) -> Favourite | None:
        return unit.favourites.find(user_id=self._actor.id, target=self._target.value, target_id=target_id)

    def _store(self, unit: UnitOfWork, target_id: int) -> bool:
        star = Favourite(user_id=self._actor.id, target=self._target.value, target_id=target_id)
        try:
            unit.favourites.append(star, actor_id=self._actor.id)
        except AlreadyExistsError:  # another session of the same user was faster
            return False
        return True

    @staticmethod
    def _drop(unit: UnitOfWork, star: Favourite) -> bool:
        try:
            unit.favourites.delete(star.id)
        except NotFoundError:  # another session of the same user was faster
            return False
        return True

    def _log(self, act: LoggedAction, unit: UnitOfWork, target_id: int) -> None:
        if self._target is TagTarget.CHART:
            act.log(unit, chart_id=target_id)
        else:
            act.log(unit, dashboard_id=target_id)
