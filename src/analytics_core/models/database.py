"""Shapes of database connections: `extra` text, parameters, functions, tables, their users' OAuth 2.0 credentials.

Beyond the contract, payloads take the older name `sqlalchemy_uri`, and `impersonate_user`, `force_ctas_schema` and
`is_managed_externally`, which the contract shows in answers and gives no other way to set.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field

from analytics_core.models.base import (
    Answer,
    Bool,
    HiddenText,
    Integer,
    JsonInput,
    JsonObject,
    JsonText,
    LenientShape,
    Moment,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text250,
    Text255,
    Texts,
    Title250,
    UuidText,
)
from analytics_core.models.enums import ConfigurationMethod
from analytics_core.models.references import UserNames

_Uri = Annotated[HiddenText, Field(min_length=1, max_length=1_024)]
_UriOrEmpty = Annotated[HiddenText, Field(max_length=1_024)]
_URI_NAMES = AliasChoices("orm_uri", "sqlalchemy_uri")


class SshTunnel(StrictShape):
    """A tunnel to a database; its secrets are never shown again (contract, `DatabaseSSHTunnel`).

    Beyond the contract, `host_key` pins the server's public key; without it `insecure_host_key` must be true.
    """

    id: Integer | None = None
    username: Omittable[str] = None
    password: Omittable[HiddenText] = None
    private_key: Omittable[HiddenText] = None
    private_key_password: Omittable[HiddenText] = None
    server_address: Omittable[str] = None
    server_port: Omittable[Annotated[Integer, Field(ge=1, le=65_535)]] = None
    host_key: str | None = None
    insecure_host_key: Omittable[Bool] = None


class DatabaseParameters(StrictShape):
    """A connection field by field, in place of its URI; which fields an engine takes is a fact of the engine.

    `encryption` asks for an encrypted connection, `query` holds further options of the URI.
    """

    host: str | None = None
    port: Integer | str | None = None
    database: str | None = None
    username: str | None = None
    password: HiddenText | None = None
    encryption: Bool | None = None
    query: dict[str, str] | None = None


class _DatabaseOptions(StrictShape):
    """What a create and an update payload share."""

    parameters: DatabaseParameters | None = None
    engine: str | None = None
    driver: str | None = None
    configuration_method: ConfigurationMethod = ConfigurationMethod.ORM_FORM
    expose_in_sqllab: Omittable[Bool] = None
    allow_ctas: Omittable[Bool] = None
    allow_cvas: Omittable[Bool] = None
    allow_dml: Omittable[Bool] = None
    allow_file_upload: Omittable[Bool] = None
    allow_run_async: Omittable[Bool] = None
    impersonate_user: Omittable[Bool] = None
    force_ctas_schema: Text250 | None = None
    cache_timeout: Integer | None = None
    extra: JsonInput | None = None
    ssh_tunnel: SshTunnel | None = None
    uuid: Omittable[UuidText] = None
    external_url: str | None = None
    is_managed_externally: Omittable[Bool] = None


class DatabasePost(_DatabaseOptions):
    """A database to create; `cache_timeout` is in seconds, 0 never expires (contract, `DatabaseRestApi.post`)."""

    database_name: Title250
    orm_uri: Omittable[_Uri] = Field(default=None, validation_alias=_URI_NAMES, serialization_alias="orm_uri")


class DatabasePut(_DatabaseOptions):
    """Changes of a database; an `orm_uri` with the password masked keeps the stored one (`DatabaseRestApi.put`)."""

    database_name: Title250 | None = None
    orm_uri: Omittable[_UriOrEmpty] = Field(default=None, validation_alias=_URI_NAMES, serialization_alias="orm_uri")


class DatabaseTestConnection(StrictShape):
    """A connection to try (contract, `DatabaseTestConnectionSchema`)."""

    database_name: Title250 | None = None
    orm_uri: Omittable[_Uri] = Field(default=None, validation_alias=_URI_NAMES, serialization_alias="orm_uri")
    engine: str | None = None
    driver: str | None = None
    configuration_method: ConfigurationMethod = ConfigurationMethod.ORM_FORM
    extra: JsonInput | None = None
    ssh_tunnel: SshTunnel | None = None
    parameters: DatabaseParameters | None = None


class _DatabaseAnswer(Answer):
    """What a database and an item of a list of databases share."""

    id: Integer = 0
    uuid: UuidText | None = None
    database_name: Text250
    allow_ctas: Bool | None = None
    allow_cvas: Bool | None = None
    allow_dml: Bool | None = None
    allow_file_upload: Bool | None = None
    allow_run_async: Bool | None = None
    expose_in_sqllab: Bool | None = None
    impersonate_user: Bool | None = None
    force_ctas_schema: Text250 | None = None
    backend: ReadOnly[str] = None
    engine_information: ReadOnly[dict[str, Any]] = None


class DatabaseGet(_DatabaseAnswer, StampedAnswer):
    """One database (contract, `DatabaseRestApi.get`); it shows no URI."""

    cache_timeout: Integer | None = None
    configuration_method: Text255 | None = None
    is_managed_externally: Bool = False
    driver: ReadOnly[str] = None


class DatabaseListItem(_DatabaseAnswer):
    """One database of a list (contract, `DatabaseRestApi.get_list`)."""

    extra: JsonText | None = None
    changed_on: Moment | None = None
    created_by: UserNames | None = None
    allows_cost_estimate: ReadOnly[Bool] = None
    allows_subquery: ReadOnly[Bool] = None
    allows_virtual_table_explore: ReadOnly[Bool] = None
    changed_on_delta_humanized: ReadOnly[str] = None
    disable_data_preview: ReadOnly[Bool] = None
    explore_database_id: ReadOnly[Integer] = None


class DatabaseConnection(Answer):
    """A connection with its URI, the password masked (contract, `DatabaseConnectionSchema`)."""

    database_name: Title250
    orm_uri: Annotated[str, Field(min_length=1, max_length=1_024)] | None = None
    driver: str | None = None
    configuration_method: ConfigurationMethod = ConfigurationMethod.ORM_FORM
    expose_in_sqllab: Bool | None = None
    allow_ctas: Bool | None = None
    allow_cvas: Bool | None = None
    allow_dml: Bool | None = None
    allow_file_upload: Bool | None = None
    allow_run_async: Bool | None = None
    cache_timeout: Integer | None = None
    extra: JsonText | None = None
    ssh_tunnel: SshTunnel | None = None
    uuid: UuidText | None = None
    external_url: str | None = None
    backend: str | None = None
    engine_information: dict[str, Any] | None = None
    parameters: JsonObject | None = None


class MetadataCacheTimeout(LenientShape):
    """How long lists of schemas and tables are cached, in seconds; unset disables, 0 never expires."""

    schema_cache_timeout: Omittable[Integer] = None
    table_cache_timeout: Omittable[Integer] = None


class DatabaseExtra(LenientShape):
    """What the JSON text `extra` of a database holds; more keys are kept (contract, `extra` JSON keys).

    `disable_drill_to_detail` and `explore_database_id` are beyond the contract, and shown by it with datasets.
    """

    engine_params: Omittable[JsonObject] = None
    metadata_params: Omittable[JsonObject] = None
    metadata_cache_timeout: Omittable[MetadataCacheTimeout] = None
    schemas_allowed_for_file_upload: Omittable[Texts] = None
    version: Omittable[str] = None
    allows_virtual_table_explore: Omittable[Bool] = None
    disable_data_preview: Omittable[Bool] = None
    disable_drill_to_detail: Omittable[Bool] = None
    explore_database_id: Omittable[Integer] = None


class DatabaseValidateParameters(StrictShape):
    """Parameters of a connection to check (contract, `DatabaseValidateParametersSchema`).

    Beyond the contract: `parameters`; `id`, the stored database that they are to change, which keeps its own name; and
    `ssh_tunnel`, behind which nobody looks for the server.
    """

    configuration_method: ConfigurationMethod
    engine: str
    database_name: Title250 | None = None
    driver: str | None = None
    extra: JsonInput | None = None
    catalog: Omittable[JsonObject] = None
    parameters: DatabaseParameters | None = None
    id: Integer | None = None
    ssh_tunnel: SshTunnel | None = None


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


class OAuth2ContentType(StrEnum):
    """How a token request is written: as JSON or as a form."""

    JSON = "json"
    DATA = "data"


class OAuth2Client(StrictShape):
    """Our registration at the provider that guards a database (contract, Client configuration).

    `redirect_uri` None is the address of the host's own callback.
    """

    id: str
    secret: HiddenText
    scope: str
    authorization_request_uri: str
    token_request_uri: str
    redirect_uri: Omittable[str] = None
    request_content_type: OAuth2ContentType = OAuth2ContentType.JSON


class OAuth2Token(StrictShape):
    """The tokens of one user for one database (contract, Stored per user and database)."""

    access_token: Omittable[HiddenText] = None
    access_token_expiration: Omittable[Moment] = None
    refresh_token: Omittable[HiddenText] = None


class OAuth2State(StrictShape):
    """What travels through the authorization round trip; other claims are ignored (contract, State value)."""

    model_config = ConfigDict(extra="ignore")

    database_id: Integer
    user_id: Integer
    default_redirect_uri: str
    tab_id: str
