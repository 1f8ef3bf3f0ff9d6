"""A service in FastAPI: charts and dashboards for people and for guests, jobs in the background, OAuth 2.0, health.

Deployed, with the core of its environment (docs/how-to/deploy.md):

    uvicorn --factory fastapi_host.app:make_service --workers 2

`make_service` lets guests in alone, by tokens that administrators mint, until it is told who else asks: write a module
with a factory of your own, and start that.

    def make() -> FastAPI:
        return make_service(who_is_this)

A demo over a sample shop, with two tenants (it takes `pip install "analytics-core" "fastapi[standard]"`;
docs/how-to/embed-dashboards.md and docs/how-to/oauth.md walk through it):

    fastapi dev examples/fastapi_host/app.py
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Annotated

import anyio
from anyio import to_thread
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from analytics_core import AnalyticsCore, ChartData, GuestCore, Job
from analytics_core.errors import AnalyticsError, SettingsError
from analytics_core.models import DashboardGet, ResultFormat

from .bodies import (
    ERRORS,
    FILES,
    RETRY_AFTER_S,
    XLSX,
    ChartRows,
    GuestToken,
    GuestTokenRequest,
    Health,
    JobAnswer,
    QueryContext,
    add_error_answers,
)
from .core import make_core
from .process import LOG, Ending, RequestIds, configure_logs

WhoIsThis = Callable[[Request], int | str | None]
"""Tells who is signed in, by the id or the user name in the core; None: no one. It runs in a worker thread."""

PAGES, DRAIN_S, GRACE_S = "HOST_PAGES", "HOST_DRAIN_S", "HOST_GRACE_S"
"""Variables: origins whose pages may ask, with commas between; for how many seconds after SIGTERM the process takes
requests, while it says that it is not ready; and how many more those that run may take."""

_BEARER = {"WWW-Authenticate": "Bearer"}
_READY_S = 3.0
_CANNOT_START = 3
"""The exit code by which the main process of uvicorn knows that another try would end alike."""


def no_one(_request: Request) -> None:
    """Tell that no one is signed in: what a service says that has no sign-in yet."""


def make_service(who_is_this: WhoIsThis = no_one, *, environ: Mapping[str, str] = os.environ) -> FastAPI:
    """Return the service that is deployed, with the core of its environment; what cannot start ends the process."""
    configure_logs()
    try:
        pages = [page for page in environ.get(PAGES, "").split(",") if page]
        drain_s, grace_s = float(environ.get(DRAIN_S) or 0), float(environ.get(GRACE_S) or 30)
        core = make_core(environ)
        return create_app(core, who_is_this=who_is_this, pages=pages, drain_s=drain_s, grace_s=grace_s)
    except (AnalyticsError, ValueError) as error:
        LOG.critical("the service cannot start: %s", error)
        sys.exit(_CANNOT_START)


def create_app(
    core: AnalyticsCore,
    *,
    who_is_this: WhoIsThis = no_one,
    pages: Sequence[str] = (),
    drain_s: float = 0,
    grace_s: float = 30,
) -> FastAPI:
    """Return the service over a core, which it closes at its end; plain functions run in FastAPI's worker threads.

    Args:
        core: gives cores to those who ask; its own actor, where it has one, acts for none of them.
        who_is_this: tells who is signed in.
        pages: origins of other hosts whose pages may ask, such as those that embed a dashboard.
        drain_s: seconds from SIGTERM until no more requests are taken.
        grace_s: seconds from then on until those that still run are stopped.
    """
    if "*" in pages:
        raise SettingsError("pages of every origin may not ask: name them, such as https://shop.example")
    ending = Ending(core.close, drain_s=drain_s, grace_s=grace_s)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        with ending.on_sigterm():
            yield
        await to_thread.run_sync(core.close)

    app = FastAPI(title="Analytics", lifespan=lifespan, responses=ERRORS, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False  # it would lead to whichever host the request names
    app.add_middleware(RequestIds)
    if pages:
        app.add_middleware(CORSMiddleware, allow_origins=pages, allow_methods=["*"], allow_headers=["Authorization"])
    add_error_answers(app, lambda: ending.has_begun)
    add_health(app, core, ending)

    def signed_in(request: Request) -> AnalyticsCore:
        user = who_is_this(request)
        if user is None:
            raise HTTPException(401, "sign in first", _BEARER)
        return core.as_user(user)

    def asking(
        request: Request,
        authorization: Annotated[str, Header()] = "",
        origin: Annotated[str | None, Header()] = None,
    ) -> AnalyticsCore | GuestCore:
        """Return the core as it is for whoever is signed in, else for the guest of a token."""
        user = who_is_this(request)
        if user is not None:
            return core.as_user(user)
        if not authorization:
            raise HTTPException(401, "sign in first", _BEARER)
        return core.as_guest(authorization.removeprefix("Bearer "), origin=origin)

    add_questions(app, asking)
    add_administration(app, signed_in)
    return app


def add_health(app: FastAPI, core: AnalyticsCore, ending: Ending) -> None:
    """Add what orchestrators ask: whether the process lives, and whether it takes requests."""
    threads = anyio.CapacityLimiter(2)  # of their own: questions that take long hold up no look

    @app.get("/health/live")
    async def live() -> Health:
        return Health()

    @app.get("/health/ready", responses={503: {"model": Health}})
    async def ready() -> Response:
        is_up = False
        with anyio.move_on_after(_READY_S):
            store = (await to_thread.run_sync(core.health, limiter=threads, abandon_on_cancel=True)).store
            is_up = store.is_up
            if not is_up:
                LOG.warning("not ready: %s", store.problem)
        problem = "it stops" if ending.has_begun else None if is_up else "the store does not answer"
        body = Health(status="unavailable" if problem else "ok", problem=problem)
        return JSONResponse(body.model_dump(), status_code=503 if problem else 200)


def add_questions(app: FastAPI, asking: Callable[..., AnalyticsCore | GuestCore]) -> None:
    """Add what people and guests ask: charts at once, charts in the background, dashboards."""
    Asking = Annotated[AnalyticsCore | GuestCore, Depends(asking)]  # noqa: N806 - a type

    @app.post("/charts/data", response_model=ChartRows, responses=FILES)
    def query_data(who: Asking, query: QueryContext) -> Response:
        return rendered(who.charts.data(query))

    @app.post("/charts/{chart_id}/data", response_model=ChartRows, responses=FILES)
    def chart_data(who: Asking, chart_id: int) -> Response:
        return rendered(who.charts.data(chart_id))

    @app.post("/charts/jobs", status_code=202)
    def submit_query(who: Asking, query: QueryContext) -> JobAnswer:
        return job_answer(who.charts.submit(query))

    @app.post("/charts/{chart_id}/jobs", status_code=202)
    def submit_chart(who: Asking, chart_id: int) -> JobAnswer:
        return job_answer(who.charts.submit(chart_id))

    @app.get("/jobs/{job_id}")
    def job(who: Asking, job_id: str) -> JobAnswer:
        return job_answer(who.charts.job(job_id))

    @app.delete("/jobs/{job_id}", status_code=202)
    def cancel(who: Asking, job_id: str) -> JobAnswer:
        found = who.charts.job(job_id)
        found.cancel()
        return job_answer(found)

    @app.get("/jobs/{job_id}/result", response_model=ChartRows, responses={**FILES, 202: {"model": JobAnswer}})
    def result(who: Asking, job_id: str) -> Response:
        found = who.charts.job(job_id)
        if found.is_over:
            return rendered(found.result(timeout_s=0))
        wait = {"Retry-After": str(RETRY_AFTER_S)}
        return JSONResponse(job_answer(found).to_payload(), status_code=202, headers=wait)

    @app.get("/dashboards/{dashboard_id}", response_model_exclude_unset=True)
    def dashboard(who: Asking, dashboard_id: int) -> DashboardGet:
        return who.dashboards.get(dashboard_id)


def add_administration(app: FastAPI, signed_in: Callable[..., AnalyticsCore]) -> None:
    """Add what is for people alone: tokens for guests, and the way to the provider of a database and back."""
    SignedIn = Annotated[AnalyticsCore, Depends(signed_in)]  # noqa: N806 - a type

    @app.post("/guest-tokens")
    def mint(who: SignedIn, request: GuestTokenRequest) -> GuestToken:
        return GuestToken(token=who.embedded.guest_token(request))

    @app.get("/oauth/{database_id}/start", status_code=307)
    def start(who: SignedIn, database_id: int, redirect_to: str | None = None) -> RedirectResponse:
        return RedirectResponse(who.oauth.start(database_id, redirect_to).url)

    @app.get("/oauth/callback")
    def callback(who: SignedIn, state: str, code: str | None = None, error: str | None = None) -> Response:
        done = who.oauth.callback(state=state, code=code, error=error)
        return RedirectResponse(done.redirect_to) if done.redirect_to else PlainTextResponse("You may close this page.")


def rendered(answer: ChartData) -> Response:
    """Return the rows in the format that was asked for; a query that failed is its own error."""
    answer.raise_for_error()
    if answer.result_format is ResultFormat.CSV:
        return Response(answer.to_csv(), media_type="text/csv")
    if answer.result_format is ResultFormat.XLSX:
        return Response(answer.to_xlsx(), media_type=XLSX)
    return Response(answer.to_json(), media_type="application/json")


def job_answer(job: Job[ChartData]) -> JobAnswer:
    """Return a job with the address of its result here."""
    fields = {**job.to_payload(), "result_url": f"/jobs/{job.job_id}/result"}
    return JobAnswer(**fields, state=job.state.value)


@cache
def _demo() -> FastAPI:
    from .demo import make_demo

    return make_demo()


def __getattr__(name: str) -> FastAPI:
    """Make the demo when a server asks for `app`, not when the service or a test imports the module."""
    if name != "app":
        raise AttributeError(name)
    return _demo()


def __dir__() -> list[str]:
    """Name `app` too: the command of FastAPI looks for it here."""
    return [*globals(), "app"]
