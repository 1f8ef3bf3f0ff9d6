"""Text that users gave, inside rendered SQL: it can only ever be a literal, a part of one, or a bound value.

While a template renders, such text travels between two marks. `place_values` then looks with the engine's own tokens at
where each one came to stand: on its own it becomes a literal, inside quotes it is escaped, anywhere else it is refused.

In the template of a row rule each value leaves a holder, a text in quotes that no clause holds; after the clause was
parsed, it gives way to the bound value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count
from typing import Final, Self

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect

from analytics_core._engine.compile.fragments.sql_text import FAULTS
from analytics_core._records.people import Placeholder, RuleValue
from analytics_core.errors import TemplateError

_VALUE, _TEXT, NUMBER_KIND = "v", "t", "n"
MARKED: Final = re.compile("\x01([vtnm])([^\x01\x02]*)\x02")
CONTROL_CHARACTERS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,18})?")


class UserText(str):
    """Text that a user gave; it compares, counts and hashes as itself, and is marked wherever it is written."""

    __slots__ = ()

    def __new__(cls, raw: str) -> Self:
        """Return the text, marked; TemplateError when it holds control characters."""
        if CONTROL_CHARACTERS.search(raw):
            raise TemplateError("a value used in a template holds control characters")
        return super().__new__(cls, f"\x01{_VALUE}{raw}\x02")

    @property
    def raw(self) -> str:
        """Return the text as the user gave it."""
        return str.__str__(self)[2:-1]

    def __eq__(self, other: object) -> bool:
        return self.raw == raw_text(other)

    def __ne__(self, other: object) -> bool:
        return self.raw != raw_text(other)

    def __hash__(self) -> int:
        return hash(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __contains__(self, part: object) -> bool:
        return isinstance(part, str) and str(raw_text(part)) in self.raw

    def __iter__(self) -> Iterator[str]:
        return (UserText(letter) for letter in self.raw)


class MomentText(str):
    """A moment as ISO 8601 text, which templates may take apart; `written` stands in SQL where it is written whole."""

    moment: datetime
    written: str

    def __new__(cls, moment: datetime, *, compared_as_text: bool) -> Self:
        """Return a naive UTC moment; where texts are compared, it is written as they are stored."""
        made = super().__new__(cls, moment.isoformat())
        made.moment = moment
        made.written = shortest_text(moment) if compared_as_text else moment.isoformat()
        return made


class MomentLiteral(str):
    """A moment as an SQL literal, which templates may also read as the moment that it is."""

    moment: datetime

    def __new__(cls, literal: str, moment: datetime) -> Self:
        """Return the literal of a naive UTC moment."""
        made = super().__new__(cls, literal)
        made.moment = moment
        return made


def shortest_text(moment: datetime) -> str:
    """Return a moment as text that also compares rightly with shorter stored texts."""
    if moment.time() == datetime.min.time():
        return moment.strftime("%Y-%m-%d")
    return moment.replace(tzinfo=None).isoformat(sep=" ").rstrip("0") if moment.microsecond else f"{moment:%Y-%m-%d %X}"


def raw_text(value: object) -> object:
    """Return user text as it was given, anything else as it is."""
    return value.raw if isinstance(value, UserText) else value


def user_value(value: object) -> object:
    """Return a value from a payload with every text in it marked; what is neither scalar, list nor map becomes text."""
    match value:
        case str():
            return value if isinstance(value, UserText | MomentText) else UserText(value)
        case None | bool() | int() | float():
            return value
        case dict():
            return {user_value(str(key)): user_value(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [user_value(item) for item in value]
    return UserText(str(value))


def quoted_mark(text: str) -> str:
    """Return the mark of a text that is written as a quoted literal, also when it looks like a number."""
    plain = MARKED.sub(lambda match: match[2], text)
    return f"\x01{_TEXT}{UserText(plain).raw}\x02"


def number_mark(number: float) -> str:
    """Return the mark of a number: a negative one must not join a minus before it to a comment."""
    return f"\x01{_VALUE}{number}\x02"


def place_values(text: str, dialect: str | None) -> str:
    """Return `text` with each marked value written as a literal of the dialect, or as a part of one.

    Raises:
        TemplateError: a value stands where it is neither, for example inside a name.
    """
    return _Placement(text, dialect).written() if _is_marked(text) else text


def _is_marked(text: str) -> bool:
    return "\x01" in text or "\x02" in text


def _unused_stem(text: str) -> str:
    """Return the beginning of names that `text` does not hold."""
    stem = "acvalue"
    while stem in text.lower():
        stem += "x"
    return stem


class _Placement:
    """Writes the marked values of one text; meanwhile names that nothing else in it has stand for them."""

    _otherwise = "; for a part of the SQL itself, use url_param(..., escape_result=false)"

    def __init__(self, text: str, dialect: str | None) -> None:
        self._stem = _unused_stem(text)
        self._placeholder = re.compile(rf"{self._stem}(\d+)q")
        self._dialect = dialect
        self.values = [(match[1], match[2]) for match in MARKED.finditer(text)]
        numbers = count()
        self._text = MARKED.sub(lambda _match: self.name(next(numbers)), text)
        if _is_marked(self._text):
            raise TemplateError("a template cuts a user's value into pieces; use it as a whole")

    def name(self, number: int) -> str:
        """Return what stands for a value."""
        return f"{self._stem}{number}q"

    def written(self) -> str:
        """Return the text with its values; TemplateError where one stands in a name."""
        try:
            tokens = Dialect.get_or_raise(self._dialect).tokenize(self._text)
        except FAULTS:
            raise TemplateError("the rendered SQL cannot be read: a quote or comment is not closed") from None
        literals: dict[int, str] = {}
        for token in tokens:
            for comment in token.comments:
                literals.update(dict.fromkeys(map(int, self._placeholder.findall(comment)), ""))
            literals.update(self._in_token(token))
        if len(literals) < len(self.values):
            raise TemplateError("a user's value stands in a part of the SQL that cannot be read")
        return self._placeholder.sub(lambda match: literals[int(match[1])], self._text)

    def _in_token(self, token: Token) -> dict[int, str]:
        source = self._text[token.start : token.end + 1]
        found = [int(number) for number in self._placeholder.findall(source)]
        if not found:
            return {}
        if self._placeholder.fullmatch(source) and token.token_type is TokenType.VAR:
            return {found[0]: self._literal(found[0])}
        if token.token_type is not TokenType.STRING or source[:1] not in ("'", '"') or source[:3] in ("'''", '"""'):
            raise TemplateError(f"a user's value may stand in SQL as a value or inside quotes only{self._otherwise}")
        return {number: self._escaped(number, source[0]) for number in found}

    def _literal(self, number: int) -> str:
        kind, raw = self.values[number]
        if kind == _VALUE and _NUMBER.fullmatch(raw):
            return f"({raw})" if raw.startswith("-") else raw
        return self._quoted(raw)

    def _quoted(self, raw: str) -> str:
        if self._dialect is None and "\\" in raw:
            raise TemplateError("a user's value with a backslash needs a known engine")
        return exp.Literal(this=raw, is_string=True).sql(self._dialect)

    def _escaped(self, number: int, quote: str) -> str:
        literal = self._quoted(self.values[number][1])
        if literal[0] != "'" or literal[-1] != "'":
            raise TemplateError("this engine cannot hold the value inside quotes; leave the quotes out")
        inner = literal[1:-1]
        return inner if quote == "'" else inner.replace("''", "'").replace('"', self._double_quote())

    def _double_quote(self) -> str:
        """Return how a double quote is written inside double quotes that hold a text: some engines never double it."""
        escapes = Dialect.get_or_raise(self._dialect).tokenizer_class.STRING_ESCAPES
        return '""' if '"' in escapes or "\\" not in escapes else '\\"'


MEMBER: Final = "m"
_INTEGER: Final = re.compile(r"-?\d{1,30}")


def placeholder_piece(value: object) -> str | None:
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


def hold_values(text: str, dialect: str | None) -> tuple[str, tuple[Placeholder, ...]]:
    """Return rendered text with a holder for each value, and the holders.

    Raises:
        TemplateError: a value stands where it is no value, for example inside a name.
    """
    if not _is_marked(text):
        return text, ()
    placement = _PlaceholderPlacement(text, dialect)
    written = placement.written()
    placeholders = (
        Placeholder(mark=placement.name(number), value=_typed(kind, raw), is_member=kind == MEMBER)
        for number, (kind, raw) in enumerate(placement.values)
    )
    return written, tuple(item for item in placeholders if item.mark in written)


def written_clause(clause: str, placeholders: Iterable[Placeholder], dialect: str | None) -> str:
    """Return a clause with its values written in it, for a template that takes it into its own SQL."""
    for placeholder in placeholders:
        literal = exp.convert(placeholder.value).sql(dialect)
        text = exp.Literal(this=str(placeholder.value), is_string=True).sql(dialect)
        clause = clause.replace(f"'{placeholder.mark}'", literal).replace(
            placeholder.mark, text[text.index("'") + 1 : -1]
        )
    return clause


def _typed(kind: str, raw: str) -> RuleValue:
    if kind != NUMBER_KIND:
        return raw
    return int(raw) if _INTEGER.fullmatch(raw) else float(raw)


class _PlaceholderPlacement(_Placement):
    """Writes a holder instead of a literal."""

    _otherwise = ""

    def _literal(self, number: int) -> str:
        return f"'{self.name(number)}'"

    def _escaped(self, number: int, quote: str) -> str:  # noqa: ARG002 - a holder needs no escapes
        return self.name(number)
