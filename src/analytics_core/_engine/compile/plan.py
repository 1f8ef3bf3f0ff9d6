"""The query plan: a frozen value with everything resolved and nothing left to look up.

A plan is engine-neutral but for users' SQL fragments. It can be printed, compared and hashed; every clause remembers
its origin, so that `explain` and the limits ledger are prints of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum, auto

from sqlglot import exp

from analytics_core._engine.compile.relation import NamePlace, Relation
from analytics_core._engine.engines.spec import BindValue
from analytics_core._engine.engines.types import Collation, NumberRange, TimeFormat, ValueKind
from analytics_core.models.enums import Aggregate, TimeGrain


# ------------------------------------------------------------------------------------------------------------ origin
class OriginKind(StrEnum):
    """Who put a clause into a plan."""

    PAYLOAD = "payload"
    DATASET = "dataset"
    ROW_RULE = "row rule"
    GUEST = "guest claim"
    SETTING = "setting"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a clause came from: who, and the place (`filters[1]`, `fetch_values_predicate`, `rule 7 'EU only'`)."""

    kind: OriginKind
    place: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.place}"


# ------------------------------------------------------------------------------------------------------- expressions
@dataclass(frozen=True, slots=True)
class ColumnExpr:
    """A physical column; `nullable` None means unknown; `time` is set for temporal columns.

    `length` is the most characters that its type allows, None: unknown or without end. `numbers` are the exact ones
    that it holds, None: any, or not known. `leads_index` tells that an index begins with it. `declared` is the
    type that the dataset says, which the column need not have.
    """

    name: str
    kind: ValueKind
    nullable: bool | None = None
    time: TimeFormat | None = None
    length: int | None = field(default=None, compare=False)
    numbers: NumberRange | None = field(default=None, compare=False, repr=False)
    leads_index: bool = field(default=False, compare=False)
    collation: Collation = field(default=Collation.UNKNOWN, compare=False)
    collation_name: str | None = field(default=None, compare=False, repr=False)
    declared: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FragmentExpr:
    """A user's SQL, parsed to one expression; `sql` is its regenerated text, by which fragments compare.

    `loose_columns` are the columns that it names outside every aggregate. `values` are bound where `sql` holds their
    numbers between marks; only row rules have them.
    """

    sql: str
    kind: ValueKind = ValueKind.UNKNOWN
    time: TimeFormat | None = None
    tree: exp.Expr | None = field(default=None, compare=False, repr=False)
    loose_columns: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    values: tuple[BindValue, ...] = ()


@dataclass(frozen=True, slots=True)
class BucketExpr:
    """The bucket of a moment; `hours` is the dataset's offset, added first; grain None: no bucket."""

    source: ColumnExpr | FragmentExpr
    grain: TimeGrain | None
    hours: int = 0


@dataclass(frozen=True, slots=True)
class AggregateExpr:
    """An aggregate over a column, a fragment or a moment."""

    aggregate: Aggregate
    source: ColumnExpr | FragmentExpr | BucketExpr


@dataclass(frozen=True, slots=True)
class OthersExpr:
    """`source` where its row belongs to the top series, else null (`group_others_when_limit_reached`)."""

    source: ColumnExpr | FragmentExpr | BucketExpr
    position: int


@dataclass(frozen=True, slots=True)
class InOthersExpr:
    """1 where a row belongs to none of the top series, else 0: it tells the rest from a series that is null."""


PlanExpr = ColumnExpr | FragmentExpr | BucketExpr | AggregateExpr | OthersExpr | InOthersExpr


def columns_of(expr: PlanExpr) -> tuple[str, ...] | None:
    """Return the columns that an expression names, also inside its SQL; None where that cannot be told."""
    match expr:
        case ColumnExpr():
            return (expr.name,)
        case FragmentExpr():
            return tuple(column.name for column in expr.tree.find_all(exp.Column)) if expr.tree is not None else None
        case InOthersExpr():
            return ()
    return columns_of(expr.source)


def innermost(expr: PlanExpr) -> PlanExpr:
    """Return the column or SQL that an expression is made of; the expression itself where there is none."""
    source = getattr(expr, "source", None)
    return expr if source is None else innermost(source)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMoment:
    """How what an output fetches becomes the moments that are shown: read by `time`, then moved by `hours`.

    That is done after the fetch, where no value can make a statement fail and an index of the column serves.
    `kind` is what is fetched.
    """

    time: TimeFormat
    kind: ValueKind
    hours: int = 0

    @property
    def display_kind(self) -> ValueKind:
        """The kind of the moments that are shown; a zone stays."""
        return self.kind if self.kind is ValueKind.TIMESTAMPTZ else ValueKind.TIMESTAMP


# -------------------------------------------------------------------------------------------------------- predicates
class Comparison(StrEnum):
    """A comparison of a column with one value."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op value`; a datetime value is naive UTC and compared by the column's time format."""

    left: PlanExpr
    op: Comparison
    value: BindValue


@dataclass(frozen=True, slots=True)
class InValues:
    """`left IN (values)`; with `with_null` NULL is a member; when negated, NULL never passes."""

    left: PlanExpr
    values: tuple[BindValue, ...]
    with_null: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`left IS [NOT] NULL`."""

    left: PlanExpr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsTruth:
    """`left IS TRUE` or `IS FALSE`; numbers count as their inequality with 0."""

    left: PlanExpr
    truth: bool


@dataclass(frozen=True, slots=True)
class Match:
    r"""`left [NOT] LIKE pattern` (`fold_case`: ILIKE); `%` and `_` are wild, `\` escapes."""

    left: PlanExpr
    pattern: str
    fold_case: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Within:
    """`since <= left < until`, both naive UTC or None; `hours` is the dataset's offset (bounds move back by it)."""

    left: ColumnExpr | FragmentExpr
    since: datetime | None
    until: datetime | None
    hours: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """A user's SQL condition, always rendered in parentheses."""

    fragment: FragmentExpr


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the members holds; no member: false."""

    members: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All members hold; no member: true."""

    members: tuple[Predicate, ...]


Predicate = Compare | InValues | IsNull | IsTruth | Match | Within | Condition | AnyOf | AllOf


@dataclass(frozen=True, slots=True)
class Clause:
    """A predicate and where it came from."""

    predicate: Predicate
    origin: Origin

    @property
    def is_row_rule(self) -> bool:
        """Whether a row rule or a guest's claim brings it."""
        return self.origin.kind in (OriginKind.ROW_RULE, OriginKind.GUEST)


# -------------------------------------------------------------------------------------------------------------- plan
class OutputRole(StrEnum):
    """What an output is for."""

    COLUMN = auto()
    METRIC = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One column of the result: its label, what it computes, its kind (of the values in the answer) and its origin.

    `stored` is set where what is fetched is not yet what is shown.
    """

    label: str
    expr: PlanExpr
    role: OutputRole
    kind: ValueKind
    origin: Origin
    is_temporal: bool = False
    nullable: bool | None = None
    stored: StoredMoment | None = None

    @property
    def fetched_kind(self) -> ValueKind:
        """The kind of the values that the statement gives."""
        return self.stored.kind if self.stored else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTerm:
    """One sort key; NULLs come last in both directions. `nullable` False saves the NULL handling.

    A key that `breaks_ties` tells any two values apart, also those that the engine would sort as equal.
    """

    expr: PlanExpr
    descending: bool
    nullable: bool
    origin: Origin
    breaks_ties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """A physical table."""

    table: str
    schema: str | None = None
    catalog: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRule:
    """The row rules of a `Relation` of a virtual dataset."""

    position: int
    relation: str
    clauses: tuple[Clause, ...]
    place: NamePlace | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSource:
    """A virtual dataset: one checked SELECT; `sql` is its regenerated text, without the `rules` of its relations.

    `relations` are what the tree reads; None: nobody asked it yet.
    """

    sql: str
    tree: exp.Expr | None = field(default=None, compare=False, repr=False)
    rules: tuple[RelationRule, ...] = ()
    relations: tuple[Relation, ...] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLimit:
    """How many rows a statement returns at the most, and who said so."""

    rows: int
    origin: Origin
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLimit:
    """Only the `limit` best series stay; the others vanish, or become 'Others' when `group_others`.

    An `InOthersExpr` among the outputs then tells which rows they are; the answer names them.
    `columns` are positions in `QueryPlan.outputs`; `source` and `where` are what the inner query reads.
    """

    columns: tuple[int, ...]
    limit: int
    metric: PlanExpr | None
    descending: bool
    group_others: bool
    source: TableSource | SqlSource
    where: tuple[Clause, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedFilter:
    """A filter that was not applied, and why: `not_in_datasource` or `no_temporal_column`."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """Everything about one statement on one dataset.

    `grouped` says whether outputs are grouped (metrics given, also an empty list) or raw rows. `count_rows` wraps the
    statement in a count. `since` and `until` are naive UTC; `counts_seconds`: they move with every second. `unused`
    tells parts of the query that have no effect, `notes` what else a caller should know. `stored` are the types, as the
    database told them, of the columns that are stored and not computed when they are read.
    """

    engine: str
    dataset_id: int
    source: TableSource | SqlSource
    outputs: tuple[Output, ...]
    grouped: bool
    where: tuple[Clause, ...]
    having: tuple[Clause, ...]
    order: tuple[OrderTerm, ...]
    limit: RowLimit
    series_limit: SeriesLimit | None
    count_rows: bool
    since: datetime | None
    until: datetime | None
    range_text: str | None
    counts_seconds: bool
    applied_filters: tuple[str, ...]
    rejected_filters: tuple[RejectedFilter, ...]
    unused: tuple[str, ...]
    notes: tuple[str, ...]
    stored: Mapping[str, str] = field(compare=False, repr=False)

    @property
    def row_rules(self) -> tuple[Clause, ...]:
        """The clauses that row rules and guests' claims bring, on the dataset and on the relations in its SQL."""
        inside = self.source.rules if isinstance(self.source, SqlSource) else ()
        clauses = (*self.where, *(clause for rule in inside for clause in rule.clauses))
        return tuple(clause for clause in clauses if clause.is_row_rule)
