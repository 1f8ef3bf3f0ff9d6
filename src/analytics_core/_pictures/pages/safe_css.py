"""Style sheets that load nothing and end nowhere but at their own end: rules are copied, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LONGEST: Final = 200_000
_LONGEST_PART: Final = 4_000
"""Characters of one selector, or of one declaration; every step here reads each of them once."""

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ALLOWED_AT_RULES: Final = ("@media", "@supports")
_NAME: Final = re.compile(r"-?[A-Za-z][\w-]*|--[\w-]+")
_VALUE: Final = re.compile(r"[^\x00-\x08{}<>\\@]+")
_SELECTOR: Final = re.compile(r"[^\x00-\x08{}<\\@]+")
_NO_WORD: Final = re.compile(r"[^\w-]")
_FORBIDDEN: Final = re.compile(
    r"url|image|src|element|expression|attr|paint|javascript|binding|behaviou?r|import|cross-fade", re.IGNORECASE
)
_FORBIDDEN_TEXT: Final = re.compile(r"javascript:|//", re.IGNORECASE)
_FORBIDDEN_NAME: Final = re.compile(r"-moz-binding|behaviou?r|src", re.IGNORECASE)
_DEEPEST: Final = 4


def safe_css(text: str) -> str:
    r"""Return the rules of a style sheet that load nothing.

    What is left out: `@import`, `@font-face` and every other at-rule but `@media` and `@supports`; declarations with
    `url(...)` or another function that loads, with an escape (`\`) or a `<`; rules whose selector has one of these;
    selectors and declarations of more than 4,000 characters, and what stands after the first 200,000.
    """
    return "".join(_rules(_COMMENT.sub(" ", text[:_LONGEST]), 0))


def _rules(text: str, depth: int) -> Iterator[str]:
    for head, body in _blocks(text):
        is_at_rule = head.startswith("@")
        if is_at_rule:
            if depth < _DEEPEST and head.lower().startswith(_ALLOWED_AT_RULES) and _is_plain(head[1:]):
                inner = "".join(_rules(body, depth + 1))
                yield f"{head}{{{inner}}}\n" if inner else ""
        elif _is_plain(head) and (declarations := "".join(_declarations(body))):
            yield f"{head}{{{declarations}}}\n"


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before each pair of outermost braces, and what stands in it; statements without are skipped."""
    place = 0
    while (opening := text.find("{", place)) >= 0:
        head = text[place:opening].rpartition(";")[2].strip()
        depth, closing = 1, opening
        while depth and closing + 1 < len(text):
            closing += 1
            depth += {"{": 1, "}": -1}.get(text[closing], 0)
        yield head, text[opening + 1 : closing if not depth else len(text)]
        place = closing + 1


def _is_plain(head: str) -> bool:
    return len(head) <= _LONGEST_PART and bool(_SELECTOR.fullmatch(head)) and _loads_nothing(head)


def _declarations(body: str) -> Iterator[str]:
    for part in body.split(";"):
        if len(part) > _LONGEST_PART:
            continue
        name, _, value = (piece.strip() for piece in part.partition(":"))
        is_named = bool(_NAME.fullmatch(name)) and not _FORBIDDEN_NAME.fullmatch(name)
        if is_named and _VALUE.fullmatch(value) and _loads_nothing(value):
            yield f"{name}:{value};"


def _loads_nothing(text: str) -> bool:
    """Tell whether the quotes of a text are closed, and none of its functions may load: their names are compared."""
    is_quoted_well = text.count('"') % 2 == 0 == text.count("'") % 2
    if not is_quoted_well or _FORBIDDEN_TEXT.search(text):
        return False
    called = (_NO_WORD.split(before.rstrip())[-1] for before in text.split("(")[:-1])
    return not any(map(_FORBIDDEN.search, called))
