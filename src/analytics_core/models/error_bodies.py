"""Shapes of error bodies (contract, section Errors); every error's `to_payload()` is one."""

from __future__ import annotations

from pydantic import ConfigDict

from analytics_core.errors import ErrorLevel, ErrorType
from analytics_core.models.base import Answer, JsonObject


class ErrorEntry(Answer):
    """One item of `errors`: what went wrong, how bad it is and more about it (contract, item of `errors`)."""

    error_type: ErrorType | None = None
    message: str | None = None
    level: ErrorLevel | None = None
    extra: JsonObject | None = None


class ErrorBody(Answer):
    """The body of an error (contract, statuses 400 to 500); we send `errors` on every status."""

    model_config = ConfigDict(extra="allow")

    message: str | None = None


class ErrorBodyWithErrors(ErrorBody):
    """The body of an error with its items (contract, status 410)."""

    errors: tuple[ErrorEntry, ...] = ()
