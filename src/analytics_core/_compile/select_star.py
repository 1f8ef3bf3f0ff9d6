"""The statement that shows a table's first rows, for people to read and copy."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._compile.lower import quoted
from analytics_core._engines.spec import EngineSpec
from analytics_core._records.dataset import Dataset

_ROWS = 100


def select_star(dataset: Dataset, spec: EngineSpec) -> str:
    """Return `SELECT <columns> FROM <table> LIMIT 100` for a physical dataset, in the syntax of its engine."""
    names = [column.column_name for column in dataset.columns if not column.expression]
    table = exp.Table(
        this=quoted(dataset.table_name),
        db=quoted(dataset.schema) if dataset.schema else None,
        catalog=quoted(dataset.catalog) if dataset.catalog else None,
    )
    columns: list[exp.Expr] = [exp.Column(this=quoted(name)) for name in names] or [exp.Star()]
    return exp.select(*columns).from_(table).limit(_ROWS).sql(dialect=spec.dialect, pretty=True)
