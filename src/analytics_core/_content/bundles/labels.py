"""What a bundle holds beside charts and dashboards: tags, CSS templates, and annotation layers with annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from analytics_core._content.annotations import new_annotation
from analytics_core._content.batches import RecordWithId, by_ids, every
from analytics_core._content.bundles.documents import Document, DocumentKind
from analytics_core._content.bundles.fields import mappings_in, texts_of
from analytics_core._content.bundles.progress import Load
from analytics_core._content.bundles.report import LoadedRecord
from analytics_core._content.css_templates import check_css
from analytics_core._content.tags import custom_tags
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.dashboard import CssTemplate, Tag
from analytics_core._records.repositories import ListFilter, ListQuery, Repository
from analytics_core.errors import OwnershipError, PayloadSchemaError
from analytics_core.models.annotation import AnnotationLayerPost, AnnotationPost
from analytics_core.models.dashboard import CssTemplatePost, TagPost
from analytics_core.models.enums import TagType
from analytics_core.models.parsing import parse, payload_error

ANNOTATION_FIELDS: Final = ("start_dttm", "end_dttm", "short_descr", "long_descr", "json_metadata")
_LOGGED: Final = {"annotation_layer": "layer"}
"""What the log calls the id of a record, where not by its kind."""

Record = TypeVar("Record", bound=RecordWithId)


# ------------------------------------------------------------------------------------------------------------- tags
def store_tags(load: Load, document: Document) -> None:
    """Store the tags that a bundle describes."""
    for item in mappings_in(document.content["tags"]):
        _tag(load, {"name": item.get("tag_name"), "description": item.get("description") or None})


def tag_ids(load: Load, content: Mapping[str, Any], before: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tags of a chart or dashboard: those that its document names; as before where it names none at all."""
    if not isinstance(content.get("tags"), list):
        return before
    known = by_ids(load.unit.tags, before)
    others = (tag_id for tag_id in before if tag_id in known and known[tag_id].type != TagType.CUSTOM.value)
    return tuple(dict.fromkeys((*others, *(_tag(load, {"name": name}) for name in texts_of(content["tags"])))))


def _tag(load: Load, content: Mapping[str, Any]) -> int:
    """Return the id of a tag, made where there is none; what somebody else said of one stays."""
    post = parse(TagPost, content, shape="tags")
    key = DocumentKind.TAGS, post.name
    if key in load.found:
        return int(load.found[key])
    before = custom_tags(load.unit, [post.name]).get(post.name)
    record = replace(before or Tag(name=post.name, type=TagType.CUSTOM.value), **post.given())
    notes: tuple[str, ...] = ()
    if before is not None and before != record:
        try:
            load.runtime.policy.require_write_tag(load.actor, before)
        except OwnershipError:
            record, notes = before, ("description does not come along: somebody else made the tag",)
    stored = _stored(load, "tag", load.unit.tags, record, before)
    load.found[key] = stored.id
    load.records[key] = LoadedRecord(
        kind="tag", name=stored.name, uuid=None, id=stored.id, is_new=before is None, notes=notes
    )
    return stored.id


# ---------------------------------------------------------------------------------------------------- CSS templates
def store_css_template(load: Load, document: Document) -> None:
    """Store a CSS template, known by its name; one that says the same is left alone."""
    load.runtime.policy.require(Permission.ADD_CSS_TEMPLATE, load.actor)
    payload = {name: document.content[name] for name in ("template_name", "css")}
    post = parse(CssTemplatePost, payload, shape=document.path)
    check_css(post.css, shape=document.path)
    named = ListFilter(col="template_name", op="eq", val=post.template_name)
    count, found = load.unit.css_templates.list(ListQuery(filters=(named,), page_size=1))
    if count > 1:
        raise payload_error(
            document.path, "template_name", f"{count} CSS templates here have this name; rename all but one"
        )
    before = found[0] if found else None
    record = replace(before or CssTemplate(), **post.given())
    if before is not None and before != record:
        load.runtime.policy.require_write_css_template(load.actor, before)
    stored = _stored(load, "css_template", load.unit.css_templates, record, before)
    load.tell(document, document.key, stored.id, is_new=before is None)


# ------------------------------------------------------------------------------------------------ annotation layers
def store_layer(load: Load, document: Document) -> None:
    """Store a layer, known by its name, with the annotations of the bundle alone; what stays the same is left alone."""
    load.runtime.policy.require(Permission.ADD_ANNOTATION_LAYER, load.actor)
    post = parse(
        AnnotationLayerPost, {"name": document.key, "descr": document.content.get("descr") or None}, shape=document.path
    )
    before = load.unit.annotation_layers.find(name=post.name)
    record = replace(before or AnnotationLayer(name=post.name), **post.given())
    added, removed = _annotations(load, document, before)
    if before is not None and (before != record or added or removed):
        load.runtime.policy.require_write_annotation_layer(load.actor, before)
    stored = _stored(load, "annotation_layer", load.unit.annotation_layers, record, before)
    for annotation in added:
        load.unit.annotations.append(replace(annotation, layer_id=stored.id), actor_id=load.actor.id)
    for annotation in removed:
        load.unit.annotations.delete(annotation.id)
    load.found[document.kind, document.key] = stored.id
    load.tell(document, stored.name, stored.id, is_new=before is None)


def _annotations(
    load: Load, document: Document, before: AnnotationLayer | None
) -> tuple[list[Annotation], list[Annotation]]:
    """Return the annotations that a layer lacks, and those that the bundle does not have."""
    wanted = [_annotation(document, n, item) for n, item in enumerate(mappings_in(document.content["annotations"]))]
    of_it = () if before is None else (ListFilter(col="layer_id", op="eq", val=before.id),)
    there = () if before is None else every(load.unit.annotations, of_it)
    remaining = Counter(annotation_content(one) for one in wanted)
    removed = []
    for annotation in there:
        content = annotation_content(annotation)
        if remaining[content]:
            remaining[content] -= 1
        else:
            removed.append(annotation)
    added = []
    for annotation in wanted:
        content = annotation_content(annotation)
        if remaining[content]:
            remaining[content] -= 1
            added.append(annotation)
    return added, removed


def _annotation(document: Document, number: int, item: Mapping[str, Any]) -> Annotation:
    given = {name: item[name] for name in ANNOTATION_FIELDS if item.get(name) is not None}
    try:
        return new_annotation(parse(AnnotationPost, given, shape=document.path), layer_id=0)
    except PayloadSchemaError as error:
        problems = [replace(one, path=f"annotations.{number}.{one.path}") for one in error.problems]
        raise PayloadSchemaError(shape=document.path, problems=problems) from None


def annotation_content(annotation: Annotation) -> tuple[Any, ...]:
    """Return what an annotation says."""
    return tuple(getattr(annotation, name) or None for name in ANNOTATION_FIELDS)


def find_layer(load: Load, name: str) -> int:
    """Return the id of the layer that a chart shows."""

    def find() -> int | None:
        layer = load.unit.annotation_layers.find(name=name)
        return None if layer is None else layer.id

    found: int = load.needed(DocumentKind.ANNOTATION_LAYER, name, find)
    return found


def _stored(load: Load, kind: str, repository: Repository[Record], record: Record, before: Record | None) -> Record:
    """Return a record as it is stored; one that is the same as before is left alone."""
    if record == before:
        return record
    store = repository.add if before is None else repository.update
    stored = store(record, actor_id=load.actor.id)
    load.act(kind, before).log(load.unit, details={_LOGGED.get(kind, kind): stored.id})
    return stored
