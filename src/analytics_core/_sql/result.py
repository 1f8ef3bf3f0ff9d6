"""The answer to a statement: a result like that of a chart query, which also draws itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from analytics_core._content.pictures.picture import Picture
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.user_directory import name_of
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.querying.sql_limits import LimitingFactor
from analytics_core._engine.querying.sql_queries import SqlAnswer
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.results.rows import ResultRows
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database
from analytics_core._records.sql_query import SqlQuery
from analytics_core._sql.charts import draw
from analytics_core.models.sql_editor import SqlQueryResult

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """The columns of an answer as the contract lists them, and its rows; `expanded` came out of nested ones."""

    columns: tuple[dict[str, Any], ...]
    selected: tuple[dict[str, Any], ...]
    expanded: tuple[dict[str, Any], ...]
    data: tuple[dict[str, Any], ...]


def answer_columns(result: QueryResult, *, expand: bool) -> AnswerColumns:
    """Return the columns and rows of a result; with `expand`, each column of objects is followed by those in it."""
    selected = result.frame.columns
    columns, expanded = list[FrameColumn](), list[FrameColumn]()
    for column in selected:
        inner = _fields_of(column, {one.name for one in (*selected, *expanded)}) if expand else []
        columns += [column, *inner]
        expanded += inner
    return AnswerColumns(
        columns=tuple(map(_described, columns)),
        selected=tuple(map(_described, selected)),
        expanded=tuple(map(_described, expanded)),
        data=tuple(ResultRows(Frame(columns=tuple(columns))).data()),
    )


def _described(column: FrameColumn) -> dict[str, Any]:
    kind = column.kind
    return {
        "column_name": column.name,
        "name": column.name,
        "type": kind.value,
        "is_dttm": kind.is_temporal,
    }


def _fields_of(column: FrameColumn, taken: set[str]) -> list[FrameColumn]:
    """Return a column for each field of a column that holds objects alone, or JSON texts of them; `a.b` of `a`."""
    objects = [_object(value) for value in column.to_list()]
    if not any(objects) or any(found is None for found in objects):
        return []
    names = dict.fromkeys(str(name) for found in objects for name in found or ())
    fresh = [name for name in names if f"{column.name}.{name}" not in taken]
    return [
        FrameColumn(
            name=f"{column.name}.{name}",
            kind=ValueKind.UNKNOWN,
            values=[(found or {}).get(name) for found in objects],
        )
        for name in fresh
    ]


def _object(value: Any) -> Mapping[str, Any] | None:
    """Return a value as an object, an empty one for null; None where it is something else."""
    if value is None:
        return {}
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SqlResult(QueryResult):
    """The rows of a statement: all that a `QueryResult` has, and the statement's own.

    Attributes:
        limiting_factor: which limit cut the rows (contract, `limitingFactor`): NOT_LIMITED, QUERY, DROPDOWN or
            QUERY_AND_DROPDOWN.
        tables: the relations that were read, sorted.
    """

    limiting_factor: LimitingFactor = LimitingFactor.NOT_LIMITED
    tables: tuple[str, ...] = ()
    _runtime: ContentRuntime | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, answer: SqlAnswer, runtime: ContentRuntime) -> Self:
        """Return the result of a statement that ran."""
        given = {each.name: getattr(answer.result, each.name) for each in fields(answer.result)}
        tables = tuple(map(str, answer.ready.tables))
        return cls(**given, limiting_factor=answer.factor, tables=tables, _runtime=runtime)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        r"""Return the rows as CSV, or write them to a file; errors are those of `ChartData.to_csv`.

        Examples:
            >>> core.sql("SELECT 1 AS one", database="shop").to_csv()
            b'\xef\xbb\xbfone\n1\n'
        """
        answer = ChartData(results=(self,))
        return answer.to_csv() if path is None else answer.to_csv(path)

    def chart(self, kind: str = "table", **options: Any) -> Picture:
        """Return the rows as a picture; its axis is the first column of times, or else the first that is no number.

        Args:
            kind: `line`, `bar`, `area`, `pie`, `table`, `big_number` and the others of a query's `.chart`.
            options: of the picture (`format`, `theme`, `width_px`, `height_px`, `scale`, `title`), and fields of the
                form, such as `show_legend=False`.

        Raises:
            UnknownNameError, QueryError: no such kind, field or option, or rows that it cannot show.
            MissingExtraError: nothing here draws; the extra `charts` does.

        Examples:
            >>> found = core.sql("SELECT country, SUM(amount) AS revenue FROM orders GROUP BY country", database="shop")
            >>> found.chart("bar", format="svg").data[:4]
            b'<svg'
        """
        self.raise_for_error()
        return draw(self, kind, options, self._runtime)


def client_result(query: SqlQuery, database: Database, actor: Actor) -> SqlQueryResult:
    """Return an execution as its client sees it (contract, `QueryResult`)."""
    fields = {
        "id": query.client_id,
        "queryId": query.id,
        "serverId": query.id,
        "sql": query.sql,
        "executedSql": query.executed_sql,
        "db": database.database_name,
        "dbId": database.id,
        "schema": query.schema,
        "tab": query.tab_name,
        "sqlEditorId": query.sql_editor_id,
        "user": name_of(actor.user),
        "userId": query.user_id,
        "state": query.state.value,
        "limit": query.limit,
        "limitingFactor": query.limiting_factor,
        "progress": query.progress,
        "rows": query.rows,
        "resultsKey": query.results_key,
        "startDttm": query.start_time,
        "endDttm": query.end_time,
        "changed_on": query.audit.changed_on,
        "ctas": query.select_as_cta,
        "errorMessage": query.error_message,
        "extra": {"tables": list(query.tables), **query.facts},
        "tempSchema": query.tmp_schema_name,
        "tempTable": query.tmp_table_name,
        "trackingUrl": query.tracking_url,
    }
    return SqlQueryResult(**fields)
