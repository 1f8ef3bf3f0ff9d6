"""Laws of users' SQL: any text is an answer or a typed error; what is written reads back as what was checked."""

from __future__ import annotations

import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.support.fragments import ENGINES, engine, parse
from tests.support.planning import spec_of

from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentSlot
from analytics_core._engine.compile.fragments.sql_nodes import NodeIndex, operators
from analytics_core._engine.compile.plan import FragmentExpr
from analytics_core._engine.compile.templates import TemplateRenderer, TemplateValues
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.guard import check_select
from analytics_core.errors import AnalyticsError

NAMES = FragmentNames(alias="t", columns=("a", "b", "c", 'od"d', "sp ace"))
engines = st.sampled_from(ENGINES)
slots = st.sampled_from(FragmentSlot)

atoms = st.one_of(
    st.sampled_from(["a", "b", "c", "t.a", "NULL", "TRUE", "1", "0", "2.5", "'x'", "'it''s'", "'--'", "'/*'", "'%'"]),
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="'\\"), max_size=8).map("'{}'".format),
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "%", "=", "<>", "<", ">=", "AND", "OR", "||"])
    return st.one_of(
        st.builds("{} {} {}".format, inner, binary, inner),
        st.builds("({})".format, inner),
        st.builds("NOT {}".format, inner),
        st.builds("- {}".format, inner),
        st.builds("{} IS NULL".format, inner),
        st.builds("{} IS NOT NULL".format, inner),
        st.builds("{} NOT IN ({}, {})".format, inner, inner, inner),
        st.builds("{} NOT BETWEEN {} AND {}".format, inner, inner, inner),
        st.builds("{} NOT LIKE {}".format, inner, inner),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("COALESCE({}, {})".format, inner, inner),
        st.builds("CAST({} AS INTEGER)".format, inner),
        st.builds("SUM({})".format, inner),
    )


expressions = st.recursive(atoms, _combined, max_leaves=12)
noise = st.text(
    st.one_of(st.sampled_from("abct.,;()[]{}'\"`\\-/*!#@$:?%=<>|&^~+ \n\x00\x01"), st.characters()), max_size=40
)
PIECES = (
    "a b ' \" ` \\ ( ) ; -- /* */ /*! # $$ SELECT FROM UNION OR 1=1 AND , {{ }} {% "
    ":p ? %s \x00 EXISTS IN CASE END E' DROP"
)
pieces = st.lists(st.sampled_from(PIECES.split(" ")), max_size=12).map(" ".join)


def _parse(text: str, on: str, slot: FragmentSlot = FragmentSlot.METRIC) -> FragmentExpr:
    return parse(text, on, slot=slot, names=NAMES)


@given(st.one_of(noise, pieces), engines, slots)
def test_any_text_is_a_fragment_or_a_typed_error(text: str, on: str, slot: FragmentSlot) -> None:
    try:
        found = _parse(text, on, slot)
    except AnalyticsError:
        return
    assert found.sql
    assert found.tree is not None


@given(expressions, engines)
def test_what_is_written_reads_back_as_what_was_checked(text: str, on: str) -> None:
    try:
        found = _parse(text, on)
    except AnalyticsError:
        return
    assert found.tree is not None
    again = sqlglot.parse_one(found.sql, read=engine(on).dialect, into=exp.Condition)
    assert operators(NodeIndex(again)) == operators(NodeIndex(found.tree))
    assert _parse(found.sql, on).sql == found.sql


@given(expressions, engines)
def test_every_column_that_is_written_is_a_qualified_column_of_the_dataset(text: str, on: str) -> None:
    try:
        found = _parse(text, on)
    except AnalyticsError:
        return
    assert found.tree is not None
    for column in found.tree.find_all(exp.Column):
        assert (column.table, column.name in NAMES.columns) == ("t", True)


@given(st.one_of(pieces, noise), engines)
def test_a_row_rule_stays_closed_beside_other_conditions(text: str, on: str) -> None:
    try:
        found = _parse(text, on, FragmentSlot.ROW_RULE)
    except AnalyticsError:
        return
    tree = sqlglot.parse_one(f"SELECT 1 FROM x WHERE ({found.sql}) AND (kept = 1)", read=engine(on).dialect)
    where = tree.find(exp.Where)
    assert where is not None
    assert isinstance(where.this, exp.And)
    assert where.this.expression.find(exp.Column).name == "kept"
    assert [key for key, value in tree.args.items() if value] == ["expressions", "from_", "where"]


@given(st.one_of(pieces, noise), engines)
def test_any_text_is_a_checked_query_or_a_typed_error(text: str, on: str) -> None:
    for sql in (text, f"SELECT a FROM t WHERE {text}"):
        try:
            source = check_select(sql, spec=engine(on), place="d")
        except AnalyticsError:
            continue
        assert check_select(source.sql, spec=engine(on), place="d").sql == source.sql


TEMPLATE_PIECES = (
    "{{ }} {% %} {# #} if for in endif endfor set x = 1 'a' | upper join ( ) [ ] . url_param 'p' range * ** ~ + "
    "__class__ self loop ,"
)
template_pieces = st.lists(st.sampled_from(TEMPLATE_PIECES.split(" ")), max_size=16).map(" ".join)
values = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)


@given(template_pieces)
def test_any_template_is_text_or_a_typed_error(template: str) -> None:
    try:
        rendered = TemplateRenderer().render(template, TemplateValues(spec=spec_of("sqlite"), url_params={"p": "' x"}))
    except AnalyticsError:
        return
    assert "\x01" not in rendered.text


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30),
    st.sampled_from([spec_of(name) for name in ("sqlite", "duckdb", "postgresql", "mysql")]),
)
def test_any_value_of_a_user_is_one_literal(value: str, spec: EngineSpec) -> None:
    template = "a = '{{ url_param('p') }}' AND b IN {{ [url_param('p')]|where_in }}"
    text = TemplateRenderer().render(template, TemplateValues(spec=spec, url_params={"p": value})).text
    tree = sqlglot.parse_one(text, read=spec.dialect)
    literals = [literal.name for literal in tree.find_all(exp.Literal)]
    assert literals == [value, value]
    assert sorted(column.name for column in tree.find_all(exp.Column)) == ["a", "b"]
