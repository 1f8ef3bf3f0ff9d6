"""What came of looking at all content: sound and broken records, as text, Markdown and JUnit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from analytics_core._tools.display.blocks import Blocks, HeadingBlock, counted, fold
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import objects_table

_PRINTABLE: Final = (
    r"\t\n\r\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
)
UNPRINTABLE: Final = re.compile(f"[^{_PRINTABLE}]")
"""What XML cannot hold, what terminals obey, and what turns the direction of the text around it."""

_NOT_IN_A_LINE: Final = re.compile(f"{UNPRINTABLE.pattern}|[\r\n]")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>|#!&~])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRecord:
    """One record that was looked at.

    Attributes:
        kind: `dataset`, `chart`, `dashboard`, `alert`, `report` or `saved query`.
        id: of the record.
        uuid: by which bundles know it.
        name: of the record.
        problems: what broke and why, as sentences without a full stop; none where it is sound.
        notes: what was not looked at, or is not as it was stored, and breaks nothing.
    """

    kind: str
    id: int
    uuid: str
    name: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """All content and schedules that the actor may read, each with what broke; true where nothing did."""

    records: tuple[CheckedRecord, ...]

    @property
    def broken(self) -> tuple[CheckedRecord, ...]:
        """Those with problems."""
        return tuple(record for record in self.records if record.problems)

    def __bool__(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{len(self.broken)} of {counted(len(self.records), 'record')} broken"
        for record in self.records:
            messages = (*record.problems, *(f"note: {note}" for note in record.notes))
            yield from (one_line(f"{record.kind} {record.id} {record.name!r}: {text}") for text in messages)

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _check_blocks(self)

    def markdown(self) -> str:
        """Return the broken records as a table in Markdown, for a comment on a change."""
        lines = [f"**{len(self.broken)} of {counted(len(self.records), 'record')} broken**", ""]
        if self.broken:
            lines += ["| Record | What broke |", "|---|---|"]
        for record in self.broken:
            details = "<br>".join(plain(problem) for problem in record.problems)
            lines.append(f"| {record.kind} {record.id} {plain(record.name)} | {details} |")
        return "\n".join(lines).rstrip() + "\n"

    def junit(self) -> str:
        """Return a report in JUnit's XML: one test case for each record, which fails where that broke."""
        cases = ((record.kind, f"{record.id} {record.name}", record.problems) for record in self.records)
        return junit_text("check", cases)


def one_line(text: str) -> str:
    """Return a text in one line of which terminals obey nothing: what ends a line or is not shown is escaped."""
    return _NOT_IN_A_LINE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    return _MARKUP.sub(r"\\\1", " ".join(UNPRINTABLE.sub(" ", text).split()))


def junit_text(suite: str, cases: Iterable[tuple[str, str, tuple[str, ...]]]) -> str:
    """Return JUnit's XML of test cases: class, name, and what failed."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites")
    one = ElementTree.SubElement(root, "testsuite", name=f"analytics_core {suite}")
    tests = failures = 0
    for kind, name, failed in cases:
        tests, failures = tests + 1, failures + bool(failed)
        case = ElementTree.SubElement(one, "testcase", classname=f"{suite}.{kind}", name=UNPRINTABLE.sub(" ", name))
        if failed:
            messages = [UNPRINTABLE.sub(" ", text) for text in failed]
            ElementTree.SubElement(case, "failure", message=messages[0].splitlines()[0]).text = "\n".join(messages)
    one.set("tests", str(tests))
    one.set("failures", str(failures))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _check_blocks(report: CheckReport) -> Blocks:
    """Return what can be seen of a check: the broken records, and notes on the others folded."""
    noted = tuple(record for record in report.records if record.notes and not record.problems)
    return [
        HeadingBlock(text=f"{len(report.broken)} of {counted(len(report.records), 'record')} broken"),
        *objects_table(report.broken, ("kind", "id", "name", "problems")),
        *fold(f"notes on {counted(len(noted), 'record')}", objects_table(noted, ("kind", "id", "name", "notes"))),
    ]
