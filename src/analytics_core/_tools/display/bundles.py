"""All forms of an object together, for `_repr_mimebundle_`: looking at an object never raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from analytics_core._tools.display.blocks import Block, Blocks, ErrorBlock
from analytics_core._tools.display.html import blocks_html
from analytics_core._tools.display.text import blocks_text

Bundle: TypeAlias = dict[str, Any]
"""The forms of an object by their MIME types."""

_UNREADABLE = "this object cannot be shown; its attributes can be read one by one"


class Displayable(Protocol):
    """An object that says what can be seen of it."""

    def _blocks(self) -> Blocks: ...


def mime_bundle(self: Displayable, include: object = None, exclude: object = None) -> Bundle:  # noqa: ARG001 - IPython gives both
    """Return an object as HTML and as text: the method `_repr_mimebundle_` of its class.

    Notebooks tell which forms they would have or not, and take from all what they like.
    """
    return shown_bundle(lambda: bundle_of(self._blocks()))


class BundleMaker(Protocol):
    """An object that has further forms than HTML and text."""

    def _bundle(self) -> Bundle: ...


def own_mime_bundle(self: BundleMaker, include: object = None, exclude: object = None) -> Bundle:  # noqa: ARG001 - IPython gives both
    """Return all forms of an object that makes them itself: the method `_repr_mimebundle_` of its class."""
    return shown_bundle(self._bundle)


def bundle_of(blocks: Blocks, more: Mapping[str, Any] | None = None) -> Bundle:
    """Return blocks as HTML and as text, with further forms beside them."""
    return {"text/html": blocks_html(blocks), "text/plain": blocks_text(blocks), **(more or {})}


def shown_bundle(make: Callable[[], Bundle]) -> Bundle:
    """Return what `make` gives; where it fails, the text of a typed error, and of any other its name alone."""
    try:
        return make()
    except Exception as error:  # who looks at an object gets no traceback; Ctrl-C goes on upwards
        return bundle_of([error_block(error)])


def error_block(error: BaseException) -> Block:
    """Return an error as a block; a text that is not ours may hold what nobody may see, so that its name stands."""
    message = getattr(error, "message", None)
    return ErrorBlock(kind=type(error).__name__, message=message if isinstance(message, str) else _UNREADABLE)
