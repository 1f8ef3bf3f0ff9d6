"""What all errors are made of: base, the contract's types, levels and items (section Errors), and words of messages.

`analytics_core.errors` is where users find them.
"""

from __future__ import annotations

import difflib
import linecache
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from typing import Any, ClassVar, Final, Self

from analytics_core._tools.display.blocks import Blocks, ErrorBlock, facts, notes
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.text import blocks_text, visible

REFRESH_HINT: Final = "if its table has it by now, use datasets.refresh"
"""What helps where a dataset does not know a column, unless its table was just looked at."""


class ErrorLevel(StrEnum):
    """How serious an error item is (contract, section Errors)."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ErrorType(StrEnum):
    """The contract's 47 error types and five of ours (marked), each value its own name.

    The three `FRONTEND_*` members belong to the contract's enum and are never raised here.
    """

    FRONTEND_CSRF_ERROR = "FRONTEND_CSRF_ERROR"
    FRONTEND_NETWORK_ERROR = "FRONTEND_NETWORK_ERROR"
    FRONTEND_TIMEOUT_ERROR = "FRONTEND_TIMEOUT_ERROR"
    GENERIC_DB_ENGINE_ERROR = "GENERIC_DB_ENGINE_ERROR"
    COLUMN_DOES_NOT_EXIST_ERROR = "COLUMN_DOES_NOT_EXIST_ERROR"
    TABLE_DOES_NOT_EXIST_ERROR = "TABLE_DOES_NOT_EXIST_ERROR"
    SCHEMA_DOES_NOT_EXIST_ERROR = "SCHEMA_DOES_NOT_EXIST_ERROR"
    CONNECTION_INVALID_USERNAME_ERROR = "CONNECTION_INVALID_USERNAME_ERROR"
    CONNECTION_INVALID_PASSWORD_ERROR = "CONNECTION_INVALID_PASSWORD_ERROR"  # noqa: S105 - a name, not a password
    CONNECTION_INVALID_HOSTNAME_ERROR = "CONNECTION_INVALID_HOSTNAME_ERROR"
    CONNECTION_PORT_CLOSED_ERROR = "CONNECTION_PORT_CLOSED_ERROR"
    CONNECTION_INVALID_PORT_ERROR = "CONNECTION_INVALID_PORT_ERROR"
    CONNECTION_HOST_DOWN_ERROR = "CONNECTION_HOST_DOWN_ERROR"
    CONNECTION_ACCESS_DENIED_ERROR = "CONNECTION_ACCESS_DENIED_ERROR"
    CONNECTION_UNKNOWN_DATABASE_ERROR = "CONNECTION_UNKNOWN_DATABASE_ERROR"
    CONNECTION_DATABASE_PERMISSIONS_ERROR = "CONNECTION_DATABASE_PERMISSIONS_ERROR"
    CONNECTION_MISSING_PARAMETERS_ERROR = "CONNECTION_MISSING_PARAMETERS_ERROR"
    OBJECT_DOES_NOT_EXIST_ERROR = "OBJECT_DOES_NOT_EXIST_ERROR"
    SYNTAX_ERROR = "SYNTAX_ERROR"
    CONNECTION_DATABASE_TIMEOUT = "CONNECTION_DATABASE_TIMEOUT"
    VIZ_GET_DF_ERROR = "VIZ_GET_DF_ERROR"
    UNKNOWN_DATASOURCE_TYPE_ERROR = "UNKNOWN_DATASOURCE_TYPE_ERROR"
    FAILED_FETCHING_DATASOURCE_INFO_ERROR = "FAILED_FETCHING_DATASOURCE_INFO_ERROR"
    TABLE_SECURITY_ACCESS_ERROR = "TABLE_SECURITY_ACCESS_ERROR"
    DATASOURCE_SECURITY_ACCESS_ERROR = "DATASOURCE_SECURITY_ACCESS_ERROR"
    DATABASE_SECURITY_ACCESS_ERROR = "DATABASE_SECURITY_ACCESS_ERROR"
    QUERY_SECURITY_ACCESS_ERROR = "QUERY_SECURITY_ACCESS_ERROR"
    MISSING_OWNERSHIP_ERROR = "MISSING_OWNERSHIP_ERROR"
    USER_ACTIVITY_SECURITY_ACCESS_ERROR = "USER_ACTIVITY_SECURITY_ACCESS_ERROR"
    BACKEND_TIMEOUT_ERROR = "BACKEND_TIMEOUT_ERROR"
    DATABASE_NOT_FOUND_ERROR = "DATABASE_NOT_FOUND_ERROR"
    MISSING_TEMPLATE_PARAMS_ERROR = "MISSING_TEMPLATE_PARAMS_ERROR"
    INVALID_TEMPLATE_PARAMS_ERROR = "INVALID_TEMPLATE_PARAMS_ERROR"
    RESULTS_BACKEND_NOT_CONFIGURED_ERROR = "RESULTS_BACKEND_NOT_CONFIGURED_ERROR"
    DML_NOT_ALLOWED_ERROR = "DML_NOT_ALLOWED_ERROR"
    INVALID_CTAS_QUERY_ERROR = "INVALID_CTAS_QUERY_ERROR"
    INVALID_CVAS_QUERY_ERROR = "INVALID_CVAS_QUERY_ERROR"
    SQLLAB_TIMEOUT_ERROR = "SQLLAB_TIMEOUT_ERROR"
    RESULTS_BACKEND_ERROR = "RESULTS_BACKEND_ERROR"
    ASYNC_WORKERS_ERROR = "ASYNC_WORKERS_ERROR"
    ADHOC_SUBQUERY_NOT_ALLOWED_ERROR = "ADHOC_SUBQUERY_NOT_ALLOWED_ERROR"
    GENERIC_COMMAND_ERROR = "GENERIC_COMMAND_ERROR"
    GENERIC_BACKEND_ERROR = "GENERIC_BACKEND_ERROR"
    INVALID_PAYLOAD_FORMAT_ERROR = "INVALID_PAYLOAD_FORMAT_ERROR"
    INVALID_PAYLOAD_SCHEMA_ERROR = "INVALID_PAYLOAD_SCHEMA_ERROR"
    REPORT_NOTIFICATION_ERROR = "REPORT_NOTIFICATION_ERROR"
    RESULT_TOO_LARGE_ERROR = "RESULT_TOO_LARGE_ERROR"
    # Ours, beyond the contract.
    OAUTH2_REDIRECT = "OAUTH2_REDIRECT"
    OAUTH2_REDIRECT_ERROR = "OAUTH2_REDIRECT_ERROR"
    INVALID_SQL_ERROR = "INVALID_SQL_ERROR"
    DASHBOARD_SECURITY_ACCESS_ERROR = "DASHBOARD_SECURITY_ACCESS_ERROR"
    CHART_SECURITY_ACCESS_ERROR = "CHART_SECURITY_ACCESS_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorItem:
    """One item of the `errors` array of an error body (contract, section Errors)."""

    error_type: ErrorType
    message: str
    level: ErrorLevel = ErrorLevel.ERROR
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_payload(self) -> dict[str, Any]:
        """Return the item as the contract writes it."""
        return {
            "error_type": self.error_type.value,
            "message": self.message,
            "level": self.level.value,
            "extra": dict(self.extra),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a payload: the field's path (dots, 0-based positions) and what would work.

    `error_type` is the contract's type of this one problem; None: that of the error that tells it.
    """

    path: str
    message: str
    error_type: ErrorType | None = None

    def item(self) -> ErrorItem | None:
        """Return the problem as an item of its own; None where that of the error tells it."""
        if self.error_type is None:
            return None
        return ErrorItem(error_type=self.error_type, message=f"{self.path}: {self.message}", extra={"path": self.path})


_PASSING: Final = frozenset(
    {
        ErrorType.CONNECTION_HOST_DOWN_ERROR,
        ErrorType.CONNECTION_PORT_CLOSED_ERROR,
        ErrorType.CONNECTION_DATABASE_TIMEOUT,
        ErrorType.BACKEND_TIMEOUT_ERROR,
    }
)
"""What is wrong with a database that may be well again later."""
_LINE_END: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def _one_line(text: str) -> str:
    r"""Return a text with escapes (`\n`) for what ends a line: keys and names of users stand in messages."""
    return _LINE_END.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class AnalyticsError(Exception):
    """The root of every error that analytics_core raises.

    Attributes:
        status: the HTTP status a host would answer with.
        error_type: the contract's error type.
        code: which error it is, a stable name: the contract's type where that tells, else a name of the class. An error
            that was diagnosed has the code of its diagnosis.
        retryable: whether the same call may well succeed later although nobody changes anything.
        message: one sentence in one line: what, where, and what would work. Never a secret, never a driver's text.
        extra: further facts, safe to show.
    """

    status: ClassVar[int] = 500
    default_type: ClassVar[ErrorType] = ErrorType.GENERIC_BACKEND_ERROR
    code: str = default_type.value
    retryable: bool = False
    _beside: tuple[ErrorItem, ...] = ()

    def __init_subclass__(cls, *, error_type: ErrorType | None = None, code: str | None = None, **options: Any) -> None:
        """Give a class its type and its code: the code it names, else its own type; all else is as in its base."""
        super().__init_subclass__(**options)
        if error_type is not None:
            cls.default_type = error_type
        if code is not None:
            cls.code = code
        elif "default_type" in vars(cls):
            cls.code = cls.default_type.value

    def __init__(
        self,
        message: str,
        *,
        error_type: ErrorType | None = None,
        level: ErrorLevel = ErrorLevel.ERROR,
        extra: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
    ) -> None:
        self.message = _one_line(message)
        super().__init__(self.message)
        own_type = None if error_type is self.default_type else error_type
        self.code = type(self).code if own_type is None else own_type.value
        passes = type(self).retryable if own_type is None else own_type in _PASSING
        self.retryable = passes if retryable is None else retryable
        self.error_type = error_type or self.default_type
        self.level = level
        self.extra: dict[str, Any] = dict(extra or {})

    def __str__(self) -> str:
        return visible(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Tell how copies and pickles are made: from what the error holds, not by calling `__init__` anew."""
        return same_error, (type(self), self.args, dict(self.__dict__))

    def at(self, place: str) -> Self:
        """Return this error with `place` before its message, for a part that passes on what another one refused."""
        self.message = _one_line(f"{place}: {self.message}")
        self.args = (self.message,)
        return self

    def beside(self, other: AnalyticsError) -> Self:
        """Return this error with the items of another one after its own: what would help, next to what went wrong."""
        self._beside = (*self._beside, *other.items())
        return self

    def items(self) -> tuple[ErrorItem, ...]:
        """Return the error items: its own, unless a subclass gathers several, and those of errors beside it."""
        own = ErrorItem(error_type=self.error_type, message=self.message, level=self.level, extra=self.extra)
        return (own, *self._beside)

    def _lines(self) -> Sequence[str]:
        """Return what went wrong, a line each: the message, unless a subclass knows several things."""
        return (self.message,)

    def _blocks(self) -> Blocks:
        """Return what a notebook shows of the error as a value."""
        first, *others = self._lines()
        about = {"code": self.code, "status": self.status, "trying again may help": "yes" if self.retryable else None}
        return [ErrorBlock(kind=type(self).__name__, message=first), *notes(others), *facts(about)]

    _repr_mimebundle_ = mime_bundle

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - IPython gives it
        """Write the text of the error for IPython, which has a form of its own for exceptions else."""
        printer.text(blocks_text(self._blocks()))

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows where the error is raised: its place in the user's code, and the message."""
        return short_traceback(self, self._lines())

    def to_payload(self) -> dict[str, Any]:
        """Return `{message, errors: [...]}`, the body that goes with `.status` (contract, section Errors)."""
        return {"message": self.message, "errors": [item.to_payload() for item in self.items()]}


def same_error(kind: type[AnalyticsError], args: tuple[Any, ...], state: dict[str, Any]) -> AnalyticsError:
    """Return an error of this class with these facts; what caused it, and where, stays behind."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def nearest(name: object, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> tuple[str, ...]:
    """Return the names of `known` most like `name`, best first; empty when nothing comes near.

    `cutoff` is the least likeness, from 0 to 1.
    """
    if not isinstance(name, str):  # callers pass on what they were given
        return ()
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=cutoff)
    return tuple(by_folded[folded] for folded in close)


def known_list(known: Sequence[str], *, most: int = 20) -> str:
    """Return names as one text; beyond `most` only how many more there are."""
    text = ", ".join(known[:most])
    return f"{text} and {len(known) - most} more" if len(known) > most else text


LONGEST_KEY: Final = 300
"""Characters of a key that an error repeats."""


def short_repr(key: object) -> str:
    """Return a key as a message repeats it: of a long one the beginning."""
    try:
        text = repr(key)
    except RecursionError:  # nested too deeply to be written
        text = f"{type(key).__name__} of many levels"
    except ValueError:  # integers of more than 4,300 digits are not written
        text = f"{type(key).__name__} of many digits"
    return text if len(text) <= LONGEST_KEY else f"{text[:LONGEST_KEY]}..."


def joined(texts: Sequence[str], *, of: int) -> str:
    """Return the texts in a row, and how many more of them there are."""
    more = [f"and {of - len(texts)} more"] if of > len(texts) else []
    return "; ".join([*texts, *more])


_NOT_THE_USERS: Final = ("analytics_core", "IPython", "ipykernel", "concurrent", "threading")
_MOST_FRAMES: Final = 10


def short_traceback(error: BaseException, messages: Sequence[str]) -> list[str]:
    """Return the lines that a notebook shows for an error.

    The library's own frames say nothing to whoever wrote the call; `traceback.print_exception(error)` has them.

    Args:
        error: what was raised.
        messages: what went wrong, a line each.
    """
    first, *others = messages
    frames = list(_users_frames(error))[-_MOST_FRAMES:]
    return [*frames, f"{type(error).__name__}: {first}", *(f"    {line}" for line in others)]


def _users_frames(error: BaseException) -> Iterator[str]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _NOT_THE_USERS:
            continue
        source = linecache.getline(frame.f_code.co_filename, line).strip()
        yield f"{_place(frame.f_code.co_filename)}, line {line}: {source}".rstrip(": ")


def _place(filename: str) -> str:
    is_cell = "ipykernel_" in filename or filename.startswith("<ipython-input")
    return "cell" if is_cell else PurePath(filename).name
