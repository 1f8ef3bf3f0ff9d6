"""Formulas of annotation layers: numbers, `x`, the four operations, powers and a few functions; nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

_TOKEN: Final = re.compile(r"\s*(?:((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z]+\d*)|(\*\*|[-+*/^(),]))")
_LONGEST: Final = 200
_DEEPEST: Final = 40
_FUNCTIONS: Final[Mapping[str, Callable[[float], float]]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "abs": abs,
    "ln": math.log,
    "log": math.log,
    "log10": math.log10,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
_CONSTANTS: Final = {"pi": math.pi, "e": math.e}

Formula = Callable[[float], float | None]
"""Computes a value at a place of the axis; None where there is none."""


class FormulaError(ValueError):
    """A text is no formula; the message says why."""


def parse_formula(text: str) -> Formula:
    """Return a formula as a function of `x`.

    Raises:
        FormulaError: it is too long or has something that a formula does not have.
    """
    if len(text) > _LONGEST:
        raise FormulaError(f"a formula has at most {_LONGEST} characters")
    if text.count("(") > _DEEPEST:
        raise FormulaError(f"a formula has at most {_DEEPEST} brackets")
    parser = _Parser(_tokens(text))
    term = parser.sum()
    if parser.left():
        raise FormulaError(f"{parser.left()!r} is not expected there")

    def value(x: float) -> float | None:
        try:
            found = term(x)
            return float(found) if math.isfinite(found) else None
        except (ArithmeticError, ValueError, TypeError):
            return None

    return value


def _tokens(text: str) -> list[str]:
    text, place, found = text.strip(), 0, []
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place]!r} is not part of a formula")
        found.append(match[match.lastindex or 0])
        place = match.end()
    return found


_Term = Callable[[float], float]


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._place = tokens, 0

    def left(self) -> str:
        """Return the next token; empty at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _next(self) -> str:
        token = self.left()
        self._place += 1
        return token

    def sum(self) -> _Term:
        found = self._product()
        while self.left() in ("+", "-"):
            found = _joined(self._next(), found, self._product())
        return found

    def _product(self) -> _Term:
        found = self._signed()
        while self.left() in ("*", "/"):
            found = _joined(self._next(), found, self._signed())
        return found

    def _signed(self) -> _Term:
        if self.left() in ("+", "-"):
            sign = -1.0 if self._next() == "-" else 1.0
            term = self._signed()
            return lambda x: sign * term(x)
        return self._power()

    def _power(self) -> _Term:
        base = self._atom()
        if self.left() not in ("^", "**"):
            return base
        self._next()
        exponent = self._signed()
        return lambda x: math.pow(base(x), exponent(x))

    def _atom(self) -> _Term:
        word = self._next()
        if word == "(":
            found = self.sum()
            self._close()
            return found
        if word in _FUNCTIONS and self.left() == "(":
            function = _FUNCTIONS[word]
            self._next()
            inner = self.sum()
            self._close()
            return lambda x: function(inner(x))
        if word in ("x", "X"):
            return lambda x: x
        if word in _CONSTANTS:
            constant = _CONSTANTS[word]
            return lambda _: constant
        try:
            number = float(word)
        except ValueError:
            raise FormulaError(f"{word!r} is not known" if word else "it ends too early") from None
        return lambda _: number

    def _close(self) -> None:
        if self._next() != ")":
            raise FormulaError("a bracket is not closed")


def _joined(operator: str, left: _Term, right: _Term) -> _Term:
    operations: dict[str, _Term] = {
        "+": lambda x: left(x) + right(x),
        "-": lambda x: left(x) - right(x),
        "*": lambda x: left(x) * right(x),
        "/": lambda x: left(x) / right(x),
    }
    return operations[operator]
