"""What people put on charts and dashboards: `core.tags`, and stars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from analytics_core._content.batches import read_once
from analytics_core._content.changes import LoggedAction, begin_act, reject_later_change, repeated, until_accepted
from analytics_core._content.field_formatter import FieldFormatter, answer_as, readable_now
from analytics_core._content.lists import MOST_VALUES, Listing, Page, ResourceLists, all_of_it, anybody, makers
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._content.related_names import tag_reference
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.user_directory import UserIndex, read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard, Favourite, Tag
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import AlreadyExistsError, NotFoundError, StaleVersionError
from analytics_core.models.chart import FavoriteStatus, FavoriteStatuses
from analytics_core.models.dashboard import RecordIds, TaggedRecord, TagGet, TagNames, TagPost, TagPut, TagTarget
from analytics_core.models.enums import TagType
from analytics_core.models.parsing import Payload, parse
from analytics_core.models.references import TagReference

TAGGED = Listing(shape="tagged record", item=TaggedRecord, is_audited=False)

LISTS = ResourceLists(
    listing=Listing(shape="tag", item=TagGet, integers=("type",), texts=("name", "description")),
    repository=lambda unit: unit.tags,
    item=lambda tag, facts: _tag_answer(tag, facts.people, facts.readable),
    permission=anybody,
    visibility=all_of_it,
    distinct=("name",),
)


class Tags(NamespaceWithDistinct[TagGet]):
    """Tags, as one actor may see, make and use them; everybody sees all names, nobody what they may not read.

    `related` takes `created_by` or `changed_by`, `distinct` takes `name`.
    """

    _resource = LISTS

    # ---------------------------------------------------------------------------------------------------- records
    def create(self, payload: TagPost | Payload) -> TagGet:
        """Store a custom tag; AlreadyExistsError when there is one of this name.

        Examples:
            >>> core.tags.create({"name": "for the board"}).name
            'for the board'
        """
        post = parse(TagPost, payload, shape="tag payload")
        record = Tag(name=post.name, type=TagType.CUSTOM.value, description=post.description)
        with self._acting("tag.create") as (act, unit):
            stored = act.add(unit, unit.tags, record, "tag")
        return self._answer(stored)

    def get(self, tag_id: int) -> TagGet:
        """Return a tag; NotFoundError when there is none.

        Examples:
            >>> core.tags.get(1).name
            'key figures'
        """
        with self._runtime.store.unit_of_work() as unit:
            tag = unit.tags.get(tag_id)
        return self._answer(tag)

    @repeated
    def update(
        self, tag_id: int, payload: TagPut | TagGet | Payload, *, unchanged_since: datetime | str | None = None
    ) -> TagGet:
        """Rename or describe a tag; only who made it and administrators may.

        With `unchanged_since`, the `changed_on` of the tag that the caller read, a change that somebody else made since
        is not overwritten; putting the tag on records does not change it.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, OwnershipError: there is no such tag, or somebody else made it.
            AlreadyExistsError: there is a tag of this name.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.tags.update(1, {"description": "What the board reads"}).description
            'What the board reads'
        """
        put = read_changes(TagPut, payload, shape="tag payload", answers=self._answers(TagGet, self.get, tag_id))
        with self._acting("tag.update") as (act, unit):
            before = self._writable(unit, tag_id)
            reject_later_change(before, unchanged_since)
            after = replace(before, **put.given())
            stored = act.update(unit, unit.tags, before, after, details={"tag": tag_id})
        return self._answer(stored)

    @repeated
    def delete(self, tag_id: int) -> None:
        """Remove a tag, from what carries it too; only who made it and administrators may.

        Examples:
            >>> core.tags.delete(1)
            >>> core.tags.list().count
            0
        """
        with self._acting("tag.delete") as (act, unit):
            self._writable(unit, tag_id)
            act.delete(unit, unit.tags, tag_id, details={"tag": tag_id})

    # -------------------------------------------------------------------------------------------------------- tagging
    def tag(self, target: str, target_id: int, names: Sequence[str]) -> tuple[TagReference, ...]:
        """Put custom tags on a record that the actor may change, and return all of its tags.

        Args:
            target: `chart` or `dashboard`.
            target_id: its id.
            names: of tags; those that do not exist yet are made.

        Raises:
            PayloadSchemaError: another target, or names that cannot be.
            NotFoundError, ChartAccessError, DashboardAccessError: the record is unknown or not for this actor.
            OwnershipError: the actor does not own it.

        Examples:
            >>> [tag.name for tag in core.tags.tag("dashboard", 1, ["key figures", "weekly"])]
            ['key figures', 'weekly']
        """
        requested = _requested(target, names)
        act = begin_act(self._runtime, self._actor, f"{requested.target.value}.tag")
        return until_accepted(lambda: self._retagged(act, requested, target_id, self._with_tags))

    def untag(self, target: str, target_id: int, names: Sequence[str]) -> tuple[TagReference, ...]:
        """Take custom tags from a record that the actor may change, and return those that it still has.

        Raises:
            NotFoundError: there is no tag of one of the names.
            PayloadSchemaError, ChartAccessError, DashboardAccessError, OwnershipError: as in `tag`.

        Examples:
            >>> core.tags.untag("chart", 1, ["key figures"])
            ()
        """
        requested = _requested(target, names)
        act = begin_act(self._runtime, self._actor, f"{requested.target.value}.untag")
        return until_accepted(lambda: self._retagged(act, requested, target_id, self._without_tags))

    def tagged(self, tag_id: int, target: str, page: int = 0, page_size: int = 25) -> Page[TaggedRecord]:
        """Return one page of the charts or the dashboards that carry a tag and that the actor may read.

        Args:
            tag_id: the tag; NotFoundError when there is none.
            target: `chart` or `dashboard`.
            page: counted from 0.
            page_size: at most 1,000.

        Examples:
            >>> [record.id for record in core.tags.tagged(1, "chart")]
            [1]
        """
        kind = _requested(target, ("any",)).target
        carries = ListFilter(col="tag_ids", op="eq", val=tag_id)
        with self._runtime.store.unit_of_work() as unit:
            unit.tags.get(tag_id)
            ids = self._reader(unit).scope("charts" if kind is TagTarget.CHART else "dashboards")
            query = TAGGED.query(filters=(), order_by=None, page=page, page_size=page_size, ids=ids)
            query = replace(query, filters=(carries,), count_up_to=self._runtime.settings.max_list_count)
            found: tuple[int, Sequence[Chart | Dashboard]]
            found = unit.charts.list(query) if kind is TagTarget.CHART else unit.dashboards.list(query)
        count, records = found
        readable = readable_now(self._runtime)
        return Page(count=count, result=tuple(_carrier(record, readable) for record in records))

    # -------------------------------------------------------------------------------------------------------- inside
    def _writable(self, unit: UnitOfWork, tag_id: int) -> Tag:
        tag = unit.tags.get(tag_id)
        self._runtime.policy.require_write_tag(self._actor, tag)
        return tag

    def _retagged(
        self,
        act: LoggedAction,
        requested: TagNames,
        target_id: int,
        change: Callable[[UnitOfWork, tuple[int, ...], Sequence[str]], tuple[int, ...]],
    ) -> tuple[TagReference, ...]:
        """Store a record with the tags that a change leaves it, and return them."""
        details = {"tags": requested.names}
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            is_chart = requested.target is TagTarget.CHART
            record = reader.chart(target_id) if is_chart else reader.dashboard(target_id)
            self._runtime.policy.require_write(self._actor, record)
            tag_ids = change(unit, record.tag_ids, requested.names)
            if isinstance(record, Chart):
                unit.charts.update(replace(record, tag_ids=tag_ids), actor_id=self._actor.id)
                act.log(unit, chart_id=target_id, details=details)
            else:
                unit.dashboards.update(replace(record, tag_ids=tag_ids), actor_id=self._actor.id)
                act.log(unit, dashboard_id=target_id, details=details)
            tags = unit.tags.list(ListQuery(ids=frozenset(tag_ids), page_size=len(tag_ids)))[1] if tag_ids else ()
        return tuple(tag_reference(tag) for tag in tags)

    def _with_tags(self, unit: UnitOfWork, tag_ids: tuple[int, ...], names: Sequence[str]) -> tuple[int, ...]:
        """Return the ids with those of the tags of these names, those that are new among them stored."""
        found = custom_tags(unit, names)
        wanted = [found.get(name) or self._new(unit, name) for name in dict.fromkeys(names)]
        return tuple(dict.fromkeys((*tag_ids, *(tag.id for tag in wanted))))

    @staticmethod
    def _without_tags(unit: UnitOfWork, tag_ids: tuple[int, ...], names: Sequence[str]) -> tuple[int, ...]:
        found = custom_tags(unit, names)
        if unknown := next((name for name in names if name not in found), None):
            raise NotFoundError("tag", unknown)
        taken = {found[name].id for name in names}
        return tuple(tag_id for tag_id in tag_ids if tag_id not in taken)

    def _new(self, unit: UnitOfWork, name: str) -> Tag:
        try:
            return unit.tags.add(Tag(name=name, type=TagType.CUSTOM.value), actor_id=self._actor.id)
        except AlreadyExistsError:  # made by somebody else since this unit began, and so not to be seen in it
            raise StaleVersionError("tag", name) from None

    def _answer(self, tag: Tag) -> TagGet:
        return _tag_answer(tag, read_users(self._runtime.people, makers(tag)), readable_now(self._runtime))


def _tag_answer(tag: Tag, people: UserIndex, readable: FieldFormatter) -> TagGet:
    return answer_as(
        TagGet,
        tag,
        type=TagType(tag.type),
        created_by=people.reference(tag.audit.created_by),
        changed_by=people.reference(tag.audit.changed_by),
        created_on_delta_humanized=readable.delta(tag.audit.created_on),
        changed_on_delta_humanized=readable.delta(tag.audit.changed_on),
    )


def _requested(target: str, names: Sequence[str]) -> TagNames:
    """Return what a caller asks for, checked."""
    given = {"target": target, "names": read_once(names, most=MOST_VALUES)}
    return parse(TagNames, given, shape="tags of a record")


def _carrier(record: Chart | Dashboard, readable: FieldFormatter) -> TaggedRecord:
    if isinstance(record, Chart):
        url = readable.url("chart", {"id": record.id})
        return TaggedRecord(id=record.id, type=TagTarget.CHART, name=record.slice_name, url=url)
    url = readable.url("dashboard", {"id": record.id, "slug": record.slug})
    return TaggedRecord(id=record.id, type=TagTarget.DASHBOARD, name=record.dashboard_title, url=url)


def custom_tags(unit: UnitOfWork, names: Sequence[str]) -> dict[str, Tag]:
    """Return the tags made by people that have one of these names, by name."""
    if not names:
        return {}
    conditions = (
        ListFilter(col="name", op="in", val=tuple(dict.fromkeys(names))),
        ListFilter(col="type", op="eq", val=TagType.CUSTOM.value),
    )
    _, found = unit.tags.list(ListQuery(filters=conditions, page_size=len(names)))
    return {tag.name: tag for tag in found}


class Favourites:
    """One actor's stars on records of one kind."""

    def __init__(self, runtime: ContentRuntime, actor: Actor, target: TagTarget) -> None:
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
            if self._find(unit, target_id) is None:
                star = Favourite(user_id=self._actor.id, target=self._target.value, target_id=target_id)
                with suppress(AlreadyExistsError):  # another session of the same user was faster
                    unit.favourites.append(star, actor_id=self._actor.id)
                    self._log(act, unit, target_id)

    @repeated
    def remove(self, target_id: int) -> None:
        """Take the star away, if there is one."""
        act = begin_act(self._runtime, self._actor, f"{self._target.value}.remove_favourite")
        with self._runtime.store.unit_of_work() as unit:
            star = self._find(unit, target_id)
            if star is not None:
                with suppress(NotFoundError):  # another session of the same user was faster
                    unit.favourites.delete(star.id)
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

    def _log(self, act: LoggedAction, unit: UnitOfWork, target_id: int) -> None:
        if self._target is TagTarget.CHART:
            act.log(unit, chart_id=target_id)
        else:
            act.log(unit, dashboard_id=target_id)
