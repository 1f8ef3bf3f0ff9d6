"""Finds the spec of an engine by its name or by a connection URI's backend name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from analytics_core._engines.spec import EngineSpec
from analytics_core._engines.specs.bigquery import bigquery_spec
from analytics_core._engines.specs.clickhouse import clickhouse_spec
from analytics_core._engines.specs.databricks import databricks_spec, spark_spec
from analytics_core._engines.specs.druid import druid_spec
from analytics_core._engines.specs.duckdb import duckdb_spec
from analytics_core._engines.specs.mssql import mssql_spec
from analytics_core._engines.specs.mysql import mysql_spec
from analytics_core._engines.specs.oracle import oracle_spec
from analytics_core._engines.specs.postgresql import postgresql_spec
from analytics_core._engines.specs.redshift import redshift_spec
from analytics_core._engines.specs.snowflake import snowflake_spec
from analytics_core._engines.specs.sqlite import sqlite_spec
from analytics_core._engines.specs.trino import presto_spec, trino_spec
from analytics_core.errors import UnknownEngineError


class EngineRegistry:
    """The engines that can be used, by name and alias; it never changes once made.

    Args:
        specs: a later spec replaces an earlier one of the same name.
    """

    __slots__ = ("_by_name", "_specs")

    def __init__(self, specs: Iterable[EngineSpec]) -> None:
        self._specs: Mapping[str, EngineSpec] = MappingProxyType({spec.name: spec for spec in specs})
        aliases = {alias: spec for spec in self._specs.values() for alias in spec.aliases}
        self._by_name: Mapping[str, EngineSpec] = MappingProxyType({**aliases, **self._specs})

    def get(self, name: str) -> EngineSpec:
        """Return the spec with this name or alias, in any case.

        Raises:
            UnknownEngineError: no engine answers to the name; the message lists those that there are.
        """
        spec = self._by_name.get(name.lower())
        if spec is None:
            raise UnknownEngineError(name, place="the registry of engines", known=self.names())
        return spec

    def names(self) -> tuple[str, ...]:
        """Return the names of all engines, sorted; aliases are left out."""
        return tuple(sorted(self._specs))

    def with_spec(self, spec: EngineSpec) -> EngineRegistry:
        """Return a registry that also knows `spec`, in place of one of the same name."""
        return EngineRegistry([*self._specs.values(), spec])


def default_registry() -> EngineRegistry:
    """Return the registry of the engines that come with this package."""
    return EngineRegistry(make_spec() for make_spec in _SPECS)


_SPECS = (
    sqlite_spec,
    duckdb_spec,
    postgresql_spec,
    mysql_spec,
    clickhouse_spec,
    trino_spec,
    presto_spec,
    bigquery_spec,
    snowflake_spec,
    redshift_spec,
    databricks_spec,
    spark_spec,
    mssql_spec,
    oracle_spec,
    druid_spec,
)
