"""The documents of a bundle: safe YAML as JSON values, and what kind of record each of them is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Final

from analytics_core._content.bundles.files import SHAPE
from analytics_core._content.bundles.report import SkippedFile
from analytics_core.errors import PayloadError, PayloadFormatError, PayloadSchemaError, Problem
from analytics_core.models.base import uuid_in
from analytics_core.models.parsing import check_text

MOST_ALIASES: Final = 1_000
MOST_VALUES: Final = 2_000_000
MOST_VALUES_OF_ONE: Final = 250_000
DEEPEST: Final = 64
"""At most so many aliases in a file, values in a bundle and in a file (those behind an alias each time), and levels."""

_LONGEST_NUMBER: Final = 4_400
"""Characters of a number: reading one of base 60 takes time that grows with the square of its length."""


class DocumentKind(StrEnum):
    """What a document of a bundle makes."""

    DATABASE = "database"
    DATASET = "dataset"
    CHART = "chart"
    DASHBOARD = "dashboard"
    ANNOTATION_LAYER = "annotation layer"
    CSS_TEMPLATE = "CSS template"
    ROLE = "role"
    ROW_RULE = "row rule"
    SAVED_QUERY = "saved query"
    TAGS = "tags"


_MARKS: Final = {
    DocumentKind.DATABASE: ("database_name", "sqlalchemy_uri"),
    DocumentKind.DATASET: ("table_name", "columns"),
    DocumentKind.CHART: ("slice_name", "params"),
    DocumentKind.DASHBOARD: ("dashboard_title", "position"),
    DocumentKind.ANNOTATION_LAYER: ("name", "annotations"),
    DocumentKind.CSS_TEMPLATE: ("template_name", "css"),
    DocumentKind.ROLE: ("name", "grants"),
    DocumentKind.ROW_RULE: ("name", "clause", "filter_type"),
    DocumentKind.SAVED_QUERY: ("label", "sql"),
    DocumentKind.TAGS: ("tags",),
}
"""The keys that a document of a kind has, wherever it stands in the bundle; the first one found counts."""

_NAMES: Final = {
    DocumentKind.ANNOTATION_LAYER: "name",
    DocumentKind.CSS_TEMPLATE: "template_name",
    DocumentKind.ROLE: "name",
    DocumentKind.ROW_RULE: "name",
}
"""The field that tells records of a kind apart which have no UUID."""

_UNSUPPORTED: Final = {
    ("theme_name", "json_data"): "themes are not kept here; dashboards and CSS templates have CSS",
}
_ABOUT_ITSELF: Final = "metadata.yaml"
"""Says of which kind the bundle is; what it holds tells that too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One record of a bundle as it was exported; `key` is its UUID, or its name where such records have none."""

    path: str
    kind: DocumentKind
    key: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The documents of a bundle by their kinds, and the files that make no record here."""

    found: tuple[Document, ...]
    skipped: tuple[SkippedFile, ...]

    def of(self, kind: DocumentKind) -> tuple[Document, ...]:
        """Return the documents of one kind, in the order of their paths."""
        return tuple(document for document in self.found if document.kind is kind)


def read_documents(files: Mapping[str, bytes]) -> Documents:
    """Return the documents of the files of a bundle; of several for one record the first one.

    Raises:
        PayloadSchemaError: what cannot be read, all of it at once.
    """
    found: dict[tuple[DocumentKind, str], Document] = {}
    skipped: list[SkippedFile] = []
    problems: list[Problem] = []
    remaining = MOST_VALUES
    for path, text in files.items():
        if remaining <= 0:
            problems.append(Problem(path="", message=f"the bundle has more than {MOST_VALUES} values"))
            break
        counter = _Counter(path=path, remaining=min(remaining, MOST_VALUES_OF_ONE))
        allowed = counter.remaining
        try:
            content = _content(path, text, counter)
            if PurePosixPath(path).name == _ABOUT_ITSELF:
                _check_version(path, content)
                continue
            document = _document(path, content)
        except PayloadSchemaError as error:
            problems += error.problems
            continue
        except PayloadFormatError as error:
            problems.append(Problem(path=path, message=error.message))
            continue
        finally:
            remaining -= allowed - counter.remaining
        if isinstance(document, SkippedFile):
            skipped.append(document)
        elif before := found.get((document.kind, document.key)):
            skipped.append(_second(document, before))
        else:
            found[document.kind, document.key] = document
    if problems:
        raise PayloadSchemaError(shape=SHAPE, problems=problems)
    return Documents(found=tuple(found.values()), skipped=tuple(skipped))


@dataclass(slots=True, kw_only=True)
class _Counter:
    """How many values the file at a path may still hold."""

    path: str
    remaining: int

    def count(self, number: int = 1) -> None:
        """Count values; PayloadSchemaError for too many."""
        self.remaining -= number
        if self.remaining < 0:
            message = f"has more than {MOST_VALUES_OF_ONE} values, or the bundle more than {MOST_VALUES}"
            raise _broken(self.path, message)


def _check_version(path: str, content: Any) -> None:
    if not isinstance(content, dict):
        raise _broken(path, "must be an object")
    version = content.get("version")
    if version is not None and not str(version).startswith("1."):
        raise _broken(path, f"version: is {str(version)[:20]!r}; versions 1.x can be read")


def _document(path: str, content: Any) -> Document | SkippedFile:
    _check_version(path, content)
    kind = next((kind for kind, keys in _MARKS.items() if all(key in content for key in keys)), None)
    if kind is None:
        reasons = (reason for keys, reason in _UNSUPPORTED.items() if all(key in content for key in keys))
        return SkippedFile(path=path, reason=next(reasons, "holds nothing of a kind that is known here"))
    return Document(path=path, kind=kind, key=_key(path, kind, content), content=content)


def _key(path: str, kind: DocumentKind, content: Mapping[str, Any]) -> str:
    """Return what tells a record from others of its kind."""
    if kind is DocumentKind.TAGS:
        return path
    if (field := _NAMES.get(kind)) is not None:
        if not isinstance(content[field], str) or not content[field]:
            raise _broken(path, f"{field}: must be a name")
        return str(content[field])
    uuid = uuid_in(content["uuid"]) if isinstance(content.get("uuid"), str) else None
    if uuid is None:
        raise _broken(path, "uuid: must be a UUID")
    return uuid


def _second(document: Document, before: Document) -> SkippedFile:
    alike = "the same" if document.content == before.content else "something else"
    return SkippedFile(path=document.path, reason=f"{before.path} is of the same {document.kind}, and says {alike}")


def _content(path: str, text: bytes, counter: _Counter) -> Any:
    """Return the content of a YAML file as JSON values."""
    import yaml

    try:
        decoded = text.decode("utf-8-sig")
        _check_events(path, decoded, counter)
        content = yaml.load(decoded, Loader=_loader())  # noqa: S506 - a safe loader, made below
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError, OverflowError) as error:
        if isinstance(error, PayloadError):
            raise
        mark = getattr(error, "problem_mark", None)
        raise _broken(path, f"is no YAML{'' if mark is None else f', in line {mark.line + 1}'}") from None
    plain = _plain(path, content, counter, depth=0)
    check_text(plain, shape=f"{SHAPE}: {path}")
    return plain


def _check_events(path: str, text: str, counter: _Counter) -> None:
    """Refuse tags, merge keys, and more aliases, values or levels than may be, before anything is made of the text."""
    import yaml

    depth = aliases = values = 0
    for event in yaml.parse(text, Loader=_loader()):
        values += isinstance(event, yaml.NodeEvent | yaml.DocumentStartEvent)
        if values > counter.remaining:
            counter.count(values)
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or aliases > MOST_ALIASES:
            raise _broken(path, f"has more than {DEEPEST} levels, or more than {MOST_ALIASES} aliases")
        if getattr(event, "tag", None) is not None:
            raise _broken(path, f"has a tag in line {event.start_mark.line + 1}; tags are not read")
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and not event.style:
            raise _broken(path, f"has a merge key in line {event.start_mark.line + 1}; merge keys are not read")


def _loader() -> Any:
    """Return the safe loader of YAML, which refuses a key that stands twice in one object."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class KeysOnce(base):  # type: ignore[misc]  # the C loader is there or not
        def construct_yaml_int(self, node: Any) -> Any:
            if len(node.value) > _LONGEST_NUMBER:
                raise yaml.constructor.ConstructorError(None, None, "a number is too long", node.start_mark)
            return super().construct_yaml_int(node)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            content = super().construct_mapping(node, deep=deep)
            if len(content) != len(node.value):  # also where the key is written in two ways: 10, 1_0, 0xA
                raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
            return content

    KeysOnce.add_constructor("tag:yaml.org,2002:int", KeysOnce.construct_yaml_int)
    return KeysOnce


def _plain(path: str, value: Any, counter: _Counter, *, depth: int) -> Any:
    """Return a value as JSON has it; what an alias stands for counts each time."""
    counter.count()
    if depth > DEEPEST:
        raise _broken(path, f"has more than {DEEPEST} levels")
    if isinstance(value, dict):
        named = {_name(path, key): _plain(path, item, counter, depth=depth + 1) for key, item in value.items()}
        if len(named) != len(value):
            raise _broken(path, "has a key twice in one object, as a text and as a number")
        return named
    if isinstance(value, list):
        return [_plain(path, item, counter, depth=depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise _broken(path, "holds a number that is not finite")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, date):
        return value.isoformat()
    raise _broken(path, f"holds a value of the type {type(value).__name__}")


def _name(path: str, key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    raise _broken(path, "has a key that is neither text nor a whole number")


def _broken(path: str, message: str) -> PayloadSchemaError:
    return PayloadSchemaError(shape=SHAPE, problems=[Problem(path=path, message=message)])
