"""Relations and functions of the engines' own that show what other tables hold, what others run, or passwords."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from analytics_core._engines.spec import EngineSpec
from analytics_core._records.dataset import Dataset
from analytics_core.errors import StatementRefusedError


def refuse_revealing(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None = None) -> None:
    """Refuse a relation that shows rows of other tables, what others run, or passwords; StatementRefusedError."""
    last = name.rpartition(".")[2] if spec.guards.table_names.parted else name
    if _is_inside(last, spec, schema=schema, catalog=catalog) or last.lower() in spec.guards.revealing.relations:
        raise StatementRefusedError(
            f"the relation {name} is not allowed: it shows rows of other tables, what others run, or passwords"
        )


def _is_inside(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None) -> bool:
    """Tell whether a relation lies in a schema of that kind."""
    places, harmless = spec.guards.revealing.schemas, spec.guards.revealing.harmless
    inside = bool(schema) and (f"{schema}".lower() in places or f"{catalog}.{schema}".lower() in places)
    return inside and name.lower() not in harmless


def refuse_revealing_table(dataset: Dataset, spec: EngineSpec) -> None:
    """Refuse a dataset over such a relation, or by a name that the engine would cut or part; StatementRefusedError."""
    refuse_revealing(dataset.table_name, spec, schema=dataset.schema, catalog=dataset.catalog)
    refuse_cut_names((dataset.table_name, dataset.schema, dataset.catalog), spec)
    if spec.guards.table_names.parted and "." in dataset.table_name:
        raise StatementRefusedError(
            f"the table name {dataset.table_name!r} has a dot, by which {spec.label} would read a table of another "
            "schema; name schema and table apart"
        )


def refuse_revealing_calls(tree: exp.Expr, spec: EngineSpec) -> None:
    """Refuse the function that stands behind such relations; StatementRefusedError."""
    for call in tree.find_all(exp.Anonymous):
        if (name := call.name.lower()) in spec.guards.revealing.functions:
            raise StatementRefusedError(
                f"the function {name} is not allowed: it shows values of rows that may be hidden"
            )


def refuse_cut_names(parts: Iterable[str | None], spec: EngineSpec) -> None:
    """Refuse a table by a name that the engine would cut: no rule stands on that name; StatementRefusedError."""
    longest = spec.guards.table_names.longest
    for part in parts:
        if longest is not None and part and len(part.encode()) > longest:
            raise StatementRefusedError(
                f"the name {part[:20]}... has more than {longest} bytes, and the engine would read another table"
            )
