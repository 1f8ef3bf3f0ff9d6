"""Style sheets that load nothing and end nowhere but at their own end: rules are copied, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LONGEST: Final = 200_000
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_KEPT_AT_RULES: Final = ("@media", "@supports")
_DECLARATION: Final = re.compile(r"\s*(-?[A-Za-z][\w-]*|--[\w-]+)\s*:\s*([^\x00-\x08{}<>\\@]+?)\s*")
_FORBIDDEN: Final = re.compile(
    r"url|image|src|element|expression|attr|paint|javascript|binding|behaviou?r|import|cross-fade", re.IGNORECASE
)
_FORBIDDEN_CALL: Final = re.compile(rf"(?:[\w-]*(?:{_FORBIDDEN.pattern})[\w-]*)\s*\(|javascript:|//", re.IGNORECASE)
_FORBIDDEN_NAME: Final = re.compile(r"-moz-binding|behaviou?r|src", re.IGNORECASE)
_SELECTOR: Final = re.compile(r"[^\x00-\x08{}<\\@]+")
_DEEPEST: Final = 4


def safe_css(text: str) -> str:
    r"""Return the rules of a style sheet that load nothing.

    What is left out: `@import`, `@font-face` and every other at-rule but `@media` and `@supports`; declarations with
    `url(...)` or another function that loads, with an escape (`\`) or a `<`; rules whose selector has one of these.
    """
    return "".join(_rules(_COMMENT.sub(" ", text[:_LONGEST]), 0))


def _rules(text: str, depth: int) -> Iterator[str]:
    for head, body in _blocks(text):
        is_at_rule = head.startswith("@")
        if is_at_rule:
            if depth < _DEEPEST and head.lower().startswith(_KEPT_AT_RULES) and _is_plain(head[1:]):
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
    return bool(_SELECTOR.fullmatch(head)) and _is_quoted_well(head) and not _FORBIDDEN_CALL.search(head)


def _declarations(body: str) -> Iterator[str]:
    for part in body.split(";"):
        found = _DECLARATION.fullmatch(part)
        if (
            found
            and _is_quoted_well(found[2])
            and not _FORBIDDEN_NAME.fullmatch(found[1])
            and not _FORBIDDEN_CALL.search(found[2])
        ):
            yield f"{found[1]}:{found[2]};"


def _is_quoted_well(text: str) -> bool:
    return text.count('"') % 2 == 0 == text.count("'") % 2
