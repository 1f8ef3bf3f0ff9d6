"""Fields of answers: as records have them, and computed for people: times in words, addresses, descriptions as HTML."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import humanize
from pydantic import BaseModel

from analytics_core._content.runtime import ContentRuntime
from analytics_core._records.audit import StoredRecord
from analytics_core._records.settings import Settings
from analytics_core.models.base import Answer, StampedAnswer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_DIGEST_LENGTH: Final = 32
LONGEST_MARKDOWN: Final = 20_000
"""Characters; to read a longer text that nests deeply would take seconds, for everybody who sees it in a list."""


class MarkdownToHtml:
    """Writes Markdown as HTML; what it takes to do so is made when the first text comes, and kept for the next.

    A text that comes again, as in a list of copies, is not written again.

    Args:
        loads_images: whether an image is one, whose reader asks its host for it; else it is its alternative text.
    """

    def __init__(self, *, loads_images: bool = True) -> None:
        self._loads_images = loads_images
        self._parser: Any = None
        self._written: dict[str, str] = {}

    def __call__(self, markdown: str | None) -> str | None:
        """Return a text as HTML in which nothing can act: no script, no handler, no frame.

        A text of more than `LONGEST_MARKDOWN` characters is shown as it was written; so are tables of too many cells.
        """
        if not markdown:
            return markdown
        if markdown not in self._written:
            self._written[markdown] = self._html(markdown)
        return self._written[markdown]

    def _html(self, markdown: str) -> str:
        from html import escape

        import nh3
        from markdown_it import MarkdownIt

        from analytics_core._pictures.pages.markdown_lines import has_readable_tables

        if len(markdown) > LONGEST_MARKDOWN:
            return f"<pre>{escape(markdown)}</pre>"
        if self._parser is None:
            self._parser = MarkdownIt()
            for cell in ("th_open", "td_open"):
                self._parser.add_render_rule(cell, _aligned_cell)
            if not self._loads_images:
                self._parser.add_render_rule("image", _alternative_text)
        (self._parser.enable if has_readable_tables(markdown) else self._parser.disable)("table")
        tags = None if self._loads_images else nh3.ALLOWED_TAGS - {"img"}
        return str(nh3.clean(self._parser.render(markdown), tags=tags))


def _alternative_text(_renderer: Any, tokens: Sequence[Any], place: int, *_more: Any) -> str:
    from html import escape

    return escape(tokens[place].content)


def _aligned_cell(renderer: Any, tokens: Sequence[Any], place: int, options: Any, env: Any) -> str:
    """Return the start of a cell, aligned by an attribute: styles are not allowed."""
    cell = tokens[place]
    align = str(cell.attrs.pop("style", "")).removeprefix("text-align:")
    if align:
        cell.attrSet("align", align)
    return str(renderer.renderToken(tokens, place, options, env))


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFormatter:
    """Writes computed fields as of one moment (aware, UTC)."""

    now: datetime
    settings: Settings
    markdown: MarkdownToHtml = field(default_factory=MarkdownToHtml)
    _deltas: dict[datetime, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def delta(self, moment: datetime | None) -> str | None:
        """Return how long ago a moment was, for example `3 hours ago`; None for no moment."""
        if moment is None:
            return None
        if moment not in self._deltas:  # most records were made and changed at the same moment
            elapsed = self.now - moment
            self._deltas[moment] = "now" if abs(elapsed.total_seconds()) < 1 else humanize.naturaltime(elapsed)
        return self._deltas[moment]

    def utc(self, moment: datetime | None) -> str | None:
        """Return a moment as ISO 8601 text in UTC."""
        return moment.isoformat(timespec="microseconds") if moment else None

    def url(self, kind: str, values: Mapping[str, Any]) -> str | None:
        """Return the address of a page of the host; None when the host has none."""
        return None if self.settings.url_for is None else self.settings.url_for(kind, values)

    def thumbnail_url(self, kind: str, values: Mapping[str, Any], *, content: tuple[object, ...]) -> str | None:
        """Return the address of a small picture, with a `digest` that is another one where `content` changed."""
        if self.settings.url_for is None:
            return None
        digest = hashlib.sha256(repr(content).encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
        return self.settings.url_for(kind, {**values, "digest": digest})


def readable_now(runtime: ContentRuntime) -> FieldFormatter:
    """Return what writes computed fields at this moment: the real one, which `as_of` does not move."""
    return FieldFormatter(now=runtime.wall_clock.now(), settings=runtime.settings)


_MOMENTS: Final = ("created_on", "changed_on")
AnswerShape = TypeVar("AnswerShape", bound=Answer)


def stored_fields(record: DataclassInstance, shape: type[BaseModel]) -> dict[str, Any]:
    """Return what an answer shows as the record has it: the fields of one name in both."""
    names = shape.model_fields
    return {name: getattr(record, name) for name in record.__dataclass_fields__ if name in names}


def answer_as(shape: type[AnswerShape], record: StoredRecord, **computed: Any) -> AnswerShape:
    """Return a record as an answer: its fields, the moments of its audit trail, and what is computed beside them."""
    trail = {name: getattr(record.audit, name) for name in _MOMENTS if name in shape.model_fields}
    answer = shape(**trail | stored_fields(record, shape) | computed)
    return answer.stamped(record.audit.changed_on) if isinstance(answer, StampedAnswer) else answer
