"""Every error that analytics_core raises, in one tree.

    AnalyticsError                              our own fault unless a class below says otherwise (500)
    ├── SettingsError                           settings that must not start: a weak key; MissingExtraError
    ├── ActorRequiredError                      a call without an acting user (401); GuestTokenError
    ├── PayloadError                            a payload that cannot be read (422)
    │   ├── PayloadFormatError                  not JSON, not an object
    │   ├── PayloadSchemaError                  unknown, missing or wrong fields; `.problems` lists them
    │   └── FileUploadError                     a file that cannot be uploaded; row and column are told
    ├── SourceError                             what `connect` and `dataset_from` cannot take, and what instead (422)
    ├── AccessError                             refused (403)
    │   ├── DatabaseAccessError / DatasetAccessError / TableAccessError / QueryAccessError
    │   ├── ChartAccessError / DashboardAccessError / GuestAccessError / UserActivityAccessError
    │   ├── OwnershipError                      only an owner may change this
    │   └── SubqueryNotAllowedError             a sub-query inside a custom SQL field
    ├── NotFoundError                           nothing stored under this id (404)
    │   ├── DatabaseNotFoundError
    │   └── GoneError                           it was, under a key of ours, and is over or removed (410)
    ├── StaleVersionError                       an update of a version that has changed since (422)
    ├── AlreadyExistsError                      a unique name is taken (422)
    │   └── ReportExistsError                   there is a report of theirs beside it (409)
    ├── InUseError                              other records still need this one (422)
    ├── QueryError                              a value of a query that cannot be honoured (400)
    │   ├── UnknownNameError                    nearest valid names are in the message
    │   │   ├── UnknownColumnError / UnknownMetricError / UnknownDatasourceTypeError
    │   │   └── UnknownOperatorError / UnknownTimeGrainError / UnknownOperationError / UnknownEngineError
    │   ├── EmptyQueryError / DuplicateLabelError / FilterValueError / LimitError
    │   │   └── RequestLimitError / BudgetError a whole request, or what budgets count, is too much (LimitErrors)
    │   ├── TimeRangeError / TimeOffsetError
    │   ├── FragmentError                       a custom SQL field that is not one expression (RowRuleError: a row rule)
    │   ├── VirtualDatasetError                 the SQL of a dataset that cannot be a source
    │   ├── StatementError                      a statement of the SQL editor that is none, or its parameters
    │   ├── TemplateError                       a template that cannot be rendered; MissingTemplateValueError
    │   ├── PostProcessingError                 a step, its operation and option are named
    │   ├── StatementRefusedError               a statement that the gate does not let through
    │   ├── ResultTooLargeError                 more rows or bytes than the caller may fetch
    │   └── UnsupportedByEngineError            this engine cannot do it alike
    ├── DatabaseError                           what a user's database answered (400), diagnosed
    │   ├── ConnectionUriError                  a URI or option that is malformed or not allowed (422)
    │   ├── SshTunnelError                      the tunnel to it does not open, or was lost
    │   ├── StatementTimeoutError               stopped by the time limit (RequestTimeoutError: of the whole request)
    │   └── StatementStoppedError               cancelled by a person, or by `core.close()`
    ├── OAuth2RedirectError                     the user has to sign in at the provider of a database first (403)
    ├── OAuth2Error                             an authorization that cannot be started, completed or renewed (400)
    │   └── TokenEndpointError                  the provider's token endpoint gave no answer that can be used
    ├── StoredDataError                         values of the metadata store that nobody can read (500)
    ├── StoreUnavailableError                   the metadata store does not answer or refuses (500); StoreOutdatedError
    ├── ThreadLimitError                        the process can start no more threads (500)
    ├── JobError                                JobNotFoundError (404), JobGoneError (410, a GoneError)
    ├── PictureError                            a picture that cannot be drawn (500)
    ├── FileWriteError                          a file that cannot be written where a call asked for it (400)
    └── ReportError                             an alert or a report that cannot run, or be made (400)
        ├── AlertError                          what an alert's query gave cannot be judged (422)
        └── NotificationError                   a recipient was not reached

Section "Errors" of the contract lists the types and statuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from analytics_core.errors.base import REFRESH_HINT, joined, known_list, short_repr
from analytics_core.errors.base import AnalyticsError as AnalyticsError
from analytics_core.errors.base import ErrorItem as ErrorItem
from analytics_core.errors.base import ErrorLevel as ErrorLevel
from analytics_core.errors.base import ErrorType as ErrorType
from analytics_core.errors.base import Problem as Problem
from analytics_core.errors.base import nearest as nearest
from analytics_core.errors.connections import ConnectionUriError as ConnectionUriError
from analytics_core.errors.connections import DatabaseError as DatabaseError
from analytics_core.errors.connections import OAuth2Error as OAuth2Error
from analytics_core.errors.connections import OAuth2RedirectError as OAuth2RedirectError
from analytics_core.errors.connections import RequestTimeoutError as RequestTimeoutError
from analytics_core.errors.connections import SshTunnelError as SshTunnelError
from analytics_core.errors.connections import StatementStoppedError as StatementStoppedError
from analytics_core.errors.connections import StatementTimeoutError as StatementTimeoutError
from analytics_core.errors.connections import TokenEndpointError as TokenEndpointError
from analytics_core.errors.reports import AlertError as AlertError
from analytics_core.errors.reports import NotificationError as NotificationError
from analytics_core.errors.reports import ReportError as ReportError

_LISTED_PROBLEMS: Final = 20
"""How many problems of a payload a notebook lists."""


class SettingsError(AnalyticsError, code="SETTINGS_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """Settings that must not start: a weak key, an unsafe combination, a missing extra."""


class MissingExtraError(SettingsError, code="MISSING_EXTRA_ERROR"):
    """An optional package is needed; the message names the extra that brings it."""

    def __init__(self, *, needed_for: str, extra_name: str) -> None:
        super().__init__(f'{needed_for} needs an optional package: pip install "analytics-core[{extra_name}]"')
        self.extra_name = extra_name


class ActorRequiredError(AnalyticsError, code="ACTOR_REQUIRED_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A call that needs to know who acts was made without `as_user` or `as_guest`."""

    status = 401

    def __init__(self, act: str = "this call") -> None:
        super().__init__(f"{act} needs an acting user: use core.as_user(user) or core.as_guest(token)")


class GuestTokenError(ActorRequiredError, code="GUEST_TOKEN_ERROR"):
    """A guest token that opens nothing: altered, for another use, expired or revoked."""

    def __init__(self, what: str) -> None:
        AnalyticsError.__init__(self, f"the guest token opens nothing: {what}; ask the host for a new one")


# ---------------------------------------------------------------------------------------------------------- payloads
class PayloadError(AnalyticsError, code="PAYLOAD_ERROR", error_type=ErrorType.INVALID_PAYLOAD_SCHEMA_ERROR):
    """A payload that cannot be accepted."""

    status = 422


class PayloadFormatError(PayloadError, error_type=ErrorType.INVALID_PAYLOAD_FORMAT_ERROR):
    """A payload that is not a JSON object, or holds text that no engine can take."""


class FileUploadError(PayloadError, code="FILE_UPLOAD_ERROR", error_type=ErrorType.INVALID_PAYLOAD_FORMAT_ERROR):
    """A file that cannot be uploaded; `.extra` has `row` (from 1, the header included) and `column` where it tells."""


class SourceError(AnalyticsError, code="SOURCE_ERROR", error_type=ErrorType.INVALID_PAYLOAD_FORMAT_ERROR):
    """What was handed to `connect` or `dataset_from` is no table that can be read; says what would work.

    `.extra` has `name`, `file`, `row` (from 1, the header included) and `column` where they tell.
    """

    status = 422


class PayloadSchemaError(PayloadError, code="INVALID_PAYLOAD_SCHEMA_ERROR"):
    """A payload whose fields break the shape; `.problems` names each field, the message and `extra` the first 100."""

    def __init__(self, *, shape: str, problems: Sequence[Problem]) -> None:
        self.shape = shape
        self.problems = tuple(problems)
        first = self.problems[:100]
        listed = joined([f"{p.path}: {p.message}" if p.path else p.message for p in first], of=len(self.problems))
        super().__init__(
            f"{shape} is not valid: {listed}",
            extra={"problems": [{"path": p.path, "message": p.message} for p in first]},
        )

    def _lines(self) -> Sequence[str]:
        listed = [f"{p.path}: {p.message}" if p.path else p.message for p in self.problems[:_LISTED_PROBLEMS]]
        remaining = len(self.problems) - len(listed)
        return (f"{self.shape} is not valid", *listed, *([f"and {remaining} more"] if remaining > 0 else []))

    def items(self) -> tuple[ErrorItem, ...]:
        """Return an item for each problem that has a type of its own, and this error's for all others."""
        own = tuple(item for item in (problem.item() for problem in self.problems) if item is not None)
        return own if own and len(own) == len(self.problems) else (*own, *super().items())


# ------------------------------------------------------------------------------------------------------------ access
class AccessError(AnalyticsError, code="ACCESS_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """The actor may not do this."""

    status = 403


class DatabaseAccessError(AccessError, error_type=ErrorType.DATABASE_SECURITY_ACCESS_ERROR):
    """No grant on the database."""


class DatasetAccessError(AccessError, error_type=ErrorType.DATASOURCE_SECURITY_ACCESS_ERROR):
    """No grant on the dataset."""


class TableAccessError(AccessError, error_type=ErrorType.TABLE_SECURITY_ACCESS_ERROR):
    """No grant on a table that a statement reads."""


class QueryAccessError(AccessError, error_type=ErrorType.QUERY_SECURITY_ACCESS_ERROR):
    """No right to read this query or job."""


class ChartAccessError(AccessError, error_type=ErrorType.CHART_SECURITY_ACCESS_ERROR):
    """No right to read this chart."""


class DashboardAccessError(AccessError, error_type=ErrorType.DASHBOARD_SECURITY_ACCESS_ERROR):
    """No right to read this dashboard."""


class UserActivityAccessError(AccessError, error_type=ErrorType.USER_ACTIVITY_SECURITY_ACCESS_ERROR):
    """No right to read what this user did."""


class GuestAccessError(DashboardAccessError, code="GUEST_ACCESS_ERROR"):
    """Something that a guest may not do: they read the charts of their dashboards, as they are stored."""


class OwnershipError(AccessError, error_type=ErrorType.MISSING_OWNERSHIP_ERROR):
    """Only an owner (or an administrator) may change this record."""


class SubqueryNotAllowedError(AccessError, error_type=ErrorType.ADHOC_SUBQUERY_NOT_ALLOWED_ERROR):
    """A custom SQL field reads a relation of its own."""


# --------------------------------------------------------------------------------------------------- stored records
class NotFoundError(AnalyticsError, error_type=ErrorType.OBJECT_DOES_NOT_EXIST_ERROR):
    """Nothing is stored under this id, or the actor may not know that it is; `place` tells where: `of dataset 1`."""

    status = 404

    def __init__(self, resource: str, key: object, *, place: str = "", error_type: ErrorType | None = None) -> None:
        message = f"there is no {resource} {short_repr(key)} {place}".rstrip()
        super().__init__(message, error_type=error_type, extra={"resource": resource})
        self.resource = resource
        self.key = key


class DatabaseNotFoundError(NotFoundError, error_type=ErrorType.DATABASE_NOT_FOUND_ERROR):
    """There is no database with this id or name; `place` names the nearest one."""

    def __init__(self, key: object, *, place: str = "") -> None:
        super().__init__("database", key, place=place)


class GoneError(NotFoundError, code="GONE_ERROR"):
    """What was under this key is over or removed; raised only where the key itself shows that the library made it."""

    status = 410

    def __init__(self, resource: str, key: object) -> None:
        super().__init__(resource, key, place="any more: its time is over, or it was removed")


class StaleVersionError(AnalyticsError, code="STALE_VERSION_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """The record changed since it was read; read it again and repeat the change."""

    retryable = True
    status = 422

    def __init__(self, resource: str, key: object) -> None:
        super().__init__(f"{resource} {short_repr(key)} was changed by somebody else since it was read; read it again")
        self.resource = resource
        self.key = key


class AlreadyExistsError(AnalyticsError, code="ALREADY_EXISTS_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A name that must be unique is taken."""

    status = 422

    def __init__(self, resource: str, field_name: str, value: object, *, hint: str = "") -> None:
        article = "an" if resource.startswith(("a", "e", "i", "o")) else "a"
        said = f"{article} {resource} with {field_name} {short_repr(value)} exists already"
        super().__init__(f"{said}; {hint}" if hint else said)
        self.resource = resource
        self.field_name = field_name


class ReportExistsError(AlreadyExistsError, code="REPORT_EXISTS_ERROR"):
    """Whoever makes a report beside a chart or a dashboard has one there already."""

    status = 409


class InUseError(AnalyticsError, code="IN_USE_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A record cannot be deleted while others need it."""

    status = 422


class StoredDataError(AnalyticsError, code="STORED_DATA_ERROR"):
    """Stored values that do not decode, do not open with the present keys, or are none that a record may have."""


class StoreUnavailableError(AnalyticsError, code="STORE_UNAVAILABLE_ERROR"):
    """The metadata store cannot be reached, is locked for too long or refuses a statement; trying again may help."""

    retryable = True


class StoreOutdatedError(StoreUnavailableError, code="STORE_OUTDATED_ERROR"):
    """The tables of the store have no place yet for what was to be stored: they must be migrated first."""

    retryable = False


class ThreadLimitError(AnalyticsError, code="THREAD_LIMIT_ERROR"):
    """The system gives this process no more threads, so that nothing may be waited for; trying again may help."""

    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "this process can start no more threads; raise its limits of threads and memory, or ask for less at a time"
        )


class PictureError(AnalyticsError, code="PICTURE_ERROR"):
    """A picture that cannot be drawn: a specification that is wrong, a renderer that is away or out of time."""


class FileWriteError(AnalyticsError, code="FILE_WRITE_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A file that cannot be written where a call asked for it; the message names it and says what would work."""

    status = 400


# ------------------------------------------------------------------------------------------------------------ queries
class QueryError(AnalyticsError, code="QUERY_ERROR", error_type=ErrorType.GENERIC_COMMAND_ERROR):
    """A value of a query that cannot be honoured."""

    status = 400


class UnknownNameError(QueryError, code="UNKNOWN_NAME_ERROR"):
    """A name that nothing answers to; `.suggestions` holds the nearest ones."""

    noun: ClassVar[str] = "name"

    def __init__(
        self, name: str, *, place: str, known: Iterable[str] = (), error_type: ErrorType | None = None, hint: str = ""
    ) -> None:
        self.name = name
        self.known = tuple(sorted(set(known)))
        self.suggestions = nearest(name, self.known)
        near = f"; did you mean {self.suggestions[0]!r}?" if self.suggestions else ""
        listed = f"{f'{near} It' if near else '; it'} has: {known_list(self.known)}" if self.known else near
        super().__init__(
            f"{place} has no {self.noun} {short_repr(name)}{listed}{f'; {hint}' if hint else ''}",
            error_type=error_type,
            extra={"name": name, "suggestions": list(self.suggestions)},
        )


class UnknownColumnError(UnknownNameError, error_type=ErrorType.COLUMN_DOES_NOT_EXIST_ERROR):
    """A column that the dataset does not have."""

    noun = "column"

    def __init__(self, name: str, *, dataset: str, known: Iterable[str] = (), place: str = "", hint: str = "") -> None:
        where = f"{place}: dataset {dataset!r}" if place else f"dataset {dataset!r}"
        known = tuple(known)
        if known and not hint and not nearest(name, known):
            hint = REFRESH_HINT
        super().__init__(name, place=where, known=known, hint=hint)
        self.dataset = dataset


class UnknownMetricError(UnknownNameError, code="UNKNOWN_METRIC_ERROR"):
    """A saved metric that the dataset does not have."""

    noun = "metric"
    default_type = ErrorType.COLUMN_DOES_NOT_EXIST_ERROR

    def __init__(self, name: str, *, dataset: str, known: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(name, place=f"dataset {dataset!r}", known=known, hint=hint)
        self.dataset = dataset


class UnknownDatasourceTypeError(UnknownNameError, error_type=ErrorType.UNKNOWN_DATASOURCE_TYPE_ERROR):
    """A datasource type that cannot be queried."""

    noun = "datasource type"


class UnknownOperatorError(UnknownNameError, code="UNKNOWN_OPERATOR_ERROR"):
    """A filter operator outside the contract's list."""

    noun = "filter operator"


class UnknownTimeGrainError(UnknownNameError, code="UNKNOWN_TIME_GRAIN_ERROR"):
    """A time grain outside the contract's list."""

    noun = "time grain"


class UnknownEngineError(UnknownNameError, code="UNKNOWN_ENGINE_ERROR"):
    """A database engine that nobody has described."""

    noun = "engine"


class UnknownOperationError(UnknownNameError, code="UNKNOWN_OPERATION_ERROR"):
    """A post-processing operation that is not registered."""

    noun = "operation"


class EmptyQueryError(QueryError, code="EMPTY_QUERY_ERROR"):
    """A query that asks for nothing: no column and no metric."""


class DuplicateLabelError(QueryError, code="DUPLICATE_LABEL_ERROR"):
    """Two outputs of one query would carry the same label."""

    def __init__(self, labels: Iterable[str]) -> None:
        self.labels = tuple(labels)
        super().__init__(f"two columns or metrics share a label: {', '.join(map(repr, self.labels))}; rename one")


class FilterValueError(QueryError, code="FILTER_VALUE_ERROR"):
    """A filter value that does not fit its column or its operator."""


class LimitError(QueryError, code="LIMIT_ERROR"):
    """A limit, offset or size that is out of bounds."""


class RequestLimitError(LimitError, code="REQUEST_LIMIT_ERROR"):
    """A request needs more statements, cells or custom SQL, in all, than one request may."""


class BudgetError(LimitError, code="BUDGET_ERROR"):
    """More than a budget of the settings allows; `extra` has `unit`, `per`, `limit`, `spent`, `free_at` of its day."""


class TimeRangeError(QueryError, code="TIME_RANGE_ERROR"):
    """A time range that the grammar does not know; the message shows what would work."""


class TimeOffsetError(QueryError, code="TIME_OFFSET_ERROR"):
    """A time comparison that cannot be made."""


class FragmentError(QueryError, error_type=ErrorType.INVALID_SQL_ERROR):
    """A custom SQL field that is not exactly one expression of the kind its place takes."""


class RowRuleError(FragmentError, code="ROW_RULE_ERROR"):
    """A row rule that cannot be evaluated: nothing is shown; `.detail`, for administrators, is in no payload."""

    def __init__(self, name: str, *, detail: str) -> None:
        super().__init__(f"row rule {name} cannot be evaluated, so nothing is shown; ask an administrator to mend it")
        self.detail = detail


class VirtualDatasetError(QueryError, code="VIRTUAL_DATASET_ERROR", error_type=ErrorType.INVALID_SQL_ERROR):
    """The SQL of a virtual dataset that cannot serve as a source."""


class StatementError(QueryError, code="STATEMENT_ERROR", error_type=ErrorType.INVALID_SQL_ERROR):
    """A statement of the SQL editor that is not SQL of its engine, or parameters that do not fit it."""


class TemplateError(QueryError, error_type=ErrorType.INVALID_TEMPLATE_PARAMS_ERROR):
    """A template that does not render; `.detail`, for administrators, is in no payload."""

    detail: str | None = None


class MissingTemplateValueError(TemplateError, error_type=ErrorType.MISSING_TEMPLATE_PARAMS_ERROR):
    """A template uses a name that has no value."""


class PostProcessingError(QueryError, code="POST_PROCESSING_ERROR"):
    """A post-processing step that cannot run; the message names step, operation and option."""


class StatementRefusedError(QueryError, error_type=ErrorType.DML_NOT_ALLOWED_ERROR):
    """A statement that the gate does not let through."""


class ResultTooLargeError(QueryError, error_type=ErrorType.RESULT_TOO_LARGE_ERROR):
    """More rows or bytes than may be fetched; the statement was stopped on the server."""


class UnsupportedByEngineError(QueryError, code="UNSUPPORTED_BY_ENGINE_ERROR"):
    """This engine cannot give the answer that the others give."""


# --------------------------------------------------------------------------------------------------------------- jobs
class JobError(AnalyticsError, error_type=ErrorType.ASYNC_WORKERS_ERROR):
    """A background job that cannot be run or read."""


class JobNotFoundError(JobError, code="JOB_NOT_FOUND_ERROR"):
    """There is no such job, it is not the actor's, or other row rules bind them since it ran."""

    status = 404

    def __init__(self, job_id: object) -> None:
        super().__init__(f"there is no job {short_repr(job_id)} for this user")
        self.job_id = job_id


class JobGoneError(JobNotFoundError, GoneError, code="JOB_GONE_ERROR"):
    """A job of the actor that is forgotten: its time is over, or others needed its room; submit it again."""

    status = 410

    def __init__(self, job_id: object) -> None:
        GoneError.__init__(self, "job", job_id)
        self.job_id = job_id
