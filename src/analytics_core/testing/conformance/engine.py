"""What every `EngineSpec` must keep; no database is asked."""

from __future__ import annotations

import re
import string
from dataclasses import replace

import pytest
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain

_NAMES = frozenset({"table", "column", "schema", "database", "function", "host", "port", "user"})
_ENCODINGS = (
    TimeFormat(encoding=TimeEncoding.TIMESTAMP),
    TimeFormat(encoding=TimeEncoding.DATE, value_kind=ValueKind.DATE),
    TimeFormat(encoding=TimeEncoding.TIMESTAMPTZ, value_kind=ValueKind.TIMESTAMPTZ),
    TimeFormat(encoding=TimeEncoding.ISO_TEXT, value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.TEXT, strftime="%Y-%m-%d", value_kind=ValueKind.TEXT),
    TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=ValueKind.INTEGER),
    TimeFormat(encoding=TimeEncoding.EPOCH_MS, value_kind=ValueKind.INTEGER),
)


class EngineConformance:
    """Subclass it and override the fixture `spec`."""

    @pytest.fixture
    def spec(self) -> EngineSpec:
        """Return the spec under test."""
        raise NotImplementedError("override the fixture `spec`")

    def test_it_can_be_registered(self, spec: EngineSpec) -> None:
        """Its guards stand, and it is found by its name and aliases."""
        registry = EngineRegistry([spec])
        assert all(registry.get(name) is spec for name in (spec.name, *spec.aliases))

    def test_it_can_be_connected_to(self, spec: EngineSpec) -> None:
        """A URI without a driver takes the first one."""
        assert spec.drivers
        assert spec.label
        assert spec.max_identifier_bytes is None or spec.max_identifier_bytes >= 63

    def test_what_is_denied_is_not_allowed(self, spec: EngineSpec) -> None:
        """One list goes before the other, and they do not quarrel."""
        guards = spec.guards
        assert [name for name in guards.allowed_functions if name in guards.denied_functions] == []
        assert len(guards.allowed_functions.names) > 100

    def test_every_bucket_is_a_fresh_tree_that_parses_in_the_dialect(self, spec: EngineSpec) -> None:
        """A tree that is used twice would be torn apart."""
        for grain in TimeGrain:
            first, second = (spec.bucket(exp.column("c", quoted=True), grain) for _ in range(2))
            assert not {id(node) for node in first.walk()} & {id(node) for node in second.walk()}, grain
            parents = [(node, child) for node in first.walk() for child in node.iter_expressions()]
            assert all(child.parent is node for node, child in parents), grain
            Dialect.get_or_raise(spec.dialect).parse(first.sql(spec.dialect))

    def test_compound_moments_are_never_split_by_the_operators_around_them(self, spec: EngineSpec) -> None:
        """`a + b` stays one operand."""
        for grain in TimeGrain:
            moment = exp.Add(this=exp.column("a"), expression=exp.column("b"))
            rendered = spec.bucket(moment, grain).sql(spec.dialect)
            assert rendered.count("a + b") == len(re.findall(r"(?:\(|, )a \+ b(?=\)|,| AS )", rendered)), rendered

    def test_moments_of_every_encoding_parse_in_the_dialect(self, spec: EngineSpec) -> None:
        """What columns hold may be read in seven ways."""
        for time_format in _ENCODINGS:
            moment = spec.moment(exp.column("c", quoted=True), time_format)
            Dialect.get_or_raise(spec.dialect).parse(moment.sql(spec.dialect))

    def test_templates_of_errors_take_only_names_that_their_pattern_finds(self, spec: EngineSpec) -> None:
        """Names pass, and no other text of a driver; the port is that of the connection, where the host is told."""
        for pattern in spec.error_patterns:
            groups = set(re.compile(pattern.pattern).groupindex)
            fields = {field for _, field, _, _ in string.Formatter().parse(pattern.template) if field}
            allowed = groups | {"port"} if "host" in groups else groups
            assert fields <= allowed or (pattern.codes and not pattern.pattern), pattern.pattern
            assert groups <= _NAMES

    def test_it_stays_what_it_is_when_a_host_changes_it(self, spec: EngineSpec) -> None:
        """It is a record: `replace` makes another one."""
        assert replace(spec, label="another").guards is spec.guards
