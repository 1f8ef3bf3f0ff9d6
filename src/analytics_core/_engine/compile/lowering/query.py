"""Lowers a plan to an SQL tree: what it reads with the row rules inside, what it shows, its groups, its series.

GROUP BY, HAVING and ORDER BY repeat expressions and never name an alias, because engines disagree on what a bare name
means there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.generator import Generator

from analytics_core._engine.compile.fence import (
    Fence,
    FenceForm,
    fence_of_plan,
    fence_of_series,
    fences_relations,
    typed_fragments,
)
from analytics_core._engine.compile.fragments.sql_nodes import table_nodes
from analytics_core._engine.compile.lowering.expressions import (
    MARK,
    OFFSET,
    ROWS,
    Binds,
    KnownTexts,
    Lowering,
    Slots,
    aliases_of,
    is_constant,
    lower_displayed,
    lower_expr,
    lower_key,
    lower_sorted,
    raw,
)
from analytics_core._engine.compile.lowering.order import (
    apart_select,
    order_keys,
    set_limit,
    sorts_apart,
    split_select,
    splits_nulls,
)
from analytics_core._engine.compile.lowering.predicates import conjunction
from analytics_core._engine.compile.plan import (
    BucketExpr,
    ColumnExpr,
    FragmentExpr,
    OthersExpr,
    Output,
    OutputRole,
    PlanExpr,
    QueryPlan,
    RelationRule,
    SeriesLimit,
    SqlSource,
    TableSource,
)
from analytics_core._engine.compile.planning_context import VIRTUAL_ALIAS
from analytics_core._engine.compile.relation import NamePlace
from analytics_core._engine.engines.fences import PERMITTED_ROWS
from analytics_core._engine.engines.nodes import collate, number, quoted
from analytics_core._engine.engines.spec import EngineSpec, dialect_of
from analytics_core._engine.engines.types import Collation, ValueKind

ROWCOUNT_ALIAS = "rowcount_qry"


def source_alias(source: TableSource | SqlSource) -> str:
    """Return the alias with which the columns of a source are qualified."""
    return VIRTUAL_ALIAS if isinstance(source, SqlSource) else source.table


def begin_lowering(
    plan: QueryPlan, spec: EngineSpec, known: KnownTexts | None = None, slots: Slots | None = None
) -> Lowering:
    """Return what the lowering of a plan starts from."""
    return Lowering(
        spec=spec,
        binds=Binds(),
        alias=source_alias(plan.source),
        fences_relations=fences_relations(plan, spec),
        holds_types=bool(plan.row_rules),
        typed=typed_fragments(plan, spec),
        known=known,
        slots=slots,
    )


def lower(
    plan: QueryPlan, spec: EngineSpec, known: KnownTexts | None = None, slots: Slots | None = None
) -> tuple[exp.Select, Binds]:
    """Return the tree of the plan's statement and its bound values; `known` saves printing what was printed before.

    With `slots`, which a plan in two parts cannot have, its conditions and the numbers of its limit are marks.
    One row more than the limit is asked for, to tell a result that was cut from one that just fits.
    """
    low = begin_lowering(plan, spec, known, slots)
    rows = plan.limit.rows + surplus_rows(plan)
    if not plan.count_rows and splits_nulls(plan, low, rows=rows):
        select = split_select(plan, low, _select, rows=rows)
    elif not plan.count_rows and sorts_apart(plan, low):
        select = apart_select(plan, low, _select, rows=rows)
    else:
        select = _select(plan, low)
        set_limit(select, rows=rows, offset=plan.limit.offset)
    if slots is not None:
        _mark_limit(select, slots)
    if plan.count_rows:
        select = _counted(select)
    _hoist_ctes(select, spec)
    return select, low.binds


def _mark_limit(select: exp.Select, slots: Slots) -> None:
    for part, name in (("limit", ROWS), ("offset", OFFSET)):
        if (found := select.args.get(part)) is not None:
            found.set("expression", slots.number(name))


def surplus_rows(plan: QueryPlan) -> int:
    """Return how many rows beyond the limit a statement asks for."""
    return 0 if plan.count_rows else 1


def lower_relation(plan: QueryPlan, spec: EngineSpec) -> tuple[exp.Query, Binds]:
    """Return the tree of a plan's rows as a relation of another statement: all of them, in no order.

    Where row rules bind it stands behind a fence, for nobody knows what stands around it.
    """
    low = replace(begin_lowering(plan, spec), fences_relations=True)
    select = _select(replace(plan, order=()), low)
    return (spec.guards.fence(select) if plan.row_rules else select), low.binds


def _select(plan: QueryPlan, low: Lowering) -> exp.Select:
    """Return the statement of a plan without its limit."""
    fence = fence_of_plan(plan, low.spec)
    select = exp.Select(
        expressions=[
            exp.Alias(this=_output_node(output, low, grouped=plan.grouped), alias=quoted(name))
            for output, name in zip(plan.outputs, aliases_of(plan, low.spec), strict=True)
        ],
        from_=exp.From(this=lower_source(plan.source, fence, low)),
    )
    if plan.series_limit:
        select.set("joins", [_series_join(plan, plan.series_limit, low)])
    where = lower_where(fence, low)
    if where:
        select.set("where", exp.Where(this=where))
    _group(select, plan, low)
    keys = order_keys(plan.order, low)
    if keys:
        select.set("order", exp.Order(expressions=keys))
    return select


def _output_node(output: Output, low: Lowering, *, grouped: bool) -> exp.Expr:
    is_float = output.fetched_kind is ValueKind.FLOAT

    def make() -> list[exp.Expr]:
        node = lower_displayed(output.expr, low, grouped=grouped)
        return [low.spec.all_digits(node) if is_float else node]

    return low.written(("shown", is_float), output.expr, make)[0]


def _key(expr: PlanExpr, low: Lowering, lower_one: Callable[[PlanExpr, Lowering], exp.Expr]) -> exp.Expr:
    """Return what `lower_one` returns for an expression."""
    return low.written(lower_one, expr, lambda: [lower_one(expr, low)])[0]


def _group(select: exp.Select, plan: QueryPlan, low: Lowering) -> None:
    if not plan.grouped:
        return
    keys = dict.fromkeys(output.expr for output in plan.outputs if output.role is OutputRole.COLUMN)
    if keys:
        select.set("group", _grouped([_key(key, low, lower_expr) for key in keys if not is_constant(key)], low.spec))
    having = conjunction([clause.predicate for clause in plan.having], low)
    if having:
        select.set("having", exp.Having(this=having))


def _grouped(keys: list[exp.Expr], spec: EngineSpec) -> exp.Group:
    """Return the grouping by keys; without any, by something that is not a constant and the same in every row."""
    if not keys:
        keys = [exp.Add(this=number(1), expression=number(0))]
    return exp.Group(expressions=[exp.Paren(this=key) for key in keys] if spec.closes_group_keys else keys)


def _series_join(plan: QueryPlan, limit: SeriesLimit, low: Lowering) -> exp.Join:
    columns = [plan.outputs[position] for position in limit.columns]
    inner = exp.Subquery(
        this=_series_select(plan, limit, columns, low), alias=exp.TableAlias(this=quoted(low.series_alias))
    )
    pairs = [_series_equal(column, i, low) for i, column in enumerate(columns)]
    if limit.group_others:
        return exp.Join(this=inner, on=exp.and_(*pairs, copy=False), side="LEFT")
    found = [equal for i, column in enumerate(columns) if (equal := _found_by_index(column, i, low))]
    on = exp.and_(*found, *pairs, copy=False)
    by_index = any(isinstance(column.expr, ColumnExpr) and column.expr.leads_index for column in columns)
    return exp.Join(this=inner, on=on, kind="CROSS" if low.spec.joins_as_written and not by_index else None)


def _series_equal(column: Output, position: int, low: Lowering) -> exp.Expr:
    left, right = lower_key(column.expr, low), _series_key(position, low)
    if column.nullable is False:
        return exp.EQ(this=left, expression=right)
    equal = low.spec.null_safe_equal(left, right)
    if low.spec.hashed_equal is None:
        return equal
    kind = _kind(column.expr)
    return exp.And(this=low.spec.hashed_equal(left.copy(), right.copy(), kind), expression=equal)


def _found_by_index(column: Output, position: int, low: Lowering) -> exp.Expr | None:
    """Return the equality that finds the rows of a series by the index of their column, where the exact one does not.

    The series' key is told to compare as the column does: of two columns, the one by code point would decide.
    """
    expr = column.expr
    if not low.spec.searches_by_own_collation or not isinstance(expr, ColumnExpr) or not expr.leads_index:
        return None
    if expr.kind is not ValueKind.TEXT or expr.collation is not Collation.UTF8 or expr.collation_name is None:
        return None
    right = collate(_series_key(position, low), expr.collation_name)
    equal = exp.EQ if column.nullable is False else exp.NullSafeEQ
    return equal(this=raw(expr, low), expression=right)


def _series_key(position: int, low: Lowering) -> exp.Column:
    return exp.Column(this=quoted(f"s{position}"), table=quoted(low.series_alias))


def _kind(expr: PlanExpr) -> ValueKind:
    match expr:
        case ColumnExpr():
            return expr.kind
        case FragmentExpr():
            return ValueKind.UNKNOWN if expr.kind.is_temporal else expr.kind  # declared by people, it may be wrong
        case OthersExpr():
            return _kind(expr.source)
    return ValueKind.TIMESTAMP if isinstance(expr, BucketExpr) else ValueKind.UNKNOWN


def _series_select(plan: QueryPlan, limit: SeriesLimit, columns: Sequence[Output], low: Lowering) -> exp.Select:
    exprs = [column.expr.source if isinstance(column.expr, OthersExpr) else column.expr for column in columns]
    keys = [expr for expr in exprs if not is_constant(expr)]
    named = [exp.Alias(this=_key(expr, low, lower_key), alias=quoted(f"s{i}")) for i, expr in enumerate(exprs)]
    fence = fence_of_series(plan, limit, low.spec)
    hit = exp.Alias(this=number(1), alias=quoted("hit"))
    select = exp.Select(
        expressions=[*named, hit],
        from_=exp.From(this=lower_source(limit.source, fence, low)),
        group=_grouped([_key(key, low, lower_key) for key in keys], low.spec),
    )
    where = lower_where(fence, low)
    if where:
        select.set("where", exp.Where(this=where))
    ordered = [exp.Ordered(this=_key(key, low, lower_sorted), desc=False, nulls_first=False) for key in keys]
    if limit.metric is not None:
        metric = _key(limit.metric, low, lower_expr)
        ordered.insert(0, exp.Ordered(this=metric, desc=limit.descending, nulls_first=False))
    if ordered:
        select.set("order", exp.Order(expressions=ordered))
    set_limit(select, rows=limit.limit)
    return select


def _counted(select: exp.Select) -> exp.Select:
    select.set("order", None)
    counted = exp.Alias(this=exp.Count(this=exp.Star(), big_int=True), alias=quoted("rowcount"))
    inner = exp.Subquery(this=select, alias=exp.TableAlias(this=quoted(ROWCOUNT_ALIAS)))
    return exp.Select(expressions=[counted], from_=exp.From(this=inner))


def _hoist_ctes(select: exp.Select, spec: EngineSpec) -> None:
    """Move WITH clauses of derived tables to the front, for engines that take them nowhere else."""
    if spec.allows_cte_in_subquery:
        return
    for subquery in list(select.find_all(exp.Subquery)):
        inner = subquery.this
        found = inner.args.get("with_") if isinstance(inner, exp.Select | exp.SetOperation) else None
        if found is None or select.args.get("with_") not in (None, found):
            continue
        inner.set("with_", None)
        select.set("with_", found)


RELATION_ALIAS = "ruled_table"
"""With which the columns of a row rule are qualified inside a virtual dataset."""

AROUND_ROWS = ("alias", "joins", "laterals", "pivots")
"""The parts of a relation that stand around its rows: they go around the filtered sub-query."""


def lower_source(source: TableSource | SqlSource, fence: Fence, low: Lowering) -> exp.Expr:
    """Return the relation that a query reads: the source, or a derived table of its permitted rows."""
    relation = _relation(source, low)
    if fence.form is not FenceForm.TABLE:
        return relation
    where = conjunction(fence.inside, low)
    assert where is not None  # noqa: S101 - a fence has rules; tells the type checker
    permitted = exp.Select(
        expressions=_selected(fence.columns, low), from_=exp.From(this=relation), where=exp.Where(this=where)
    )
    return exp.Subquery(this=low.spec.guards.fence(permitted), alias=exp.TableAlias(this=quoted(low.alias)))


def lower_where(fence: Fence, low: Lowering) -> exp.Expr | None:
    """Return the WHERE beside the relation of `lower_source`."""
    if fence.form is FenceForm.NONE:
        return conjunction(fence.inside, low)
    if fence.form is FenceForm.TABLE or not fence.outside:
        return conjunction(fence.outside, low)
    return exp.And(this=conjunction(fence.inside, low), expression=guard(fence, low))


def guard(fence: Fence, low: Lowering) -> exp.Case:
    """Return the conditions that may fail behind a CASE that asks for the rules again."""
    rules, outside = conjunction(fence.rules, low), conjunction(fence.outside, low)
    assert rules is not None  # noqa: S101 - a fence has rules; tells the type checker
    return exp.Case(ifs=[exp.If(this=rules, true=outside)], default=exp.Boolean(this=False))


def _selected(columns: tuple[str, ...] | None, low: Lowering) -> list[exp.Expr]:
    """Return what is read through a fence: the needed columns, and something where rows alone are counted."""
    if columns is None:
        return [exp.Star()]
    found: list[exp.Expr] = [exp.Column(this=quoted(name), table=quoted(low.alias)) for name in columns]
    return found or [exp.Alias(this=number(1), alias=quoted("one"))]


def _relation(source: TableSource | SqlSource, low: Lowering) -> exp.Expr:
    if isinstance(source, TableSource):
        return exp.Table(
            this=quoted(source.table),
            db=quoted(source.schema) if source.schema else None,
            catalog=quoted(source.catalog) if source.catalog else None,
        )
    alias = exp.TableAlias(this=quoted(VIRTUAL_ALIAS))
    if not low.spec.allows_cte_in_subquery and source.tree is not None:
        return exp.Subquery(this=bound_tree(source, low), alias=alias)
    text = bound_sql(source, low) if source.rules else source.sql  # the checked text is not written again
    return exp.Table(this=exp.Var(this=f"({text})"), alias=alias)


def bound_sql(source: SqlSource, low: Lowering) -> str:
    """Return the SQL of a virtual dataset with its row rules inside.

    Where the places of all ruled relations are known, it is the text with those replaced, and no tree is written again.
    """
    generator = dialect_of(low.spec.dialect).generator(comments=False)
    if any(rule.place is None for rule in source.rules):
        return generator.generate(bound_tree(source, low), copy=False)
    own = quoted(RELATION_ALIAS)
    named = exp.Table(this=exp.Var(this="t"), alias=exp.TableAlias(this=own))
    alias, before = (generator.generate(node) for node in (own, named))
    before = before[1:].removesuffix(alias)
    known, ruled = dict[tuple[str, str], str](), list[tuple[NamePlace, str]]()
    for rule in source.rules:
        place = rule.place
        assert place is not None  # noqa: S101 - tells the type checker
        name = source.sql[place.start : place.end]
        rows = _rows(f"{name}{before}{alias}", rule, generator, known, low)
        ruled.append((place, rows if place.has_alias else f"{rows}{before}{name}"))
    pieces, end = list[str](), 0
    for place, rows in sorted(ruled):
        pieces += (source.sql[end : place.start], rows)
        end = place.end
    return "".join((*pieces, source.sql[end:]))


def bound_tree(source: SqlSource, low: Lowering) -> exp.Expr:
    """Return a fresh tree in which each ruled relation gave way to a sub-query of its permitted rows."""
    assert source.tree is not None  # noqa: S101 - the guard gives a source with its tree; tells the type checker
    return with_rules(source.tree.copy(), source.rules, low)


def with_rules(tree: exp.Expr, rules: Sequence[RelationRule], low: Lowering) -> exp.Expr:
    """Return a tree, which is changed, with a sub-query of its permitted rows for each ruled relation."""
    if not rules:
        return tree
    tables = table_nodes(tree)
    ruled = [(tables[rule.position], rule) for rule in rules]
    _shorten_names(tree, [table for table, _ in ruled])
    generator, known = dialect_of(low.spec.dialect).generator(comments=False), dict[tuple[str, str], str]()
    for table, rule in ruled:
        table.replace(_filtered(table, rule, generator, known, low))
    return tree


def _filtered(
    table: exp.Table, rule: RelationRule, generator: Generator, known: dict[tuple[str, str], str], low: Lowering
) -> exp.Table:
    """Return the permitted rows of a table, to which its alias and what stands around it go over."""
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    inner = exp.Table(**{name: part for name, part in table.args.items() if name not in AROUND_ROWS})
    inner.set("alias", exp.TableAlias(this=quoted(RELATION_ALIAS)))
    outside = {name: part for name, part in table.args.items() if name in AROUND_ROWS and name != "alias"}
    rows = _rows(generator.generate(inner, copy=False), rule, generator, known, low)
    return exp.Table(this=exp.Var(this=rows), alias=alias, **outside)


def _rows(
    relation: str, rule: RelationRule, generator: Generator, known: dict[tuple[str, str], str], low: Lowering
) -> str:
    """Return the permitted rows of a relation, which is written with the alias of the rule, as a sub-query."""
    where = conjunction([clause.predicate for clause in rule.clauses], low)
    assert where is not None  # noqa: S101 - a rule has clauses; tells the type checker
    condition = generator.generate(exp.Where(this=where), copy=False)
    key = (relation if PERMITTED_ROWS in relation.casefold() else _RELATION, condition)
    if key not in known:
        known[key] = generator.generate(_permitted_rows(*key, low), copy=False)
    return f"({known[key].replace(_RELATION, relation)})"


_RELATION = f"{MARK}relation{MARK}"
"""What stands for a relation in the query of its permitted rows, which is written once for each condition."""


def _permitted_rows(relation: str, condition: str, low: Lowering) -> exp.Query:
    """Return the query of the rows of a relation that a condition permits, both as they were written."""
    permitted = exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=exp.Table(this=exp.Var(this=relation))),
        where=exp.Where(this=exp.Var(this=condition.removeprefix("WHERE "))),
    )
    return low.spec.guards.fence(permitted) if low.fences_relations else permitted


def _shorten_names(tree: exp.Expr, ruled: Iterable[exp.Table]) -> None:
    """Write `orders.id` for `sales.orders.id`: the sub-query that takes the place of the table has its name alone."""
    full = {(table.db.casefold(), table.name.casefold()) for table in ruled if table.db and not table.alias}
    for column in tree.find_all(exp.Column) if full else ():
        if (column.text("db").casefold(), column.table.casefold()) in full:
            column.set("db", None)
            column.set("catalog", None)
