"""Style sheets that pages put between `<style>` and `</style>`."""

from __future__ import annotations

from analytics_core.errors import PayloadSchemaError, Problem


def check_css(css: str | None, *, shape: str) -> None:
    """Raise PayloadSchemaError for CSS that would end the `<style>` element that a page puts it into."""
    if "</style" in (css or "").casefold():
        problem = Problem(path="css", message="must be CSS only; it may not hold the text </style")
        raise PayloadSchemaError(shape=shape, problems=[problem])
