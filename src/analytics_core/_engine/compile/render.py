"""Renders an SQL tree to a statement: the driver's text with bound values, and the text that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from analytics_core._engine.compile.lowering.expressions import MARK, Binds, KnownTexts, Lowering
from analytics_core._engine.compile.lowering.query import bound_sql, lower, lower_relation, source_alias
from analytics_core._engine.compile.plain_sql import is_plain_query
from analytics_core._engine.compile.plan import QueryPlan, SqlSource
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.spec import BindScalar, BindValue, EngineSpec, ParamStyle, dialect_of
from analytics_core._engine.engines.types import ValueKind


def compile_plan(plan: QueryPlan, spec: EngineSpec, known: KnownTexts | None = None) -> Statement:
    """Return the statement of a plan on its engine; pure, no driver needed. `known` makes it quicker, not another."""
    tree, binds = lower(plan, spec, known)
    labels, kinds = labels_and_kinds(plan)
    return render(tree, binds, spec, labels=labels, kinds=kinds)


def labels_and_kinds(plan: QueryPlan) -> tuple[tuple[str, ...], tuple[ValueKind, ...]]:
    """Return the labels of what the statement of a plan gives, and the kinds of its values."""
    if plan.count_rows:
        return ("rowcount",), (ValueKind.INTEGER,)
    outputs = plan.outputs
    return tuple([output.label for output in outputs]), tuple([output.fetched_kind for output in outputs])


def relation_sql(plan: QueryPlan, spec: EngineSpec) -> str:
    """Return the rows of a plan as the query of a derived table, with its values written in it."""
    tree, binds = lower_relation(plan, spec)
    return render(tree, binds, spec, labels=(), kinds=()).display_sql


def render(
    tree: exp.Expr,
    binds: Binds,
    spec: EngineSpec,
    *,
    labels: tuple[str, ...],
    kinds: tuple[ValueKind, ...],
    binds_values: bool = True,
) -> Statement:
    """Return the statement of a tree whose bound values are marked; the tree may be changed by it.

    Without `binds_values` they are literals: no engine binds values in the definition of a table or view.
    """
    text = dialect_of(spec.dialect).generator(comments=False).generate(tree, copy=False)
    return written(text, binds, spec, labels=labels, kinds=kinds, binds_values=binds_values)


def written(
    text: str,
    binds: Binds,
    spec: EngineSpec,
    *,
    labels: tuple[str, ...],
    kinds: tuple[ValueKind, ...],
    binds_values: bool = True,
) -> Statement:
    """Return the statement of a text whose bound values are marked."""
    pieces, values = text.split(MARK), binds.values
    written_once = {id(value): value for value in values.values()}
    literals = {key: spec.literal(value) for key, value in written_once.items()}
    display_sql = "".join([literals[id(values[piece])] if i % 2 else piece for i, piece in enumerate(pieces)])
    style = _STYLES[spec.paramstyle]
    sql, parameters = style(pieces, _taken_by(spec, binds.values)) if binds_values else style([display_sql], {})
    return Statement(sql=sql, parameters=parameters, display_sql=display_sql, labels=labels, kinds=kinds)


Rendered = tuple[str, tuple[BindValue, ...] | dict[str, BindValue]]
"""The driver's text, and its bound values."""


def render_source(source: SqlSource, spec: EngineSpec) -> Rendered:
    """Return the SQL of a virtual dataset, with its row rules inside, as a statement of its own."""
    low = Lowering(
        spec=spec,
        binds=Binds(),
        alias=source_alias(source),
        fences_relations=not is_plain_query(source.tree, spec),
    )
    text = bound_sql(source, low) if source.rules else source.sql
    return _STYLES[spec.paramstyle](text.split(MARK), _taken_by(spec, low.binds.values))


def _taken_by(spec: EngineSpec, values: Mapping[str, BindValue]) -> dict[str, BindValue]:
    """Return the values as the engine's driver takes them."""

    def taken(value: BindScalar) -> BindScalar:
        # A bool is an int, and stays.
        return spec.number(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value

    def any_taken(value: BindValue) -> BindValue:
        return [*map(taken, value)] if isinstance(value, list) else taken(value)

    return {name: value if type(value) is str else any_taken(value) for name, value in values.items()}


def _qmark(pieces: Sequence[str], values: Mapping[str, BindValue]) -> Rendered:
    text = "".join(["?" if i % 2 else piece for i, piece in enumerate(pieces)])
    return text, tuple([values[name] for name in pieces[1::2]])


def _dollar(pieces: Sequence[str], values: Mapping[str, BindValue]) -> Rendered:
    text = "".join(f"${piece}" if i % 2 else piece for i, piece in enumerate(pieces))
    return text, {name: values[name] for name in pieces[1::2]}


def _pyformat(pieces: Sequence[str], values: Mapping[str, BindValue]) -> Rendered:
    text = "".join(f"%({piece})s" if i % 2 else piece.replace("%", "%%") for i, piece in enumerate(pieces))
    return text, {name: values[name] for name in pieces[1::2]}


def _named(pieces: Sequence[str], values: Mapping[str, BindValue]) -> Rendered:
    text = "".join(f":{piece}" if i % 2 else piece for i, piece in enumerate(pieces))
    return text, {name: values[name] for name in pieces[1::2]}


_STYLES = {
    ParamStyle.QMARK: _qmark,
    ParamStyle.NUMERIC_DOLLAR: _dollar,
    ParamStyle.PYFORMAT: _pyformat,
    ParamStyle.NAMED: _named,
}
