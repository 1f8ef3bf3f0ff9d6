"""What a database has: schemas, tables, views, their columns and first rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.sessions.metadata import ReflectedTable
from analytics_core._records.datasource import Database
from analytics_core.models.database import DatabaseFunctionNames, DatabaseListItem, DatabaseTable
from analytics_core.models.parsing import check_text, payload_error

if TYPE_CHECKING:
    from analytics_core.models.table import DatabaseTableDetails, TableSample

_FIRST_ROWS: Final = 100


class DatabaseContents(NamespaceWithDistinct[DatabaseListItem]):
    """Looks at what a database has, for one actor."""

    def schemas(self, database_id: int, *, force: bool = False) -> tuple[str, ...]:
        """Return the schemas of a database whose tables the actor may read, sorted.

        They are kept for `metadata_cache_timeout.schema_cache_timeout` seconds of the database's `extra` (unset: not at
        all, 0: for ever), until the database is changed, or asked with `force`.

        Examples:
            >>> core.databases.schemas(1)
            ('main',)
        """
        return self._runtime.engine.metadata.schemas_of(self._actor, self._stored(database_id), force=force)

    def tables(self, database_id: int, schema: str | None = None, *, force: bool = False) -> tuple[DatabaseTable, ...]:
        """Return the tables and views of a schema, sorted by name (contract, `DatabaseTablesResponse`).

        Args:
            database_id: the database.
            schema: None for the default one, which takes a grant on the whole database.
            force: ask the database, although `metadata_cache_timeout.table_cache_timeout` of its `extra` keeps the
                names (as `schema_cache_timeout` does in `schemas`).

        Raises:
            PayloadError: `schema` is neither a text that a database could take nor null.
            DatabaseAccessError: the actor may not read this schema.
            DatabaseError: there is no such schema, or the database cannot be reached.

        Examples:
            >>> [table.value for table in core.databases.tables(1)]
            ['customers', 'orders', 'products']
        """
        return _table_answers(self._tables(database_id, schema, force=force))

    def views(self, database_id: int, schema: str | None = None, *, force: bool = False) -> tuple[DatabaseTable, ...]:
        """Return the views of a schema, materialised ones among them; arguments and errors are those of `tables`.

        Examples:
            >>> core.databases.views(1)
            ()
        """
        return _table_answers(one for one in self._tables(database_id, schema, force=force) if one.is_view)

    def materialized_views(
        self, database_id: int, schema: str | None = None, *, force: bool = False
    ) -> tuple[DatabaseTable, ...]:
        """Return the materialised views of a schema, none on engines without any; else as `tables`.

        Examples:
            >>> core.databases.materialized_views(1)
            ()
        """
        return _table_answers(one for one in self._tables(database_id, schema, force=force) if one.is_materialized)

    def table(self, database_id: int, table_name: str, schema: str | None = None) -> DatabaseTableDetails:
        """Return columns, keys, indexes and comments of a table or view, and a SELECT of its first 100 rows.

        Args:
            database_id: the database.
            table_name: as the database writes it.
            schema: None for the default one, which takes a grant on the whole database.

        Raises:
            PayloadError: a name that no database could take.
            DatabaseAccessError: the actor may not read this schema.
            StatementRefusedError: a table that nobody may read.
            DatabaseError: there is no such table (the message names the nearest), or the database cannot be reached.

        Examples:
            >>> [(column.column_name, column.type) for column in core.databases.table(1, "products").columns]
            [('id', 'INTEGER'), ('name', 'VARCHAR(80)'), ('category', 'VARCHAR(80)'), ('price', 'DOUBLE')]
        """
        table_name = _checked_table(table_name, schema, shape="databases.table")
        tables, database = self._runtime.engine.tables, self._stored(database_id)
        from analytics_core._content.databases.tables import table_details

        found = tables.describe(self._actor, database, table_name, schema=schema, rows=_FIRST_ROWS)
        return table_details(database_id, table_name, schema, found)

    def select_star(
        self, database_id: int, table_name: str, schema: str | None = None, *, rows: int = _FIRST_ROWS
    ) -> str:
        """Return a SELECT of the first `rows` of a table in the SQL of its engine; errors are those of `table`.

        Examples:
            >>> print(core.databases.select_star(1, "products", rows=5))
            SELECT
              "id",
              "name",
              "category",
              "price"
            FROM "products"
            LIMIT 5
        """
        table_name = _checked_table(table_name, schema, shape="databases.select_star")
        rows = self._checked_rows(rows, shape="databases.select_star")
        found = self._runtime.engine.tables.describe(
            self._actor, self._stored(database_id), table_name, schema=schema, rows=rows
        )
        return found.select_star

    def samples(
        self, database_id: int, table_name: str, schema: str | None = None, *, rows: int = _FIRST_ROWS
    ) -> TableSample:
        """Return the first rows of a table that the actor may see, in no order, without a dataset.

        Row rules of the datasets over the table bind. `disable_data_preview` in the database's `extra` refuses it.

        Args:
            database_id: the database.
            table_name: as in `table`.
            schema: as in `table`.
            rows: from 1 to `Settings.samples_row_limit`.

        Raises:
            PayloadError: an argument that cannot be.
            DatabaseAccessError: as in `table`; or the database shows no previews.
            DatabaseError, StatementRefusedError: as in `table`.
            TemplateError, QueryError: a row rule that binds the actor cannot be evaluated.

        Examples:
            >>> [row["name"] for row in core.databases.samples(1, "products", rows=2).data]
            ['Atlas', 'Cookbook']
        """
        table_name = _checked_table(table_name, schema, shape="databases.samples")
        rows = self._checked_rows(rows, shape="databases.samples")
        from analytics_core._content.databases.tables import table_sample

        sampled = self._runtime.engine.tables.sample(
            self._actor, self._stored(database_id), table_name, schema=schema, rows=rows
        )
        return table_sample(database_id, table_name, schema, sampled)

    def catalogs(self, database_id: int) -> tuple[str, ...]:
        """Return the catalogs whose tables SQL on a database may name; none where the engine tells of none.

        DuckDB has its attached databases, PostgreSQL the one of the connection. It takes a grant on the whole database.

        Raises:
            DatabaseAccessError: no such grant.
            DatabaseError: the database cannot be reached.

        Examples:
            >>> core.databases.catalogs(1)
            ()
        """
        return self._runtime.engine.metadata.catalogs_of(self._actor, self._stored(database_id))

    def function_names(self, database_id: int) -> DatabaseFunctionNames:
        """Return the names of the functions that SQL on a database may call (`DatabaseFunctionNamesResponse`).

        Empty for engines that do not tell; functions that no user's SQL may call are left out.

        Examples:
            >>> "lower" in core.databases.function_names(1).function_names
            True
        """
        names = self._runtime.engine.metadata.functions_of(self._actor, self._stored(database_id))
        return DatabaseFunctionNames(function_names=names)

    def _tables(self, database_id: int, schema: str | None, *, force: bool) -> tuple[ReflectedTable, ...]:
        check_schema(schema)
        return self._runtime.engine.metadata.tables_of(
            self._actor, self._stored(database_id), schema=schema, force=force
        )

    def _checked_rows(self, rows: Any, *, shape: str) -> int:
        most = self._runtime.settings.samples_row_limit
        if type(rows) is not int or not 1 <= rows <= most:
            raise payload_error(shape, "rows", f"must be a whole number from 1 to {most} (Settings.samples_row_limit)")
        return rows

    def _stored(self, database_id: int) -> Database:
        """Return a database; the gate checks what the actor may do there."""
        with self._runtime.store.unit_of_work() as unit:
            return self._reader(unit).database(database_id)

    def _spec_of(self, database: Database) -> EngineSpec | None:
        return self._runtime.engine.registry.find(database.engine)


def check_schema(schema: Any, *, shape: str = "databases.tables") -> None:
    """Refuse what no schema is called before a driver sees it."""
    if schema is not None and not isinstance(schema, str):
        raise payload_error(shape, "schema", "must be a text or null")
    check_text(schema, shape=shape)


def _checked_table(table_name: Any, schema: Any, *, shape: str) -> str:
    check_schema(schema, shape=shape)
    if not isinstance(table_name, str) or not table_name:
        raise payload_error(shape, "table_name", "must be the name of a table")
    check_text(table_name, shape=shape)
    return table_name


def _table_answers(found: Iterable[ReflectedTable]) -> tuple[DatabaseTable, ...]:
    """Return tables and views as lists have them."""
    return tuple(DatabaseTable(value=one.name, type="view" if one.is_view else "table", extra=None) for one in found)
