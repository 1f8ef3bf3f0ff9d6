"""`core.annotation_layers`: named collections of annotations that charts show."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from analytics_core._lookups.loading import remember_deleted_layer
from analytics_core._records.chart import AnnotationLayer
from analytics_core._resources.conflicts import reject_later_change, repeated
from analytics_core._resources.field_formatter import FieldFormatter
from analytics_core._resources.journal import begin_act
from analytics_core._resources.listing import ColumnKind, Columns, Filters, Listing, Order, Page
from analytics_core._resources.lists import ResourceLists, all_of_it
from analytics_core._resources.namespace import Namespace
from analytics_core._resources.people.directory import UserIndex
from analytics_core._security.policy import Permission
from analytics_core.models.annotation import (
    AnnotationLayerGet,
    AnnotationLayerListItem,
    AnnotationLayerPost,
    AnnotationLayerPut,
)
from analytics_core.models.lists import DistinctResponse, RelatedResponse
from analytics_core.models.parsing import Payload, parse

LISTING = Listing(
    shape="annotation layer",
    item=AnnotationLayerListItem,
    columns={
        "id": ColumnKind.INTEGER,
        "name": ColumnKind.TEXT,
        "descr": ColumnKind.TEXT,
        "created_by": ColumnKind.INTEGER,
        "changed_by": ColumnKind.INTEGER,
        "created_on": ColumnKind.MOMENT,
        "changed_on": ColumnKind.MOMENT,
    },
    stored_as={},
)

LISTS = ResourceLists(
    listing=LISTING,
    repository=lambda unit: unit.annotation_layers,
    item=lambda layer, facts: _item(layer, facts.people, facts.readable),
    permission=lambda policy, actor: policy.require(Permission.READ_ANNOTATIONS, actor),
    visibility=all_of_it,
    people={"created_by": "created_by", "changed_by": "changed_by"},
    distinct={"name": "name"},
)


class AnnotationLayers(Namespace):
    """Annotation layers: every signed-in user reads and creates them, creators and administrators change them."""

    def create(self, payload: AnnotationLayerPost | Payload) -> AnnotationLayerGet:
        """Store an empty layer (contract, `AnnotationLayerRestApi.post`).

        Raises:
            PayloadError: the payload breaks the shape.
            AlreadyExistsError: the name is taken.
        """
        self._runtime.policy.require(Permission.ADD_ANNOTATION_LAYER, self._actor)
        post = parse(AnnotationLayerPost, payload, shape="AnnotationLayerRestApi.post")
        act = begin_act(self._runtime, self._actor, "annotation_layer.create")
        with self._runtime.store.unit_of_work() as unit:
            record = AnnotationLayer(name=post.name, descr=post.descr)
            stored = unit.annotation_layers.add(record, actor_id=self._actor.id)
            act.log(unit, details={"layer": stored.id})
        return _answer(stored)

    def get(self, layer_id: int) -> AnnotationLayerGet:
        """Return a layer; NotFoundError when there is none."""
        self._runtime.policy.require(Permission.READ_ANNOTATIONS, self._actor)
        with self._runtime.store.unit_of_work() as unit:
            return _answer(unit.annotation_layers.get(layer_id))

    def list(
        self, filters: Filters = (), order_by: Order = None, page: int = 0, page_size: int = 25, columns: Columns = None
    ) -> Page[AnnotationLayerListItem]:
        """Return one page of the layers; the arguments are those of `databases.list`.

        `created_by` and `changed_by` are filtered by the id of a user.
        """
        return self._lists(LISTS).page(filters, order_by, page, page_size, columns)

    def related(self, field: str, filter: str = "", page: int = 0, page_size: int = 25) -> RelatedResponse:  # noqa: A002 - the contract's clients call it so
        """Return the people that may be chosen for `created_by` or `changed_by`, as `charts.related` does."""
        return self._lists(LISTS).related(field, filter, page, page_size)

    def distinct(self, field: str, filter: str = "", page: int = 0, page_size: int = 25) -> DistinctResponse:  # noqa: A002 - the contract's clients call it so
        """Return the different values of a field among the layers: `name`, as `charts.distinct` does."""
        return self._lists(LISTS).distinct(field, filter, page, page_size)

    @repeated
    def update(
        self, layer_id: int, payload: AnnotationLayerPut | Payload, *, unchanged_since: datetime | str | None = None
    ) -> AnnotationLayerGet:
        """Change a layer's name or description; only its creator and administrators may.

        With `unchanged_since`, the `changed_on` of the layer that the caller read (a field of lists, an attribute of
        `get`), a change that somebody else made since is not overwritten; changes of its annotations do not count.

        Raises:
            OwnershipError: somebody else made the layer.
            AlreadyExistsError: the name is taken.
            StaleVersionError: somebody else changed it meanwhile.
        """
        put = parse(AnnotationLayerPut, payload, shape="AnnotationLayerRestApi.put")
        act = begin_act(self._runtime, self._actor, "annotation_layer.update")
        with self._runtime.store.unit_of_work() as unit:
            before = unit.annotation_layers.get(layer_id)
            self._runtime.policy.require_write_annotation_layer(self._actor, before)
            reject_later_change(before, unchanged_since)
            stored = unit.annotation_layers.update(replace(before, **put.given()), actor_id=self._actor.id)
            act.log(unit, details={"layer": layer_id})
        return _answer(stored)

    @repeated
    def delete(self, layer_id: int) -> None:
        """Remove a layer with its annotations; only its creator and administrators may.

        Charts that show the layer keep working; a note in their results says that it is gone.
        """
        act = begin_act(self._runtime, self._actor, "annotation_layer.delete")
        with self._runtime.store.unit_of_work() as unit:
            layer = unit.annotation_layers.get(layer_id)
            self._runtime.policy.require_write_annotation_layer(self._actor, layer)
            unit.annotation_layers.delete(layer_id)
            remember_deleted_layer(unit, layer, actor_id=self._actor.id)
            act.log(unit, details={"layer": layer_id, "name": layer.name})


def _answer(layer: AnnotationLayer) -> AnnotationLayerGet:
    return AnnotationLayerGet(**_stored(layer)).stamped(layer.audit.changed_on)


def _item(layer: AnnotationLayer, people: UserIndex, readable: FieldFormatter) -> AnnotationLayerListItem:
    audit = layer.audit
    return AnnotationLayerListItem(
        **_stored(layer),
        created_on=audit.created_on,
        changed_on=audit.changed_on,
        created_by=people.names(audit.created_by),
        changed_by=people.names(audit.changed_by),
        changed_on_delta_humanized=readable.delta(audit.changed_on),
    )


def _stored(layer: AnnotationLayer) -> dict[str, Any]:
    return {"id": layer.id, "name": layer.name, "descr": layer.descr}
