"""The base of every shape, and the small types that shapes share.

A field without N in the contract may be left out but refuses null: `Omittable[...]`. A field with N takes null. Where
null and "nothing" mean the same to the library, `Listed[...]` and `Flag` turn null into it at the door.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self, SupportsIndex, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PrivateAttr,
    SecretStr,
    Strict,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaSerializer, core_schema

from analytics_core._tools.display.blocks import MASK, Blocks
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.models.display import record_blocks
from analytics_core.models.strict_json import check_json_once


class DescribedShape(BaseModel):
    """A shape whose fields are described by `MEANINGS`, unless a field says it itself."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        """Return the JSON schema with a description on each field and without defaults that are null."""
        schema = handler(core_schema)
        fields: dict[str, dict[str, Any]] = handler.resolve_ref_schema(schema).get("properties", {})
        attributes = {field.serialization_alias or field.alias: name for name, field in cls.model_fields.items()}
        for name, field in fields.items():
            if meaning := _meaning(cls, attributes.get(name, name)):
                field.setdefault("description", meaning)
            if field.get("default", ...) is None:
                del field["default"]  # it stands for "left out", which null is not everywhere
        return schema


def _meaning(shape: type[BaseModel], name: str) -> str | None:
    """Return the meaning of a field: that of its own shape or of one it extends, else the general one."""
    from analytics_core.models.meanings import MEANINGS

    own = (MEANINGS.get(f"{ancestor.__name__}.{name}") for ancestor in shape.__mro__)
    return next(filter(None, own), MEANINGS.get(name))


T = TypeVar("T")


class HiddenText(SecretStr):
    """A secret of a payload: every printed and JSON form of it is `MASK`, and it is never pickled."""

    _written = core_schema.plain_serializer_function_ser_schema(str, when_used="json-unless-none")
    __pydantic_serializer__ = SchemaSerializer(core_schema.any_schema(serialization=_written))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        return {**super().__get_pydantic_core_schema__(source, handler), "serialization": cls._written}

    def _display(self) -> str:
        return MASK if self.get_secret_value() else ""

    def __format__(self, _spec: str) -> str:
        return str(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret of a payload is never pickled")


class LenientShape(DescribedShape):
    """A chart-query shape: keys beyond the contract are kept in `model_extra`."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="allow",
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        hide_input_in_errors=True,
    )


class StrictShape(DescribedShape):
    """A payload or an answer of a resource: a key beyond the contract is refused."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=False,
        serialize_by_alias=True,
        hide_input_in_errors=True,
    )

    def given(self) -> dict[str, Any]:
        """Return the fields that the payload named, nulls included, by their attribute names."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class Answer(StrictShape):
    """What a caller gets back: the contract's fields as attributes, in our spelling or the contract's (`queryId`)."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            for attribute, field in type(self).model_fields.items():
                if name == (field.serialization_alias or field.alias):
                    return getattr(self, attribute)
            return super().__getattr__(name)

    def to_payload(self) -> dict[str, Any]:
        """Return the answer as the contract writes it: JSON values under the contract's names."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def _blocks(self) -> Blocks:
        """Return what can be seen of the record."""
        return record_blocks(self)

    _repr_mimebundle_ = mime_bundle


class ListAnswer(Answer):
    """An answer whose `result` is a list: it is as long as that, gives its items by position, and goes over them."""

    def _items(self) -> tuple[Any, ...]:
        items: tuple[Any, ...] = vars(self)["result"]
        return items

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # pydantic goes over fields, of which there is one
        return iter(self._items())

    def __len__(self) -> int:
        return len(self._items())

    def __getitem__(self, position: SupportsIndex | slice) -> Any:
        return self._items()[position]

    def __bool__(self) -> bool:
        return True  # it is an answer, also when it is empty


class StampedAnswer(Answer):
    """An answer whose shape in the contract does not tell when the record was changed last; the attribute does.

    It is no field: no schema and no payload shows it.
    """

    _changed_on: datetime | None = PrivateAttr(default=None)

    @property
    def changed_on(self) -> datetime | None:
        """When the record was changed last, for `unchanged_since`; None in a list of chosen columns."""
        return self._changed_on

    def stamped(self, moment: datetime | None) -> Self:
        """Return this very answer with the moment of its record's last change."""
        self._changed_on = moment
        return self


class AnswerWithSchema(Answer):
    """Gives the contract's field `schema` as an attribute; pydantic keeps that name for a method of its own."""

    schema_name: str | None = Field(default=None, alias="schema")

    @property
    def schema(self) -> str | None:  # type: ignore[override]
        """The schema of the table, None for the database's default one."""
        return self.schema_name


class _RefuseNull:
    """Makes `T | None` refuse null in a payload: None then only means that the field was left out."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


class NullMeans:
    """Makes a field take null for the value that means the same to the library; its JSON schema says so."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return core_schema.no_info_before_validator_function(
            self._read, schema, json_schema_input_schema=core_schema.nullable_schema(schema)
        )

    def _read(self, value: Any) -> Any:
        return self.value if value is None else value


def _check_json(text: str) -> str:
    """Check that a text is JSON; the empty text stands for nothing."""
    try:
        json.loads(text or "null")
    except (ValueError, RecursionError):
        raise ValueError("must be JSON text") from None
    return text


def uuid_in(text: str) -> str | None:
    """Return the UUID that a text is, as stores write it; None when it is none, also where only Python takes it."""
    digits = text.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
    return str(UUID(digits)) if _UUID_DIGITS.fullmatch(digits) else None


_UUID_DIGITS = re.compile("[0-9a-fA-F]{32}")


def _check_uuid(text: str) -> str:
    uuid = uuid_in(text)
    if uuid is None:
        raise ValueError("must be a UUID")
    return uuid


def _reject_numbers(value: Any) -> Any:
    """Refuse what pydantic would read as seconds since 1970: a moment is ISO 8601 text."""
    text_of_digits = isinstance(value, str) and value.strip().lstrip("+-").replace(".", "", 1).isdigit()
    if text_of_digits or (value is not None and not isinstance(value, str | datetime)):
        raise ValueError("must be a moment in ISO 8601")
    return value


def _check_reach(moment: datetime) -> datetime:
    try:
        moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (OverflowError, ValueError):
        raise ValueError("must lie between the years 1 and 9999 of UTC") from None
    return moment


Omittable = Annotated[T | None, _RefuseNull()]
"""May be left out, refuses null."""

Listed = Annotated[tuple[T, ...], NullMeans(())]
"""An array; null means the empty one."""

Integer = Annotated[int, Strict()]
"""An integer; text, Booleans and fractions are refused."""

Bool = Annotated[bool, Strict()]
"""true or false; numbers and text are refused."""

Flag = Annotated[bool, Strict(), NullMeans(False)]
"""true or false; null means false."""

Count = Annotated[int, Strict(), NullMeans(0)]
"""An integer; null means 0."""

Name = Annotated[str, StringConstraints(max_length=2_000)]
"""A name or label in a query; longer ones are refused before anything looks them up."""

SqlText = Annotated[str, StringConstraints(max_length=1_000_000)]
"""A user's SQL; `Settings.max_fragment_length` narrows it further where it is read."""

ShortText = Annotated[str, StringConstraints(max_length=1_000)]
"""A time range, an offset or another short text that is parsed."""

JsonText = Annotated[
    str, AfterValidator(_check_json), Field(json_schema_extra={"contentMediaType": "application/json"})
]
"""Text that is JSON, or empty."""

JsonInput = Annotated[
    str, AfterValidator(check_json_once), Field(json_schema_extra={"contentMediaType": "application/json"})
]
"""Text that is JSON, or empty, in a payload: no object in it names a key twice. What was stored before may."""

UuidText = Annotated[str, AfterValidator(_check_uuid), Field(json_schema_extra={"format": "uuid"})]
"""A UUID as text; it comes out in lower case with dashes."""

Ids = tuple[Integer, ...]
"""Ids of records."""

Number = Annotated[float, Strict()]
"""A number; text and Booleans are refused."""

Moment = Annotated[datetime, BeforeValidator(_reject_numbers), AfterValidator(_check_reach)]
"""A moment as ISO 8601 text."""

JsonObject = dict[str, Any]
"""An object with any keys."""

KeyValue = tuple[str, Any] | Annotated[JsonObject, Field(min_length=1)]
"""A pair of a web address' parameters: `["key", value]`, or an object that says the same."""

Objects = tuple[JsonObject, ...]
"""Objects with any keys."""

Texts = tuple[str, ...]
"""Texts."""

TextLists = tuple[tuple[str, ...], ...]
"""Lists of texts, such as the pairs of a choice: its value and its label."""

ReadOnly = Annotated[T | None, Field(json_schema_extra={"readOnly": True})]
"""Computed: answers show it, no payload takes it."""

Text11 = Annotated[str, StringConstraints(max_length=11)]
Text16 = Annotated[str, StringConstraints(max_length=16)]
Text32 = Annotated[str, StringConstraints(max_length=32)]
Text50 = Annotated[str, StringConstraints(max_length=50)]
Text64 = Annotated[str, StringConstraints(max_length=64)]
LoginName = Annotated[Text64, Field(min_length=1)]
Text100 = Annotated[str, StringConstraints(max_length=100)]
Text128 = Annotated[str, StringConstraints(max_length=128)]
Text150 = Annotated[str, StringConstraints(max_length=150)]
Text200 = Annotated[str, StringConstraints(max_length=200)]
Text250 = Annotated[str, StringConstraints(max_length=250)]
Text255 = Annotated[str, StringConstraints(max_length=255)]
Text256 = Annotated[str, StringConstraints(max_length=256)]
Text500 = Annotated[str, StringConstraints(max_length=500)]
Text512 = Annotated[str, StringConstraints(max_length=512)]
Text1000 = Annotated[str, StringConstraints(max_length=1_000)]
Text1024 = Annotated[str, StringConstraints(max_length=1_024)]
Title250 = Annotated[str, StringConstraints(min_length=1, max_length=250)]
Title255 = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Title500 = Annotated[str, StringConstraints(min_length=1, max_length=500)]
