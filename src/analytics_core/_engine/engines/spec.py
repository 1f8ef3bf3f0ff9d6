"""`EngineSpec`: all that the compiler and the executor must know of an engine, as one frozen record of facts.

Functions in it are pure: sqlglot nodes in, fresh sqlglot nodes out; they never keep or share a node that they were
given, so a caller passes a fresh node each time. What a function must give is the same on every engine:
the same bucket, the same comparison, the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._engine.engines.guards import Guards
from analytics_core._engine.engines.types import Collation, NumberRange, TimeFormat, ValueKind
from analytics_core.errors import ErrorType, QueryError
from analytics_core.models.enums import TimeGrain

if TYPE_CHECKING:
    from analytics_core._engine.engines.costs import CostEstimates
    from analytics_core._engine.engines.partitions import PartitionReader
    from analytics_core._engine.engines.totals import TotalOperations

Refuse = Callable[[str], QueryError]
"""Makes the caller's error from what is wrong; the caller adds the place."""

_Run = Callable[[exp.Expr, Refuse], exp.Expr | None]

dialect_of: Final = cache(Dialect.get_or_raise)
"""Name of a dialect -> the dialect, made once: nothing changes it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repair:
    """What a dialect would write with another meaning; it is compared by identity.

    Attributes:
        of: the classes of the nodes that it is tried on.
        run: node -> what stands in its place, or the node itself where it was changed; None: nothing is to be done.
    """

    of: tuple[type[exp.Expr], ...]
    run: _Run


def repairs(*of: type[exp.Expr]) -> Callable[[_Run], Repair]:
    """Make a repair of a function."""
    return lambda run: Repair(of=of, run=run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """What the parser does not know of a dialect.

    Attributes:
        repairs: tried on the nodes of a user's SQL.
        repairs_by_call: lower-case name of a function -> a repair for texts that call it.
        bare_calls: functions that are called without parentheses.
        groups_comparisons: whether it groups comparisons with levels of its own; the parser follows the standard's.
        reads_fields: whether `column.field` reads a field of a nested value.
        extremes_of_values: whether MAX and MIN of several arguments are no aggregates.
        told_sizes: function -> the argument (from 0) that tells how large its value is, beyond those of all engines
            (`lpad`); None where one of theirs (`format`) tells none here.
    """

    repairs: tuple[Repair, ...] = ()
    repairs_by_call: Mapping[str, Repair] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    bare_calls: frozenset[str] = frozenset()
    groups_comparisons: bool = False
    reads_fields: bool = False
    extremes_of_values: bool = False
    size_arguments: Mapping[str, int | None] = field(default_factory=lambda: MappingProxyType({}), hash=False)


STANDARD_SYNTAX: Final = Syntax()
"""The parser knows all that matters."""


BindScalar = None | bool | int | float | str | bytes | Decimal | date | datetime
"""A single bound value; datetimes are naive UTC, or aware UTC for TIMESTAMPTZ columns."""

BindValue = BindScalar | list[BindScalar]
"""What may travel as a bound value; lists come from `EngineSpec.in_list` alone, for drivers that take them."""

Bind = Callable[[BindValue], exp.Expr]
"""Registers a value and returns the node that stands for it."""


class ParamStyle(StrEnum):
    """How a driver's statements name bound values."""

    QMARK = "qmark"
    NUMERIC_DOLLAR = "numeric_dollar"
    PYFORMAT = "pyformat"
    NAMED = "named"


class Undone(StrEnum):
    """What a transaction takes back when it is rolled back."""

    ALL = "all"
    ROWS = "rows"
    """Changes of rows; a change of the structure commits, and all before it."""
    NOTHING = "nothing"
    """Or it is not known: each statement stays."""


def nulls_are_small(descending: bool) -> bool:
    """Tell whether NULLs come first where they count as the smallest value."""
    return not descending


def nulls_are_large(descending: bool) -> bool:
    """Tell whether NULLs come first where they count as the largest value."""
    return descending


def nulls_are_last(_descending: bool) -> bool:
    """Tell whether NULLs come first where they never do."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBound:
    """A moment ready to be compared with a column: the left side as it must be written, and the value to bind.

    `near` are two values that the column itself can be compared with, so that an index serves: what is below the first
    lies before the moment, what is not below the second lies after it, and between them `left` decides, which cannot
    fail. None: `left` alone decides. It is `column`, or what `decode`, which many moments share, makes of that.
    """

    column: exp.Expr
    value: BindValue
    near: tuple[BindValue, BindValue] | None = None
    decode: Callable[[exp.Expr], exp.Expr] | None = None

    @property
    def left(self) -> exp.Expr:
        """The left side as it must be written."""
        return self.column if self.decode is None else self.decode(self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPattern:
    """A driver's message (regular expression, case-insensitive, `search`) and what it means.

    Named groups of the pattern that are also named in `template` fill it; a template holds no driver text but these.
    `codes` are the driver's codes, or classes of two letters, that choose the pattern; an error that has a code of an
    engine with such patterns is chosen by it alone, because values of rows may stand in its message. `retryable`: the
    error may be over later although nobody changes anything; None: as its type tells.
    """

    pattern: str
    error_type: ErrorType
    template: str
    codes: tuple[str, ...] = ()
    retryable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionParameters:
    """Which parameters a connection to the engine is entered by, instead of its URI.

    Attributes:
        names: those that it takes, as forms show them.
        required: those that it cannot do without.
        encryption: options of the URI that ask for an encrypted connection; empty: the URI cannot ask for it.
        has_address: whether `host` is a name or address that a server can be looked for at.
    """

    names: tuple[str, ...] = ("host", "port", "database", "username", "password", "query")
    required: tuple[str, ...] = ("host", "database", "username")
    encryption: Mapping[str, str] = field(default_factory=dict, hash=False)
    has_address: bool = True

    @classmethod
    def encrypted_by(cls, name: str, value: str) -> ConnectionParameters:
        """Return those of a server that an option of the URI asks to encrypt."""
        return cls(names=(*cls().names, "encryption"), encryption={name: value})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWrapper:
    """A callable of a driver's package that makes of a token what the driver takes for it.

    Attributes:
        path: its module and name, `package.module:name`.
        argument: that takes the token, or what another wrapper made of it; None: the first.
        host_as: a further argument, which takes the host of the URL; None: none.
    """

    path: str
    argument: str | None = None
    host_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserToken:
    """How the OAuth 2.0 token of a user reaches the driver.

    Attributes:
        argument: of the driver's `connect`; it takes the token.
        wrappers: what make of the token what the driver takes, one after the other; none: it takes the text.
        beside: further arguments.
        replaces: arguments that the URI may have given, and that are taken out.
        options: of the URL, which keep the dialect from looking for credentials of its own.
        is_sent_each_time: whether the driver sends it with each request, so that no connection outlives it.
    """

    argument: str = "password"
    wrappers: tuple[TokenWrapper, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict, hash=False)
    replaces: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_sent_each_time: bool = False

    @classmethod
    def wrapped_by(cls, path: str, *, argument: str) -> UserToken:
        """Return how a driver takes an object of its package that is made of the token, and sends with each request."""
        return cls(argument=argument, wrappers=(TokenWrapper(path=path),), is_sent_each_time=True)


TOKEN_AS_PASSWORD: Final = UserToken()
"""For servers that ask for a password, and let a plug-in of theirs check it."""

SERVER_PARAMETERS: Final = ConnectionParameters()
"""A server with users and databases, which encrypts as it is set up."""

FILE_PARAMETERS: Final = ConnectionParameters(names=("database",), required=("database",), has_address=False)
"""A file, named by its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedAuthorities:
    """How a driver is told which authorities vouch for a server, so that it takes no other and nothing unencrypted.

    Attributes:
        file: path of a file with their certificates (PEM) -> the driver's arguments.
        settings: option of a connection -> what is asked of it, in lower case ("" where nothing is) -> what the driver
            is told; what is not here cannot be asked beside the certificates.
    """

    file: Callable[[str], Mapping[str, Any]]
    settings: Mapping[str, Mapping[str, Any]]

    @classmethod
    def given_by(cls, argument: str | tuple[str, str], **options: Any) -> TrustedAuthorities:
        """Return those of a driver that takes the file by this argument, and one value of each of the `options`.

        Two names are those of an argument that is a mapping, and of its key.
        """
        outer, inner = (argument, None) if isinstance(argument, str) else argument
        settings = {option: {"": value, str(value).casefold(): value} for option, value in options.items()}
        return cls(file=lambda path: {outer: path if inner is None else {inner: path}}, settings=settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The facts of one engine, all of them: nothing else in the library knows an engine by its name.

    Attributes:
        guards: what the gate must know of it.
        syntax: where its dialect means something else than the parser believes.
        total: what never fails on any row, so that it needs no fence beside row rules; None: nothing was tried.
        name: ours, for example `postgresql`.
        aliases: further SQLAlchemy backend names that it serves (`mysql` serves `mariadb`).
        label: as people write it, for messages.
        dialect: sqlglot's name of its syntax.
        drivers: SQLAlchemy driver names allowed in URIs; the first is the default.
        registered_as: driver -> the name under which its package registers the dialect with SQLAlchemy, where that is
            not `name+driver`.
        usual_port: where its servers listen, for a URL that names no port; None: errors and the network policy are told
            no port then.
        server: host and port of a URL ("" and None where it names none) -> the host that the driver connects to, which
            the network policy is asked about.
        paramstyle: how `exec_driver_sql` takes bound values.
        extra_name: the extra of this package that installs the driver; None when nothing is needed.
        max_identifier_bytes: labels longer than this are cut and hashed; None: no limit that matters.
        largest_identifier_character: letters of labels beyond it are replaced in names.
        folds_names: whether columns whose names differ by case alone are one.
        moment: column node + its `TimeFormat` -> node of a naive UTC moment.
        bucket: moment node + grain -> node of the bucket's label (step 2); every grain on every engine.
        shift: moment node + whole hours -> node of the moved moment.
        sorted_moment: (column node, `TimeFormat`) -> what sorts as its moments do, with the fractions that `moment`
            cuts; the node itself where what is stored does. None: the format tells, and `moment` cuts nothing.
        time_bound: column node + format + naive UTC moment -> `TimeBound`; correct for `>=` and `<`
            (a bound inside the column's resolution is rounded up).
        time_equal: like `time_bound`, for `=` and IN; None as value when no stored value can equal the moment.
        text_key: text node -> node that selects, groups, counts distinct and orders by code point.
        all_digits: node of a FLOAT -> node that selects it with all its digits.
        text_equal: bound text -> node for the right side of `=`, `<>` and IN.
        text_order: bound text -> node for the right side of `<`, `<=`, `>`, `>=`.
        like: (left text node, pattern, fold_case, bind) -> condition; a backslash escapes in patterns everywhere.
        as_text: node of any kind -> the node as text.
        average: node -> AVG as a double.
        sum_: (node, kind) -> SUM; Booleans count as 0 and 1.
        extreme: (node, kind, is_max) -> MIN or MAX, Booleans included.
        count_distinct: (node, kind) -> COUNT(DISTINCT node), text by code point.
        is_true: (node, kind, truth) -> condition for IS TRUE and IS FALSE.
        in_list: (left, values, kind, bind) -> IN condition over non-null values (at least one); one parameter
            for long lists where the driver takes it.
        literal: value -> SQL text of the literal, for the statement as people read it.
        value_kind: the engine's type text (`VARCHAR(20)`) -> kind.
        number_range: type text -> the exact numbers that such a column holds; None: any, or not known.
        number: whole number or decimal -> what the driver takes for it.
        null_safe_equal: left, right -> equality in which NULL equals NULL.
        hashed_equal: (left, right, kind) -> a condition that null-safe equality implies and that a join can hash, for
            engines that cannot hash null-safe equality itself.
        collation: name of a column's collation, as reflected -> how its texts compare: groups, joins and orders have
            `text_key` where that may differ from code points, comparisons where texts are folded.
        searches_by_own_collation: whether an index of text serves only comparisons by the column's own collation.
        splits_nulls: whether an order that needs NULLs last cannot be read off an index, and two branches can.
        unsortable_kinds: of these kinds some types have no order at all on the engine.
        tie_keys: (node, kind, length) -> the sort keys that tell any two values of a column apart; `length` is the most
            characters that it holds, None: unknown.
        nulls_first_by_default: whether NULLs come first without saying so, for a descending (True) or ascending key.
        error_patterns: tried in order by `_engine.execution.diagnosis`.
        joins_as_written: whether only CROSS JOIN keeps the planner from reading the whole table for each best series.
        as_declared: (column node, type text) -> the column, and NULL for what is no value of the type, which is free
            where the type is true: no comparison then casts the column; None: the engine cannot, or knows no such type.
        closes_group_keys: whether keys of GROUP BY stand in parentheses, because sqlglot would write an alias instead.
        partitions: how partitions of tables are told; None: not known.
        parameters: by what a connection is entered where no URI is given.
        user_token: how the OAuth 2.0 token of a user reaches the driver; None: the engine takes none.
        secret_options: options of `extra` of a database that are secret, and that the dialect takes.
        authorities: how the driver is told whom to trust; None: it takes no certificates.
        handed_over: options of URIs that the dialect leaves out, which the driver takes as arguments.
        undone: what a rollback takes back.
        costs: how it estimates the cost of a statement; None: nothing here asks it, or it estimates nothing.
        compares_moments_as_text: whether moments are stored as texts, and a bound compares with them letter by letter.
    """

    name: str
    label: str
    dialect: str
    guards: Guards
    error_patterns: tuple[ErrorPattern, ...]
    syntax: Syntax = STANDARD_SYNTAX
    total: TotalOperations | None = None
    aliases: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    registered_as: Mapping[str, str] = field(default_factory=dict, hash=False)
    usual_port: int | None = None
    server: Callable[[str, int | None], str] = lambda host, _port: host or "localhost"
    paramstyle: ParamStyle = ParamStyle.PYFORMAT
    extra_name: str | None = None
    max_identifier_bytes: int | None = None
    largest_identifier_character: str = "\U0010ffff"
    moment: Callable[[exp.Expr, TimeFormat], exp.Expr]
    bucket: Callable[[exp.Expr, TimeGrain], exp.Expr]
    shift: Callable[[exp.Expr, int], exp.Expr]
    time_bound: Callable[[exp.Expr, TimeFormat, datetime], TimeBound]
    time_equal: Callable[[exp.Expr, TimeFormat, datetime], TimeBound]
    text_key: Callable[[exp.Expr], exp.Expr]
    text_equal: Callable[[exp.Expr], exp.Expr]
    text_order: Callable[[exp.Expr], exp.Expr]
    like: Callable[[exp.Expr, str, bool, Bind], exp.Expr]
    as_text: Callable[[exp.Expr], exp.Expr]
    average: Callable[[exp.Expr], exp.Expr]
    sum_: Callable[[exp.Expr, ValueKind], exp.Expr]
    extreme: Callable[[exp.Expr, ValueKind, bool], exp.Expr]
    count_distinct: Callable[[exp.Expr, ValueKind], exp.Expr]
    is_true: Callable[[exp.Expr, ValueKind, bool], exp.Expr]
    in_list: Callable[[exp.Expr, Sequence[BindValue], ValueKind, Bind], exp.Expr]
    literal: Callable[[BindValue], str]
    value_kind: Callable[[str], ValueKind]
    null_safe_equal: Callable[[exp.Expr, exp.Expr], exp.Expr]
    all_digits: Callable[[exp.Expr], exp.Expr] = lambda node: node
    number_range: Callable[[str], NumberRange | None] = lambda _type_text: None
    number: Callable[[int | Decimal], BindScalar] = lambda number: number
    hashed_equal: Callable[[exp.Expr, exp.Expr, ValueKind], exp.Expr] | None = None
    collation: Callable[[str | None], Collation] = lambda _name: Collation.UNKNOWN
    searches_by_own_collation: bool = False
    splits_nulls: bool = False
    unsortable_kinds: frozenset[ValueKind] = frozenset({ValueKind.OTHER})
    tie_keys: Callable[[exp.Expr, ValueKind, int | None], tuple[exp.Expr, ...]] = lambda node, _kind, _length: (node,)
    nulls_first_by_default: Callable[[bool], bool] = nulls_are_small
    joins_as_written: bool = False
    allows_joins: bool = True
    allows_subqueries: bool = True
    allows_cte_in_subquery: bool = True
    costs: CostEstimates | None = None
    closes_group_keys: bool = False
    folds_names: bool = False
    as_declared: Callable[[exp.Expr, str], exp.Expr | None] = lambda _column, _type_text: None
    undone: Undone = Undone.NOTHING
    compares_moments_as_text: bool = False
    sorted_moment: Callable[[exp.Expr, TimeFormat], exp.Expr] | None = None
    partitions: PartitionReader | None = None
    parameters: ConnectionParameters = SERVER_PARAMETERS
    user_token: UserToken | None = None
    secret_options: tuple[str, ...] = ()
    authorities: TrustedAuthorities | None = field(default=None, hash=False)
    handed_over: frozenset[str] = frozenset()
