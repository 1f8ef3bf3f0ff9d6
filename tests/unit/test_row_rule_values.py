"""The values that a row rule's template writes: which are bound, as what, and where none can stand."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.fragments import NAMES, engine

from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.lowering.expressions import MARK
from analytics_core._engine.compile.row_filters import read_clause
from analytics_core._engine.compile.templates import ActorFacts, TemplateRenderer, written_clause
from analytics_core._engine.engines.types import ValueKind
from analytics_core._records.people import Placeholder, RowFilter
from analytics_core.errors import FragmentError, MissingTemplateValueError, TemplateError

SPEC = engine("postgresql")
KINDS = {"a": ValueKind.INTEGER, "Name": ValueKind.TEXT, "ts": ValueKind.TIMESTAMP}
ACTOR = ActorFacts(
    user_id=7,
    username="o'brien",
    email="o@example.org",
    roles=("writer", "analyst"),
    attributes={"region": ("North",), "regions": ("N", "S")},
    values={"low": 1, "high": 2.5, "minus": -3, "text": "5", "word": "x", "flag": True, "many": [1, 2], "none": None},
)


def rendered(clause: str, actor: ActorFacts = ACTOR) -> tuple[str, tuple[Placeholder, ...]]:
    return TemplateRenderer().render_rule(clause, actor, dialect=SPEC.dialect)


def bound(clause: str) -> tuple[str, tuple[object, ...]]:
    """Return the SQL of a rule with the number of each value, and the values."""
    text, placeholders = rendered(clause)
    item = RowFilter(name="r", clause=text, placeholders=placeholders)
    found = read_clause(item, place="rule 'r'", parser=FragmentParser(), spec=SPEC, names=NAMES, kinds=KINDS)
    return found.sql.replace(MARK, "|").replace('"t".', ""), found.values


@for_each(
    ("clause", "sql", "values"),
    [
        ("a = {{ current_user_id() }}", '"a" = |0|', (7,)),
        ("Name = {{ current_username() }}", '"Name" = |0|', ("o'brien",)),
        ("Name = '{{ current_user_email() }}'", '"Name" = |0|', ("o@example.org",)),
        ("Name LIKE '{{ current_username() }}/{{ value('low') }}%'", '"Name" LIKE |0|', ("o'brien/1%",)),
        ("Name IN ({{ current_user_roles() }})", '"Name" IN (|0|, |1|)', ("analyst", "writer")),
        ("Name IN ({{ current_user_attribute('regions') }})", '"Name" IN (|0|, |1|)', ("N", "S")),
        ("Name = {{ current_user_attribute('region') }}", '"Name" = |0|', ("North",)),
        ("Name = {{ current_user_attribute('region', 'd') }}", '"Name" = |0|', ("North",)),
        ("Name = {{ current_user_attribute('other', 'd') }}", '"Name" = |0|', ("d",)),
        ("a = {{ value('flag') }}", '"a" = TRUE', ()),
        ("a = {{ value('minus') }}", '"a" = |0|', (-3,)),
        # A value becomes of the kind of the column that it is compared with, on either side, and of no other.
        ("a = '{{ value('text') }}'", '"a" = |0|', (5,)),
        ("{{ value('text') }} < (a)", '|0| < ("a")', (5,)),
        ("a IS DISTINCT FROM {{ value('text') }}", '"a" IS DISTINCT FROM |0|', (5,)),
        ("(a) IN (1, {{ value('text') }})", '("a") IN (1, |0|)', (5,)),
        ("a BETWEEN {{ value('text') }} AND {{ value('high') }}", '"a" BETWEEN |0| AND |1|', (5, 2.5)),
        ("{{ value('text') }} BETWEEN a AND b", '|0| BETWEEN "a" AND "b"', ("5",)),
        ("{{ value('text') }} IN (a, 1)", '|0| IN ("a", 1)', ("5",)),
        ("Name = {{ value('low') }}", '"Name" = |0|', ("1",)),
        ("b = {{ value('text') }}", '"b" = |0|', ("5",)),
        ("ts > '{{ value('text') }}'", '"ts" > |0|', ("5",)),
        ("ABS(a) = {{ value('text') }}", 'ABS("a") = |0|', ("5",)),
        ("a + {{ value('text') }} = b", '"a" + |0| = "b"', ("5",)),
        ("a = 1 -- {{ value('word') }}", '"a" = 1', ()),
    ],
)
def test_a_value_is_bound_as_what_it_is_compared_with(clause: str, sql: str, values: tuple[object, ...]) -> None:
    found = bound(clause)
    assert found == (sql, values)
    assert [type(value) for value in found[1]] == [type(value) for value in values]


@for_each(
    ("clause", "message"),
    [
        ("a = {{ value('word') }}", "^rule 'r': the value for column 'a' is not of its type$"),
        ("Name = 'x{{ current_user_attribute('regions') }}'", "^rule 'r': a list stands inside a text; write IN "),
        ("a::{{ value('word') }} = 1", "not one SQL expression"),
        # The parser reads some texts, and a rule would become another one.
        (
            "ts > CURRENT_DATE - INTERVAL '{{ value('low') }} days'",
            "^rule 'r': the interval 'acvalue0q days' is ",
        ),
        ("DATE_TRUNC('{{ value('word') }}', ts) = ts", "^rule 'r': a value stands where it cannot be bound"),
    ],
)
def test_where_no_value_can_stand_the_rule_is_refused(clause: str, message: str) -> None:
    with pytest.raises(FragmentError, match=message):
        bound(clause)


@for_each(
    ("clause", "message"),
    [
        ("a IN ({{ value('many') }})", "lists of texts only"),
        ("{{ value('word') }}{{ value('low') }} = a", "inside quotes only$"),
        ("a = {{ value('other') }}", "a value that is not among the rule's values"),
        ("a = {{ value('none') }}", "something that has no value"),
        ("a = {{ current_user_attribute('other') }}", "you lack an attribute"),
    ],
)
def test_what_a_rule_cannot_write_is_told(clause: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        rendered(clause)


@for_each("name", ["current_user_id", "current_username", "current_user_email"])
def test_a_rule_about_what_nobody_knows_of_the_actor_stops(name: str) -> None:
    with pytest.raises(MissingTemplateValueError, match="needs to know more of you"):
        rendered(f"a = {{{{ {name}() }}}}", ActorFacts())


def test_the_attribute_that_is_missing_is_named_for_those_who_may_know() -> None:
    with pytest.raises(MissingTemplateValueError) as caught:
        rendered("a = {{ current_user_attribute('other') }}")
    assert caught.value.detail == "the person has no attribute 'other', which it needs"
    assert "other" not in caught.value.message


@for_each(
    ("clause", "written"),
    [
        ("a > 1", "a > 1"),
        ("{% if true %}a > 1{% endif %}", "a > 1"),
        ("a = {{ value('low') }} OR a = {{ value('high') }}", "a = 1 OR a = 2.5"),
        ("Name = '{{ current_username() }} {{ value('low') }}'", "Name = 'o''brien 1'"),
        ("Name IN ({{ current_user_attribute('regions') }})", "Name IN ('N', 'S')"),
    ],
)
def test_a_template_takes_a_rule_in_with_its_values_written(clause: str, written: str) -> None:
    assert written_clause(*rendered(clause), SPEC.dialect) == written
