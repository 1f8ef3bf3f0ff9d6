"""Makes JSON schemas explain themselves on a host's OpenAPI page: every field has a description."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from analytics_core.models.meanings_of_queries import QUERY_MEANINGS
from analytics_core.models.meanings_of_records import RECORD_MEANINGS

_MEANINGS = {**RECORD_MEANINGS, **QUERY_MEANINGS}


class DescribedShape(BaseModel):
    """A shape whose fields are described by the tables of meanings, unless a field says it itself."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        """Return the JSON schema with a description on each field and without defaults that are null."""
        schema = handler(core_schema)
        fields: dict[str, dict[str, Any]] = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in fields.items():
            meaning = _meaning(cls, name)
            if meaning:
                field.setdefault("description", meaning)
            if field.get("default", ...) is None:
                del field["default"]  # it stands for "left out", which null is not everywhere
        return schema


def _meaning(shape: type[BaseModel], name: str) -> str | None:
    """Return the meaning of a field: that of its own shape or of one it extends, else the general one."""
    own = (_MEANINGS.get(f"{ancestor.__name__}.{name}") for ancestor in shape.__mro__)
    return next(filter(None, own), _MEANINGS.get(name))
