"""Answers given back to updates: what they show is taken, and changes what was changed in it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, TypeVar

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from analytics_core.errors import PayloadSchemaError, Problem, StoredDataError
from analytics_core.models.base import Answer, StrictShape
from analytics_core.models.parsing import Payload, content_of, field_names, parse, shape_in, unknown_field, written
from analytics_core.models.references import OnlyIdPayload

Put = TypeVar("Put", bound=StrictShape)
Answers = Mapping[type[Answer], Callable[[], Answer]]
"""The shapes in which a record is shown, and what shows it so now."""

_OF_THE_MOMENT: Final = frozenset(
    {
        *("changed_on_delta_humanized", "created_on_delta_humanized", "changed_on_humanized", "created_on_humanized"),
        *("last_eval_dttm", "last_state", "last_value", "last_value_row_json"),
    }
)
"""Fields that move while nobody changes the record: time goes by, and schedules run."""

_NOT_WRITTEN: Final = (
    "is shown and not written, and it is not what is stored now; leave it out, or read the record again"
)


def read_changes(put: type[Put], payload: Put | Answer | Payload, *, shape: str, answers: Answers) -> Put:
    """Return what a payload changes, which may be an answer, or hold parts of one.

    A field that is as it is shown now is left out, be it null or a mask; what is shown as a record counts by its id.

    Raises:
        PayloadFormatError, PayloadSchemaError: as `parse`; or a field that no update takes is not as it is shown now.
        AnalyticsError: what `answers` raise.
    """
    given: Any = written(payload) if isinstance(payload, BaseModel) and type(payload) in answers else payload
    try:
        read: Put = parse(put, given, shape=shape)
    except PayloadSchemaError as error:
        rejection = error
    else:
        return read
    content = content_of(given, put, shape=shape)
    try:
        views = [answers[kind]() for kind in _kinds_in(content, answers)]
    except StoredDataError:  # it cannot be shown, and an update without answers mends it
        raise rejection from None
    problems: list[Problem] = []
    changes = _changes(content, views, put, place="", problems=problems)
    try:
        read = parse(put, changes, shape=shape)
    except PayloadSchemaError as error:
        problems += error.problems
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    return read


def _kinds_in(content: Mapping[str, Any], answers: Answers) -> Iterator[type[Answer]]:
    """Yield the shapes of answers whose fields a payload has: the one of most of them, then those of what it lacks."""
    names = {kind: content.keys() & set(field_names(kind)) for kind in answers}
    found = set[str]()
    for kind in sorted(answers, key=lambda kind: -len(names[kind])):
        if names[kind] - found:
            found |= names[kind]
            yield kind


def _changes(
    content: Mapping[str, Any], views: Sequence[BaseModel], put: type[BaseModel], *, place: str, problems: list[Problem]
) -> dict[str, Any]:
    """Return the fields of a payload that are not as a record is shown, in one shape or another, as `put` takes them.

    An item of a list keeps all that `put` takes, unless it is known by its id: what is left out there stays.
    """
    taken = dict(zip(field_names(put), put.model_fields.values(), strict=True))
    forms = [one.model_dump(exclude_unset=unset, warnings=False) for one in views for unset in (False, True)]
    keeps_all = bool(place) and "id" not in taken
    changes: dict[str, Any] = {}
    for name, value in content.items():
        is_unchanged = any(name in form and _is_same(value, form[name]) for form in forms)
        if is_unchanged and not (name in taken and (keeps_all or name == "id" or taken[name].is_required())):
            continue
        target = name if name in taken or not isinstance(value, Mapping | BaseModel) else f"{name}_id"
        of_answer, now = next(filter(None, (_field(one, name) for one in views)), (None, None))
        if is_unchanged or of_answer is None:
            changes[name] = value
        elif target in taken:
            item, record = shape_in(taken[target].annotation), shape_in(of_answer.annotation)
            is_object = item is not None or (record is not None and "id" in record.model_fields)
            path = f"{place}{name}"
            changes[target] = _as_items(value, now, item, path=path, problems=problems) if is_object else value
        elif name not in _OF_THE_MOMENT:
            problems.append(Problem(path=f"{place}{name}", message=_NOT_WRITTEN))
    return changes


def _field(view: BaseModel, name: str) -> tuple[FieldInfo, Any] | None:
    """Return a field of an answer by the contract's name, and its value; None where it has none."""
    attributes = dict(zip(field_names(type(view)), type(view).model_fields.items(), strict=True))
    if name not in attributes:
        return None
    attribute, field = attributes[name]
    return field, getattr(view, attribute)


def _as_items(value: Any, view: Any, item: type[BaseModel] | None, *, path: str, problems: list[Problem]) -> Any:
    """Return objects, given with what is shown of them now, as an `item` of a payload has them; None: as their ids."""
    if isinstance(value, list | tuple):
        return [
            _as_items(one, view, item, path=f"{path}.{position}", problems=problems)
            for position, one in enumerate(value)
        ]
    content = written(value) if isinstance(value, BaseModel) else value
    if not isinstance(content, Mapping):
        return value
    before = _answer_of(content, view)
    if item is not None:
        return content if before is None else _changes(content, (before,), item, place=f"{path}.", problems=problems)
    strange = {} if before is None else _changes(content, (before,), OnlyIdPayload, place=f"{path}.", problems=problems)
    model = None if before is None else type(before)
    problems += [Problem(path=f"{path}.{name}", message=unknown_field(name, model)) for name in strange if name != "id"]
    return content.get("id", content)


def _answer_of(content: Mapping[str, Any], view: Any) -> BaseModel | None:
    """Return what is shown of an object of a payload: of a list the item with its id."""
    if isinstance(view, tuple):
        return next((one for one in view if "id" in content and content["id"] == vars(one).get("id")), None)
    is_same = isinstance(view, BaseModel) and content.get("id", vars(view).get("id")) == vars(view).get("id")
    return view if is_same else None


def _is_same(given: Any, view: Any) -> bool:
    """Tell whether a value of a payload, of JSON or of Python, says what an answer shows."""
    if isinstance(given, BaseModel):
        return _is_same(given.model_dump(warnings=False), view) or _is_same(written(given), view)
    given, view = _plain(given), _plain(view)
    if isinstance(view, datetime):
        return _moment(given) == view
    if isinstance(given, Mapping) and isinstance(view, Mapping):
        return given.keys() == view.keys() and all(_is_same(given[name], view[name]) for name in view)
    if isinstance(given, list | tuple) and isinstance(view, list | tuple):
        return len(given) == len(view) and all(map(_is_same, given, view))
    if isinstance(given, bool) or isinstance(view, bool):
        return given is view
    return isinstance(given, str | int | float | None) and bool(given == view)


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return value.value if isinstance(value, Enum) else value


def _moment(value: Any) -> datetime | None:
    """Return the moment that a value is, in UTC where it has no zone; None for what is none."""
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
    if not isinstance(read, datetime):
        return None
    return read.replace(tzinfo=UTC) if read.utcoffset() is None else read
