"""Tells what kind of values a column holds from its type as the database or SQLAlchemy writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from analytics_core._engine.engines.types import NumberRange, ValueKind

_KINDS: Mapping[ValueKind, str] = MappingProxyType(
    {
        ValueKind.INTEGER: (
            "INT INTEGER BIGINT SMALLINT TINYINT MEDIUMINT HUGEINT UHUGEINT BIGNUM UINT UINTEGER UBIGINT USMALLINT "
            "UTINYINT INT1 INT2 INT4 INT8 INT16 INT32 INT64 INT128 INT256 UINT8 UINT16 UINT32 UINT64 UINT128 "
            "UINT256 BYTEINT BYTE SHORT LONG LONGLONG INT24 TINY YEAR SERIAL SERIAL4 SERIAL8 BIGSERIAL "
            "SMALLSERIAL SIGNED UNSIGNED"
        ),
        ValueKind.FLOAT: (
            "FLOAT DOUBLE REAL FLOAT4 FLOAT8 FLOAT16 FLOAT32 FLOAT64 BFLOAT16 BINARY_FLOAT BINARY_DOUBLE "
            "DOUBLE_PRECISION"
        ),
        ValueKind.DECIMAL: (
            "DECIMAL NUMERIC NUMBER DEC FIXED MONEY SMALLMONEY BIGNUMERIC BIGDECIMAL DECFLOAT NEWDECIMAL "
            "DECIMAL32 DECIMAL64 DECIMAL128 DECIMAL256 CURRENCY"
        ),
        ValueKind.TEXT: (
            "TEXT VARCHAR CHAR CHARACTER STRING NVARCHAR NCHAR NTEXT VARCHAR2 NVARCHAR2 CLOB NCLOB TINYTEXT "
            "MEDIUMTEXT LONGTEXT BPCHAR CITEXT NAME ENUM FIXEDSTRING LOWCARDINALITY UNICODE UNICODETEXT "
            "SYSNAME VAR_STRING VARSTRING ENUM8 ENUM16 SET NATIONAL LONG_VARCHAR"
        ),
        ValueKind.BOOLEAN: "BOOL BOOLEAN LOGICAL",
        ValueKind.DATE: "DATE DATE32 NEWDATE",
        ValueKind.TIMESTAMP: (
            "TIMESTAMP DATETIME DATETIME2 SMALLDATETIME TIMESTAMP_NTZ TIMESTAMPNTZ TIMESTAMP_S TIMESTAMP_MS "
            "TIMESTAMP_US TIMESTAMP_NS DATETIME64 DATETIME32"
        ),
        ValueKind.TIMESTAMPTZ: (
            "TIMESTAMPTZ TIMESTAMP_TZ TIMESTAMP_LTZ TIMESTAMPLTZ DATETIMEOFFSET TIMESTAMP_WITH_TIMEZONE"
        ),
        ValueKind.TIME: "TIME TIMETZ TIME64 TIME_NS",
        ValueKind.BYTES: (
            "BLOB BYTEA BYTES BINARY VARBINARY TINYBLOB MEDIUMBLOB LONGBLOB IMAGE RAW LONG_RAW BFILE "
            "ROWVERSION LARGE_BINARY"
        ),
        ValueKind.OTHER: (
            "BIT VARBIT JSON JSONB UUID UNIQUEIDENTIFIER ARRAY LIST STRUCT ROW MAP TUPLE NESTED INTERVAL "
            "VARIANT OBJECT SUPER XML GEOMETRY GEOGRAPHY POINT INET CIDR MACADDR TSVECTOR HSTORE UNION "
            "HYPERLOGLOG AGGREGATEFUNCTION COMPLEX IPV4 IPV6 IPADDRESS QDIGEST TDIGEST INT4RANGE INT8RANGE "
            "NUMRANGE TSRANGE TSTZRANGE DATERANGE VECTOR SQL_VARIANT"
        ),
    }
)
_BY_WORD: Mapping[str, ValueKind] = MappingProxyType(
    {word: kind for kind, words in _KINDS.items() for word in words.split()}
)
_WRAPPERS = re.compile(r"^(?:NULLABLE|LOWCARDINALITY)\((.*)\)$", re.DOTALL)
_WORD = re.compile(r"[A-Z_][A-Z0-9_]*")
_ZONED = re.compile(r"WITH (?:LOCAL )?TIME ZONE")

_BIT = re.compile(r"BIT\((\d+)\)")
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC|DEC|FIXED)\((\d+)(?:, ?(\d+))?\)")

Overrides = Mapping[str, ValueKind]


def kind_reader(overrides: Overrides = MappingProxyType({})) -> Callable[[str], ValueKind]:
    """Return a function from type text to kind; `overrides` are the engine's own meanings.

    Keys of `overrides` are first words (`DATE`) or whole types (`TINYINT(1)`), in capitals. Unknown types are UNKNOWN.
    """

    def value_kind(type_text: str) -> ValueKind:
        written = " ".join(type_text.upper().split())
        while wrapped := _WRAPPERS.match(written):
            written = wrapped.group(1).strip()
        if written in overrides:
            return overrides[written]
        return _general_kind(written, overrides)

    return value_kind


def _general_kind(written: str, overrides: Overrides) -> ValueKind:
    if written.endswith("[]"):
        return ValueKind.OTHER
    word = _WORD.match(written)
    if word is None:
        return ValueKind.UNKNOWN
    if _ZONED.search(written) and word.group() == "TIMESTAMP":
        return ValueKind.TIMESTAMPTZ
    if written.startswith(("CHAR VARYING FOR BIT", "LONG RAW")):
        return ValueKind.BYTES
    return overrides.get(word.group()) or _BY_WORD.get(word.group(), ValueKind.UNKNOWN)


def range_reader(bits: Mapping[str, int], *, bit_fields: bool = False) -> Callable[[str], NumberRange | None]:
    """Return a function from type text to the numbers that such a column can hold; None where the text does not tell.

    Args:
        bits: the size of the engine's whole numbers by first word; negative where they have no sign.
        bit_fields: whether `BIT(8)` holds numbers.
    """

    def number_range(type_text: str) -> NumberRange | None:
        written = " ".join(type_text.upper().split())
        if written.endswith("]"):
            return None
        if found := _DECIMAL.match(written):
            most = 10 ** int(found[1]) - 1
            return NumberRange(low=-most, high=most, scale=int(found[2] or 0))
        if bit_fields and (found := _BIT.match(written)):
            return NumberRange(low=0, high=2 ** int(found[1]) - 1, bits=True)
        word = _WORD.match(written)
        size = bits.get(word.group()) if word else None
        if size is None:
            return None
        if size < 0 or "UNSIGNED" in written:
            return NumberRange(low=0, high=2 ** abs(size) - 1)
        return NumberRange(low=-(2 ** (size - 1)), high=2 ** (size - 1) - 1)

    return number_range
