"""What a query and a chart have in common: a query context, its statement, its explanation, its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from analytics_core._engine.results.display import answer_blocks
from analytics_core._tools.display.blocks import Blocks, CodeBlock
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.errors import QueryError, UnknownNameError

if TYPE_CHECKING:
    from analytics_core._engine.querying.explain import Explanation
    from analytics_core._engine.results.answer import ChartData
    from analytics_core._superset.payload import BuiltPayload
    from analytics_core.models.chart import ChartGet

if TYPE_CHECKING:
    import pandas as pd


class ChartNamespace(Protocol):
    """What the builder asks of `core.charts`."""

    def data(self, question: Mapping[str, Any], *, force: bool = False) -> ChartData:
        """Return the answer to a query context."""

    def explain(self, question: Mapping[str, Any]) -> Explanation:
        """Return why the answer would be what it is."""

    def payload_of(self, form_data: Mapping[str, Any]) -> BuiltPayload:
        """Return the query context that form data ask."""

    def create(self, payload: Mapping[str, Any]) -> ChartGet:
        """Store a chart."""


_ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("filter", "filter_by"), ".where(...)"),
        **dict.fromkeys(("groupby", "group_by"), ".by(...)"),
        **dict.fromkeys(("head", "take", "fetch"), ".limit(5)"),
        **dict.fromkeys(("order_by", "orderby", "sort", "sort_by", "sort_values"), ".order('-revenue')"),
        **dict.fromkeys(("agg", "aggregate", "select", "metrics"), ".query('revenue'), or .raw('id') for rows"),
        **dict.fromkeys(("polars", "to_polars", "pl"), ".run()[0].polars()"),
        **dict.fromkeys(("arrow", "to_arrow"), ".run()[0].arrow()"),
        **dict.fromkeys(("rows", "fetchall", "fetchone"), ".run()[0].rows()"),
        **dict.fromkeys(("df", "to_df", "to_pandas"), ".pandas()"),
        **dict.fromkeys(("execute", "collect", "compute"), ".run()"),
        **dict.fromkeys(("plot", "draw"), ".chart('line')"),
        "save": ".save_as('A name')",
    }
)
"""What other libraries call a step, and what it is here."""


class UnknownStepError(UnknownNameError, AttributeError):  # type: ignore[misc]  # name
    """A step that questions do not have, read as an attribute; the message names the one that is meant."""

    noun = "step"


class UnrunQueryError(QueryError, TypeError):
    """A question that is taken for its rows, by `len`, `for` or an index; the message says how to get them."""


class RunnableQuery(ABC):
    """A query context with what answers it. Nothing runs before `run`, `pandas` or a display.

    Args:
        charts: what answers query contexts.
    """

    __slots__ = ("_charts",)

    def __init__(self, charts: ChartNamespace) -> None:
        self._charts = charts

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _ELSEWHERE:
            raise UnknownStepError(name, place="a question", hint=f"use {_ELSEWHERE[name]}")
        raise UnknownStepError(name, place="a question", known=[own for own in dir(type(self)) if own[0] != "_"])

    def _reject_as_rows(self, *_: object) -> NoReturn:
        raise UnrunQueryError(
            "a question has no rows before it runs: .run()[0].rows() are they, .pandas() is a DataFrame of them; "
            "DATASET.query(DATASET.count()) asks how many there are"
        )

    __len__ = __iter__ = __getitem__ = __contains__ = _reject_as_rows

    def __bool__(self) -> bool:
        return True

    @abstractmethod
    def _context(self) -> dict[str, Any]:
        """Return the query context, which nobody may change."""

    def payload(self) -> dict[str, Any]:
        """Return the query context, a plain dict of its own (contract, ChartDataQueryContextSchema).

        Raises:
            EmptyQueryError, DuplicateLabelError: nothing is asked, or two things have one name.
            QueryError: steps that do not go together; the message says what to do.
            PayloadSchemaError: fields of a chart's form that cannot be used.

        Examples:
            >>> orders.query("revenue").by("country").payload()["queries"]
            [{'columns': ['country'], 'metrics': ['revenue']}]
        """
        own: dict[str, Any] = copied(self._context())
        return own

    @property
    def sql(self) -> str:
        """The statement that would run, values written in, as a property; nothing runs.

        SQL of your own is a value of the dataset: `orders.sql("MEDIAN(amount)")`.

        Raises:
            AnalyticsError: what stops the query.

        Examples:
            >>> orders.query("revenue").sql
            'SELECT SUM("orders"."amount") AS "revenue" FROM "orders" LIMIT 50001'
        """
        query = self.explain().queries[0]
        if query.failure is not None:
            raise query.failure
        return query.sql

    def explain(self) -> Explanation:
        """Return why the answer would be what it is, as `charts.explain` does; nothing runs.

        Examples:
            >>> print(orders.query("revenue").explain().queries[0].clauses[0].origin)
            dataset: metric 'revenue'
        """
        return self._charts.explain(self._context())

    def run(self, *, force: bool = False) -> ChartData:
        """Return the answer: `run().results[0]` has the rows.

        Args:
            force: read from the source, not the cache.

        Raises:
            AnalyticsError: what the query fails with, typed: also what has changed since the dataset was read.

        Examples:
            >>> orders.query("revenue").by("country").top(1).run().results[0].rows()
            [('Germany', ...)]
        """
        return self._charts.data(self._context(), force=force).raise_for_error()

    def pandas(self) -> pd.DataFrame:
        """Run the query and return its rows as a pandas DataFrame; `run` has the other forms.

        Raises:
            AnalyticsError: what the query fails with.

        Examples:
            >>> list(orders.query("revenue").by("country").pandas().columns)
            ['country', 'revenue']
        """
        return self.run().results[0].pandas()

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        """Run the query, and return its answer below it as code."""
        return [CodeBlock(text=repr(self)), *answer_blocks(self.run().results)]


def copied(value: Any) -> Any:
    """Return a value of JSON whose lists and objects belong to nobody else."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value
