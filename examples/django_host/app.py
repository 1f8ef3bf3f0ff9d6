"""A Django site that shows charts to the people who are signed in to it, and a dashboard to guests, as JSON.

Run it with `python examples/django_host/app.py runserver` (it takes `pip install "analytics-core" "django"`), and sign
in as anna with the password anna; docs/how-to/hosts.md walks through it.
"""

import json
import secrets
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from analytics_core import AnalyticsCore, connect
from analytics_core.errors import ActorRequiredError, AnalyticsError
from analytics_core.models import parse_query_context
from analytics_core.testing.sample_data import make_shop

COUNTRIES = {"anna": "France", "bert": "Germany"}  # of whose orders each person sees those alone
FOLDER = Path(tempfile.mkdtemp())
FORM = {"registration/login.html": "<form method=post>{% csrf_token %}{{ form }}<button>Sign in</button></form>"}
LOADERS = {"loaders": [("django.template.loaders.locmem.Loader", FORM)]}
settings.configure(
    SECRET_KEY=secrets.token_urlsafe(50),
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "django.db"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": LOADERS}],
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - its models take the settings
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command, execute_from_command_line  # noqa: E402


@cache
def site() -> AnalyticsCore:
    """Return the core, which acts as an administrator: one chart on one dashboard, and people with their countries."""
    call_command("migrate", verbosity=0)
    core = connect(make_shop(FOLDER / "shop.db"))
    orders = core.datasets.create({"database": 1, "table_name": "orders"})
    tenants = core.roles.create({"name": "tenants"})
    core.roles.grant(tenants, on=orders)
    rule = {"name": "own", "filter_type": "Regular", "clause": "country = {{ current_user_attribute('country') }}"}
    core.row_level_security.create({**rule, "roles": [tenants.id], "tables": [orders.id]})
    for name, country in COUNTRIES.items():
        get_user_model().objects.create_user(name, password=name)
        core.users.create({"username": name, "roles": [tenants.id], "attributes": {"country": country}})
    chart = core.dataset("orders").query("count").by("country").save_as("Orders")
    layout = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": chart.id}}}
    core.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
    core.embedded.create(1, {"allowed_domains": []})
    return core


def typed(view: Any) -> Any:
    """Return the view with the library's errors as answers: their body, and their status."""

    def answer(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            return view(request, **arguments)
        except AnalyticsError as error:
            return JsonResponse(error.to_payload(), status=error.status)

    return answer


def core_of(request: HttpRequest) -> Any:
    """Return the core of the guest whose token is sent, or of the person who is signed in."""
    if token := request.headers.get("Authorization", "").removeprefix("Bearer "):
        return site().as_guest(token, origin=request.headers.get("Origin"))
    if not request.user.is_authenticated:
        raise ActorRequiredError("this page")
    return site().as_user(request.user.get_username())


def chart_data(request: HttpRequest, chart_id: int) -> HttpResponse:
    question = parse_query_context(request.body) if request.body else chart_id
    answer = core_of(request).charts.data(question).raise_for_error()
    return HttpResponse(answer.to_json(), content_type="application/json")


def dashboard(request: HttpRequest) -> HttpResponse:
    return JsonResponse(core_of(request).dashboards.get(1).to_payload())


def guest_token(request: HttpRequest) -> HttpResponse:
    """Mint for a page that people who are not known here look at: the dashboard, in the rows of who is signed in."""
    if not (country := COUNTRIES.get(request.user.get_username())):
        return JsonResponse({"message": "sign in first"}, status=401)
    rule = {"clause": "country = {{ value('country') }}", "values": {"country": country}}
    token = site().embedded.guest_token({"resources": [{"type": "dashboard", "id": "1"}], "rls": [rule]})
    return JsonResponse({"token": token})


def health(_request: HttpRequest) -> HttpResponse:
    return JsonResponse({}, status=200 if site().health().is_ready else 503)


urlpatterns = [
    path("login", LoginView.as_view()),
    path("charts/<int:chart_id>/data", typed(chart_data)),
    path("dashboard", typed(dashboard)),
    path("guest-token", typed(guest_token)),
    path("health", health),
]

if __name__ == "__main__":
    site()  # before threads ask for it at the same time
    execute_from_command_line()
