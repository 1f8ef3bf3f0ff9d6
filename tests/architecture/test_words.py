"""One concept has one word: the glossary's words stand for one class each, and classes have the field's nouns."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

from tests.architecture.source import PROJECT, SourceFile, files_of_tests, source_files

GLOSSARY = (PROJECT / "docs" / "explanation" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|`]+?) \| ([^|]+?) \| (?:`(\w+)` )?\|$", GLOSSARY, re.MULTILINE)
"""Word, meaning, class."""

ONE_SENTENCE = re.compile(r"[A-Z](?:`[^`]*`|[^.`])*(?: \.\.\.|\.)")

IRREGULAR = re.compile(
    "Around|Bound|Done|Drawn|Found|Fresh|Given|Gone|Held|Kept|Known|Left|Lost|Made|Met|Ready|Said|Seen|Sent|Shown|"
    "Standing|Stuck|Taken|Told|Wanted|Written"
)
"""Words that end otherwise than in -ed and say no more than what became of a thing."""


@cache
def class_names() -> Counter[str]:
    """How many classes of the library have each name; those inside functions and classes are counted too."""
    nodes = (node for file in source_files() for node in file.nodes)
    return Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))


def test_the_glossary_is_sorted_and_has_each_word_and_each_class_once() -> None:
    words = [word for word, _, _ in ROWS]
    classes = [name for _, _, name in ROWS if name]
    assert len(words) > 70
    assert words == sorted(set(words))
    assert len(classes) == len(set(classes))


def test_every_row_of_the_glossary_is_read() -> None:
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ")]
    assert len(rows) == len(ROWS) + 1


def test_a_meaning_is_one_sentence() -> None:
    assert [word for word, meaning, _ in ROWS if not ONE_SENTENCE.fullmatch(meaning)] == []


def test_a_word_of_the_glossary_stands_for_one_class() -> None:
    counted = class_names()
    assert {name: counted[name] for _, _, name in ROWS if name and counted[name] != 1} == {}


def test_no_two_classes_share_a_name() -> None:
    assert [name for name, count in class_names().items() if count > 1 and not name.startswith("_")] == []


def test_no_class_is_called_by_a_bare_participle() -> None:
    words = {name: name.lstrip("_") for name in class_names()}
    bare = {
        name
        for name, word in words.items()
        if IRREGULAR.fullmatch(word) or re.fullmatch(r"[A-Z][a-z]+ed", word) or re.fullmatch(r"On(A|The)[A-Z]\w*", word)
    }
    assert bare == set()


def test_the_words_that_the_glossary_replaces_are_gone() -> None:
    gone = re.compile(r"Elsewhere|(?<!\w)_?(Asked|Kept|Held|Refused)(?=[A-Z]\w*)")
    assert [name for name in class_names() if gone.search(name)] == []


VAGUE = re.compile(
    r"(?:^|_)(?:told|held|shown|asked|kept|whole|somebody|nobody)(?:_|$)|(?:Told|Held|Shown|Asked|Kept|Whole|Somebody|Nobody)(?![a-z])"
)
"""Words of names that say what became of a value, or how much of it there is, and not what it is."""
LEFT = re.compile(r"(?:^|_)left(?:_|$)")
"""A side, beside `right`; what remains is called so."""
SIDES = ("_engine/compile/", "_engine/engines/", "_pictures/")
"""Where a side stands alone: the left of a condition, whose right is a value, and the left edge of a box."""
PUBLIC = frozenset({"left_out"})
"""Fields of reports that hosts read."""


def named_in(file: SourceFile) -> set[str]:
    """Variables, parameters, attributes, functions and classes of a file; not its tests, whose names are sentences."""
    names = set()
    for node in file.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if not name.startswith("test_")}


def test_names_say_what_a_value_is() -> None:
    files = (*source_files(), *files_of_tests())
    vague = [
        f"{file.path}: {name}"
        for file in files
        for name in sorted(named_in(file) - PUBLIC)
        if VAGUE.search(name) or (LEFT.search(name) and not _is_side(name, file))
    ]
    assert vague == []


def _is_side(name: str, file: SourceFile) -> bool:
    beside = name.replace("left", "right") in named_in(file)
    return beside or (name == "left" and any(place in file.path for place in SIDES))
