"""`assert_isolated`: a test that no tenant sees a row, a count or a value of another tenant's rows, on any road."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from analytics_core._content.questions.queries import ChartQueries
from analytics_core._core.facade import AnalyticsCore
from analytics_core._core.guest_core import GuestCore
from analytics_core._engine.results.answer import QueryResult
from analytics_core.errors import AnalyticsError

Row = Mapping[str, Any]
Raw = Mapping[str, Sequence[Row]]
"""Raw rows by the road that showed them."""

Owns = Mapping[str, Any] | Callable[[Row], bool]
"""What makes a row a tenant's own: values of columns (one, or a list of them), or a function of the row."""

TenantKey = int | str | AnalyticsCore | GuestCore
"""The id or name of a user, or a core on which somebody acts: `core.as_guest(token)`, `core.as_user("anna")`."""

_MOST_ROWS: Final = 50_000
_RAW_ROADS: Final = ("drill_detail", "samples")
_ANSWERS: Final = ("full", "results", "post_processed")
_CONDITIONS: Final = ("filters", "time_range", "granularity", "url_params", "datasource", "datasource_id")
_CHART_LAYERS: Final = ("line", "table")
_OTHERS: Final = "Others"


def assert_isolated(
    core: AnalyticsCore,
    query: Mapping[str, Any],
    *,
    tenants: Iterable[TenantKey] | Mapping[TenantKey, Owns],
    key: str | None = None,
) -> None:
    """Ask `query` as each tenant on every road, and fail on any row that is not theirs.

    Guests are asked on the same roads, behind the door that shows them stored charts only: what binds is what their
    token and the stored rules say, whatever a dashboard comes to show.

    Roads: drill detail, samples, the query itself with the result types `full`, `results` and `post_processed`, its
    count of rows, and the values of each column that it groups by. All are asked twice, so that an entry of the cache
    that answers the wrong tenant is found too. What must hold:

    - each raw row is the tenant's own, where `tenants` says what that is, and no two tenants see the same raw row;
    - each value that is grouped by is one of the raw rows that the tenant sees, and their count is the count of rows;
    - the answer stays the same when the query is narrowed to the tenant's own rows, which `tenants` or `key` tells, or
      else a column whose values no two tenants share: so no metric, comparison or choice of series counts foreign rows;
    - what annotation layers show of charts is the tenant's own, where `tenants` names columns that they show.

    What it cannot see: figures over foreign rows in a column of a virtual dataset's SQL (`SUM(x) OVER () AS total`).
    A rule on that dataset alone binds after them; rules on its tables bind inside its SQL.

    Args:
        core: any core over the store; it acts as the users that `tenants` names.
        query: a query context, as `charts.data` takes it.
        tenants: ids or names of users, or cores on which somebody acts, such as `core.as_guest(token)`; with a mapping
            also what their rows look like: `{"anna": {"region": "EU"}}`, or a function of the row.
        key: the column that tells rows apart; None: all of them together, which two tenants' equal rows would fail.

    Raises:
        AssertionError: a foreign row, value or count; or the test would prove nothing, since somebody sees nothing or
            nothing tells the rows of tenants apart.

    Example:
        def test_tenants_are_apart(core):
            query = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["city"], "metrics": ["count"]}]}
            assert_isolated(core, query, tenants={"anna": {"tenant": "acme"}, "bert": {"tenant": "bolt"}}, key="id")
    """
    named = list(tenants.items()) if isinstance(tenants, Mapping) else [(tenant, None) for tenant in tenants]
    if len(named) < 2:
        raise AssertionError("assert_isolated needs two tenants at least: rows of one must be hidden from the other")
    for number, part in enumerate(query["queries"]):
        requested = [
            _TenantQuery(core=_acting(core, who), tenant=who, owns=owns, context=query, part=part, number=number)
            for who, owns in named
        ]
        _assert_all_apart(requested, key)


def _assert_all_apart(requested: Sequence[_TenantQuery], key: str | None) -> None:
    raw = [tenant.raw_rows() for tenant in requested]
    for first, second in combinations(range(len(requested)), 2):
        _assert_apart((requested[first], raw[first]), (requested[second], raw[second]), key)
    for _round in ("made", "kept in the cache"):
        for position, tenant in enumerate(requested):
            others = [row for rows in (*raw[:position], *raw[position + 1 :]) for row in rows["samples"]]
            tenant.check(raw[position], others, key)


def _acting(core: AnalyticsCore, who: TenantKey) -> AnalyticsCore | GuestCore:
    return who if isinstance(who, AnalyticsCore | GuestCore) else core.as_user(who)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TenantQuery:
    """One query of the context, asked as one tenant."""

    core: AnalyticsCore | GuestCore
    tenant: TenantKey
    owns: Owns | None
    context: Mapping[str, Any]
    part: Mapping[str, Any]
    number: int

    def raw_rows(self) -> dict[str, list[Row]]:
        """Return the raw rows behind the query, all columns, on each road that shows them."""
        found = {road: list(_records(self._ask(road, {**self._conditions(), "row_limit": 0}))) for road in _RAW_ROADS}
        for road, rows in found.items():
            if not rows:
                raise AssertionError(f"{self} sees no row at all on the road {road!r}: the test would prove nothing")
            if len(rows) >= _MOST_ROWS:
                raise AssertionError(f"{self} sees {_MOST_ROWS} rows or more; test with less data")
            self._assert_own(rows, road)
        return found

    def check(self, raw: Raw, others: Sequence[Row], key: str | None) -> None:
        """Ask every road once; AssertionError for what is not the tenant's. `others` are raw rows of other tenants."""
        for road in _RAW_ROADS:
            again = _records(self._ask(road, {**self._conditions(), "row_limit": 0}))
            self._assert_own(again, road)
        rows = raw["drill_detail"]
        for column in self._grouped_by():
            values = {**self._conditions(), "columns": [column], "metrics": []}
            self._assert_known(self._ask("full", values), rows, "values of a column")
        self._assert_counted(rows)
        own = self._own_filter(raw, others, key)
        for road in _ANSWERS:
            answer = self._ask(road, self.part)
            self._assert_known(answer, rows, road)
            self._assert_own_annotations(answer, road)
            self._assert_same_when_narrowed(answer, own, road)

    def _conditions(self) -> dict[str, Any]:
        """Return the query with its conditions on rows alone."""
        conditions = {name: value for name, value in self.part.items() if name in _CONDITIONS}
        where = (self.part.get("extras") or {}).get("where")
        return {**conditions, "extras": {"where": where}} if where else conditions

    def _ask(self, road: str, part: Mapping[str, Any]) -> QueryResult:
        requested = {name: value for name, value in part.items() if name != "result_type"}
        context = {**self.context, "queries": [requested], "result_type": road}
        questions = ChartQueries(self.core._runtime.content, self.core._actor())
        try:
            return questions.run(questions.request(context)).raise_for_error().results[0]
        except AnalyticsError as error:
            raise AssertionError(f"{self} cannot ask the road {road!r}: {error}") from error

    def _grouped_by(self) -> list[str]:
        """Return the columns that the query shows as they are; the moments of its granularity become buckets."""
        columns = self.part.get("columns") or ()
        return [name for name in columns if isinstance(name, str) and name != self.part.get("granularity")]

    def _assert_own(self, rows: Iterable[Row], road: str) -> None:
        for row in rows:
            if self.owns is not None and not _is_own(row, self.owns):
                raise self._foreign(row, road)

    def _assert_known(self, result: QueryResult, raw: Sequence[Row], road: str) -> None:
        records = list(_records(result))
        for name in self._grouped_by():
            known = {repr(row.get(name)) for row in raw} | {repr(_OTHERS)}
            for row in records:
                if name in row and repr(row[name]) not in known:
                    raise self._foreign({name: row[name]}, road)

    def _assert_own_annotations(self, result: QueryResult, road: str) -> None:
        """Make sure that what layers show of charts is the tenant's own, in the columns that say so."""
        owned = self.owns if isinstance(self.owns, Mapping) else {}
        for layer in result.annotations:
            for record in layer.records if layer.source_type in _CHART_LAYERS else ():
                wanted = {name: value for name, value in owned.items() if name in record}
                if not _is_own(record, wanted):
                    raise self._foreign(record, f"{road}, annotation layer {layer.name}")

    def _assert_counted(self, raw: Sequence[Row]) -> None:
        counted = self._count(self._conditions(), raw)
        if counted != len(raw):
            raise AssertionError(f"{self} counts {counted} rows and sees {len(raw)}: the count holds others' rows")

    def _count(self, conditions: Mapping[str, Any], raw: Sequence[Row]) -> int:
        counted = {**conditions, "columns": [next(iter(raw[0]))], "is_rowcount": True, "row_limit": 0}
        (row,) = _records(self._ask("full", counted))
        return int(row["rowcount"])

    def _own_filter(self, raw: Raw, others: Sequence[Row], key: str | None) -> list[dict[str, Any]]:
        """Return the condition that lets the tenant's own rows through and no other tenant's."""
        if isinstance(self.owns, Mapping):
            return [{"col": name, "op": "IN", "val": _listed(value)} for name, value in self.owns.items()]
        if key is not None:
            return [_is_one_of(key, raw["samples"])]
        for name in _columns_apart(raw["samples"], others):
            own = [_is_one_of(name, raw["samples"])]
            if self._count(_narrowed(self._conditions(), own), raw["drill_detail"]) == len(raw["drill_detail"]):
                return own
        raise AssertionError(
            f"{self}: no column of texts or whole numbers tells their rows from those of the others, so foreign rows "
            "in a metric would not be found; name the `key`, or say with columns what each tenant owns"
        )

    def _assert_same_when_narrowed(self, answer: QueryResult, own: Sequence[Mapping[str, Any]], road: str) -> None:
        """Make sure that a filter for the tenant's own rows takes nothing from the answer."""
        narrowed = self._ask(road, _narrowed(self.part, own))
        if answer.indexnames != narrowed.indexnames:
            raise AssertionError(
                f"{self} sees the lines {', '.join(answer.indexnames)}, and {', '.join(narrowed.indexnames)} "
                f"when narrowed to their own rows, on the road {road!r}"
            )
        full, part = list(_records(answer)), list(_records(narrowed))
        if len(full) != len(part):
            raise AssertionError(f"{self} sees {len(full)} rows, {len(part)} when narrowed to their own rows")
        for row, expected in zip(full, part, strict=True):
            if row.keys() != expected.keys() or not all(_same(row[name], expected[name]) for name in row):
                raise AssertionError(
                    f"{self} sees {dict(row)!r}, and {dict(expected)!r} when narrowed to their own rows: "
                    f"foreign rows are counted on the road {road!r}"
                )

    def _foreign(self, row: Row, road: str) -> AssertionError:
        dataset = (self.part.get("datasource") or self.context.get("datasource") or {}).get("id")
        where = f"core.row_level_security.simulate({self.name}, {dataset})"
        if isinstance(self.tenant, AnalyticsCore | GuestCore):
            where = "the rules of their token, or core.row_level_security,"
        return AssertionError(
            f"{self} sees what is not theirs on the road {road!r}: {dict(row)!r}; {where} tells which rules bind"
        )

    @property
    def name(self) -> str:
        """How the tenant is called in messages."""
        if not isinstance(self.tenant, AnalyticsCore | GuestCore):
            return repr(self.tenant)
        return repr(self.core._actor().username)

    def __str__(self) -> str:
        return f"query {self.number}: tenant {self.name}"


def _assert_apart(first: tuple[_TenantQuery, Raw], second: tuple[_TenantQuery, Raw], key: str | None) -> None:
    (one, ones), (other, others) = first, second
    for road in _RAW_ROADS:
        shared = {_identity(row, key) for row in ones[road]} & {_identity(row, key) for row in others[road]}
        for row in ones[road]:
            if _identity(row, key) in shared:
                raise AssertionError(
                    f"query {one.number}: tenants {one.name} and {other.name} both see {dict(row)!r} on the "
                    f"road {road!r}" + ("" if key else "; name the `key` when different rows may look alike")
                )


def _columns_apart(mine: Sequence[Row], others: Sequence[Row]) -> list[str]:
    """Return the columns whose values are all there, can be compared, and are in none of the others' rows."""
    kinds = {name: {row[name] for row in mine} for name in mine[0] if all(_is_plain(row[name]) for row in mine)}
    apart = [name for name, values in kinds.items() if not any(row.get(name) in values for row in others)]
    return sorted(apart, key=lambda name: len(kinds[name]))


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_one_of(column: str, rows: Sequence[Row]) -> dict[str, Any]:
    return {"col": column, "op": "IN", "val": list(dict.fromkeys(row[column] for row in rows))}


def _narrowed(part: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {**part, "filters": [*(part.get("filters") or ()), *own]}


def _identity(row: Row, key: str | None) -> str:
    if key is not None and key not in row:
        raise AssertionError(f"key: the rows have no column {key!r}; they have {', '.join(row)}")
    return repr(row[key]) if key is not None else repr(sorted(row.items()))


def _is_own(row: Row, owns: Owns) -> bool:
    if not isinstance(owns, Mapping):
        return bool(owns(row))
    missing = [name for name in owns if name not in row]
    if missing:
        raise AssertionError(f"tenants: the rows have no column {missing[0]!r}; they have {', '.join(row)}")
    return all(row[name] in _listed(wanted) for name, wanted in owns.items())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _records(result: QueryResult) -> Iterator[Row]:
    """Yield the rows of an answer; post-processed ones are columns, each a map of labels of lines to values."""
    data = result.data
    if not isinstance(data, Mapping):
        yield from data
        return
    for values in zip(*(column.values() for column in data.values()), strict=True):
        yield dict(zip(data, values, strict=True))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=1e-9)
    return bool(first == second)
