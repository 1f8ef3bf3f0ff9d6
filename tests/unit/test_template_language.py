"""What the language of templates gives: each filter, each operator and each bound, by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.templates import TemplateRenderer, TemplateValues
from analytics_core._engine.compile.templates.sandbox import TemplateSteps
from analytics_core._engine.engines.registry import installed_engines
from analytics_core.errors import AnalyticsError, MissingTemplateValueError, TemplateError

VALUES = TemplateValues(spec=installed_engines(()).get("postgresql"))


def render(text: str, **params: Any) -> str:
    return TemplateRenderer().render(text, replace(VALUES, template_params=params)).text


def test_each_filter_gives_its_value() -> None:
    for expression, text in (
        ("'aB c' | upper", "AB C"),
        ("'aB c' | lower", "ab c"),
        ("'  a ' | trim", "a"),
        ("'ab cd' | title", "Ab Cd"),
        ("'ab cd' | capitalize", "Ab cd"),
        ("5 | string", "5"),
        ("'abab' | replace('a', 'c')", "cbcb"),
        ("['a', 'b'] | join('-')", "a-b"),
        ("['a', 'b'] | join", "ab"),
        ("['a', 'b'] | length", "2"),
        ("'abc' | count", "3"),
        ("[3, 1, 2] | first", "3"),
        ("[3, 1, 2] | last", "2"),
        ("'12' | int", "12"),
        ("'1.5' | float", "1.5"),
        ("2.567 | round(1)", "2.6"),
        ("(3 - 5) | abs", "2"),
        ("[3, 1, 2] | min", "1"),
        ("[3, 1, 2] | max", "3"),
        ("[3, 1, 2] | sum", "6"),
        ("[3, 1, 2] | sort | join(',')", "1,2,3"),
        ("[3, 1, 3] | unique | join(',')", "3,1"),
        ("'ab' | list | join('.')", "a.b"),
        ("[1, 2] | where_in", "(1, 2)"),
        ("none | default(7)", "7"),
        ("none | d('x')", "x"),
        ("0 | default(7)", "0"),
        ("0 | default(7, true)", "7"),
    ):
        assert render(f"{{{{ {expression} }}}}") == text, expression


def test_each_operator_gives_its_value_and_texts_and_lists_are_only_added() -> None:
    for expression, text in (
        ("2 + 3", "5"),
        ("2 - 3", "(-1)"),
        ("2 * 3", "6"),
        ("3 / 2", "1.5"),
        ("7 // 2", "3"),
        ("7 % 4", "3"),
        ("2 ** 3", "8"),
        ("'a' + 'b'", "ab"),
        ("'a' ~ 1", "a1"),
        ("([1] + [2, 3]) | join(',')", "1,2,3"),
        ("1 if 2 > 1 and not 1 > 2 else 0", "1"),
        ("1 if 'a' in ['a'] or false else 0", "1"),
    ):
        assert render(f"{{{{ {expression} }}}}") == text, expression
    for expression in ("'a' * 3", "'a' - 'b'", "[1] - [1]", "'a' + 1", "[1] + 'a'", "10 ** 101", "1000001 ** 2"):
        with pytest.raises(TemplateError):
            render(f"{{{{ {expression} }}}}")
    assert render("{{ 1000000 ** 2 }}") == "1000000000000"


def test_all_that_is_written_together_has_a_most() -> None:
    piece = "x" * 1_000
    with pytest.raises(TemplateError, match="makes a text of more than 200000 characters"):
        render(f"{{% for n in range(900) %}}{{{{ '{piece}' }}}}{{% endfor %}}")
    assert len(render(f"{{% for n in range(5) %}}{{{{ '{piece}' }}}}{{% endfor %}}")) == 5_000


# -------------------------------------------------------------------------------------------------------------- bounds
@for_each(
    ("most", "beyond", "message"),
    [
        ("{{ range(10000)|last }}", "{{ range(10001)|last }}", "range.. has more than 10000 numbers"),
        ("{{ items|list|first }}", "{{ (items + [1])|list|first }}", "goes through more than 60000 items"),
        ("{{ letters|upper|length }}", "{{ (letters ~ 'x')|length }}", "makes a text of more than 200000 characters"),
        ("'{{ half }}'  '{{ half }}'", "'{{ half }}'   '{{ half }}'", "^template: it makes a text of more than 200000"),
        ("{{ 10 ** 30 }}", "{{ 10 ** 30 + 1 }}", "makes a number that is too large"),
        ("{{ 1 ** 100 }}", "{{ 1 ** 101 }}", "makes a number that is too large"),
        ("{{ large }}", "{{ larger }}", "not text, a number or a date"),
        ("{{ [[[1]]]|length }}", "{{ [[[[1]]]]|length }}", "nests lists too deeply"),
        ("{{ ((1, 2), 3)|length }}", "{{ ((((1, 2), 3), 4), 5)|length }}", "nests lists too deeply"),
        ("{{ {'a': [[1]]}|length }}", "{{ {'a': [[[1]]]}|length }}", "nests lists too deeply"),
        ("{{ 1 }}" * 4_999, "{{ 1 }}" * 5_000, "too long or nested too deeply"),
        ("{{ " + "not " * 58 + "1 }}", "{{ " + "not " * 59 + "1 }}", "too long or nested too deeply"),
        ("{{ 1 }}" + "x" * 49_993, "{{ 1 }}" + "x" * 49_994, "50001 characters; at most 50000 are allowed"),
    ],
)
def test_each_bound_is_the_last_that_is_allowed(most: str, beyond: str, message: str) -> None:
    params = {
        "items": [1] * 60_000,
        "letters": "x" * 200_000,
        "half": "x" * 99_994,
        "large": 10**30,
        "larger": 10**30 + 1,
    }
    assert render(most, **params)
    with pytest.raises(TemplateError, match=message):
        render(beyond, **params)


@for_each(
    ("expression", "text"),
    [
        ("('9' * 1 if false else digits)|int", "9" * 30),
        ("'1.23456789'|float|round(99)", "1.23456789"),
        ("'x'|int", "0"),
        ("'x'|int(5)", "5"),
        ("long|int(5)", "5"),
        ("fits|float", "1.0"),
        ("none|first is none", "TRUE"),
        ("2.5|round", "2.0"),
        ("none|default", ""),
        ("[]|max is none", "TRUE"),
        ("[2, 10]|sort(true)|join(',')", "2,10"),
    ],
)
def test_what_is_no_number_or_has_no_member_has_its_default(expression: str, text: str) -> None:
    assert render(f"{{{{ {expression} }}}}", digits="9" * 30, long="1" * 41, fits="1" + "." + "0" * 38) == text


@for_each(
    ("template", "steps"),
    [
        ("{{ 1 }}", 1),
        ("{{ 'abcdefgh' }}", 2),
        ("{{ 'a' | upper }}", 3),
        ("{{ 1 + 1 }}", 2),
        ("{{ 'a' + 'b' }}", 6),
        ("{{ 'a' ~ 'b' ~ 1 }}", 7),
        ("{{ ([1] + [2, 3])|length }}", 16),
        ("{{ [3, 2, 1]|sort|first }}", 36),
        ("{{ [1, 2]|where_in }}", 10),
        ("{{ ['a', 'b']|join('12345678') }}", 12),
        ("{% for x in [1, 2] %}{% endfor %}", 18),
        ("{% for x in [1, 2] %}abcdefgh{% endfor %}", 26),
        ("{{ range(5)|first }}", 9),
        ("{{ {'a': [1, 2], 'b': 2}['b'] }}", 12),
        ("{{ 1 in [1, 2] }}", 9),
        ("{{ 'abcdefgh'.upper() }}", 5),
        ("{{ 'aab'|replace('a', '12345678') }}", 7),
        ("{{ map.items()|first|first }}", 7),
        ("{{ 5|string }}", 3),
        ("{{ 'x'|string }}", 3),
        ("{{ map|length }}", 3),
        ("{{ [[1, 2], 3]|length }}", 14),
        ("{{ {'a': {'b': 1}}|length }}", 11),
        ("{{ ((1, 2), 3)|length }}", 14),
        ("{{ none|default(3) }}", 1),
    ],
)
def test_all_work_is_paid_for(template: str, steps: int) -> None:
    budget = TemplateSteps(steps)
    values = replace(VALUES, template_params={"map": {"k": 1, "l": 2}}, steps=budget)
    assert TemplateRenderer().render(template, values).text is not None
    assert budget.remaining == 0
    with pytest.raises(TemplateError, match="do too much work"):
        TemplateRenderer().render(template, replace(values, steps=TemplateSteps(steps - 1)))


# --------------------------------------------------------------------------------------------------------------- names
@for_each(
    "name",
    [
        *("url_param", "current_user_id", "current_username", "current_user_email", "current_user_roles"),
        *("cache_key_wrapper", "filter_values", "get_filters", "get_time_filter", "range", "from_dttm", "to_dttm"),
        *("columns", "groupby", "metrics", "filter", "row_limit", "row_offset", "table_columns", "time_column"),
        *("time_grain", "metric", "dataset", "current_user_rls_rules", "latest_partition"),
    ],
)
def test_no_template_gives_a_name_of_ours_another_meaning(name: str) -> None:
    with pytest.raises(TemplateError, match=f"cannot give '{name}' another meaning"):
        render(f"{{% set {name} = 1 %}}")
    assert render(f"{{{{ {name}s_ }}}}", **{f"{name}s_": 1}) == "1"


@for_each(
    ("expression", "text"),
    [
        ("words.get('k')", "'v'"),
        ("words.get('x', 'd')", "d"),
        ("words.items()|first|join('=')", "'k'='v'"),
        ("words.keys()|join", "'k'"),
        ("words.values()|join", "'v'"),
        ("words.k", "'v'"),
        ("letters[0]", "'a'"),
        ("letters|first is none", "TRUE"),
        ("letters|list|join('-')", "'a'-'b'"),
        ("letters.split('b')|join('-')", "'a'-''"),
        ("letters.startswith('a')", "TRUE"),
        ("letters.endswith('a')", "FALSE"),
        ("letters.upper()", "'AB'"),
        ("' ab '.strip() ~ ' ab '.lstrip() ~ ' ab '.rstrip()", "abab  ab"),
        ("'aB'.lower() ~ 'ab'.title() ~ 'ab'.capitalize()", "abAbAb"),
        ("letters != 'ab'", "FALSE"),
        ("'b' in letters", "TRUE"),
        ("'ab'|replace('b', letters)", "'aab'"),
        ("day", "'2024-05-15'"),
        ("('2024-05-15 01:02:03'|to_datetime).minute", "2"),
        ("('2024-05-15'|to_datetime('%Y-%m-%d')).isoformat()", "2024-05-15T00:00:00"),
        ("none|to_datetime is none", "TRUE"),
        ("1 is odd and 2 is even and 'a' is string and 1 is number and true is boolean", "TRUE"),
        ("true is true and false is false and none is none and nosuch is undefined and day is defined", "TRUE"),
    ],
)
def test_each_attribute_and_test_gives_its_value(expression: str, text: str) -> None:
    assert render(f"{{{{ {expression} }}}}", words={"k": "v"}, letters="ab", day=date(2024, 5, 15)) == text


@for_each("name", ["index", "index0", "revindex", "revindex0", "length", "first", "last", "previtem", "nextitem"])
def test_a_loop_tells_where_it_is(name: str) -> None:
    found = {"index": 2, "index0": 1, "revindex": 2, "revindex0": 1, "length": 3, "previtem": 4, "nextitem": 6}
    text = render(f"{{% for n in [4, 5, 6] %}}{{% if n == 5 %}}{{{{ loop.{name} }}}}{{% endif %}}{{% endfor %}}")
    assert text == str(found.get(name, "FALSE"))


@for_each("name", ["year", "month", "day", "hour", "minute", "second"])
def test_a_moment_has_its_parts(name: str) -> None:
    moment = "('2021-02-03 04:05:06'|to_datetime)"
    parts = {"year": 2021, "month": 2, "day": 3, "hour": 4, "minute": 5, "second": 6}
    assert render(f"{{{{ {moment}.{name} }}}}") == str(parts[name])


@for_each(
    ("template", "message"),
    [
        ("{{ 'a'|replace('', 'b') }}", "replaces nothing"),
        ("{{ (1)[0] }}", "cannot read items of that"),
        ("{{ (1)() }}", "can call their macros only"),
        ("{% for x in 5 %}{% endfor %}", "goes through something that is not a list"),
        ("\x00{{ 1 }}", "it holds control characters"),
        ("{{ get_time_filter('x', default='today').from_expr }}", "cannot read other time ranges than the query's"),
    ],
)
def test_what_the_language_lacks_is_told(template: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        render(template)


# ------------------------------------------------------------------------------------------------------------ look-ups
class Known:
    """Knows one metric, dataset 3, two rules and a partition; notes what it was asked for."""

    def __init__(self, *rules: str, metric: str = "SUM(x) -- all") -> None:
        self.calls: list[Any] = []
        self._rules, self._metric = rules, metric

    def metric(self, name: str, dataset_id: int | None) -> str:
        self.calls.append((name, dataset_id))
        return self._metric

    def relation(self, dataset_id: int, columns: Sequence[str] | None, *, with_metrics: bool) -> str:
        self.calls.append((dataset_id, columns, with_metrics))
        return "SELECT 1"

    def row_rules(self) -> tuple[str, ...]:
        return self._rules

    def latest_partition(self, table: str) -> str:
        self.calls.append(table)
        return "it's"


@for_each(
    ("expression", "text", "call"),
    [
        ("metric('m')", "(SUM(x) -- all\n)", ("m", None)),
        ("metric('m', 12)", "(SUM(x) -- all\n)", ("m", 12)),
        ("dataset(3)", "(\nSELECT 1\n) AS dataset_3", (3, None, False)),
        ("dataset('3', true, ['a', 5])", "(\nSELECT 1\n) AS dataset_3", (3, ["a", "5"], True)),
        ("dataset(3, columns=[])", "(\nSELECT 1\n) AS dataset_3", (3, None, False)),
        ("latest_partition('s.t')", "'it''s'", "s.t"),
        ("current_user_rls_rules()|join(' AND ')", "a > 1 AND b > 2", None),
    ],
)
def test_a_look_up_stands_for_what_is_known(expression: str, text: str, call: Any) -> None:
    known = Known("a > 1", "b > 2")
    assert TemplateRenderer().render(f"{{{{ {expression} }}}}", replace(VALUES, lookups=known)).text == text
    assert known.calls == ([] if call is None else [call])
    with pytest.raises(TemplateError, match=rf"^template: {expression.partition('(')[0]}\(\) cannot be used here$"):
        render(f"{{{{ {expression} }}}}")


def test_without_rules_there_is_nothing_to_write() -> None:
    values = replace(VALUES, lookups=Known())
    assert TemplateRenderer().render("{{ current_user_rls_rules() is none }}", values).text == "TRUE"


@for_each(
    ("template", "message"),
    [
        ("{{ dataset(true) }}", "the id of a dataset is a whole number"),
        ("{{ dataset('x') }}", "the id of a dataset is a whole number"),
        ("{{ dataset(1234567890123456789) }}", "the id of a dataset is a whole number"),
        ("{{ dataset(1, columns='ab') }}", r"dataset\(\): columns must be a list of names"),
        ("{{ metric('m') }}", "holds control characters"),
    ],
)
def test_a_look_up_that_makes_no_sense_is_refused(template: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        TemplateRenderer().render(template, replace(VALUES, lookups=Known(metric="a\x01b")))


def test_an_error_of_a_template_that_is_taken_in_has_its_place_once() -> None:
    class Failing(Known):
        def metric(self, name: str, dataset_id: int | None) -> str:
            raise MissingTemplateValueError("template: no such")

    with pytest.raises(AnalyticsError) as caught:
        TemplateRenderer().render("{{ metric('m') }}", replace(VALUES, lookups=Failing()))
    assert caught.value.message == "template: no such"


def test_a_rendering_tells_what_it_read() -> None:
    values = replace(VALUES, lookups=Known())
    for template, reads_range, looks_up in (
        ("{{ 1 }}", False, False),
        ("{{ from_dttm }}{{ to_dttm }}", True, False),
        ("{{ get_time_filter().from_expr is none }}", True, False),
        ("{{ metric('m') }}", False, True),
        ("{% if false %}{{ latest_partition('t') }}{{ dataset(1) }}{% endif %}", False, True),
    ):
        moments = replace(values, since=datetime(2024, 1, 1), until=datetime(2024, 1, 1))
        rendered = TemplateRenderer().render(template, moments)
        assert (rendered.reads_range, rendered.looks_up) == (reads_range, looks_up), template


def test_the_templates_of_a_request_share_a_million_steps() -> None:
    assert TemplateSteps().remaining == 1_000_000
