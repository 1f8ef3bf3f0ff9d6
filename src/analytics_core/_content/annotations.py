"""`core.annotation_layers` and `core.annotations`: what happened when, layer by layer, for charts to show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.lists import Columns, Filters, Listing, Lists, Order, Page, ResourceLists, all_of_it
from analytics_core._content.lookups.loading import remember_deleted_layer
from analytics_core._content.namespace import Namespace, NamespaceWithDistinct
from analytics_core._content.reader import Reader
from analytics_core._content.user_directory import UserIndex
from analytics_core._content.written_back import Answers, read_changes
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import NotFoundError
from analytics_core.models.annotation import (
    AnnotationGet,
    AnnotationLayerGet,
    AnnotationLayerListItem,
    AnnotationLayerPost,
    AnnotationLayerPut,
    AnnotationListItem,
    AnnotationPost,
    AnnotationPut,
    LayerOfAnnotation,
)
from analytics_core.models.lists import DistinctResponse, RelatedResponse
from analytics_core.models.parsing import Payload, parse, payload_error

LAYER_LISTS = ResourceLists(
    listing=Listing(shape="annotation layer", item=AnnotationLayerListItem, texts=("name", "descr")),
    repository=lambda unit: unit.annotation_layers,
    item=lambda layer, facts: facts.answer(AnnotationLayerListItem, layer, UserIndex.names),
    permission=lambda policy, actor: policy.require(Permission.READ_ANNOTATIONS, actor),
    visibility=all_of_it,
    distinct=("name",),
)


class AnnotationLayers(NamespaceWithDistinct[AnnotationLayerListItem]):
    """Annotation layers: every signed-in user reads and creates them, creators and administrators change them.

    `related` takes `created_by` or `changed_by`, `distinct` takes `name`.
    """

    _resource = LAYER_LISTS

    def create(self, payload: AnnotationLayerPost | Payload) -> AnnotationLayerGet:
        """Store an empty layer (contract, `AnnotationLayerRestApi.post`).

        Raises:
            PayloadError: the payload breaks the shape.
            AlreadyExistsError: the name is taken.

        Examples:
            >>> core.annotation_layers.create({"name": "Releases", "descr": "What went live when"}).name
            'Releases'
        """
        self._runtime.policy.require(Permission.ADD_ANNOTATION_LAYER, self._actor)
        post = parse(AnnotationLayerPost, payload, shape="AnnotationLayerRestApi.post")
        with self._acting("annotation_layer.create") as (act, unit):
            record = AnnotationLayer(name=post.name, descr=post.descr)
            stored = act.add(unit, unit.annotation_layers, record, "layer")
        return answer_as(AnnotationLayerGet, stored)

    def get(self, layer_id: int) -> AnnotationLayerGet:
        """Return a layer; NotFoundError when there is none.

        Examples:
            >>> core.annotation_layers.get(1).name
            'Holidays'
        """
        self._runtime.policy.require(Permission.READ_ANNOTATIONS, self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return answer_as(AnnotationLayerGet, unit.annotation_layers.get(layer_id))

    @repeated
    def update(
        self,
        layer_id: int,
        payload: AnnotationLayerPut | AnnotationLayerGet | AnnotationLayerListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> AnnotationLayerGet:
        """Change a layer's name or description; only its creator and administrators may.

        With `unchanged_since`, the `changed_on` of the layer that the caller read (a field of lists, an attribute of
        `get`), a change that somebody else made since is not overwritten; changes of its annotations do not count.

        Raises:
            OwnershipError: somebody else made the layer.
            AlreadyExistsError: the name is taken.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.annotation_layers.update(1, {"descr": "Days without deliveries"}).descr
            'Days without deliveries'
        """
        answers = self._answers(AnnotationLayerGet, self.get, layer_id)
        put = read_changes(AnnotationLayerPut, payload, shape="AnnotationLayerRestApi.put", answers=answers)
        with self._acting("annotation_layer.update") as (act, unit):
            before = unit.annotation_layers.get(layer_id)
            self._runtime.policy.require_write_annotation_layer(self._actor, before)
            reject_later_change(before, unchanged_since)
            after = replace(before, **put.given())
            stored = act.update(unit, unit.annotation_layers, before, after, details={"layer": layer_id})
        return answer_as(AnnotationLayerGet, stored)

    @repeated
    def delete(self, layer_id: int) -> None:
        """Remove a layer with its annotations; only its creator and administrators may.

        Charts that show the layer keep working; a note in their results says that it is gone.

        Examples:
            >>> core.annotation_layers.delete(1)
            >>> core.annotation_layers.list().count
            0
        """
        with self._acting("annotation_layer.delete") as (act, unit):
            layer = unit.annotation_layers.get(layer_id)
            self._runtime.policy.require_write_annotation_layer(self._actor, layer)
            unit.annotation_layers.delete(layer_id)
            remember_deleted_layer(unit, layer, actor_id=self._actor.id)
            act.log(unit, details={"layer": layer_id, "name": layer.name})


LISTS = ResourceLists(
    listing=Listing(
        shape="annotation",
        item=AnnotationListItem,
        texts=("short_descr", "long_descr"),
        moments=("start_dttm", "end_dttm"),
    ),
    repository=lambda unit: unit.annotations,
    item=lambda annotation, facts: facts.answer(AnnotationListItem, annotation, UserIndex.first_name),
    permission=lambda policy, actor: policy.require(Permission.READ_ANNOTATIONS, actor),
    visibility=all_of_it,
    distinct=("short_descr",),
)


class Annotations(Namespace):
    """The annotations of a layer, which every act names first; what the layer's reader may read, they may read.

    `related` takes `created_by` or `changed_by`, `distinct` takes `short_descr`.
    """

    def create(self, layer_id: int, payload: AnnotationPost | Payload) -> AnnotationGet:
        """Store an annotation; only the creator of the layer and administrators may (`AnnotationRestApi.post`).

        A moment without a zone is UTC; the end may be the start, for an event.

        Raises:
            NotFoundError: there is no such layer.
            PayloadError: the payload breaks the shape, or the annotation ends before it starts.

        Examples:
            >>> core.annotations.create(1, {
            ...     "short_descr": "New Year", "start_dttm": "2025-01-01T00:00:00Z", "end_dttm": "2025-01-02T00:00:00Z"
            ... }).short_descr
            'New Year'
        """
        record = new_annotation(parse(AnnotationPost, payload, shape="AnnotationRestApi.post"), layer_id=layer_id)
        with self._acting("annotation.create") as (act, unit):
            layer = unit.annotation_layers.get(layer_id)
            self._runtime.policy.require_write_annotation_layer(self._actor, layer)
            stored = unit.annotations.add(record, actor_id=self._actor.id)
            act.log(unit, details={"layer": layer_id, "annotation": stored.id})
        return _answer(stored, layer)

    def get(self, layer_id: int, annotation_id: int) -> AnnotationGet:
        """Return an annotation; NotFoundError when the layer has none of this id.

        Examples:
            >>> core.annotations.get(1, 1).start_dttm
            datetime.datetime(2024, 12, 25, 0, 0, tzinfo=datetime.timezone.utc)
        """
        self._runtime.policy.require(Permission.READ_ANNOTATIONS, self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return _answer(*_found(unit, layer_id, annotation_id))

    def list(  # noqa: PLR0917 - the layer, and then what every list takes
        self,
        layer_id: int,
        filters: Filters = (),
        order_by: Order = None,
        page: int = 0,
        page_size: int = 25,
        columns: Columns = None,
    ) -> Page[AnnotationListItem]:
        """Return one page of a layer's annotations; the other arguments are those of `databases.list`.

        `created_by` and `changed_by` are filtered by the id of a user.

        Examples:
            >>> [annotation.short_descr for annotation in core.annotations.list(1)]
            ['Christmas']
        """
        return self._in_layer(layer_id).page(filters, order_by, page, page_size, columns)

    def related(
        self,
        layer_id: int,
        field: str,
        filter: str = "",
        page: int = 0,
        page_size: int = 25,
    ) -> RelatedResponse:
        """Return the people that may be chosen for `created_by` or `changed_by` among a layer's annotations.

        The other arguments are those of `charts.related`; NotFoundError for an unknown layer.

        Examples:
            >>> [person.text for person in core.annotations.related(1, "created_by").result]
            ['Ada Lovelace', 'Grace Hopper']
        """
        return self._in_layer(layer_id).related(field, filter, page, page_size)

    def distinct(
        self,
        layer_id: int,
        field: str,
        filter: str = "",
        page: int = 0,
        page_size: int = 25,
    ) -> DistinctResponse:
        """Return the different values of a field among a layer's annotations: `short_descr`.

        The other arguments are those of `charts.related`; NotFoundError for an unknown layer.

        Examples:
            >>> core.annotations.distinct(1, "short_descr").result[0].text
            'Christmas'
        """
        return self._in_layer(layer_id).distinct(field, filter, page, page_size)

    @repeated
    def update(
        self,
        layer_id: int,
        annotation_id: int,
        payload: AnnotationPut | AnnotationGet | AnnotationListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> AnnotationGet:
        """Change an annotation; its creator, the creator of its layer and administrators may.

        With `unchanged_since`, the `changed_on` of the annotation that the caller read (an attribute: the contract has
        no field for it), a change that somebody else made since is not overwritten.

        Raises:
            OwnershipError: the actor is none of these.
            PayloadError: the payload breaks the shape, or the annotation would end before it starts.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.annotations.update(1, 1, {"long_descr": "Closed all day"}).long_descr
            'Closed all day'
        """
        answers: Answers = {
            AnnotationGet: partial(self.get, layer_id, annotation_id),
            AnnotationListItem: lambda: self._in_layer(layer_id).one(annotation_id),
        }
        put = read_changes(AnnotationPut, payload, shape="AnnotationRestApi.put", answers=answers)
        with self._acting("annotation.update") as (act, unit):
            before, layer = _found(unit, layer_id, annotation_id)
            self._runtime.policy.require_write_annotation(self._actor, before, layer)
            reject_later_change(before, unchanged_since)
            after = changed_annotation(before, put)
            details = {"layer": layer_id, "annotation": annotation_id}
            stored = act.update(unit, unit.annotations, before, after, details=details)
        return _answer(stored, layer)

    @repeated
    def delete(self, layer_id: int, annotation_id: int) -> None:
        """Remove an annotation; its creator, the creator of its layer and administrators may.

        Examples:
            >>> core.annotations.delete(1, 1)
            >>> core.annotations.list(1).count
            0
        """
        with self._acting("annotation.delete") as (act, unit):
            annotation, layer = _found(unit, layer_id, annotation_id)
            self._runtime.policy.require_write_annotation(self._actor, annotation, layer)
            act.delete(unit, unit.annotations, annotation_id, details={"layer": layer_id, "annotation": annotation_id})

    def _in_layer(self, layer_id: int) -> Lists[AnnotationListItem]:
        """Return the lists of the annotations of one layer; what they read is NotFoundError for an unknown layer."""

        def of_layer(_reader: Reader, query: ListQuery) -> ListQuery:
            return replace(query, filters=(ListFilter(col="layer_id", op="eq", val=layer_id), *query.filters))

        def layer(unit: UnitOfWork) -> int:
            return unit.annotation_layers.version(layer_id)

        return self._lists(replace(LISTS, visibility=of_layer, parent=layer))


def _found(unit: UnitOfWork, layer_id: int, annotation_id: int) -> tuple[Annotation, AnnotationLayer]:
    """Return an annotation and its layer; an annotation of another layer is as good as none."""
    layer = unit.annotation_layers.get(layer_id)
    annotation = unit.annotations.get(annotation_id)
    if annotation.layer_id != layer_id:
        raise NotFoundError("annotation", annotation_id)
    return annotation, layer


def _answer(annotation: Annotation, layer: AnnotationLayer) -> AnnotationGet:
    return answer_as(AnnotationGet, annotation, layer=answer_as(LayerOfAnnotation, layer))


_MOMENTS = ("start_dttm", "end_dttm")


def new_annotation(post: AnnotationPost, *, layer_id: int) -> Annotation:
    """Return the record of a create payload; PayloadSchemaError when it ends before it starts."""
    shape = "AnnotationRestApi.post"
    return _checked(Annotation(layer_id=layer_id, **_with_utc_moments(post.given(), shape)), shape)


def changed_annotation(annotation: Annotation, put: AnnotationPut) -> Annotation:
    """Return the record after an update; PayloadSchemaError when it would end before it starts."""
    shape = "AnnotationRestApi.put"
    return _checked(replace(annotation, **_with_utc_moments(put.given(), shape)), shape)


def _with_utc_moments(given: dict[str, Any], shape: str) -> dict[str, Any]:
    return {name: _utc(value, name, shape) if name in _MOMENTS else value for name, value in given.items()}


def _utc(moment: datetime, name: str, shape: str) -> datetime:
    """Return a moment in UTC; one without a zone is in UTC already."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise payload_error(shape, name, "must be between the years 1 and 9999 in UTC") from None


def _checked(annotation: Annotation, shape: str) -> Annotation:
    if annotation.end_dttm < annotation.start_dttm:
        start = annotation.start_dttm.isoformat()
        raise payload_error(shape, "end_dttm", f"must not be before start_dttm, which is {start}")
    return annotation
