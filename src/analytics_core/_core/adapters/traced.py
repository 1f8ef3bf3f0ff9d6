"""Renderers and notifiers whose work is observed: for cores whose observer hears of all of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analytics_core._engine.tracing import Tracer, Work
from analytics_core._records.audit import ObservationKind
from analytics_core._records.message import Delivery, DeliveryState, Message, Recipient
from analytics_core.errors import ErrorType
from analytics_core.models.enums import PictureFormat
from analytics_core.ports import AddressLookup, Notifier, Renderer


class TracedRenderer:
    """Draws by another renderer, and has each picture observed (port `Renderer`)."""

    def __init__(self, renderer: Renderer, tracer: Tracer) -> None:
        self._renderer, self._tracer = renderer, tracer

    @property
    def fingerprint(self) -> str:
        """The renderer's own."""
        return self._renderer.fingerprint

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return the picture of a Vega-Lite specification."""
        with self._tracer.work(ObservationKind.PICTURE, {"result_type": format.value}) as work:
            return _measured(work, self._renderer.render(specification, format=format, scale=scale))

    def render_pages(self, pages: Sequence[str], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return pages that are SVG as one picture."""
        with self._tracer.work(ObservationKind.PICTURE, {"result_type": format.value}) as work:
            return _measured(work, self._renderer.render_pages(pages, format=format, scale=scale))

    def close(self) -> None:
        """Close the renderer."""
        self._renderer.close()


def _measured(work: Work, picture: bytes) -> bytes:
    work.facts["result_bytes"] = len(picture)
    return picture


class TracedNotifier:
    """Sends by another notifier, and has each attempt observed (port `Notifier`)."""

    def __init__(self, notifier: Notifier, tracer: Tracer) -> None:
        self._notifier, self._tracer = notifier, tracer

    def start(self, addresses: AddressLookup) -> None:
        """Start the notifier."""
        self._notifier.start(addresses)

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether the notifier takes it."""
        return self._notifier.takes(recipient)

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Try once to deliver a message; an address that it did not reach makes the attempt one that failed."""
        with self._tracer.work(ObservationKind.DELIVERY, {"result_type": recipient.kind}) as work:
            found = tuple(self._notifier.send(message, recipient, only=only))
            if any(one.state != DeliveryState.DELIVERED for one in found):
                work.error_type = ErrorType.REPORT_NOTIFICATION_ERROR.value
            return found

    def close(self) -> None:
        """Close the notifier."""
        self._notifier.close()
