"""Row rules as they bind one actor: found, rendered with the actor's attributes, read as conditions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentParser
from analytics_core._engine.compile.fragments.sql_nodes import table_nodes
from analytics_core._engine.compile.lowering.query import AROUND_ROWS, RELATION_ALIAS
from analytics_core._engine.compile.plan import Clause, FragmentExpr, RelationRule, SqlSource
from analytics_core._engine.compile.planning_context import VIRTUAL_ALIAS
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.row_filters import filter_clauses, kinds_of, names_of, read_clause, read_filter
from analytics_core._engine.compile.templates import ActorFacts, TemplateRenderer
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.relations import relations_of, table_name
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import (
    RuledDataset,
    RuleSet,
    RuleUnit,
    StoredRules,
    TableName,
    ruled_dataset,
)
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import GuestPass, GuestRule, RowFilter, RowRule
from analytics_core._records.repositories import Snapshot
from analytics_core._tools.memo import Memo
from analytics_core.errors import DatasetAccessError, StatementRefusedError, TemplateError
from analytics_core.ports import RowFilterSource

_Columns = tuple[tuple[str, str | None], ...]
_BoundRule = tuple[int, GuestRule, _Columns | None]
"""A rule of a guest's token, its place there, and the columns that it may use (None: those of the dataset)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledActor:
    """Somebody on one dataset, with the rules on it and on its table that counted when they were admitted.

    `own` is what rules need to know of the dataset.
    """

    actor: Actor
    dataset: Dataset
    own: RuledDataset
    spec: EngineSpec
    book: RuleSet


class RowSecurity:
    """Binds stored rules, and those of a host's own sources."""

    def __init__(
        self,
        *,
        books: StoredRules,
        sources: Sequence[RowFilterSource],
        renderer: TemplateRenderer,
        parser: FragmentParser,
    ) -> None:
        self._books = books
        self._sources = tuple(sources)
        self._renderer = renderer
        self._parser = parser
        self._names: Memo[Hashable, FragmentNames] = Memo()

    @property
    def asks_a_host(self) -> bool:
        """Whether a host's own sources say what binds; what they say of a relation may change with every query."""
        return bool(self._sources)

    def ruled(self, actor: Actor, dataset: Dataset, spec: EngineSpec, own: RuledDataset | None = None) -> RuledActor:
        """Return the actor on the dataset with the rules that are stored now; `own` None is made of the dataset."""
        own = own or ruled_dataset(dataset)
        tables = frozenset(() if own.name is None else (own.name,))
        book = self._books.book(own.database_id, own.id, tables, role_ids=actor.role_ids)
        return RuledActor(actor=actor, dataset=dataset, own=own, spec=spec, book=book)

    def read_ahead(self, actor: Actor, own: RuledDataset, at: Snapshot) -> None:
        """Read what `ruled` asks for; it is remembered for a moment."""
        tables = frozenset(() if own.name is None else (own.name,))
        self._books.book(own.database_id, own.id, tables, role_ids=actor.role_ids, at=at)

    def digest(self, ruled: RuledActor, tables: frozenset[TableName]) -> str:
        """Return what the stored rules on tables say to the actor, in short: equal as long as nothing changed."""
        return self._book_of(ruled, tables).digest if tables else ""

    def _book_of(self, ruled: RuledActor, tables: frozenset[TableName]) -> RuleSet:
        return self._books.book(ruled.dataset.database_id, None, tables, role_ids=ruled.actor.role_ids)

    def on_dataset(self, ruled: RuledActor) -> tuple[RowFilter, ...]:
        """Return the filters that bind on the dataset itself, rendered.

        Raises:
            TemplateError: a rule names an attribute that the actor does not have; the query must not run.
            DatasetAccessError: no rule of a guest's token binds here, and it was not minted for all rows.
        """
        own = ruled.own
        units = ruled.book.on_dataset(ruled.actor.role_ids, own)
        requested = [item for source in self._sources for item in _said(source, ruled.actor, ruled.dataset)]
        if own.name is not None:
            said = {item.clause for item in requested if not item.group_key}
            others = self._of_host(ruled, own.name, loose=False, besides=own.id)
            requested += [item for item in others if item.group_key or item.clause not in said]
        return (*self._rendered(ruled, [*_filters(units, ruled.actor), *requested]), *self._of_guest(ruled))

    def in_source(self, ruled: RuledActor, source: SqlSource) -> SqlSource:
        """Return the SQL of a virtual dataset with the rules of each relation that it reads.

        Raises:
            QueryError: a rule of a relation cannot be evaluated, or a relation cannot be told; the query must not run.
        """
        assert source.tree is not None  # noqa: S101 - the guard gives a source with its tree; tells the type checker
        rules = []
        known: dict[TableRef, tuple[Clause, ...]] = {}
        relations = relations_of(source.tree, ruled.spec) if source.relations is None else source.relations
        inside = replace(ruled, book=self._book_of(ruled, frozenset(table_name(item.table) for item in relations)))
        for relation in relations:
            if relation.table not in known:
                known[relation.table] = self._on_relation(inside, relation.table)
            if clauses := known[relation.table]:
                name, position, place = str(relation.table), relation.position, relation.place
                rules.append(RelationRule(position=position, relation=name, clauses=clauses, place=place))
        if not rules:
            return source
        _reject_row_ids(source.tree, ruled.spec)
        tables = table_nodes(source.tree)
        for rule in rules:
            _reject_reading_parts(tables[rule.position])
        return replace(source, rules=tuple(rules))

    def on_table(self, ruled: RuledActor, table: TableRef) -> tuple[Clause, ...]:
        """Return the conditions on a table that is read outside of a dataset's SQL, about `RELATION_ALIAS`.

        Raises:
            DatasetAccessError: no rule of a guest's token binds there, and it was not minted for all rows.
        """
        inside = replace(ruled, book=self._book_of(ruled, frozenset({table_name(table)})))
        return self._on_relation(inside, table, guest_rules=self._of_guest_on(ruled, table))

    def _on_relation(
        self, ruled: RuledActor, table: TableRef, *, guest_rules: Iterable[RowFilter] = ()
    ) -> tuple[Clause, ...]:
        """Return the conditions on a table that the SQL of a virtual dataset reads; `ruled` has its rules."""
        name = table_name(table)
        loose = ruled.spec.guards.table_names.loose
        database_id = ruled.dataset.database_id
        units = ruled.book.on_table(ruled.actor.role_ids, database_id, name, two_parts_are_loose=loose)
        filters = [*_filters(units, ruled.actor), *self._of_host(ruled, name, loose=loose)]

        def read(item: RowFilter) -> FragmentExpr:
            columns = item.columns or ()
            names = self._names_of(columns, table)
            return read_filter(item, parser=self._parser, spec=spec, names=names, kinds=kinds_of(columns, spec))

        spec = ruled.spec
        # Rules of a guest's token for all datasets bind once, on the dataset.
        over = (self._guest_filter(ruled, *item) for item in self._rules_over(ruled, name, loose=loose))
        return filter_clauses((*self._rendered(ruled, filters), *over, *guest_rules), read)

    def _names_of(self, columns: _Columns, table: TableRef) -> FragmentNames:
        """Return the names that a rule on a table may use: the same ones again, by which the parser knows its text."""
        key = (columns, table)
        names = self._names.get(key)
        if names is None:
            names = names_of(columns, RELATION_ALIAS, tables=(table.table, str(table)))
            self._names.put(key, names)
        return names

    def stores(self, ruled: RuledActor, tables: Iterable[TableRef], columns: AbstractSet[str]) -> bool:
        """Tell whether datasets know tables to be stored, with these columns (lower case): no view computes them."""
        over = [self._books.tables(ruled.dataset.database_id, table_name(table)) for table in tables]
        known = [column for datasets in over for one in datasets for column in one.columns if not column.expression]
        names = {column.column_name.casefold() for column in known}
        return all(over) and all(column.stored_type is not None for column in known) and columns <= names

    def concerning(self, ruled: RuledActor, tables: Sequence[TableRef]) -> tuple[Sequence[tuple[RowRule, str]], int]:
        """Return the stored rules on the dataset or on the tables that its SQL reads, and on what each is a rule.

        Of those that cannot bind the actor some are left out; how many comes second.
        """
        own = ruled.own
        names = frozenset({table_name(table) for table in tables} | ({own.name} if own.name else set()))
        book, omitted = self._books.book_with_others(own.database_id, own.id, names, role_ids=ruled.actor.role_ids)
        found = [*book.concerning(own)]
        loose = ruled.spec.guards.table_names.loose
        for table in tables:
            over = book.rules_over(own.database_id, table_name(table), two_parts_are_loose=loose)
            found += [(rule, f"table {table} in its SQL") for rule in over]
        return found, omitted

    def check(self, clause: str, dataset: Dataset, spec: EngineSpec, *, facts: ActorFacts | None = None) -> None:
        """Read a clause as it would be read for a query on the dataset; without `facts` with made-up values.

        Raises:
            FragmentError, SubqueryNotAllowedError, UnknownColumnError: it is not one condition on the dataset.
            TemplateError: its template does not render.
        """
        place = f"clause on dataset {dataset.table_name!r}"
        columns = ruled_dataset(dataset).columns
        try:
            text, placeholders = self._renderer.render_rule(clause, facts or _ANYBODY, dialect=spec.dialect)
        except TemplateError as error:
            raise type(error)(f"{place}: {error.message}", error_type=error.error_type) from None
        item = RowFilter(name=place, clause=text, placeholders=placeholders)
        names = names_of(columns, dataset.table_name, tables=(dataset.table_name, VIRTUAL_ALIAS))
        read_clause(item, place=place, parser=self._parser, spec=spec, names=names, kinds={})

    def _of_host(
        self, ruled: RuledActor, name: TableName, *, loose: bool, besides: int | None = None
    ) -> Iterator[RowFilter]:
        """Yield what the host's sources say of the stored datasets over a table, `besides` left out."""
        if not self._sources:
            return
        for dataset in self._books.tables(ruled.dataset.database_id, name):
            known = ruled_dataset(dataset)
            if known.id == besides or known.name is None or not known.name.may_be(name, two_parts_are_loose=loose):
                continue
            for source in self._sources:
                for item in _said(source, ruled.actor, dataset):
                    group = f"{item.group_key} on dataset {dataset.id}" if item.group_key else None
                    yield replace(item, group_key=group, columns=item.columns or known.columns)

    def _of_guest(self, ruled: RuledActor) -> tuple[RowFilter, ...]:
        """Return the rules of a guest's token that bind on the dataset: its own, those for all, those on its table."""
        guest, own = ruled.actor.guest, ruled.own
        if guest is None:
            return ()
        found: list[_BoundRule] = [(n, rule, None) for n, rule in _numbered(guest) if rule.dataset_id in (None, own.id)]
        if own.name is not None:
            over = self._rules_over(ruled, own.name, loose=False)
            found += [item for item in over if item[1].dataset_id != own.id]
        if not found and guest.needs_rule(own.id):
            raise DatasetAccessError(
                f"the guest token has no row rule for dataset {own.id}; mint it with one, or with all_rows=[{own.id}]"
            )
        return tuple(self._guest_filter(ruled, *item) for item in found)

    def _of_guest_on(self, ruled: RuledActor, table: TableRef) -> tuple[RowFilter, ...]:
        """Return the rules for all datasets of a guest's token, as they bind on the datasets over a table."""
        guest = ruled.actor.guest
        if guest is None:
            return ()
        name, loose = table_name(table), ruled.spec.guards.table_names.loose
        for_all = [(number, rule) for number, rule in _numbered(guest) if rule.dataset_id is None]
        over = self._books.tables(ruled.dataset.database_id, name)
        if not for_all and not self._rules_over(ruled, name, loose=loose) and any(guest.needs_rule(d.id) for d in over):
            raise DatasetAccessError(
                f"the guest token has no row rule for table {table}; mint it with one for its dataset"
            )
        columns = tuple(column for dataset in over for column in ruled_dataset(dataset).columns)
        return tuple(self._guest_filter(ruled, number, rule, columns) for number, rule in for_all)

    def _rules_over(self, ruled: RuledActor, name: TableName, *, loose: bool) -> list[_BoundRule]:
        guest = ruled.actor.guest
        if guest is None or all(rule.dataset_id is None for rule in guest.rules):
            return []
        tables = {dataset.id: ruled_dataset(dataset) for dataset in self._books.tables(ruled.dataset.database_id, name)}
        over = {
            key: table.columns
            for key, table in tables.items()
            if table.name is not None and table.name.may_be(name, two_parts_are_loose=loose)
        }
        return [(n, rule, over[rule.dataset_id]) for n, rule in _numbered(guest) if rule.dataset_id in over]

    def _guest_filter(self, ruled: RuledActor, number: int, rule: GuestRule, columns: _Columns | None) -> RowFilter:
        name = f"rule {number} of the guest token"
        item = RowFilter(name=name, clause=rule.clause, columns=columns, is_of_guest=True)
        return self._with_values(item, guest_facts(ruled.actor, rule), ruled.spec) if "{" in rule.clause else item

    def _rendered(self, ruled: RuledActor, filters: Iterable[RowFilter]) -> Iterator[RowFilter]:
        facts: ActorFacts | None = None
        for item in filters:
            if "{" not in item.clause:
                yield item
                continue
            facts = facts or facts_of(ruled.actor)
            yield self._with_values(item, facts, ruled.spec)

    def _with_values(self, item: RowFilter, facts: ActorFacts, spec: EngineSpec) -> RowFilter:
        try:
            clause, placeholders = self._renderer.render_rule(item.clause, facts, dialect=spec.dialect)
        except TemplateError as error:
            rejection = type(error)(f"row rule {item.name!r}: {error.message}", error_type=error.error_type)
            rejection.detail = error.detail and f"row rule {item.name!r}: {error.detail}"
            raise rejection from None
        return replace(item, clause=clause, placeholders=placeholders)


class _AnyAttribute(dict[str, tuple[str, ...]]):
    """Has every attribute."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002 - as in the parent
        """Return one made-up value."""
        return ("value",)


_ANYBODY = ActorFacts(
    user_id=1, username="somebody", email="somebody@example.com", roles=("role",), attributes=_AnyAttribute()
)


def facts_of(actor: Actor) -> ActorFacts:
    """Return what the clauses of rules may know of an actor."""
    attributes: dict[str, tuple[str, ...]] = {}
    for name, value in actor.user.attributes:
        attributes[name] = (*attributes.get(name, ()), value)
    return ActorFacts(
        user_id=actor.stored_id,
        username=actor.user.username,
        email=actor.user.email,
        roles=tuple(role.name for role in actor.roles),
        attributes=attributes,
    )


def guest_facts(actor: Actor, rule: GuestRule) -> ActorFacts:
    """Return what the clause of a guest's rule may know: the guest, and the values of the rule."""
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in rule.values}
    return replace(facts_of(actor), user_id=None, values=values)


def _reject_row_ids(tree: exp.Expr, spec: EngineSpec) -> None:
    """Refuse the row numbers of tables where a sub-query of permitted rows gives NULL for them; StatementRefusedError.

    In quotes the name is that of a column of the table's own.
    """
    for column in tree.find_all(exp.Column):
        if column.name.lower() in spec.guards.table_names.row_ids and not column.this.quoted:
            raise StatementRefusedError(
                f"{column.name} cannot be read under row rules, use a key of the table; a column that it has of this "
                f'name is written in quotes: "{column.name}"'
            )


def _reject_reading_parts(table: exp.Table) -> None:
    """Refuse a ruled table with a part that reads rows by itself, behind the rule: StatementRefusedError.

    So does a sample that takes some rows because of others; BERNOULLI without a seed takes each by itself.
    """
    if any(part.find(exp.Query) for part in table.iter_expressions() if part.arg_key not in AROUND_ROWS):
        raise StatementRefusedError(f"a query among the options of {table.name} cannot be read under row rules")
    sample = table.args.get("sample")
    if sample is None:
        return
    is_fair = sample.text("method").upper() == "BERNOULLI" and isinstance(sample.args.get("percent"), exp.Literal)
    if not is_fair or any(part for name, part in sample.args.items() if name not in ("method", "percent")):
        raise StatementRefusedError(
            f"a sample of {table.name} may take rows that row rules hide, and tell of them; take TABLESAMPLE BERNOULLI "
            "with a number and no seed, or, where the engine has it, a sample of a sub-query of the table"
        )


def _numbered(guest: GuestPass) -> Iterator[tuple[int, GuestRule]]:
    return enumerate(guest.rules, start=1)


def _filters(units: Iterable[RuleUnit], actor: Actor) -> Iterator[RowFilter]:
    return (item for unit in units for item in unit.filters(for_guest=actor.guest is not None))


def _said(source: RowFilterSource, actor: Actor, dataset: Dataset) -> Iterator[RowFilter]:
    """Yield what a source of the host says; what its rules are called is no guest's business."""
    for item in source.row_filters(actor.user, dataset):
        yield item if actor.guest is None else replace(item, name="of the host")
