"""What a context asks of each of its queries, made explicit: result types, samples and details spelled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytics_core._compile.plan import QueryPlan
from analytics_core._compile.time_bounds import names_range
from analytics_core._frames.pipeline import Step
from analytics_core._querying.unread_keys import unread_names
from analytics_core._records.dataset import Dataset
from analytics_core.errors import QueryError, UnknownColumnError
from analytics_core.models.enums import ResultType
from analytics_core.models.query import ChartDataQueryContext, ChartDataQueryObject

_LISTED_KEYS = 20
_NOT_STRICT = "ask without strict to have it told in the notes of the result"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuery:
    """One query of a context, by its position, the type of its result, and the totals that another query gave it."""

    position: int
    query: ChartDataQueryObject
    result_type: ResultType
    totals: tuple[tuple[str, float], ...] = ()


def asked_queries(context: ChartDataQueryContext) -> tuple[AskedQuery, ...]:
    """Return the queries of a context; a query's own result type goes before the context's."""
    return tuple(
        AskedQuery(position=i, query=query, result_type=query.result_type or context.result_type)
        for i, query in enumerate(context.queries)
    )


def effective_query(asked: AskedQuery, dataset: Dataset) -> ChartDataQueryObject:
    """Return the query as it will be planned: samples and drill detail ask for all columns as raw rows."""
    match asked.result_type:
        case ResultType.SAMPLES:
            # What the payload orders by is not honoured, and still asks for rows that can be read by pages.
            pages = {"row_offset": asked.query.row_offset} if asked.query.orderby else {}
            return _all_columns(asked.query, dataset, granularity=None, time_range=None, orderby=(), **pages)
        case ResultType.DRILL_DETAIL:
            first = dataset.columns[0].column_name if dataset.columns else None
            return _all_columns(asked.query, dataset, orderby=((first, True),) if first else ())
    return asked.query


def _all_columns(query: ChartDataQueryObject, dataset: Dataset, **changes: object) -> ChartDataQueryObject:
    return query.model_copy(
        update={
            "columns": tuple(column.column_name for column in dataset.columns),
            "metrics": None,
            "post_processing": (),
            "is_timeseries": False,
            "series_columns": (),
            "series_limit": 0,
            "time_offsets": (),
            **changes,
        }
    ).given_as({})


def notes_of(context: ChartDataQueryContext, asked: AskedQuery) -> tuple[str, ...]:
    """Return what a caller should know about parts of the payload that nobody reads."""
    query = asked.query
    return (*_unread(unread_names(context, query)), *_parameters_elsewhere(context, query), *_range_of_samples(asked))


def _parameters_elsewhere(context: ChartDataQueryContext, query: ChartDataQueryObject) -> tuple[str, ...]:
    form = context.form_data if isinstance(context.form_data, Mapping) else {}
    given = form.get("url_params")
    if not given or given == query.url_params:
        return ()
    return ("url_params of form_data are not read; templates read those of the query: queries[i].url_params",)


def _range_of_samples(asked: AskedQuery) -> tuple[str, ...]:
    query = asked.query
    if asked.result_type is not ResultType.SAMPLES or not names_range(query.time_range):
        return ()
    return (f"time_range {query.time_range!r} does not bound samples; a TEMPORAL_RANGE filter does",)


def notes_of_steps(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return what a caller should know about options of post-processing that nobody reads."""
    return tuple(f"{step.place}: {note}" for step in steps for note in _unread(step.unread))


def refuse_unused(asked: AskedQuery, plan: QueryPlan, steps: Sequence[Step], dataset: Dataset) -> None:
    """Refuse a query with parts that have no effect; what a dashboard added (`isExtra`) may have none.

    Raises:
        UnknownColumnError: a filter is on a column that the dataset does not have.
        QueryError: anything else that is not used.
    """
    place = f"queries[{asked.position}]"
    own = {item.col for item in asked.query.filters if isinstance(item.col, str) and not item.is_extra}
    lost = (item.column for item in plan.rejected_filters if item.reason == "not_in_datasource")
    for name in lost:
        if name in own and name not in plan.applied_filters:
            known = [column.column_name for column in dataset.columns]
            raise UnknownColumnError(name, dataset=dataset.table_name, known=known, place=f"{place}.filters")
    unused = (*plan.unused, *notes_of_steps(steps))
    if unused:
        raise QueryError(f"{place}: {'; '.join(unused)}; {_NOT_STRICT}")


def _unread(keys: Sequence[str]) -> tuple[str, ...]:
    return (f"kept but not read: {', '.join(keys[:_LISTED_KEYS])}",) if keys else ()
