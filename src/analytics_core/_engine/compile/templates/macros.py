"""The names that templates know: about the query, its user and its filters; in row rules, about who acts alone.

Some macros look beyond the query: metrics and rows of other datasets, row rules, partitions of tables. SQL of those who
may write it stands in the text as it is, and is checked with the rest; a value is a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Protocol

from analytics_core._engine.compile.templates.sandbox import MAX_RANGE, Macro, RenderState, TemplateSteps, check_format
from analytics_core._engine.compile.templates.text import (
    CONTROL_CHARACTERS,
    MomentLiteral,
    MomentText,
    UserText,
    quoted_mark,
    raw_text,
    shortest_text,
    user_value,
)
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import MissingTemplateValueError, TemplateError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import FilterOperator

LOOKUP_NAMES: Final = frozenset({"metric", "dataset", "current_user_rls_rules", "latest_partition"})
"""The macros of this module."""


class Lookups(Protocol):
    """What stands behind these macros; each call stays within what the actor may read, or raises."""

    def metric(self, name: str, dataset_id: int | None) -> str:
        """Return the SQL of a saved metric; `dataset_id` None: of the dataset that is asked."""

    def relation(self, dataset_id: int, columns: Sequence[str] | None, *, with_metrics: bool) -> str:
        """Return the query of another dataset's rows that the actor may see; `columns` None: all of them."""

    def row_rules(self) -> tuple[str, ...]:
        """Return the conditions that bind the actor on the dataset, sorted."""

    def latest_partition(self, table: str) -> str:
        """Return the value by which the newest partition of a table that has rows is found."""


def lookup_macros(lookups: Lookups | None) -> dict[str, Any]:
    """Return the macros over what `lookups` knows; without it each refuses."""

    def macro(name: str, run: Callable[..., Any]) -> Macro:
        def call(state: RenderState, *args: Any, **options: Any) -> Any:
            if lookups is None:
                raise TemplateError(f"{name}() cannot be used here")
            return run(lookups, state, *args, **options)

        return Macro(call)

    return {
        "metric": macro("metric", _metric),
        "dataset": macro("dataset", _dataset),
        "current_user_rls_rules": macro("current_user_rls_rules", _row_rules),
        "latest_partition": macro("latest_partition", _latest_partition),
    }


def _metric(lookups: Lookups, state: RenderState, metric_key: str, dataset_id: int | None = None) -> str:
    found = lookups.metric(str(raw_text(metric_key)), None if dataset_id is None else _id(dataset_id))
    return _written(state, f"({found}\n)")  # a comment at its end ends with its line


def _dataset(
    lookups: Lookups,
    state: RenderState,
    dataset_id: int,
    include_metrics: bool = False,
    columns: Sequence[str] | None = None,
) -> str:
    wanted = _id(dataset_id)
    if columns is not None and not isinstance(columns, list | tuple):
        raise TemplateError("dataset(): columns must be a list of names")
    names = None if not columns else [str(raw_text(name)) for name in columns]
    found = lookups.relation(wanted, names, with_metrics=bool(include_metrics))
    return _written(state, f"(\n{found}\n) AS dataset_{wanted}")


def _row_rules(lookups: Lookups, state: RenderState) -> list[str] | None:
    return [_written(state, rule) for rule in lookups.row_rules()] or None


def _latest_partition(lookups: Lookups, state: RenderState, table_name: str) -> UserText:
    value = lookups.latest_partition(str(raw_text(table_name)))
    state.text(len(value))
    return UserText(value)


def _id(value: object) -> int:
    text = str(raw_text(value))
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise TemplateError("the id of a dataset is a whole number")
    return int(text)


def _written(state: RenderState, text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise TemplateError("SQL that a macro takes in holds control characters")
    state.text(len(text))
    return text


TimeBounds = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFilter:
    """One filter of the query, as templates see it; `val` as the payload gave it."""

    col: str
    op: str
    val: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateValues:
    """What templates may use. What comes from a payload, a token or a user is only ever written as a literal.

    Attributes:
        spec: the engine, for the literals; None: standard SQL.
        user_id, username, email, roles: of the actor; None for a guest.
        url_params: of the query context.
        template_params: of the dataset, written as literals; they never hide a name of ours.
        filters: of the query.
        since, until: the query's time bounds, naive UTC.
        time_range: as the query wrote it.
        resolve_range: a time range's text -> its bounds; for `get_time_filter` on other columns and its default.
        lookups: what the macros ask that look beyond the query.
        writes_sql: whether who asks may write SQL on the database; else what they give is a literal on every road.
        is_sample: nobody asks yet, for example while columns are looked up: parameters of the address stand as NULL,
            and the range counts for every column.
        steps: the work that all templates of the request may still do; None: this template stands alone.
    """

    spec: EngineSpec | None = None
    user_id: int | None = None
    username: str | None = None
    email: str | None = None
    roles: tuple[str, ...] = ()
    url_params: Mapping[str, Any] = field(default_factory=dict)
    template_params: Mapping[str, Any] = field(default_factory=dict)
    filters: tuple[TemplateFilter, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    time_range: str | None = None
    columns: tuple[str, ...] = ()
    groupby: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = ()
    row_limit: int | None = None
    row_offset: int | None = None
    table_columns: tuple[str, ...] = ()
    time_column: str | None = None
    time_grain: str | None = None
    resolve_range: Callable[[str], TimeBounds] | None = None
    lookups: Lookups | None = None
    writes_sql: bool = False
    is_sample: bool = False
    steps: TemplateSteps | None = None

    @property
    def dialect(self) -> str | None:
        """Return sqlglot's name of the engine's syntax."""
        return self.spec.dialect if self.spec else None


OWN_NAMES: Final = frozenset(
    {
        "url_param", "current_user_id", "current_username", "current_user_email", "current_user_roles",
        "cache_key_wrapper", "filter_values", "get_filters", "get_time_filter", "range", "from_dttm", "to_dttm",
        "columns", "groupby", "metrics", "filter", "row_limit", "row_offset", "table_columns", "time_column",
        "time_grain", *LOOKUP_NAMES,
    }
)  # fmt: skip
"""What templates and their parameters cannot give another meaning."""

RANGE_NAMES: Final = frozenset({"from_dttm", "to_dttm", "get_time_filter"})
"""What tells a template the time range of the query."""

_NO_RANGE: Final = "No filter"
_NO_VALUE: Final = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE", "IS FALSE"})
_OPERATORS: Final = frozenset(operator.value for operator in FilterOperator)
_MANY: Final = frozenset({"IN", "NOT IN"})
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'")
_WORDS: Final = "(?i:null|true|false|asc|desc)"
_PART: Final = re.compile(rf"{_LITERAL.pattern}|-?\d+(?:\.\d+)?|{_WORDS}", re.ASCII)
_PARTS: Final = re.compile(rf"(?:{_PART.pattern})(?:\s*,\s*(?:{_PART.pattern}))*", re.ASCII)


class QueryMacros:
    """The macros over one query's values."""

    def __init__(self, values: TemplateValues) -> None:
        self._values = values

    def names(self) -> dict[str, Any]:
        """Return all names that a template may use; ours last, so that no parameter hides them."""
        values = self._values
        return {
            **{name: user_value(value) for name, value in values.template_params.items()},
            "url_param": Macro(self._url_param),
            "current_user_id": Macro(self._identity(values.user_id)),
            "current_username": Macro(self._identity(values.username)),
            "current_user_email": Macro(self._identity(values.email)),
            "current_user_roles": Macro(self._identity(sorted(values.roles))),
            "cache_key_wrapper": Macro(self._cache_key_wrapper),
            "filter_values": Macro(self._filter_values),
            "get_filters": Macro(self._get_filters),
            "get_time_filter": Macro(self._get_time_filter),
            "range": Macro(_range),
            **lookup_macros(values.lookups),
            "from_dttm": self._moment(values.since),
            "to_dttm": self._moment(values.until),
            "columns": user_value(values.columns),
            "groupby": user_value(values.columns if values.groupby is None else values.groupby),
            "metrics": user_value(values.metrics),
            "filter": [self._filter_value(item) for item in values.filters],
            "row_limit": values.row_limit,
            "row_offset": values.row_offset,
            "table_columns": list(values.table_columns),
            "time_column": user_value(values.time_column),
            "time_grain": user_value(values.time_grain),
        }

    def _url_param(
        self,
        _state: RenderState,
        name: str,
        default: Any = None,
        add_to_cache_keys: bool = True,  # noqa: ARG002 - the cache key holds the rendered SQL, and so the value
        escape_result: bool = True,
    ) -> Any:
        key = str(raw_text(name))
        value = self._values.url_params.get(key)
        if value is None and default is None:
            return "NULL" if self._values.is_sample else None
        if value is None:
            return user_value(default) if escape_result and not _is_literal(default) else default
        if escape_result or not isinstance(value, str):
            return user_value(value)
        return value if self._values.writes_sql else _only_literals(value, key)

    def _identity(self, value: Any) -> Callable[..., Any]:
        def run(_state: RenderState, add_to_cache_keys: bool = True) -> Any:  # noqa: ARG001 - as in `_url_param`
            return user_value(value)

        return run

    def _cache_key_wrapper(self, _state: RenderState, value: Any) -> Any:
        return value

    def _matching(self, state: RenderState, column: Any, remove_filter: bool) -> list[TemplateFilter]:
        name = str(raw_text(column))
        found = [item for item in self._values.filters if item.col == name]
        if remove_filter and found:
            state.removed.append(name)
        return found

    def _filter_values(
        self, state: RenderState, column: str, default: Any = None, remove_filter: bool = False
    ) -> list[Any]:
        """Return the members of the column's IN and equality filters, else the default as a list."""
        values: list[Any] = []
        for item in self._matching(state, column, remove_filter):
            if item.op.upper() in _MANY or item.op in ("==", "="):
                values.extend(_as_list(item.val))
        return [user_value(value) for value in values or _as_list(default)]

    def _get_filters(self, state: RenderState, column: str, remove_filter: bool = False) -> list[dict[str, Any]]:
        return [self._filter_value(item) for item in self._matching(state, column, remove_filter)]

    def _filter_value(self, item: TemplateFilter) -> dict[str, Any]:
        op = item.op.upper()
        fields: dict[str, Any] = {"op": op if op in _OPERATORS else user_value(op), "col": user_value(item.col)}
        if op not in _NO_VALUE:
            fields["val"] = user_value(list(_as_list(item.val)) if op in _MANY else item.val)
        return fields

    def _get_time_filter(  # noqa: PLR0917 - templates call it by position, in this documented order
        self,
        state: RenderState,
        column: str | None = None,
        default: str | None = None,
        target_type: str | None = None,
        strftime: str | None = None,
        remove_filter: bool = False,
    ) -> dict[str, Any]:
        since, until, text = self._time_bounds(state, column, default, remove_filter)
        write = _moment_writer(target_type, strftime, self._values.spec)
        return {
            "from_expr": write(since) if since else None,
            "to_expr": write(until) if until else None,
            "time_range": user_value(text),
        }

    def _time_bounds(
        self, state: RenderState, column: str | None, default: str | None, remove_filter: bool
    ) -> tuple[datetime | None, datetime | None, str]:
        values = self._values
        for item in self._matching(state, column, remove_filter) if column is not None else ():
            if item.op.upper() == "TEMPORAL_RANGE":
                bounds = self._resolved(str(item.val))
                if default is None or any(bounds):
                    return (*bounds, str(item.val))
        of_query = column is None or values.is_sample or str(raw_text(column)) == values.time_column
        if of_query and (values.since or values.until):
            return values.since, values.until, values.time_range or _NO_RANGE
        if default is not None:
            return (*self._resolved(str(raw_text(default))), str(raw_text(default)))
        return None, None, _NO_RANGE

    def _moment(self, moment: datetime | None) -> MomentText | None:
        if moment is None:
            return None
        spec = self._values.spec
        return MomentText(moment, compared_as_text=spec is not None and spec.compares_moments_as_text)

    def _resolved(self, text: str) -> TimeBounds:
        if self._values.resolve_range is None:
            raise TemplateError("get_time_filter cannot read other time ranges than the query's here")
        return self._values.resolve_range(text)


def _as_list(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def _only_literals(text: str, name: str) -> str:
    """Return literals and keywords that a reader gave as a part of the SQL; TemplateError for anything else."""
    if _PARTS.fullmatch(text.strip()) is None:
        raise TemplateError(
            f"the address parameter {short_repr(name)} stands as a part of the SQL (escape_result=false): give "
            "numbers, texts in quotes, NULL, TRUE, FALSE, ASC or DESC, with commas between them; more is for people "
            "who may write SQL on the database"
        )
    return _PART.sub(lambda found: _written_part(found[0]), text.strip())


def _written_part(part: str) -> str:
    """Return a literal, marked to be written as the engine has it, or a keyword that joins no name beside it."""
    if part.startswith("'"):
        return quoted_mark(part[1:-1].replace("''", "'"))
    return f" {part} " if part.isalpha() else str(UserText(part))


def _is_literal(value: Any) -> bool:
    """Tell whether a default is an SQL literal as its author wrote it, quotes included."""
    return isinstance(value, str) and _LITERAL.fullmatch(value) is not None


def _moment_writer(target_type: str | None, strftime: str | None, spec: EngineSpec | None) -> Callable[[datetime], str]:
    """Return what writes moments: by a format, as a literal of a type of the engine, or as text in quotes."""
    if strftime is not None:
        pattern = check_format(str(raw_text(strftime)))
        return lambda moment: moment.strftime(pattern)
    kind = spec.value_kind(str(raw_text(target_type))) if spec and target_type else ValueKind.UNKNOWN
    if spec is None or not kind.is_temporal or spec.compares_moments_as_text:
        return lambda moment: MomentLiteral(f"'{shortest_text(moment)}'", moment)
    literal = spec.literal
    if kind is ValueKind.DATE:
        return lambda moment: MomentLiteral(literal(_first_day(moment)), moment)
    if kind is ValueKind.TIMESTAMPTZ:
        return lambda moment: MomentLiteral(literal(moment.replace(tzinfo=UTC)), moment)
    return lambda moment: MomentLiteral(literal(moment), moment)


def _first_day(moment: datetime) -> date:
    """Return the first day that does not begin before a moment: what bounds a column of days alike."""
    begins = moment.time() == datetime.min.time()
    return moment.date() if begins or moment.date() == date.max else moment.date() + timedelta(days=1)


def _range(state: RenderState, *args: int) -> list[int]:
    numbers = range(*args)
    if len(numbers) > MAX_RANGE:
        raise TemplateError(f"a template's range() has more than {MAX_RANGE} numbers")
    state.spend(1 + len(numbers))
    return list(numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorFacts:
    """Who acts, as row rules see it; an attribute may have several values, `values` are those of a guest's rule."""

    user_id: int | None = None
    username: str | None = None
    email: str | None = None
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


def actor_macros(actor: ActorFacts) -> dict[str, Any]:
    """Return the macros of row rules; what the actor does not have has no value, and stops the query."""

    def attribute(_state: RenderState, name: str, default: Any = None) -> Any:
        values = actor.attributes.get(str(raw_text(name)), ())
        if not values and default is not None:
            return user_value(default)
        if not values:
            missing = MissingTemplateValueError("you lack an attribute that it needs; ask an administrator for it")
            missing.detail = f"the person has no attribute {short_repr(str(raw_text(name)))}, which it needs"
            raise missing
        return user_value(values[0] if len(values) == 1 else list(values))

    def rule_value(_state: RenderState, name: str) -> Any:
        known = str(raw_text(name))
        if known not in actor.values:
            raise MissingTemplateValueError("it needs a value that is not among the rule's values; add it there")
        return user_value(actor.values[known])

    def fact(value: Any) -> Macro:
        def run(_state: RenderState) -> Any:
            if value is None:
                raise MissingTemplateValueError("it needs to know more of you than is stored; ask an administrator")
            return user_value(value)

        return Macro(run)

    return {
        "current_user_id": fact(actor.user_id),
        "current_username": fact(actor.username),
        "current_user_email": fact(actor.email),
        "current_user_roles": fact(sorted(actor.roles)),
        "current_user_attribute": Macro(attribute),
        "value": Macro(rule_value),
    }
