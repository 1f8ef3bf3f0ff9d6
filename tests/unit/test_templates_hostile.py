"""No template reaches anything outside its names, and none costs more than its budget."""

from __future__ import annotations

import tracemalloc

import pytest
from tests.support.cases import for_each
from tests.support.planning import spec_of

from analytics_core._engine.compile.templates import TemplateRenderer, TemplateValues
from analytics_core.errors import TemplateError

VALUES = TemplateValues(spec=spec_of("sqlite"), user_id=1, template_params={"xs": [1, 2, 3]}, columns=("a",))


@for_each(
    "template",
    [
        "{{ ''.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__'] }}",
        "{{ url_param.__globals__ }}",
        "{{ url_param.run }}",
        "{{ url_param.__init__ }}",
        "{{ current_user_id.run.__closure__ }}",
        "{{ (5).bit_length() }}",
        "{{ xs.append(1) }}",
        "{{ xs.__class__ }}",
        "{{ self }}",
        "{{ self.__init__ }}",
        "{{ _state }}",
        "{{ _state.spend(-1000000000) }}",
        "{% set _state = 1 %}",
        "{{ 'x'|_each(1) }}",
        "{{ 'x'|attr('__class__') }}",
        "{{ ['x']|map(attribute='__class__')|list }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '%s' % 1 }}",
        "{{ 'x'.encode() }}",
        "{{ range.__self__ }}",
        "{{ cycler('a').__init__ }}",
        "{{ joiner() }}",
        "{{ namespace(a=1) }}",
        "{{ dict(a=1) }}",
        "{{ lipsum() }}",
        "{% include 'x' %}",
        "{% import 'os' as os %}",
        "{% from 'x' import y %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% call f() %}{% endcall %}",
        "{% for a in xs recursive %}{{ loop(xs) }}{% endfor %}",
        "{% filter upper %}x{% endfilter %}",
        "{% set x %}y{% endset %}",
        "{% autoescape true %}{% endautoescape %}",
        "{{ loop.__class__ }}",
        "{% for a in xs %}{{ loop.__class__ }}{% endfor %}",
        "{% for a in xs %}{{ loop.cycle('a') }}{% endfor %}",
        "{% for a in [1] %}{{ loop.depth }}{% endfor %}",
        "{{ [1].index }}",
        "{{ ('2024-01-01'|to_datetime('%Y-%m-%d')).__class__ }}",
        "{{ ('2024-01-01'|to_datetime('%Y-%m-%d')).replace(year=1) }}",
        "{{ '\\x01v1\\x02' }}",
        "{{ 1/0 }}",
        "{{ 'a' + 1 }}",
        "{{ 1e400 }}",
        "{{ url_param() }}",
        "{{ url_param(1, 2, 3, 4, 5, 6) }}",
        "{{ 'x'|to_datetime }}",
        "{{ '2024 2024'|to_datetime('%Y %Y') }}",
        "{{ '01/01/24'|to_datetime('%c%x') }}",
        "{{ ['a', 1]|max }}",
    ],
)
def test_the_outside_cannot_be_reached(template: str) -> None:
    with pytest.raises(TemplateError):
        TemplateRenderer().render(template, VALUES)


BOMBS = {
    "a repeated text": "{{ 'a' * 10**9 }}",
    "a repeated list": "{{ [1] * 10**9 }}",
    "a power": "{{ 9**9**9 }}",
    "powers by squaring": "{% set x = 9 %}" + "{% set x = x * x %}" * 60 + "{{ x }}",
    "a wide format": "{{ '%0100000000d'|format(1) }}",
    "a wide method": "{{ '%0100000000d'.__mod__(1) }}",
    "a wide time": "{{ ('2024-01-01'|to_datetime('%Y-%m-%d')).strftime('%0100000000Y') }}",
    "centred text": "{{ 'a'|center(1000000000) }}",
    "padded text": "{{ 'a'.ljust(1000000000) }}",
    "zeros": "{{ 'a'.zfill(1000000000) }}",
    "an indent": "{{ 'a'|indent(1000000000) }}",
    "a long range": "{{ range(10**9)|join }}",
    "batches": "{{ xs|batch(1000000000, 1)|list }}",
    "slices": "{{ xs|slice(1000000000)|list }}",
    "nested loops": "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
    "many nested loops": "{% for a in range(10) %}" * 12 + "x" + "{% endfor %}" * 12,
    "loops that count nothing": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "a loop over much text": "{% for a in range(9999) %}" + "x" * 40_000 + "{% endfor %}",
    "a loop over many tests": "{% for a in range(9999) %}" + "{% if a %}{% endif %}" * 400 + "{% endfor %}",
    "doubling text": "{% set x = 'aaaaaaaa' %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
    "doubling by plus": "{% set x = 'aaaaaaaa' %}" + "{% set x = x + x %}" * 60 + "{{ x }}",
    "doubling by join": "{% set x = 'aaaaaaaa' %}" + "{% set x = [x, x]|join(x) %}" * 60 + "{{ x }}",
    "doubling by a method": "{% set x = 'aaaaaaaa' %}" + "{% set x = x.join([x, x, x]) %}" * 60 + "{{ x }}",
    "doubling by replace": "{% set x = 'aaaaaaaa' %}" + "{% set x = x|replace('a', x) %}" * 60 + "{{ x }}",
    "doubling lists": "{% set x = [1, 1] %}" + "{% set x = x + x %}" * 60 + "{{ x|length }}",
    "nesting lists": "{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x == x }}",
    "nesting maps": "{% set x = {'a': 1} %}" + "{% set x = {'a': x, 'b': x} %}" * 60 + "{{ x == x }}",
    "deep parentheses": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "deep lists": "{{ " + "[" * 2_000 + "]" * 2_000 + " }}",
    "deep conditions": "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "deep negation": "{{ " + "not " * 5_000 + "1 }}",
    "many nodes": "{{ 1 }}" * 7_000,
    "a long source": "{{ 1 }}" + "x" * 60_000,
    "big searches": "{% set x = range(9999) %}{% for a in x %}{% if a in x %}{% endif %}{% endfor %}",
}


@pytest.mark.slow
@for_each("template", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_a_typed_error_in_little_memory(template: str) -> None:
    renderer = TemplateRenderer()
    renderer.render("{{ 1 }}", VALUES)
    tracemalloc.start()
    try:
        with pytest.raises(TemplateError):
            renderer.render(template, VALUES)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("template", "length"),
    [
        ("{% for i in range(2000) %}{{ i }},{% endfor %}", 8_890),
        ("{% for a in range(50) %}{% for b in range(50) %}x{% endfor %}{% endfor %}", 2_500),
        ("{{ ids|where_in }}", 58_890),
        ("{% if 5 in range(100) %}" + "x" * 10_000 + "{% endif %}", 10_000),
    ],
)
def test_honest_work_is_within_the_budget(template: str, length: int) -> None:
    values = TemplateValues(template_params={"ids": list(range(10_000))})
    assert len(TemplateRenderer().render(template, values).text) == length
