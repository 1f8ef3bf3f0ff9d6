"""The engine, wired: which part of it is given which others, and what it is handed of the content."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from analytics_core._content.lookups.rule_sets import StoredRuleSets
from analytics_core._core.runtime import Components
from analytics_core._core.wiring.parts import Added
from analytics_core._engine.compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._engine.compile.advanced_types import installed_advanced_types
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.statements import StatementRunner, ledger_of
from analytics_core._engine.frames import ENTRY_POINTS as OPERATIONS
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
from analytics_core._engine.oauth.clients import ClientOf, client_of_database, client_problems
from analytics_core._engine.oauth.user_tokens import OAuthParts, UserTokens
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._engine.runtime import DatabaseConnections, EngineRuntime
from analytics_core._engine.tracing import tracer_of
from analytics_core._tools.once import Once
from analytics_core.errors import SettingsError

if TYPE_CHECKING:
    from analytics_core._content.lookups.chart_contexts import ChartContexts
    from analytics_core._engine.compile.fragments.parser import FragmentParser
    from analytics_core._engine.gate.row_security import RowSecurity
    from analytics_core._engine.gate.tables import TableReader
    from analytics_core._engine.gate.uploads import FileUploads
    from analytics_core._engine.runtime import Questions
    from analytics_core._records.settings import Settings


def build_engine(parts: Components, added: Added, chart_contexts: Once[ChartContexts]) -> EngineRuntime:
    """Return the engine over the parts of a core; `chart_contexts` give the questions of charts that layers show."""
    settings = parts.settings
    advanced_types = installed_advanced_types(added[ADVANCED_DATA_TYPES])
    parser = Once(partial(_parser, settings))
    books = StoredRuleSets(parts.store, parts.clock, freshness_s=settings.metadata_freshness_s)
    row_security = Once(partial(_row_security, parts, books, parser))
    oauth, tokens = _user_tokens(parts)
    gate = _gate(parts, books, row_security, tokens)
    databases = _databases(parts, gate, row_security, tokens)
    return EngineRuntime(
        settings=settings,
        observer=parts.observer,
        registry=parts.registry,
        connections=DatabaseConnections(
            connector=parts.connector,
            registry=parts.registry,
            addresses=parts.addresses,
            settings=settings,
            allowed_files=parts.allowed_files,
        ),
        statements=gate.statements,
        gate=gate,
        made_row_security=row_security,
        **databases,
        made_oauth=oauth,
        made_uploads=Once(partial(_uploads, parts, gate, databases["reflector"], databases["table_names"], tokens)),
        made_questions=Once(
            partial(
                _questions,
                parts,
                parser=parser,
                gate=gate,
                row_security=row_security,
                metadata=databases["metadata"],
                advanced_types=advanced_types,
                operations=added[OPERATIONS],
                chart_contexts=chart_contexts,
            )
        ),
        advanced_types=advanced_types,
    )


def _parser(settings: Settings) -> FragmentParser:
    from analytics_core._engine.compile.fragments.parser import FragmentParser

    return FragmentParser(max_length=settings.max_fragment_length, allowed=settings.allowed_functions)


def _row_security(parts: Components, books: StoredRuleSets, parser: Once[FragmentParser]) -> RowSecurity:
    from analytics_core._engine.compile.templates import TemplateRenderer
    from analytics_core._engine.gate.row_security import RowSecurity

    # Templates of row rules render whether or not other templates may.
    return RowSecurity(books=books, sources=parts.row_filters, renderer=TemplateRenderer(), parser=parser())


def _gate(parts: Components, books: StoredRuleSets, row_security: Once[RowSecurity], tokens: UserTokens) -> Gate:
    return Gate(
        policy=parts.policy,
        registry=parts.registry,
        runner=_statement_runner(parts, tokens),
        row_security=row_security,
        books=books,
        tokens=tokens,
        allowed_functions=parts.settings.allowed_functions,
    )


def _statement_runner(parts: Components, tokens: UserTokens) -> StatementRunner:
    budgets, tracer = ledger_of(parts.settings, parts.store, parts.clock), tracer_of(parts.observer)
    if tracer is None:
        return StatementRunner(parts.connector, tokens, budgets)
    from analytics_core._engine.execution.traced_statements import TracedStatementRunner

    return TracedStatementRunner(parts.connector, tokens, budgets, tracer)


def _user_tokens(parts: Components) -> tuple[Once[OAuthParts], UserTokens]:
    settings = parts.settings
    for name, client in settings.clients.items():
        for problem in client_problems(client):
            raise SettingsError(f"Settings.oauth2_clients of {name!r}: {problem.path} {problem.message}")
    client_of = partial(client_of_database, clients=settings.clients)
    made = Once(partial(_oauth, parts, client_of))
    return made, UserTokens(parts=made, client_of=client_of)


def _oauth(parts: Components, client_of: ClientOf) -> OAuthParts:
    from analytics_core._engine.oauth.exchange import TokenRequests
    from analytics_core._engine.oauth.flow import AuthorizationFlow
    from analytics_core._engine.oauth.state import StateSigner
    from analytics_core._engine.oauth.stored_tokens import StoredTokens
    from analytics_core._engine.oauth.token_renewal import OAuthTokens

    settings = parts.settings
    stored, requests = (
        StoredTokens(parts.store, parts.clock),
        TokenRequests(parts.token_endpoint, tracer_of(parts.observer)),
    )
    signer = StateSigner(settings, parts.clock)
    flow = AuthorizationFlow(settings=settings, signer=signer, stored=stored, requests=requests, client_of=client_of)
    tokens = OAuthTokens(
        stored=stored,
        lock=parts.lock,
        clock=parts.clock,
        sleeper=parts.sleeper,
        requests=requests,
        client_of=client_of,
        timeout_s=settings.oauth2_timeout_s,
    )
    return OAuthParts(flow=flow, tokens=tokens)


def _databases(parts: Components, gate: Gate, row_security: Once[RowSecurity], tokens: UserTokens) -> dict[str, Any]:
    """Return what reads databases' own facts."""
    limit_s = parts.settings.statement_timeout_s
    reflector = Reflector(
        parts.connector,
        tokens,
        timeout_s=limit_s,
        may_see=lambda request, schema: parts.policy.can_read_tables(request.actor, request.database, schema=schema),
        tracer=tracer_of(parts.observer),
    )
    names = CachedNames(reflector, parts.cache, EntrySeal(parts.settings.key))
    metadata = MetadataReader(
        gate=gate,
        policy=parts.policy,
        reflector=reflector,
        names=names,
        row_security=row_security,
        timeout_s=limit_s,
    )
    return {
        "reflector": reflector,
        "metadata": metadata,
        "made_tables": Once(partial(_tables, parts, gate, reflector, row_security)),
        "table_names": names,
    }


def _tables(parts: Components, gate: Gate, reflector: Reflector, row_security: Once[RowSecurity]) -> TableReader:
    from analytics_core._engine.gate.tables import TableReader

    return TableReader(gate=gate, reflector=reflector, row_security=row_security(), settings=parts.settings)


def _uploads(
    parts: Components, gate: Gate, reflector: Reflector, names: CachedNames, tokens: UserTokens
) -> FileUploads:
    from analytics_core._engine.execution.table_loader import TableLoader
    from analytics_core._engine.gate.uploads import FileUploads

    loader = TableLoader(parts.connector, tokens, tracer_of(parts.observer))
    return FileUploads(
        gate=gate, reflector=reflector, names=names, loader=loader, settings=parts.settings, progress=parts.progress
    )


def _questions(
    parts: Components,
    *,
    parser: Once[FragmentParser],
    row_security: Once[RowSecurity],
    chart_contexts: Once[ChartContexts],
    **given: Any,
) -> Questions:
    from analytics_core._core.wiring.questions import build_questions

    made: dict[str, Any] = {"parser": parser(), "row_security": row_security(), "chart_contexts": chart_contexts()}
    return build_questions(parts, **made, **given)
