"""Values in the template of a row rule: each leaves a holder in the SQL and is bound, never written.

A holder is a text in quotes that no clause holds; after the clause was parsed, it gives way to the bound value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from analytics_core._compile.templates.text import MARKED, NUMBER_KIND, Placement, UserText, unused_stem
from analytics_core._records.row_rule import HeldValue, Holder
from analytics_core.errors import TemplateError

MEMBER: Final = "m"
_INTEGER: Final = re.compile(r"-?\d{1,30}")


def held_piece(value: object) -> str | None:
    """Return the mark of a number or of a list's members; None for what is written like everywhere else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"\x01{NUMBER_KIND}{value}\x02"
    if isinstance(value, list):
        return ", ".join(_member(item) for item in value)
    return None


def _member(value: object) -> str:
    if not isinstance(value, UserText):
        raise TemplateError("a row rule may write lists of texts only, for example the values of an attribute")
    return f"\x01{MEMBER}{value.raw}\x02"


def hold_values(text: str, dialect: str | None) -> tuple[str, tuple[Holder, ...]]:
    """Return rendered text with a holder for each value, and the holders.

    Raises:
        TemplateError: a value stands where it is no value, for example inside a name.
    """
    if "\x01" not in text and "\x02" not in text:
        return text, ()
    stem = unused_stem(text)
    values = [(match[1], match[2]) for match in MARKED.finditer(text)]
    numbers = iter(range(len(values)))
    plain = MARKED.sub(lambda _match: f"{stem}{next(numbers)}q", text)
    if "\x01" in plain or "\x02" in plain:
        raise TemplateError("a template cuts a user's value into pieces; use it as a whole")
    written = _HolderPlacement(plain, re.compile(rf"{stem}(\d+)q"), values, dialect).written()
    holders = tuple(
        Holder(mark=f"{stem}{number}q", value=_typed(kind, raw), is_member=kind == MEMBER)
        for number, (kind, raw) in enumerate(values)
        if f"{stem}{number}q" in written
    )
    return written, holders


def written_clause(clause: str, holders: Iterable[Holder], dialect: str | None) -> str:
    """Return a clause with its values written in it, for a template that takes it into its own SQL."""
    for holder in holders:
        literal = exp.convert(holder.value).sql(dialect)
        text = exp.Literal(this=str(holder.value), is_string=True).sql(dialect)
        clause = clause.replace(f"'{holder.mark}'", literal).replace(holder.mark, text[text.index("'") + 1 : -1])
    return clause


def _typed(kind: str, raw: str) -> HeldValue:
    if kind != NUMBER_KIND:
        return raw
    return int(raw) if _INTEGER.fullmatch(raw) else float(raw)


class _HolderPlacement(Placement):
    """Writes a holder instead of a literal."""

    _otherwise = ""

    def _literal(self, number: int) -> str:
        return f"'{self._mark(number)}'"

    def _escaped(self, number: int, quote: str) -> str:  # noqa: ARG002 - a holder needs no escapes
        return self._mark(number)

    def _mark(self, number: int) -> str:
        return self._holder.pattern.replace(r"(\d+)", str(number))
