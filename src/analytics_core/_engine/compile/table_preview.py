"""The statement by which people look into a table."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._engine.engines.nodes import quoted
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._records.datasource import Dataset

_ROWS = 100


def select_star(dataset: Dataset, spec: EngineSpec, *, rows: int = _ROWS) -> str:
    """Return `SELECT <columns> FROM <table> LIMIT <rows>` for a physical dataset, in the syntax of its engine."""
    names = [column.column_name for column in dataset.columns if not column.expression]
    table = exp.Table(
        this=quoted(dataset.table_name),
        db=quoted(dataset.schema) if dataset.schema else None,
        catalog=quoted(dataset.catalog) if dataset.catalog else None,
    )
    columns: list[exp.Expr] = [exp.Column(this=quoted(name)) for name in names] or [exp.Star()]
    return exp.select(*columns).from_(table).limit(rows).sql(dialect=spec.dialect, pretty=True)
