"""The SQL that every engine's spec builds, one golden file per engine: changed SQL shows as a changed file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import exp
from tests.support.cases import for_each
from tests.support.golden import check_golden

from analytics_core._engine.engines.grains import grain_function
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import BindValue, EngineSpec, TimeBound
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import TimeGrain

NAMES = installed_engines(()).names()
FORMATS = (
    TimeFormat(encoding=TimeEncoding.TIMESTAMP),
    TimeFormat(encoding=TimeEncoding.TIMESTAMPTZ, value_kind=ValueKind.TIMESTAMPTZ),
    TimeFormat(encoding=TimeEncoding.DATE, value_kind=ValueKind.DATE),
    TimeFormat(encoding=TimeEncoding.ISO_TEXT, value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=ValueKind.INTEGER),
    TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=ValueKind.FLOAT),
    TimeFormat(encoding=TimeEncoding.EPOCH_MS, value_kind=ValueKind.INTEGER),
    TimeFormat(encoding=TimeEncoding.EPOCH_MS, value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%Y-%m-%d", value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%d/%m/%Y %H:%M:%S", value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%Y-%m", value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%d %b %Y", value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%Y", value_kind=ValueKind.INTEGER),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%Y%m%d", value_kind=ValueKind.DECIMAL),
)
LITERALS = (
    None,
    True,
    False,
    -7,
    2.5,
    Decimal("12.50"),
    "it's 50% \\ é",
    date(2024, 1, 31),
    datetime(2024, 1, 31, 10, 20, 30, 400000),
    datetime(2024, 1, 31, 10, tzinfo=UTC),
    b"a\xff",
    ["a", 1],
)


@for_each("name", NAMES)
def test_sql_of_an_engine_is_that_of_its_golden_file(name: str) -> None:
    spec = installed_engines(()).get(name)
    sections = (
        ("grains", grains(spec)),
        ("moments, bounds at 10:20:30.4 and equality with midnight of 2024-01-31", moments(spec)),
        ("comparisons of text", comparisons(spec)),
        ("aggregates and conditions", aggregates(spec)),
        ("literals", (f"{value!r}: {spec.literal(value)}" for value in LITERALS)),
    )
    text = "\n".join(f"## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections)
    check_golden(f"engines/{name}.txt", text)


def column() -> exp.Expr:
    return exp.Column(this=exp.Identifier(this="col", quoted=True))


def grains(spec: EngineSpec) -> Iterator[str]:
    for grain in TimeGrain:
        yield f"{grain.value}: {grain_function(spec, grain)}"
    for hours in (0, 3, -11):
        yield f"shifted by {hours} hours: {spec.shift(column(), hours).sql(spec.dialect)}"


def moments(spec: EngineSpec) -> Iterator[str]:
    for time_format in FORMATS:
        yield f"[{time_format.encoding} {time_format.strftime or ''} in {time_format.value_kind}]"
        try:
            yield f"  moment: {spec.moment(column(), time_format).sql(spec.dialect)}"
            bound = spec.time_bound(column(), time_format, datetime(2024, 1, 31, 10, 20, 30, 400000))
            yield f"  bound: {displayed(spec, bound)}"
            yield f"  equal: {displayed(spec, spec.time_equal(column(), time_format, datetime(2024, 1, 31)))}"
        except UnsupportedByEngineError as rejection:
            yield f"  refused: {rejection}"


def displayed(spec: EngineSpec, bound: TimeBound) -> str:
    return f"{bound.left.sql(spec.dialect)} <-> {bound.value!r}"


def comparisons(spec: EngineSpec) -> Iterator[str]:
    def bind(value: BindValue) -> exp.Expr:
        return exp.Var(this=f"<{value!r}>")

    nodes = {
        "key": spec.text_key(column()),
        "= value": spec.text_equal(bind("a")),
        "< value": spec.text_order(bind("a")),
        "LIKE": spec.like(column(), "50\\%_a!b[c*%", False, bind),
        "ILIKE of ASCII": spec.like(column(), "50\\%_a!b[c*%", True, bind),
        "ILIKE": spec.like(column(), "É%", True, bind),
        "LIKE of a number": spec.like(spec.as_text(column()), "1%", False, bind),
        "IN": spec.in_list(column(), ["a", "b"], ValueKind.TEXT, bind),
        "IN of an expression": spec.in_list(exp.Or(this=column(), expression=column()), [1], ValueKind.INTEGER, bind),
        "null-safe": spec.null_safe_equal(column(), column()),
    }
    for label, node in nodes.items():
        yield f"{label}: {node.sql(spec.dialect)}"


def aggregates(spec: EngineSpec) -> Iterator[str]:
    nodes = {
        "average": spec.average(column()),
        **{f"sum of {kind}": spec.sum_(column(), kind) for kind in (ValueKind.INTEGER, ValueKind.BOOLEAN)},
        **{f"minimum of {kind}": spec.extreme(column(), kind, False) for kind in (ValueKind.TEXT, ValueKind.FLOAT)},
        "maximum of boolean": spec.extreme(column(), ValueKind.BOOLEAN, True),
        **{f"distinct {kind}": spec.count_distinct(column(), kind) for kind in (ValueKind.TEXT, ValueKind.INTEGER)},
        "boolean is true": spec.is_true(column(), ValueKind.BOOLEAN, True),
        "boolean is false": spec.is_true(column(), ValueKind.BOOLEAN, False),
        "number is true": spec.is_true(column(), ValueKind.INTEGER, True),
        "number is false": spec.is_true(column(), ValueKind.FLOAT, False),
    }
    for label, node in nodes.items():
        yield f"{label}: {node.sql(spec.dialect)}"
    for descending in (False, True):
        yield f"nulls first by default, descending {descending}: {spec.nulls_first_by_default(descending)}"
