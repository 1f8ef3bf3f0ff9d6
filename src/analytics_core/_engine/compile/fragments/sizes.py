"""How large the values may be that SQL of people who may not write SQL makes from the values of its columns.

An engine holds the values of many rows at once, DuckDB in memory that its own limit does not count. So a few letters
must not make millions: `lpad(b, 1000000000)`, or `replace(replace(b, 'a', '<100 a>'), 'a', '<100 a>')`.

The weight of an expression is how many values of a column it may hold. Names, numbers and texts weigh 1, and what is
put together weighs as much as its parts. Functions that make more of them stand in the tables below, by how they do it.
The tokens are weighed as they are sent: no function hides behind a node of the parser's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import prod
from typing import Final

from sqlglot import Token, TokenType, exp

from analytics_core._engine.engines.guards import name_set
from analytics_core._engine.engines.spec import Refuse, Syntax

MOST: Final = 1_000
"""How much an expression may weigh beyond its parts; at most so long is what a number tells the length of."""

_UNKNOWN: Final = 30
"""How often something counts that is done for each letter of a text, or each member of a list, of unknown length."""

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_PACKAGES: Final = frozenset({"pg_catalog", "safe", "net", "utl_raw"})
_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_LEAVES: Final = frozenset({*_NAMES, TokenType.STRING, TokenType.NUMBER})
_WIDE_TYPES: Final = frozenset({exp.DType.CHAR, exp.DType.NCHAR, exp.DType.BPCHAR, exp.DType.BINARY, exp.DType.BIT})


_Items = Sequence["Token | _Bracket"]


@dataclass(slots=True)
class _Bracket:
    """What stands in one bracket, parted by its commas; `name` is what is called, in lower case, or empty.

    A method is called after a dot, with its first argument before it: `(b).lpad(9, 'x')`.
    """

    name: str = ""
    is_method: bool = False
    parts: list[list[Token | _Bracket]] = field(default_factory=lambda: [[]])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call of a function with what each of its arguments weighs."""

    name: str
    arguments: Sequence[_Items]
    weights: Sequence[int]
    reject: Refuse

    def text(self, position: int) -> str | None:
        """Return an argument that is a text in quotes, else None."""
        return self._only(position, TokenType.STRING)

    def number(self, position: int) -> str | None:
        """Return an argument that is a number and nothing else, else None."""
        return self._only(position, TokenType.NUMBER)

    def _only(self, position: int, kind: TokenType) -> str | None:
        part = self.arguments[position] if position < len(self.arguments) else []
        only = part[0] if len(part) == 1 else None
        return only.text if isinstance(only, Token) and only.token_type is kind else None


_Weigh = Callable[[_Call], int]


def reject_large_values(tokens: Sequence[Token], tree: exp.Expr, syntax: Syntax, reject: Refuse) -> None:
    """Refuse an expression whose values may grow far beyond what it is made of, or whose size nobody can tell."""
    members = sum(_members(kind, reject) for kind in tree.find_all(exp.DataType))
    growing = {name: weigh for name, weigh in _GROWING.items() if name not in syntax.size_arguments}
    growing |= {name: partial(_sized, at=at) for name, at in syntax.size_arguments.items() if at is not None}
    items = _bracketed(tokens)
    if members + _weight(items, growing, reject) - _leaves(items) > MOST:
        raise reject(
            f"it may make values more than {MOST:,} times as large as what it is made of, which only people who may "
            "write SQL on this database may do; nest fewer functions that make texts or lists longer"
        )


def _members(kind: exp.DataType, reject: Refuse) -> int:
    """Return how many members each value of a list's type has, whatever is in it: `INTEGER[9][9]` has 81.

    Refused are more than `MOST`, and texts and bits that are so long (`CHAR(10000000)`).
    """
    lists = [size for inner in kind.find_all(exp.DataType) for size in inner.args.get("values") or ()]
    padded = kind.expressions if kind.this in _WIDE_TYPES else ()
    sizes = [size for size in (*lists, *padded) if isinstance(size, exp.Literal | exp.DataTypeParam)]
    members = prod(int(size.name) if size.name.isdigit() else MOST + 1 for size in sizes)
    if members > MOST:
        raise reject(
            f"{kind.sql()} makes values as long as it tells: for people who may not write SQL on this database that "
            f"are up to {MOST:,} members"
        )
    return members if lists else 0


def _bracketed(tokens: Sequence[Token]) -> _Items:
    """Return the tokens with what stands in brackets as one item."""
    around: list[_Bracket] = []
    inner = _Bracket()
    for position, token in enumerate(tokens):
        if token.token_type in _OPENING:
            around.append(inner)
            inner = _opened(tokens, position)
            around[-1].parts[-1].append(inner)
        elif token.token_type in _CLOSING and around:
            inner = around.pop()
        elif token.token_type is TokenType.COMMA:
            inner.parts.append([])
        elif not _is_prefix(tokens, position):
            inner.parts[-1].append(token)
    return list(chain.from_iterable(inner.parts))


def _opened(tokens: Sequence[Token], position: int) -> _Bracket:
    before = tokens[position - 1] if position else None
    if before is None or tokens[position].token_type is not TokenType.L_PAREN:
        return _Bracket()
    is_method = position > 2 and tokens[position - 2].token_type is TokenType.DOT
    is_method = is_method and tokens[position - 3].text.lower() not in _PACKAGES
    return _Bracket(name=before.text.lower(), is_method=is_method)


def _is_prefix(tokens: Sequence[Token], position: int) -> bool:
    """Tell whether a token is the name of a function, or stands before a dot: it is no value of its own."""
    after = tokens[position + 1].token_type if position + 1 < len(tokens) else None
    return after is TokenType.DOT or (after is TokenType.L_PAREN and tokens[position].token_type in _NAMES)


def _leaves(items: _Items) -> int:
    return sum(
        sum(map(_leaves, item.parts)) if isinstance(item, _Bracket) else item.token_type in _LEAVES for item in items
    )


def _weight(items: _Items, growing: Mapping[str, _Weigh], reject: Refuse, *, of_texts: bool = False) -> int:
    """Return the weight of what stands side by side; with `of_texts` each letter of a text counts."""
    total = 0
    gathers = ""
    for item in items:
        if isinstance(item, _Bracket):
            total += _weight_of_bracket(item, growing, reject, of_texts=of_texts)
            gathers = item.name if item.name in _GATHERING else gathers
        elif item.token_type is TokenType.OVER and gathers:
            raise reject(
                f"{gathers} gathers the rows of a group, and as a window function once for each row, which only people "
                "who may write SQL on this database may do"
            )
        elif item.token_type in _LEAVES:
            total += max(1, len(item.text)) if of_texts and item.token_type is TokenType.STRING else 1
    return total


def _weight_of_bracket(bracket: _Bracket, growing: Mapping[str, _Weigh], reject: Refuse, *, of_texts: bool) -> int:
    of_texts = of_texts or bracket.name in _GATHERING
    weights = [_weight(part, growing, reject, of_texts=of_texts) for part in bracket.parts]
    weigh = growing.get(bracket.name)
    if weigh is None:
        return sum(weights)
    if bracket.is_method:
        raise reject(f"write {bracket.name} as a function with all its arguments, not after a dot")
    return weigh(_Call(name=bracket.name, arguments=bracket.parts, weights=weights, reject=reject))


def _sized(call: _Call, *, at: int) -> int:
    """Weigh a function that makes as much as a number tells; without that number it is an ordinary one."""
    if len(call.weights) <= at:
        return sum(call.weights)
    size = call.number(at)
    if size is None or not size.isdigit() or int(size) > MOST:
        raise call.reject(
            f"{call.name} makes values as large as argument {at + 1} tells: for people who may not write SQL on "
            f"this database that is a whole number up to {MOST:,}, written out"
        )
    return sum(call.weights) + int(size)


def _repeated(call: _Call, *, at: int = 1) -> int:
    return _sized(call, at=at) * max(1, *call.weights)


def _ranged(call: _Call) -> int:
    """Weigh a list of the numbers from one to another: both, and the step, are whole numbers written out."""
    return max(_sized(call, at=at) for at in range(len(call.weights)))


_LONG_NUMBER: Final = re.compile(r"\d{4}")
_WIDTH_ELSEWHERE: Final = re.compile(r"\*|\{[^{}]*\{")
_DIRECTIVE: Final = re.compile(r"[%{]")


def _formatted(call: _Call) -> int:
    """Weigh a function whose first argument is a text with places for the others, which may have a width."""
    form = call.text(0)
    if form is None or _LONG_NUMBER.search(form) or _WIDTH_ELSEWHERE.search(form):
        raise call.reject(
            f"{call.name} makes values as wide as its format tells: for people who may not write SQL on this "
            "database that is a text in quotes, with widths up to 999"
        )
    widths = sum(int(width) for width in re.findall(r"\d+", form))
    return widths + sum(call.weights) * max(1, len(_DIRECTIVE.findall(form)))


def _replaced(call: _Call, *, by_pattern: bool = False) -> int:
    """Weigh a function that writes something in the place of something else, wherever that stands."""
    if len(call.weights) < 3:
        return sum(call.weights)
    old, new = call.text(1), call.text(2)
    if new is None:
        times = _UNKNOWN * call.weights[2]
    elif by_pattern:
        times = len(new) + 1 if new else 1
    else:
        times = -(-len(new) // max(1, len(old or "")))
    return call.weights[0] * max(1, times) + sum(call.weights[1:])


def _times(call: _Call, *, times: int) -> int:
    return sum(call.weights) * times


def _product(call: _Call) -> int:
    return prod(max(1, weight) for weight in call.weights)


def _for_each(call: _Call) -> int:
    """Weigh a function that computes something for each member of a list."""
    return _UNKNOWN * _product(call)


def _joined(call: _Call) -> int:
    """Weigh a function that writes its first argument between the others."""
    return sum(call.weights) + max(0, len(call.weights) - 2) * call.weights[0]


def _named(weigh: _Weigh, names: str) -> dict[str, _Weigh]:
    return dict.fromkeys(names.split(), weigh)


_GATHERING: Final = name_set(
    """
    array_agg array_concat_agg collect_list collect_set group_concat grouparray histogram json_agg json_array_agg
    json_arrayagg json_group_array json_group_object json_group_structure json_object_agg json_objectagg jsonb_agg
    jsonb_group_array jsonb_group_object jsonb_object_agg list listagg map_agg set_agg string_agg xmlagg
    """
)
"""Functions that make one value from those of all rows: each letter of a text in them counts."""

_GROWING: Final[Mapping[str, _Weigh]] = {
    **_named(partial(_sized, at=1), "lpad rpad leftpad rightpad leftpadutf8 rightpadutf8 bitstring tofixedstring"),
    **_named(partial(_sized, at=0), "space"),
    **_named(_repeated, "repeat replicate array_repeat list_resize array_resize arrayresize"),
    **_named(partial(_repeated, at=0), "arraywithconstant"),
    **_named(_ranged, "sequence generate_series generate_array array_generate_range"),
    **_named(_formatted, "format printf sformat string_format format_string formatmessage"),
    **_named(_replaced, "replace replaceall replaceone array_replace list_replace"),
    **_named(partial(_replaced, by_pattern=True), "regexp_replace replaceregexpall replaceregexpone"),
    **_named(
        partial(_times, times=2),
        "hex to_hex hex_encode encode base64 to_base64 base64_encode to_base32 quote quote_literal quote_ident "
        "quote_nullable quotename regexp_escape json_quote json_array json_object json_build_array json_build_object "
        "jsonb_build_array jsonb_build_object json_pretty json_detailed jsonb_pretty json_format to_json to_jsonb "
        "to_json_string tojsonstring row_to_json array_to_json json url_encode encodeurlcomponent string_escape "
        "dump asciistr rawtohex",
    ),
    **_named(partial(_times, times=8), "bin to_binary"),
    **_named(partial(_times, times=64), "export_set"),
    **_named(_joined, "concat_ws concatwithseparator"),
    **_named(
        _product,
        "array_to_string array_to_string_comma_default array_join list_select array_select list_aggregate list_aggr "
        "array_aggregate array_aggr aggregate arraystringconcat",
    ),
    **_named(
        _for_each,
        "list_transform list_apply array_transform array_apply apply transform transform_values transform_keys "
        "zip_with map_zip_with arraymap",
    ),
}
"""Those that make more of what they are given, also where only a host lists them (`Settings.allowed_functions`)."""
