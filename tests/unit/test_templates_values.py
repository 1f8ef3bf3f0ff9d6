"""Templates see the query, its user and its filters; what a user gave is only ever written as a literal."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import datetime

import pytest
import sqlglot
from tests.support.cases import for_each

from analytics_core._engine.compile.templates import RenderedSql, TemplateFilter, TemplateRenderer, TemplateValues
from analytics_core._engine.engines.registry import installed_engines
from analytics_core.errors import ErrorType, MissingTemplateValueError, TemplateError

ENGINES = installed_engines(())
VALUES = TemplateValues(
    spec=ENGINES.get("postgresql"),
    user_id=7,
    username="o'brien",
    email="o@example.org",
    roles=("writer", "analyst"),
    url_params={"region": "EU", "evil": "' OR 1=1 --", "minus": "-3", "number": "42", "zip": "007", "slash": "a\\"},
    template_params={"limit": 5, "names": ["x", "y"], "current_user_id": 99, "where_in": "no"},
    filters=(
        TemplateFilter(col="country", op="IN", val=["Joe's", "FR", 5]),
        TemplateFilter(col="city", op="==", val="Rome"),
        TemplateFilter(col="age", op=">", val=30),
        TemplateFilter(col="gone", op="IS NULL", val="ignored"),
        TemplateFilter(col="day", op="TEMPORAL_RANGE", val="2020-01-01 : 2021-01-01"),
        TemplateFilter(col="any", op="TEMPORAL_RANGE", val="No filter"),
    ),
    since=datetime(2024, 1, 1),
    until=datetime(2024, 2, 1, 5, 30),
    time_range="January",
    columns=("a", "b"),
    metrics=("count",),
    row_limit=10,
    row_offset=0,
    table_columns=("a", "b", "c"),
    time_column="ts",
    time_grain="P1D",
    resolve_range={
        "2020-01-01 : 2021-01-01": (datetime(2020, 1, 1), datetime(2021, 1, 1)),
        "open": (datetime(2020, 1, 1), None),
        "No filter": (None, None),
    }.__getitem__,
)


def render(text: str, values: TemplateValues = VALUES) -> RenderedSql:
    return TemplateRenderer().render(text, values)


@pytest.mark.parametrize("text", ["a > 1", "a = '{'", "x = '{ }' -- }}", ""])
def test_text_without_a_template_comes_back_as_it_is(text: str) -> None:
    assert render(text) == RenderedSql(text)


def test_text_without_a_template_does_not_load_the_template_engine() -> None:
    code = (
        "import sys; from analytics_core._engine.compile.templates import TemplateRenderer, TemplateValues; "
        "TemplateRenderer().render('a > 1', TemplateValues()); print('jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@for_each(
    ("template", "text"),
    [
        ("x = {{ url_param('region') }}", "x = 'EU'"),
        ("x = {{ url_param('region', add_to_cache_keys=false) }}", "x = 'EU'"),
        ("x = {{ current_user_id(add_to_cache_keys=false) }}", "x = 7"),
        ("x = {{ cache_key_wrapper(url_param('region')) }}", "x = 'EU'"),
        ("x = '{{ url_param('region') }}'", "x = 'EU'"),
        ("x LIKE '%{{ url_param('region') }}%'", "x LIKE '%EU%'"),
        ("x = {{ url_param('evil') }}", "x = ''' OR 1=1 --'"),
        ("x = '{{ url_param('evil') }}'", "x = ''' OR 1=1 --'"),
        ("x = {{ url_param('evil')|upper }}", "x = ''' OR 1=1 --'"),
        ("x = '{{ 'a' ~ url_param('evil') }}'", "x = 'a'' OR 1=1 --'"),
        ("x = {{ url_param('number') }}", "x = 42"),
        ("x = '{{ url_param('number') }}'", "x = '42'"),
        ("x = {{ url_param('zip') }}", "x = '007'"),
        ("5 -{{ url_param('minus') }}", "5 -(-3)"),
        ("'{{ url_param('minus') }}'", "'-3'"),
        ("/* {{ url_param('evil') }} */ 1", "/*  */ 1"),
        ("-- {{ url_param('evil') }}\n1", "-- \n1"),
        ("x = {{ url_param('missing', 'fallback') }}", "x = 'fallback'"),
        ("x = '{{ url_param('missing', 'fallback') }}'", "x = 'fallback'"),
        ("x = '{{ url_param('missing', \"O'Hara\") }}'", "x = 'O''Hara'"),
        ("x = {{ url_param('missing', '42') }}", "x = 42"),
        ("x = {{ url_param('missing', -42) }}", "x = (-42)"),
        ("x = {{ url_param('missing', \"'O''Hara'\") }}", "x = 'O''Hara'"),
        ("x {{ url_param('missing', 'IS NULL', escape_result=false) }}", "x IS NULL"),
        ("c = {{ filter_values('none', 'all')[0] }}", "c = 'all'"),
        ("{{ url_param('missing')|default('fallback') }}", "fallback"),
        ("{{ url_param('region').lower() }}", "'eu'"),
        ("{% if url_param('region') == 'EU' %}yes{% else %}no{% endif %}", "yes"),
        ("{% if url_param('region') in ['EU', 'US'] %}yes{% endif %}", "yes"),
        ("{% if 'EU' in [url_param('region')] %}yes{% endif %}", "yes"),
        ("{{ {'EU': 'Europe'}[url_param('region')] }}", "Europe"),
        ("id = {{ current_user_id() }}", "id = 7"),
        ("u = {{ current_username() }}", "u = 'o''brien'"),
        ("u = '{{ current_username() }}'", "u = 'o''brien'"),
        ("e = {{ current_user_email() }}", "e = 'o@example.org'"),
        ("r IN {{ current_user_roles()|where_in }}", "r IN ('analyst', 'writer')"),
        ("c IN {{ filter_values('country')|where_in }}", "c IN ('Joe''s', 'FR', 5)"),
        ("c IN ('{{ \"', '\".join(filter_values('country')) }}')", "c IN ('Joe''s', 'FR', '5')"),
        ("c IN ({{ \"'\" + \"','\".join(filter_values('country')) + \"'\" }})", "c IN ('Joe''s','FR','5')"),
        ("c IN {{ filter_values('city')|where_in }}", "c IN ('Rome')"),
        ("c IN {{ filter_values('none')|where_in }}", "c IN (NULL)"),
        ("c IN {{ filter_values('none', 'all')|where_in }}", "c IN ('all')"),
        ("{{ ['1', 2, none]|where_in }}", "('1', 2, NULL)"),
        ("{% for f in get_filters('age') %}{{ f.op }} {{ f.val }}{% endfor %}", "> 30"),
        ("{{ get_filters('gone')[0]['op'] }}", "IS NULL"),
        (
            "ts >= '{{ from_dttm }}' AND ts < '{{ to_dttm }}'",
            "ts >= '2024-01-01T00:00:00' AND ts < '2024-02-01T05:30:00'",
        ),
        ("{{ get_time_filter('ts').from_expr }}", "'2024-01-01'"),
        ("{{ (get_time_filter('ts').from_expr|to_datetime).strftime('%d.%m.%Y') }}", "01.01.2024"),
        ("{{ (get_time_filter('ts', target_type='DATE').to_expr|to_datetime).strftime('%d %H:%M') }}", "01 05:30"),
        ("{{ (from_dttm|to_datetime).strftime('%d.%m.%Y') }}", "01.01.2024"),
        ("{{ get_time_filter('ts').to_expr }}", "'2024-02-01 05:30:00'"),
        ("{{ get_time_filter('ts', target_type='DATE').from_expr }}", "DATE '2024-01-01'"),
        ("{{ get_time_filter('ts', target_type='date').to_expr }}", "DATE '2024-02-02'"),
        ("{{ get_time_filter('ts', target_type='TIMESTAMP').to_expr }}", "TIMESTAMP '2024-02-01 05:30:00'"),
        ("{{ get_time_filter('ts', target_type='TEXT').from_expr }}", "'2024-01-01'"),
        ("{{ get_time_filter('ts', target_type='timestamptz').from_expr }}", "TIMESTAMPTZ '2024-01-01 00:00:00+00:00'"),
        ("'{{ from_dttm[:10] }}' {{ to_dttm.replace('T', ' ') }}", "'2024-01-01' 2024-02-01 05:30:00"),
        ("{{ get_time_filter('ts', strftime='%Y%m%d').to_expr }}", "20240201"),
        ("{{ get_time_filter('day').to_expr }}", "'2021-01-01'"),
        ("{{ get_time_filter('other', default='open').to_expr is none }}", "TRUE"),
        ("{{ get_time_filter('other').time_range }} {{ get_time_filter('ts').time_range }}", "'No filter' 'January'"),
        ("{{ get_time_filter('other', default='open').time_range }}", "'open'"),
        ("{{ get_time_filter('any').time_range }}", "'No filter'"),
        ("{{ get_time_filter('any', default='open').time_range }}", "'open'"),
        ("{% if get_time_filter('other').time_range == 'No filter' %}all{% endif %}", "all"),
        ("{{ (to_dttm - from_dttm).days }} {{ (to_dttm - from_dttm).seconds }}", "31 19800"),
        ("{{ (to_dttm|to_datetime - from_dttm|to_datetime).total_seconds() }}", "2698200.0"),
        ("{{ ((to_dttm|to_datetime) - ('2024-01-01'|to_datetime('%Y-%m-%d'))).days }}", "31"),
        ("'{{ from_dttm - (to_dttm - from_dttm) }}'", "'2023-11-30 18:30:00'"),
        ("'{{ to_dttm + (to_dttm - from_dttm) }}'", "'2024-03-03 11:00:00'"),
        ("{{ (from_dttm - get_time_filter('ts', target_type='TIMESTAMP').to_expr).days }}", "(-32)"),
        ("{{ ('2024-01-01+0200'|to_datetime('%Y-%m-%d%z') - from_dttm).total_seconds() }}", "(-7200.0)"),
        ("{% if (to_dttm - from_dttm).days > 30 %}months{% endif %}", "months"),
        ("{{ '2024-01-05 10:00:00'|to_datetime }}", "2024-01-05 10:00:00"),
        ("{{ ('05/01/2024'|to_datetime('%d/%m/%Y')).strftime('%Y%m%d') }}", "20240105"),
        ("{{ limit }} {{ names|join('+') }} {{ row_limit }} {{ row_offset }}", "5 'x'+'y' 10 0"),
        ("{% if 'a' in columns and 'a' in groupby and 'count' in metrics %}yes{% endif %}", "yes"),
        ("{{ table_columns|join(', ') }}", "a, b, c"),
        ("{{ time_grain == 'P1D' }} {{ time_column }}", "TRUE 'ts'"),
        ("{% for i in range(3) %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %}", "0,1,2"),
        ("{% set x = 2 %}{{ (x + 1) * 2 ** 3 // 5 }}", "4"),
        ("{# a note #}1{% raw %}{{ x }}{% endraw %}", "1{{ x }}"),
    ],
)
def test_a_template_renders(template: str, text: str) -> None:
    assert render(template).text == text


@for_each(
    ("template", "message"),
    [
        ("{{ from_dttm - 1 }}", "'-' between a moment and that"),
        ("{{ from_dttm - 'x' }}", "'-' between a moment and that"),
        ("{{ 1 - from_dttm }}", "'-' between these values"),
        ("{{ from_dttm + (to_dttm|to_datetime) }}", r"'\+' between a moment and that"),
        ("{{ (to_dttm - from_dttm) * 10 }}", r"'\*' between these values"),
        ("{{ to_dttm - from_dttm }}", "not text, a number or a date"),
        ("{{ (to_dttm - from_dttm).resolution }}", "cannot read 'resolution'"),
        (
            "{{ from_dttm + ('9999-12-31'|to_datetime('%Y-%m-%d') - from_dttm) + (to_dttm - from_dttm) }}",
            "a moment outside the years 1 to 9999",
        ),
    ],
)
def test_moments_take_spans_of_time_alone(template: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        render(template)


@for_each("engine", ENGINES.names())
@for_each(
    "evil",
    ["' OR 1=1 --", "\\' OR 1=1 --", "\\", "'';DROP TABLE x", '"', "/*", "*/", "$$", "{{ x }}", "😀é", "1; x", "-1--"],
)
@for_each("template", ["a = {{ url_param('p') }}", "a = '{{ url_param('p') }}'", "a = 'x{{ url_param('p') }}y'"])
def test_a_users_value_is_one_literal_in_every_dialect(template: str, evil: str, engine: str) -> None:
    spec = ENGINES.get(engine)
    text = render(template, TemplateValues(spec=spec, url_params={"p": evil})).text
    assert_is_one_literal(text, f"x{evil}y" if "x{{" in template else evil, spec.dialect)


@for_each("engine", ["mysql", "bigquery", "databricks", "spark"])
@for_each("evil", ['"', '""', '\\"', '" OR 1=1 --', '"" OR "', "'", "it's", "''", "\\'", "\\"])
def test_a_users_value_is_one_literal_inside_double_quotes(evil: str, engine: str) -> None:
    spec = ENGINES.get(engine)
    text = render("a = \"x{{ url_param('p') }}y\"", TemplateValues(spec=spec, url_params={"p": evil})).text
    assert_is_one_literal(text, f"x{evil}y", spec.dialect)


def assert_is_one_literal(text: str, value: str, dialect: str) -> None:
    tree = sqlglot.parse_one(text, read=dialect)
    assert isinstance(tree, sqlglot.exp.EQ)
    assert isinstance(tree.expression, sqlglot.exp.Literal)
    assert tree.expression.name == value


@for_each("name", ["acvalue0q", "ACVALUE0Q", "acvaluex0q", "acvalue", "None0q"])
def test_no_name_in_the_text_is_taken_for_a_value(name: str) -> None:
    """Meanwhile a name that nothing else has stands for a value."""
    text = render(f"{name} = {{{{ url_param('p') }}}}", TemplateValues(url_params={"p": "x"})).text
    assert text == f"{name} = 'x'"


@for_each(
    "template",
    [
        "SELECT * FROM sales_{{ url_param('region') }}",
        "\"{{ url_param('region') }}\"",
        "$$ {{ url_param('evil') }} $$",
        "E'{{ url_param('slash') }}'",
        "{{ url_param('region') }}{{ url_param('region') }}",
        "{{ url_param('region')[0:1] }}",
        "'{{ url_param('region') }}",
    ],
)
def test_a_users_value_is_refused_where_it_would_be_sql(template: str) -> None:
    with pytest.raises(TemplateError):
        render(template)


def test_sqlite_compares_moments_as_the_texts_that_it_stores() -> None:
    values = replace(VALUES, spec=ENGINES.get("sqlite"))
    between = "ts >= '{{ from_dttm }}' AND ts < '{{ to_dttm }}'"
    assert render(between, values).text == "ts >= '2024-01-01' AND ts < '2024-02-01 05:30:00'"
    assert render("{{ [from_dttm]|where_in }} '{{ 'x' ~ to_dttm }}'", values).text == (
        "('2024-01-01') 'x2024-02-01 05:30:00'"
    )
    assert render("{{ to_dttm|to_datetime('%Y-%m-%dT%H:%M:%S') }} {{ from_dttm[:10] }}", values).text == (
        "2024-02-01 05:30:00 2024-01-01"
    )
    for kind in ("DATE", "TIMESTAMP", "DATETIME"):
        bounds = f"{{% set t = get_time_filter('ts', target_type='{kind}') %}}{{{{ t.from_expr }}}} {{{{ t.to_expr }}}}"
        assert render(bounds, values).text == "'2024-01-01' '2024-02-01 05:30:00'"


@pytest.mark.parametrize(
    ("engine", "literal"),
    [
        ("mysql", "TIMESTAMP '2024-01-01 00:00:00'"),
        ("mssql", "CAST('2024-01-01T00:00:00' AS DATETIME2)"),
        ("bigquery", "DATETIME '2024-01-01 00:00:00'"),
    ],
)
def test_a_bound_of_a_type_is_a_literal_of_the_engine(engine: str, literal: str) -> None:
    values = replace(VALUES, spec=ENGINES.get(engine))
    assert render("{{ get_time_filter('ts', target_type='DATETIME').from_expr }}", values).text == literal


def test_while_nobody_asks_an_address_has_no_parameters() -> None:
    values = replace(VALUES, url_params={}, is_sample=True)
    assert (
        render("x = {{ url_param('land') }} OR x = {{ url_param('land', 'EU') }}", values).text
        == "x = NULL OR x = 'EU'"
    )
    assert render("{{ get_time_filter('other').from_expr }}", values).text == "'2024-01-01'"


def test_who_may_write_sql_gives_a_part_of_it_where_the_author_asks_for_one() -> None:
    requested = "{{ url_param('evil', escape_result=false) }}"
    assert render(requested, replace(VALUES, writes_sql=True)).text == "' OR 1=1 --"


@for_each(
    ("value", "written"),
    [
        ("1,2, -3", "1,2, (-3)"),
        (" 'a', 'O''Hara' ", "'a', 'O''Hara'"),
        ("'1) OR (1=1'", "'1) OR (1=1'"),
        ("'007'", "'007'"),
        ("desc", " desc "),
        ("NULL, true", " NULL ,  true "),
    ],
)
def test_who_may_not_write_sql_gives_literals_where_the_author_asks_for_a_part_of_it(value: str, written: str) -> None:
    values = replace(VALUES, url_params={"q": value})
    assert render("x IN ({{ url_param('q', escape_result=false) }})", values).text == f"x IN ({written})"


@for_each(
    "value",
    [
        *("1=1", "1) OR (1=1", "a", "a.b", '"a"', "'x' OR 1=1 --", "'a' 'b'", "1,", ",1", "", " ", "1;2", "1 2", "--1"),
        *("1 -- ", "1/*", "(SELECT 1)", "1 UNION SELECT 2", "x()", "CURRENT_USER", "0x1", "1e5", "'a\\' OR 1=1 --'||'"),
        *("'a' OR 'b'", "null null", "'a'\n--'", "１", "'a'b'", "aſc"),
    ],
)
def test_sql_of_who_may_not_write_it_is_refused(value: str) -> None:
    values = replace(VALUES, url_params={"q": value})
    with pytest.raises(TemplateError, match="people who may write SQL"):
        render("x IN ({{ url_param('q', escape_result=false) }})", values)


def test_a_negative_number_begins_no_comment() -> None:
    values = replace(VALUES, url_params={"q": "-5"})
    assert render("5 -{{ url_param('q', escape_result=false) }} AND a = 1", values).text == "5 -(-5) AND a = 1"


def test_a_backslash_without_a_known_engine_is_refused() -> None:
    with pytest.raises(TemplateError, match="needs a known engine"):
        render("{{ url_param('p') }}", TemplateValues(url_params={"p": "\\"}))


@pytest.mark.parametrize("value", ["a\x00b", "\x01v1\x02", "\ud800"])
def test_control_characters_in_a_value_are_refused(value: str) -> None:
    with pytest.raises(TemplateError, match="control characters"):
        render("{{ url_param('p') }}", TemplateValues(url_params={"p": value}))


def test_filters_that_a_template_takes_over_are_told() -> None:
    rendered = render("{{ filter_values('country', remove_filter=True)|where_in }} {{ get_filters('age')|length }}")
    assert rendered.removed_filters == ("country",)
    assert render("{{ filter_values('none', remove_filter=True)|where_in }}").removed_filters == ()


def test_the_identity_cannot_be_shadowed() -> None:
    params = {"current_user_id": 1, "url_param": 1, "current_username": "admin"}
    values = TemplateValues(user_id=7, username="u", template_params=params, url_params=params)
    assert render("{{ current_user_id() }} '{{ current_username() }}'", values).text == "7 'u'"
    with pytest.raises(TemplateError, match="cannot give 'current_user_id' another meaning"):
        render("{% set current_user_id = 1 %}{{ current_user_id }}")
    with pytest.raises(TemplateError, match="another meaning"):
        render("{% for current_username in ['admin'] %}{{ current_username }}{% endfor %}")


@for_each(
    ("template", "missing"),
    [
        ("{{ nosuch }}", "'nosuch' is undefined"),
        ("{{ nosuch() }}", "'nosuch' is undefined"),
        ("{{ nosuch.x }}", "'nosuch' is undefined"),
        ("{{ nosuch['x'] }}", "'nosuch' is undefined"),
        ("{% if nosuch > 1 %}{% endif %}", "'nosuch' is undefined"),
        ("{{ url_param('missing') }}", r"no value; give it a default\(\.\.\.\); the template uses url_param$"),
        ("{{ none }}", "no value"),
        ("{{ filter[99] }}", "no such item"),
        ("{{ get_filters('gone')[0].val }}", "no 'val'"),
    ],
)
def test_what_has_no_value_is_told(template: str, missing: str) -> None:
    with pytest.raises(MissingTemplateValueError, match=missing) as caught:
        render(template)
    assert caught.value.error_type is ErrorType.MISSING_TEMPLATE_PARAMS_ERROR


@for_each("template", ["1\n{{ x", "1\n{% if %}", "1\n{{ 'a' ~ }}", "1\n{% endfor %}", "1\n{% nosuch %}"])
def test_a_syntax_error_tells_its_line(template: str) -> None:
    with pytest.raises(TemplateError, match=r"^dataset 'd': the template is not valid in line 2") as caught:
        TemplateRenderer().render(template, VALUES, place="dataset 'd'")
    assert caught.value.error_type is ErrorType.INVALID_TEMPLATE_PARAMS_ERROR


def test_a_list_must_be_written_with_a_filter() -> None:
    with pytest.raises(TemplateError, match=r"use \|where_in, or join"):
        render("{{ filter_values('country') }}")


def test_compiled_templates_are_kept_within_bounds() -> None:
    renderer = TemplateRenderer(cache_size=2)
    assert [renderer.render(f"{{{{ {n} }}}}", VALUES).text for n in (1, 2, 3, 1, 3)] == ["1", "2", "3", "1", "3"]
