"""Writes values as SQL text, for the statement as people read it; the statement that runs binds them instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from sqlglot.dialects.dialect import Dialect

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.spec import BindValue

_PLAIN: Final = re.compile(r"[ -&(-\[\]-~]*")
"""ASCII without quotes and backslashes, which every engine quotes alike; it saves asking the dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralStyle:
    """How an engine writes literals; `{}` stands for quoted ISO text, for digits of bytes, or for members of a list.

    `text` goes around quoted text, `separator` between date and time, `byte_prefix` before the two digits of a byte.
    """

    dialect: str
    text: str = "{}"
    day: str = "DATE {}"
    timestamp: str = "TIMESTAMP {}"
    timestamp_tz: str = "TIMESTAMP {}"
    separator: str = " "
    binary: str = "X'{}'"
    byte_prefix: str = ""
    members: str = "({})"
    true: str = "TRUE"
    false: str = "FALSE"

    def write(self, value: BindValue) -> str:
        """Return a value as a literal of the engine."""
        if isinstance(value, str):
            quoted = self._quoted(value)
            return quoted if self.text == "{}" else self.text.format(quoted)
        if isinstance(value, bool):
            return self.true if value else self.false
        if isinstance(value, date):
            return self._temporal(value)
        if isinstance(value, bytes):
            return self.binary.format("".join(f"{self.byte_prefix}{byte:02x}" for byte in value))
        if isinstance(value, list):
            return self.members.format(", ".join(self.write(member) for member in value))
        return "NULL" if value is None else _number(value)

    def _temporal(self, value: date) -> str:
        if not isinstance(value, datetime):
            return self.day.format(self._quoted(value.isoformat()))
        template = self.timestamp_tz if value.tzinfo else self.timestamp
        return template.format(self._quoted(value.isoformat(sep=self.separator)))

    def _quoted(self, value: str) -> str:
        if _PLAIN.fullmatch(value):
            return f"'{value}'"
        return Dialect.get_or_raise(self.dialect).generator().generate(nodes.text(value), copy=False)


def _number(value: float | Decimal) -> str:
    """Return digits; a decimal with an exponent would be read as a double."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)
