"""Errors of alerts and reports: a run that cannot be made, judged or sent."""

from __future__ import annotations

from analytics_core.errors.base import AnalyticsError, ErrorType


class ReportError(AnalyticsError, code="REPORT_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A run of an alert or a report that ended before anything was sent."""

    status = 400


class AlertError(ReportError, code="ALERT_ERROR"):
    """An alert's query gave more than one value, or one that its validator cannot judge."""

    status = 422


class NotificationError(ReportError, error_type=ErrorType.REPORT_NOTIFICATION_ERROR):
    """A recipient was not reached; `retry_after_s`: when to try again, where the server said so; else None."""

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after_s: float | None = None, recipient: str | None = None
    ) -> None:
        super().__init__(message, retryable=retryable, extra={} if recipient is None else {"recipient": recipient})
        self.retry_after_s = retry_after_s
