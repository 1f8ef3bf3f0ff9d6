"""What the language of templates gives: each filter, each operator and each bound, by value."""

from __future__ import annotations

import pytest

from analytics_core._compile.templates import TemplateRenderer, TemplateValues
from analytics_core._engines.registry import installed_engines
from analytics_core.errors import TemplateError

VALUES = TemplateValues(spec=installed_engines(()).get("postgresql"))


def render(text: str) -> str:
    return TemplateRenderer().render(text, VALUES).text


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
