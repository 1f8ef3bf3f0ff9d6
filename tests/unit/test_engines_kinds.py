"""Types as databases and SQLAlchemy write them tell the kind of values."""

from __future__ import annotations

from sqlglot import exp
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.types import ValueKind

REGISTRY = installed_engines(())
EVERYWHERE = {
    "INTEGER": ValueKind.INTEGER,
    "int": ValueKind.INTEGER,
    "BIGINT": ValueKind.INTEGER,
    "BIGINT UNSIGNED": ValueKind.INTEGER,
    "SMALLINT": ValueKind.INTEGER,
    "LONGLONG": ValueKind.INTEGER,
    "INT64": ValueKind.INTEGER,
    "HUGEINT": ValueKind.INTEGER,
    "FLOAT": ValueKind.FLOAT,
    "FLOAT(53)": ValueKind.FLOAT,
    "FLOAT64": ValueKind.FLOAT,
    "REAL": ValueKind.FLOAT,
    "DOUBLE PRECISION": ValueKind.FLOAT,
    "double": ValueKind.FLOAT,
    "NUMERIC(10, 2)": ValueKind.DECIMAL,
    "DECIMAL(38,9)": ValueKind.DECIMAL,
    "VARCHAR(20)": ValueKind.TEXT,
    "character varying(20)": ValueKind.TEXT,
    "TEXT": ValueKind.TEXT,
    "STRING": ValueKind.TEXT,
    "NVARCHAR(10) COLLATE x": ValueKind.TEXT,
    "LONGTEXT": ValueKind.TEXT,
    "ENUM('a','b')": ValueKind.TEXT,
    "BOOLEAN": ValueKind.BOOLEAN,
    "bool": ValueKind.BOOLEAN,
    "TIMESTAMP WITHOUT TIME ZONE": ValueKind.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": ValueKind.TIMESTAMPTZ,
    "TIMESTAMP(6) WITH TIME ZONE": ValueKind.TIMESTAMPTZ,
    "TIMESTAMPTZ": ValueKind.TIMESTAMPTZ,
    "TIME": ValueKind.TIME,
    "TIME WITHOUT TIME ZONE": ValueKind.TIME,
    "BLOB": ValueKind.BYTES,
    "VARBINARY(16)": ValueKind.BYTES,
    "JSON": ValueKind.OTHER,
    "UUID": ValueKind.OTHER,
    "INTERVAL": ValueKind.OTHER,
    "INTEGER[]": ValueKind.OTHER,
    "ARRAY": ValueKind.OTHER,
    "ARRAY(INTEGER)": ValueKind.OTHER,
    "STRUCT(a INTEGER)": ValueKind.OTHER,
    "MAP(VARCHAR, INTEGER)": ValueKind.OTHER,
    "": ValueKind.UNKNOWN,
    "NULL": ValueKind.UNKNOWN,
    "mood": ValueKind.UNKNOWN,
    "(": ValueKind.UNKNOWN,
    "INTERVALLISH": ValueKind.UNKNOWN,
    "POINTER": ValueKind.UNKNOWN,
}
OWN = [
    ("mysql", "TINYINT(1)", ValueKind.BOOLEAN),
    ("mysql", "TINYINT(4)", ValueKind.INTEGER),
    ("mysql", "TINYINT", ValueKind.INTEGER),
    ("mysql", "BIT", ValueKind.INTEGER),
    ("mysql", "BIT(1)", ValueKind.BOOLEAN),
    ("mysql", "BIT(8)", ValueKind.INTEGER),
    ("mysql", "DATETIME(6)", ValueKind.TIMESTAMP),
    ("mysql", "TIMESTAMP", ValueKind.TIMESTAMP),
    ("mysql", "YEAR(4)", ValueKind.INTEGER),
    ("mysql", "MEDIUMBLOB", ValueKind.BYTES),
    ("sqlite", "DATETIME", ValueKind.TIMESTAMP),
    ("sqlite", "DATE", ValueKind.DATE),
    ("postgresql", "MONEY", ValueKind.OTHER),
    ("postgresql", "BYTEA", ValueKind.BYTES),
    ("postgresql", "JSONB", ValueKind.OTHER),
    ("postgresql", "BIT(3)", ValueKind.OTHER),
    ("duckdb", "TIMESTAMP_NS", ValueKind.TIMESTAMP),
    ("duckdb", "UBIGINT", ValueKind.INTEGER),
    ("clickhouse", "Nullable(Int64)", ValueKind.INTEGER),
    ("clickhouse", "LowCardinality(Nullable(String))", ValueKind.TEXT),
    ("clickhouse", "DateTime64(3, 'Europe/Berlin')", ValueKind.TIMESTAMPTZ),
    ("clickhouse", "Array(String)", ValueKind.OTHER),
    ("clickhouse", "Date32", ValueKind.DATE),
    ("bigquery", "TIMESTAMP", ValueKind.TIMESTAMPTZ),
    ("bigquery", "DATETIME", ValueKind.TIMESTAMP),
    ("bigquery", "BIGNUMERIC", ValueKind.DECIMAL),
    ("mssql", "BIT", ValueKind.BOOLEAN),
    ("mssql", "DATETIME2(7)", ValueKind.TIMESTAMP),
    ("mssql", "DATETIMEOFFSET", ValueKind.TIMESTAMPTZ),
    ("mssql", "TIMESTAMP", ValueKind.BYTES),
    ("oracle", "DATE", ValueKind.TIMESTAMP),
    ("oracle", "VARCHAR2(20 CHAR)", ValueKind.TEXT),
    ("oracle", "NUMBER(10, 2)", ValueKind.DECIMAL),
    ("oracle", "TIMESTAMP WITH LOCAL TIME ZONE", ValueKind.TIMESTAMPTZ),
    ("oracle", "LONG RAW", ValueKind.BYTES),
    ("snowflake", "TIMESTAMP_NTZ(9)", ValueKind.TIMESTAMP),
    ("snowflake", "TIMESTAMP_LTZ", ValueKind.TIMESTAMPTZ),
    ("snowflake", "VARIANT", ValueKind.OTHER),
    ("redshift", "SUPER", ValueKind.OTHER),
    ("databricks", "VOID", ValueKind.UNKNOWN),
    ("spark", "VOID", ValueKind.UNKNOWN),
]


@for_each("name", REGISTRY.names())
def test_common_types_mean_the_same_on_every_engine(name: str) -> None:
    read = REGISTRY.get(name).value_kind
    own = {text for engine, text, _ in OWN if engine == name}
    common = {text: kind for text, kind in EVERYWHERE.items() if text.partition(" ")[0] not in own}
    wrong = {text: read(text) for text, kind in common.items() if read(text) is not kind}
    assert wrong == {}


@for_each(("name", "text", "kind"), OWN)
def test_types_of_one_engine(name: str, text: str, kind: ValueKind) -> None:
    assert REGISTRY.get(name).value_kind(text) is kind


@for_each(
    ("declared", "written"),
    [
        ("DECIMAL(5, 2)", 'TRY_CAST("a" AS DECIMAL(5, 2))'),
        ("TIMESTAMP WITH TIME ZONE", 'TRY_CAST("a" AS TIMESTAMPTZ)'),
        ("no type at all", None),
        ("DECIMAL((SELECT 1), 2)", None),
        ("DECIMAL(LENGTH((SELECT name FROM t)), 2)", None),
        ("DECIMAL(a, 2)", None),
    ],
)
def test_a_declared_type_of_duckdb_that_holds_other_sql_is_not_told(declared: str, written: str | None) -> None:
    node = REGISTRY.get("duckdb").as_declared(exp.column("a", quoted=True), declared)
    assert (node and node.sql("duckdb")) == written
