"""The engine as it is wired: what the rooms above ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analytics_core._engine.tracing import Tracer, tracer_of
from analytics_core._records.network import DestinationPurpose
from analytics_core._tools.once import Once

if TYPE_CHECKING:
    from analytics_core._engine.compile.advanced_types import AdvancedDataType
    from analytics_core._engine.engines.registry import EngineRegistry
    from analytics_core._engine.execution.connection_uri import CheckedUri
    from analytics_core._engine.execution.reflection import Reflector
    from analytics_core._engine.execution.statements import StatementRunner
    from analytics_core._engine.gate.gate import Gate
    from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
    from analytics_core._engine.gate.row_security import RowSecurity
    from analytics_core._engine.gate.tables import TableReader
    from analytics_core._engine.gate.uploads import FileUploads
    from analytics_core._engine.network import AddressFinder
    from analytics_core._engine.oauth.user_tokens import OAuthParts
    from analytics_core._engine.querying.alert_query import AlertQueries
    from analytics_core._engine.querying.batch_queries import BatchQueries
    from analytics_core._engine.querying.preparing import StoredFragments
    from analytics_core._engine.querying.reading import ContextReader
    from analytics_core._engine.querying.row_security_report import Simulations
    from analytics_core._engine.querying.runner import QueryRunner
    from analytics_core._engine.querying.sql_queries import SqlQueries
    from analytics_core._engine.querying.sql_scripts import SqlScripts
    from analytics_core._engine.querying.templating import QueryTemplates
    from analytics_core._records.secret import Secret
    from analytics_core._records.settings import Settings
    from analytics_core.ports import Connector, Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseConnections:
    """The ways to users' databases; `allowed_files` are database files that may be opened without a data root."""

    connector: Connector
    registry: EngineRegistry
    addresses: AddressFinder
    settings: Settings
    allowed_files: tuple[Path, ...]

    def addresses_of_server(self, host: str, port: int | None) -> tuple[str, ...]:
        """Return the addresses of a database's server that the network policy allows; DatabaseError without any."""
        return self.addresses.find(host, port, purpose=DestinationPurpose.DATABASE)

    def check_uri(self, uri: str | Secret) -> CheckedUri:
        """Return the checked URI; ConnectionUriError when it is malformed or asks for more than is allowed."""
        from analytics_core._engine.execution.connection_uri import check_uri

        return check_uri(uri, settings=self.settings, specs=self.registry.get, allowed_files=self.allowed_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What answers questions: payloads are read, templates rendered, queries run."""

    contexts: ContextReader
    templates: QueryTemplates
    fragments: StoredFragments
    runner: QueryRunner
    batches: BatchQueries
    simulations: Simulations
    alerts: AlertQueries


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRuntime:
    """What the rooms above the engine are given of it; `_core` alone builds it, nothing changes it.

    It serves many actors: who asks is an argument.
    """

    settings: Settings
    observer: Observer
    registry: EngineRegistry
    connections: DatabaseConnections
    statements: StatementRunner
    reflector: Reflector
    gate: Gate
    made_row_security: Once[RowSecurity]
    metadata: MetadataReader
    made_tables: Once[TableReader]
    table_names: CachedNames
    made_oauth: Once[OAuthParts]
    made_uploads: Once[FileUploads]
    made_questions: Once[Questions]
    advanced_types: Mapping[str, AdvancedDataType]

    @property
    def tracer(self) -> Tracer | None:
        """What begins work that is observed; None where the observer hears of questions alone."""
        return tracer_of(self.observer)

    @property
    def row_security(self) -> RowSecurity:
        """What binds the rules on rows; it is loaded with the first dataset or statement that is read."""
        return self.made_row_security()

    @property
    def tables(self) -> TableReader:
        """What describes tables and samples their rows; it is loaded with the first of them."""
        return self.made_tables()

    @property
    def oauth(self) -> OAuthParts:
        """What gets users' tokens and keeps them fresh; loaded with the first of them."""
        return self.made_oauth()

    @property
    def questions(self) -> Questions:
        """What answers questions; it is loaded with the first of them."""
        return self.made_questions()

    @property
    def uploads(self) -> FileUploads:
        """What takes files of people; it is loaded with the first of them."""
        return self.made_uploads()

    @property
    def sql_queries(self) -> SqlQueries:
        """What runs statements that people write; it is loaded with the first of them."""
        from analytics_core._engine.querying.sql_queries import SqlQueries

        return SqlQueries(
            gate=self.gate,
            row_security=self.row_security,
            templates=self.questions.templates,
            settings=self.settings,
            observer=self.observer,
        )

    @property
    def sql_scripts(self) -> SqlScripts:
        """What runs scripts that people write."""
        from analytics_core._engine.querying.sql_scripts import SqlScripts

        return SqlScripts(
            queries=self.sql_queries,
            gate=self.gate,
            row_security=self.row_security,
            names=self.table_names,
            metadata=self.metadata,
        )

    def close(self) -> None:
        """Stop streams, uploads that are not committed, statements and reflection; wait for tokens that are renewed."""
        for questions in self.made_questions.made:
            questions.batches.close()
            questions.runner.close()
        for uploads in self.made_uploads.made:
            uploads.close()
        self.statements.close()
        self.reflector.close()
        for oauth in self.made_oauth.made:
            oauth.tokens.close()
