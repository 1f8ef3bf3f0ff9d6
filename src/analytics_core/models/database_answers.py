"""Further shapes of databases: their `extra` text, parameters, functions, tables (contract, Database connection)."""

from __future__ import annotations

from analytics_core.models.base import (
    Answer,
    Bool,
    JsonInput,
    JsonObject,
    LenientShape,
    Omittable,
    StrictShape,
    Texts,
    Title250,
    Whole,
)
from analytics_core.models.enums import ConfigurationMethod


class MetadataCacheTimeout(LenientShape):
    """How long lists of schemas and tables are cached, in seconds; unset disables, 0 never expires."""

    schema_cache_timeout: Omittable[Whole] = None
    table_cache_timeout: Omittable[Whole] = None


class DatabaseExtra(LenientShape):
    """What the JSON text `extra` of a database holds; more keys are kept (contract, `extra` JSON keys)."""

    engine_params: Omittable[JsonObject] = None
    metadata_params: Omittable[JsonObject] = None
    metadata_cache_timeout: Omittable[MetadataCacheTimeout] = None
    schemas_allowed_for_file_upload: Omittable[Texts] = None
    version: Omittable[str] = None
    allows_virtual_table_explore: Omittable[Bool] = None
    disable_data_preview: Omittable[Bool] = None


class DatabaseValidateParameters(StrictShape):
    """Parameters of a connection to check (contract, `DatabaseValidateParametersSchema`)."""

    configuration_method: ConfigurationMethod
    engine: str
    database_name: Title250 | None = None
    driver: str | None = None
    extra: JsonInput | None = None
    catalog: Omittable[JsonObject] = None


class DatabaseFunctionNames(Answer):
    """The functions that a database knows (contract, `DatabaseFunctionNamesResponse`)."""

    function_names: Texts = ()


class FileUploadSchemas(Answer):
    """The schemas that take uploads (contract, `DatabaseSchemaAccessForFileUploadResponse`)."""

    schemas: Texts = ()


class DatabaseTable(Answer):
    """A table or view of a database; `type` is 'table' or 'view' (contract, `DatabaseTablesResponse`)."""

    value: str | None = None
    type: str | None = None
    extra: JsonObject | None = None
