"""`core.databases`: the databases that users query."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from uuid import uuid4

from analytics_core._content.batches import every_id
from analytics_core._content.changes import LoggedAction, begin_act, reject_later_change, repeated
from analytics_core._content.databases.contents import DatabaseContents, check_schema
from analytics_core._content.databases.records import (
    changed_database,
    database_connection,
    database_get,
    database_item,
    given_uri,
    is_led_otherwise,
    new_database,
    new_uri,
    parameter_problems,
)
from analytics_core._content.databases.secret_options import is_elsewhere
from analytics_core._content.lists import DATABASES, Listing, ResourceLists, anybody
from analytics_core._content.related_names import related_objects
from analytics_core._content.written_back import Answers, read_changes
from analytics_core._engine.execution.connection_parameters import look_at_server
from analytics_core._engine.execution.sessions.choice import takes_rows
from analytics_core._engine.gate.gate import upload_schemas
from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter
from analytics_core._tools.log import line_log
from analytics_core.errors import PayloadSchemaError, StoreUnavailableError
from analytics_core.models.database import (
    DatabaseConnection,
    DatabaseGet,
    DatabaseListItem,
    DatabasePost,
    DatabasePut,
    DatabaseTestConnection,
    DatabaseValidateParameters,
    FileUploadSchemas,
)
from analytics_core.models.enums import TableExists
from analytics_core.models.lists import RelatedObjects
from analytics_core.models.parsing import Payload, parse, payload_error

if TYPE_CHECKING:
    from analytics_core._engine.gate.uploads import WrittenTable
    from analytics_core.models.table import DatabaseEngine, FileUploadOptions, UploadedTable, UploadFileMetadata

_TRIALS: Final = 2**62

LISTS = ResourceLists(
    listing=Listing(
        shape="database",
        item=DatabaseListItem,
        texts=("uuid", "database_name", "backend", "driver"),
        booleans=("expose_in_sqllab", "allow_dml", "allow_run_async", "allow_file_upload"),
        stored_as={"backend": "engine"},
    ),
    repository=lambda unit: unit.databases,
    item=lambda database, facts: database_item(
        database, spec=facts.registry.find(database.engine), people=facts.people, readable=facts.readable
    ),
    permission=anybody,
    people_of=lambda database: (database.audit.created_by,),
    visibility=DATABASES.visibility,
    distinct=("backend",),
)

_LOG = line_log(__name__)


class Databases(DatabaseContents):
    """Database connections, as one actor may see and change them.

    `related` takes `created_by` or `changed_by`, `distinct` takes `backend`.
    """

    _resource = LISTS

    def create(self, payload: DatabasePost | Payload) -> DatabaseGet:
        """Store a database connection; only administrators may (contract, `DatabaseRestApi.post`).

        The database is not contacted; `test_connection` does that.

        Raises:
            PayloadError: the payload breaks the shape.
            ConnectionUriError: the URI or an option is malformed or not allowed.
            AlreadyExistsError: the name is taken.

        Examples:
            >>> core.databases.create({"database_name": "scratch", "sqlalchemy_uri": "sqlite://"}).backend
            'sqlite'
        """
        self._runtime.policy.require_manage_databases(self._actor)
        post = parse(DatabasePost, payload, shape="DatabaseRestApi.post")
        act = begin_act(self._runtime, self._actor, "database.create")
        shape = "DatabaseRestApi.post"
        registry = self._runtime.engine.registry
        uri = new_uri(given_uri(post, shape=shape, registry=registry), shape=shape, registry=registry)
        record = new_database(post, uri=uri, checked=self._runtime.engine.connections.check_uri(uri), uuid=str(uuid4()))
        with self._runtime.store.unit_of_work() as unit:
            stored = act.add(unit, unit.databases, record, "database_id")
        return database_get(stored, spec=self._spec_of(stored))

    def get(self, database_id: int) -> DatabaseGet:
        """Return a database; DatabaseNotFoundError or DatabaseAccessError otherwise.

        Examples:
            >>> core.databases.get(1).database_name
            'shop'
        """
        with self._runtime.store.unit_of_work() as unit:
            found = self._reader(unit).database(database_id)
        return database_get(found, spec=self._spec_of(found))

    def connection(self, database_id: int) -> DatabaseConnection:
        """Return a database with its URI, secrets masked; for those who may change it.

        Examples:
            >>> core.databases.connection(1).orm_uri.rpartition("/")[2]
            'shop.db'
        """
        with self._runtime.store.unit_of_work() as unit:
            database = self._reader(unit).database(database_id)
            self._runtime.policy.require_manage_databases(self._actor)
            return database_connection(database, spec=self._spec_of(database))

    @repeated
    def update(
        self,
        database_id: int,
        payload: DatabasePut | DatabaseGet | DatabaseConnection | DatabaseListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> DatabaseGet:
        """Change a database and close its connections (contract, `DatabaseRestApi.put`).

        A URI with the password masked keeps the stored password, as long as server and user stay the same. With
        `unchanged_since`, the `changed_on` of the database that the caller read (a field of lists, an attribute of
        `get`), a change that somebody else made since is not overwritten.

        Raises:
            PayloadError, ConnectionUriError, AlreadyExistsError: as in `create`.
            DatabaseNotFoundError, DatabaseAccessError, OwnershipError: unknown, or not for this actor to change.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.databases.update(1, {"cache_timeout": 60}).cache_timeout
            60
        """
        answers: Answers = {
            **self._answers(DatabaseGet, self.get, database_id),
            DatabaseConnection: partial(self.connection, database_id),
        }
        put = read_changes(DatabasePut, payload, shape="DatabaseRestApi.put", answers=answers)
        with self._acting("database.update") as (act, unit):
            stored = self._reader(unit).database(database_id)
            self._runtime.policy.require_write(self._actor, stored)
            reject_later_change(stored, unchanged_since)
            shape, registry = "DatabaseRestApi.put", self._runtime.engine.registry
            if not put.model_fields_set:
                return database_get(stored, spec=self._spec_of(stored))
            given = given_uri(put, shape=shape, registry=registry, stored=stored)
            uri = new_uri(given, shape=shape, registry=registry, stored=stored.uri)
            record = changed_database(stored, put, uri=uri, checked=self._runtime.engine.connections.check_uri(uri))
            changed = act.update(unit, unit.databases, stored, record, details={"database_id": database_id})
            elsewhere = is_elsewhere(self._runtime.engine.connections.check_uri(uri), stored) or is_led_otherwise(
                stored, changed
            )
            self._runtime.engine.oauth.tokens.drop_for_others(unit, changed, before=stored, is_elsewhere=elsewhere)
        self._runtime.engine.connections.connector.dispose(database_id)
        return database_get(changed, spec=self._spec_of(changed))

    @repeated
    def delete(self, database_id: int) -> None:
        """Remove a database and close its connections; InUseError while datasets read from it.

        Examples:
            >>> core.databases.delete(2)
            >>> [database.database_name for database in core.databases.list()]
            ['shop']
        """
        from analytics_core._content.needed_by_reports import require_unscheduled

        with self._acting("database.delete") as (act, unit):
            stored = self._reader(unit).database(database_id)
            self._runtime.policy.require_write(self._actor, stored)
            require_unscheduled(self._reader(unit), database_id, noun="database")
            act.delete(unit, unit.databases, database_id, details={"database_id": database_id})
        self._runtime.engine.connections.connector.dispose(database_id)

    # --------------------------------------------------------------------------------------------- what it holds
    def engines(self) -> tuple[DatabaseEngine, ...]:
        """Return the engines that databases may have, with what is missing to connect to them; drivers are imported.

        Only administrators may ask.

        Examples:
            >>> "sqlite" in [engine.engine for engine in core.databases.engines()]
            True
        """
        from analytics_core._content.databases.tables import database_engine

        self._runtime.policy.require_manage_databases(self._actor)
        registry = self._runtime.engine.registry
        return tuple(database_engine(registry.get(name)) for name in registry.names())

    def schemas_access_for_file_upload(self, database_id: int) -> FileUploadSchemas:
        """Return the schemas that take uploads of the actor.

        They are `schemas_allowed_for_file_upload` of the database's `extra`, where that names none all its schemas;
        none while `allow_file_upload` is off, or where nothing is uploaded to the engine (contract,
        `DatabaseSchemaAccessForFileUploadResponse`).

        Examples:
            >>> _ = core.databases.update(1, {"allow_file_upload": True})
            >>> core.databases.schemas_access_for_file_upload(1).schemas
            ('main',)
        """
        from analytics_core._engine.gate.uploads import upload_targets

        database = self._stored(database_id)
        spec = self._spec_of(database)
        if spec is None or not (database.allow_file_upload and takes_rows(spec.name)):
            return FileUploadSchemas()
        policy, actor = self._runtime.policy, self._actor
        allowed = upload_schemas(database) or self._runtime.engine.metadata.schemas_of(actor, database)
        schemas = upload_targets(spec, filter(None, allowed))
        return FileUploadSchemas(schemas=tuple(s for s in schemas if policy.can_upload(actor, database, schema=s)))

    def upload(
        self,
        database_id: int,
        file: str | os.PathLike[str] | bytes | BinaryIO,
        table: str,
        *,
        schema: str | None = None,
        if_exists: str = TableExists.FAIL,
        options: FileUploadOptions | Payload | None = None,
    ) -> UploadedTable:
        r"""Write the rows of a CSV, Parquet or XLSX file into a table: all of them, or nothing.

        The database must set `allow_file_upload`, and `schemas_allowed_for_file_upload` of its `extra` name the schema
        or nothing. It takes a grant on the schema or the database; tables that exist are changed by administrators, and
        by others in schemas named there.

        Args:
            database_id: the database.
            file: bytes, a binary file object, or a path of the host's own: never one that a user chose.
            table: a name of letters, digits and underscores.
            schema: None for the default one.
            if_exists: `fail`, `replace` or `append`, for a table of that name.
            options: how the file is read (`models.FileUploadOptions`).

        Raises:
            DatabaseNotFoundError, DatabaseAccessError: unknown, or not for this actor; no uploads into this schema.
            AlreadyExistsError: there is such a table, or a view.
            FileUploadError: the file cannot be taken; row and column are in `.extra`.
            PayloadSchemaError: an argument or option that cannot be.
            MissingExtraError: workbooks need the extra `excel`.
            DatabaseError: the database refused it, or it took longer than `Settings.upload_timeout_s`.

        Examples:
            >>> _ = core.databases.update(1, {"allow_file_upload": True})
            >>> told = core.databases.upload(1, b"city,stores\nBonn,2\nGraz,1\n", "stores")
            >>> [(column.column_name, column.type) for column in told.columns]
            [('city', 'TEXT'), ('stores', 'INTEGER')]
        """
        from analytics_core._content.databases.uploads import uploaded_table
        from analytics_core.models.table import FileUploadOptions

        form = parse(FileUploadOptions, {} if options is None else options, shape="databases.upload options")
        check_schema(schema, shape="databases.upload")
        act = begin_act(self._runtime, self._actor, "database.upload")
        database = self._stored(database_id)
        uploaded = self._runtime.engine.uploads.upload(
            self._actor, database, file, table=table, schema=schema, if_exists=_if_exists(if_exists), options=form
        )
        self._log_upload(act, database_id, uploaded)
        return uploaded_table(database_id, uploaded)

    def upload_metadata(
        self,
        database_id: int,
        file: str | os.PathLike[str] | bytes | BinaryIO,
        *,
        schema: str | None = None,
        options: FileUploadOptions | Payload | None = None,
    ) -> UploadFileMetadata:
        r"""Return the sheets and columns of a file as `upload` would find them, with types; nothing is written.

        It takes what `upload` takes. A workbook is told sheet by sheet, or by the one that `options` name.

        Raises:
            DatabaseNotFoundError, DatabaseAccessError, PayloadSchemaError, MissingExtraError: as `upload` does.
            FileUploadError, StatementTimeoutError: as `upload` does.

        Examples:
            >>> _ = core.databases.update(1, {"allow_file_upload": True})
            >>> told = core.databases.upload_metadata(1, b"city;founded\nBonn;31.01.1949\n")
            >>> [(column.column_name, column.type) for column in told.items[0].columns]
            [('city', 'TEXT'), ('founded', 'DATE')]
        """
        from analytics_core._content.databases.uploads import upload_file_metadata
        from analytics_core.models.table import FileUploadOptions

        form = parse(FileUploadOptions, {} if options is None else options, shape="databases.upload options")
        check_schema(schema, shape="databases.upload")
        database = self._stored(database_id)
        found = self._runtime.engine.uploads.metadata(self._actor, database, file, schema=schema, options=form)
        return upload_file_metadata(*found)

    def _log_upload(self, act: LoggedAction, database_id: int, uploaded: WrittenTable) -> None:
        from analytics_core._content.databases.uploads import upload_details

        try:
            with self._runtime.store.unit_of_work() as unit:
                act.log(unit, details=upload_details(database_id, uploaded))
        except StoreUnavailableError as error:  # the rows are written: who heard of a failure would repeat it
            _LOG.error("an upload into database %s is not in the log: %s", database_id, error.message)

    def related_objects(self, database_id: int) -> RelatedObjects:
        """Return the charts drawn from a database and the dashboards that show them, as far as the actor may see them.

        Contract, `DatabaseRelatedObjectsResponse`.

        Examples:
            >>> core.databases.related_objects(1).charts.count
            2
        """
        of_it = (ListFilter(col="database_id", op="eq", val=database_id),)
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).database(database_id)
            dataset_ids = every_id(unit.datasets, of_it)
            return related_objects(self._reader(unit), dataset_ids)

    # ---------------------------------------------------------------------------------------------------- trials
    def validate_parameters(self, payload: DatabaseValidateParameters | Payload) -> None:
        """Check the parameters of a connection and say nothing when all are well.

        With `configuration_method` 'dynamic_form' the host is looked up and its port tried: five seconds at most for
        the name and for each of two addresses; not behind an SSH tunnel. Nobody signs in, which `test_connection` does.
        `id` names the stored database that is to change. Only administrators may.
        Contract, `DatabaseValidateParametersSchema`.

        Raises:
            DatabaseNotFoundError: there is no database of this `id`.
            PayloadSchemaError: `.problems` names every field that is wrong and what would work; what has a
                `CONNECTION_*` type in the contract is an item of its own.

        Examples:
            >>> parameters = {"host": "localhost", "port": 99999, "username": "me", "database": "sales"}
            >>> core.databases.validate_parameters(
            ...     {"engine": "postgresql", "configuration_method": "dynamic_form", "parameters": parameters}
            ... )
            Traceback (most recent call last):
                ...
            analytics_core.errors.PayloadSchemaError: ... parameters.port: must be a whole number from 1 to 65535
        """
        self._runtime.policy.require_manage_databases(self._actor)
        shape = "DatabaseValidateParametersSchema"
        given = parse(DatabaseValidateParameters, payload, shape=shape)
        stored = None if given.id is None else self._stored(given.id)
        named = self._named(given.database_name)
        has_tunnel = stored is not None and stored.ssh_tunnel is not None
        if "ssh_tunnel" in given.model_fields_set:
            has_tunnel = given.ssh_tunnel is not None
        problems = parameter_problems(
            given,
            registry=self._runtime.engine.registry,
            settings=self._runtime.settings,
            name_is_taken=named is not None and named.id != given.id,
            look=None
            if has_tunnel
            else partial(look_at_server, find=self._runtime.engine.connections.addresses_of_server),
        )
        if problems:
            raise PayloadSchemaError(shape=shape, problems=problems)

    def test_connection(self, payload: DatabaseTestConnection | Payload) -> None:
        """Connect once and say nothing when it works (contract, `DatabaseTestConnectionSchema`).

        A masked password is filled in from the stored database of the same `database_name`, whose SSH tunnel is used
        too, unless the payload has one or null.

        Raises:
            DatabaseError: what went wrong, diagnosed; ConnectionUriError when the URI is not allowed.

        Examples:
            >>> core.databases.test_connection({"database_name": "shop"})
        """
        self._runtime.policy.require_manage_databases(self._actor)
        shape = "DatabaseTestConnectionSchema"
        trial = parse(DatabaseTestConnection, payload, shape=shape)
        stored = self._named(trial.database_name)
        registry = self._runtime.engine.registry
        given = given_uri(trial, shape=shape, registry=registry, stored=stored)
        uri = new_uri(given, shape=shape, registry=registry, stored=stored.uri if stored else None)
        post = DatabasePost(database_name=trial.database_name or "trial", **_given(trial))
        checked = self._runtime.engine.connections.check_uri(uri)
        record = new_database(post, uri=uri, checked=checked, uuid=str(uuid4()), stored=stored)
        # A number of its own, since `dispose` ends what is open for it: trials at the same time end nothing of others.
        trial_of_its_own = replace(record, id=-1 - secrets.randbelow(_TRIALS))
        try:
            self._runtime.engine.metadata.try_connection(self._actor, trial_of_its_own)
        finally:
            self._runtime.engine.connections.connector.dispose(trial_of_its_own.id)

    def _named(self, database_name: str | None) -> Database | None:
        if database_name is None:
            return None
        with self._runtime.store.unit_of_work() as unit:
            return unit.databases.find(database_name=database_name)


def _if_exists(given: Any) -> TableExists:
    try:
        return TableExists(given)
    except ValueError:
        known = " or ".join(repr(one.value) for one in TableExists)
        raise payload_error("databases.upload", "if_exists", f"must be {known}") from None


def _given(trial: DatabaseTestConnection) -> Mapping[str, Any]:
    names = ("orm_uri", "parameters", "engine", "driver", "configuration_method", "extra", "ssh_tunnel")
    return {name: getattr(trial, name) for name in names if name in trial.model_fields_set}
