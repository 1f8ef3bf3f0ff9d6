"""What sanitisers of notebooks let pass, and whether a piece of HTML is made of it alone."""

from __future__ import annotations

from html.parser import HTMLParser

TAGS = frozenset(
    {
        "b",
        "code",
        "details",
        "img",
        "li",
        "p",
        "pre",
        "span",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    }
)
ATTRIBUTES = {"style", "alt", "src", "width"}
STYLES = {"text-align", "color", "font-style"}
WITHOUT_END = {"img"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.problems += [f"tag {tag}"] * (tag not in TAGS)
        for name, value in attrs:
            self.problems += [f"attribute {name}"] * (name not in ATTRIBUTES)
            if name == "style":
                styles = {part.partition(":")[0] for part in (value or "").split(";")}
                self.problems += [f"styles {styles - STYLES}"] * bool(styles - STYLES)
            if name == "src" and not (value or "").startswith("data:image/"):
                self.problems.append(f"src {value}")
        if tag not in WITHOUT_END:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"end of {tag}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def texts_of(page: str) -> list[str]:
    """Return the texts of a page that is well formed and that every sanitiser leaves as it is."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.problems == []
    assert reader.open == []
    return reader.texts
