"""What the service takes and answers, in the library's own shapes (`analytics_core.models`) where there is one."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, PlainValidator
from starlette.exceptions import HTTPException

from analytics_core.errors import (
    AnalyticsError,
    ErrorItem,
    ErrorType,
    PayloadFormatError,
    PayloadSchemaError,
    Problem,
    StatementStoppedError,
    StoreUnavailableError,
)
from analytics_core.models import (
    ChartDataAsyncResponse,
    ChartDataQueryContext,
    ChartDataResponse,
    ErrorBodyWithErrors,
    GuestTokenCreate,
    parse,
    parse_query_context,
)

RETRY_AFTER_S = 2
"""After how many seconds a caller may try again what failed for the moment, or look again for a job."""


def _read_by(read: Callable[[dict[str, Any]], BaseModel], shape: type[BaseModel]) -> Any:
    """Have the library read a body, whose errors say more than those of pydantic; OpenAPI shows the shape.

    What is no JSON by its content type comes as bytes. It is refused, since browsers send it to other origins unasked.
    """

    def checked(body: Any) -> BaseModel:
        if not isinstance(body, dict):
            raise PayloadFormatError("a body is one JSON object, sent as application/json")
        return read(body)

    return PlainValidator(checked, json_schema_input_type=shape)


QueryContext = Annotated[Any, Body(), _read_by(parse_query_context, ChartDataQueryContext)]
"""A `ChartDataQueryContext`."""

GuestTokenRequest = Annotated[
    Any, Body(), _read_by(lambda body: parse(GuestTokenCreate, body, shape="GuestTokenCreate"), GuestTokenCreate)
]
"""A `GuestTokenCreate`."""


class Health(BaseModel):
    """Whether the process lives, or takes requests; `problem` says why it does not."""

    status: Literal["ok", "unavailable"] = "ok"
    problem: str | None = None


class GuestToken(BaseModel):
    """A token with which a guest reads embedded dashboards."""

    token: str


class ShortChartData(BaseModel):
    """The answer of a `result_type` that shows less than all of it, such as `query`."""

    result: list[dict[str, Any]]


ChartRows = ChartDataResponse | ShortChartData
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("text/csv", XLSX)}}
}
"""What rows are besides JSON, for OpenAPI."""


class JobAnswer(ChartDataAsyncResponse):
    """A job in the background: `state` also tells `lost`, which `status` calls failed."""

    state: str


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBodyWithErrors} for status in (400, 401, 403, 404, 410, 413, 422, 500, 503)
}
"""The answers of every route besides its own, for OpenAPI."""


def error_answer(error: AnalyticsError, *, is_passing: bool = False) -> JSONResponse:
    """Return the status and the body of a typed error; what may pass is 503 with `Retry-After` in place of 500."""
    is_away = is_passing or (error.retryable and error.status == 500)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if is_away or error.retryable else {}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(error.to_payload(), status_code=503 if is_away else error.status, headers=headers)


def plain_error(message: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error that is not the library's, in the same shape."""
    kind = ErrorType.GENERIC_BACKEND_ERROR if status >= 500 else ErrorType.GENERIC_COMMAND_ERROR
    item = ErrorItem(error_type=kind, message=message).to_payload()
    return JSONResponse({"message": message, "errors": [item]}, status_code=status, headers=headers)


def add_error_answers(app: FastAPI, is_ending: Callable[[], bool]) -> None:
    """Give errors the one shape of error bodies; another process may answer what the end of this one stopped."""
    of_the_end = (StatementStoppedError, StoreUnavailableError)

    @app.exception_handler(AnalyticsError)
    def typed(_request: Request, error: AnalyticsError) -> JSONResponse:
        return error_answer(error, is_passing=is_ending() and isinstance(error, of_the_end))

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        problems = [Problem(path=".".join(map(str, one["loc"])), message=one["msg"]) for one in error.errors()]
        return error_answer(PayloadSchemaError(shape="the request", problems=problems))

    @app.exception_handler(HTTPException)
    def refused(_request: Request, error: HTTPException) -> JSONResponse:
        return plain_error(error.detail, error.status_code, dict(error.headers or {}))
