"""What every `MetadataStore` must keep of annotation layers, their annotations and CSS templates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.dashboard import CssTemplate
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.errors import AlreadyExistsError, NotFoundError, PayloadSchemaError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import START, StoreSuite, a_user

_AWKWARD = "Größe — 価格 😀 'quoted' \"and\" \\ %_ \n"
_HOUR = timedelta(hours=1)


def _annotation(layer_id: int, text: str = "2.0", *, start: datetime = START, **fields: Any) -> Annotation:
    return Annotation(layer_id=layer_id, short_descr=text, start_dttm=start, **{"end_dttm": start, **fields})


class AnnotationConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    def test_every_field_of_layers_annotations_and_templates_survives(self, store: MetadataStore) -> None:
        """Texts in any script, long ones, moments to the microsecond at both ends of the calendar."""
        layer = AnnotationLayer(name=_AWKWARD, descr=_AWKWARD * 2000)
        template = CssTemplate(template_name=_AWKWARD, css=_AWKWARD * 2000)
        with store.unit_of_work() as unit:
            stored = unit.annotation_layers.add(layer, actor_id=None)
            assert replace(stored, id=0, audit=layer.audit) == layer
            kept = unit.css_templates.add(template, actor_id=None)
            assert replace(kept, id=0, audit=template.audit) == template
            early, late = datetime(1000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
            annotation = _annotation(stored.id, _AWKWARD, start=early, end_dttm=late, long_descr=_AWKWARD * 2000)
            added = unit.annotations.add(annotation, actor_id=None)
            assert replace(added, id=0, audit=annotation.audit) == annotation

    def test_a_layer_goes_with_its_annotations_and_no_others(self, store: MetadataStore) -> None:
        """Those of another layer stay."""
        with store.unit_of_work() as unit:
            gone, kept = (unit.annotation_layers.add(AnnotationLayer(name=n), actor_id=None).id for n in ("a", "b"))
            lost = unit.annotations.add(_annotation(gone), actor_id=None)
            left = unit.annotations.add(_annotation(kept), actor_id=None)
            unit.annotation_layers.delete(gone)
        with store.unit_of_work() as unit:
            assert unit.annotations.get(left.id) == left
            with pytest.raises(NotFoundError):
                unit.annotations.get(lost.id)

    def test_an_annotation_needs_its_layer(self, store: MetadataStore) -> None:
        """The missing layer is named."""
        with store.unit_of_work() as unit, pytest.raises(NotFoundError, match="annotation layer 99"):
            unit.annotations.add(_annotation(99), actor_id=None)

    def test_names_of_layers_are_taken_once(self, store: MetadataStore) -> None:
        """By code point; CSS templates may share a name."""
        with store.unit_of_work() as unit:
            for name in ("Releases", "releases"):
                unit.annotation_layers.add(AnnotationLayer(name=name), actor_id=None)
            with pytest.raises(AlreadyExistsError, match="name 'Releases'"):
                unit.annotation_layers.add(AnnotationLayer(name="Releases"), actor_id=None)
            ids = {unit.css_templates.add(CssTemplate(template_name="t"), actor_id=None).id for _ in range(2)}
        assert len(ids) == 2

    def test_texts_that_are_too_long_are_refused_by_every_store(self, store: MetadataStore) -> None:
        """The field is named."""
        with store.unit_of_work() as unit:
            layer = unit.annotation_layers.add(AnnotationLayer(name="a"), actor_id=None)
            with pytest.raises(PayloadSchemaError, match="short_descr"):
                unit.annotations.add(_annotation(layer.id, "x" * 501), actor_id=None)
            with pytest.raises(PayloadSchemaError, match="name"):
                unit.annotation_layers.add(AnnotationLayer(name="x" * 251), actor_id=None)

    def test_annotations_of_a_layer_are_found_by_time_in_their_order(self, store: MetadataStore) -> None:
        """Earliest first, ties by id; the bounds are exact to the microsecond; other layers stay out."""
        with store.unit_of_work() as unit:
            first, second = (unit.annotation_layers.add(AnnotationLayer(name=n), actor_id=None).id for n in ("a", "b"))
            for text, start in (("late", START + _HOUR), ("one", START), ("two", START), ("early", START - _HOUR)):
                unit.annotations.add(_annotation(first, text, start=start), actor_id=None)
            unit.annotations.add(_annotation(second, "other"), actor_id=None)
            filters = (
                ListFilter(col="layer_id", op="eq", val=first),
                ListFilter(col="start_dttm", op="lt", val=START + _HOUR),
                ListFilter(col="end_dttm", op="gt", val=START - timedelta(microseconds=1)),
            )
            count, found = unit.annotations.list(ListQuery(filters=filters, order_by=(("start_dttm", False),)))
        assert (count, [item.short_descr for item in found]) == (2, ["one", "two"])

    def test_a_change_of_an_old_version_of_an_annotation_is_refused(self, store: MetadataStore) -> None:
        """The second writer learns that somebody was faster."""
        with store.unit_of_work() as unit:
            layer = unit.annotation_layers.add(AnnotationLayer(name="a"), actor_id=None)
            added = unit.annotations.add(_annotation(layer.id), actor_id=None)
            unit.annotations.update(replace(added, short_descr="first"), actor_id=None)
            with pytest.raises(StaleVersionError):
                unit.annotations.update(replace(added, short_descr="second"), actor_id=None)
            assert unit.annotations.get(added.id).short_descr == "first"

    def test_a_deleted_user_is_no_longer_the_creator(self, store: MetadataStore) -> None:
        """So that nobody else who gets the id inherits the right to change what they made."""
        with store.unit_of_work() as unit:
            user = unit.users.add(a_user(), actor_id=None)
            layer = unit.annotation_layers.add(AnnotationLayer(name="a"), actor_id=user.id)
            annotation = unit.annotations.add(_annotation(layer.id), actor_id=user.id)
            template = unit.css_templates.add(CssTemplate(), actor_id=user.id)
            unit.users.delete(user.id)
            records: Any = (
                unit.annotation_layers.get(layer.id),
                unit.annotations.get(annotation.id),
                unit.css_templates.get(template.id),
            )
        assert [record.audit.created_by for record in records] == [None, None, None]
