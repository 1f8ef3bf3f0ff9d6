"""The settings of `connect` are those of `Settings`, by name and type."""

from pathlib import Path
from typing import assert_type

import analytics_core
from analytics_core import AnalyticsCore, Settings

settings = Settings(secret_key="x" * 40, data_roots=(Path.cwd(),), allowed_functions={"postgresql": {"ll_to_earth"}})
assert_type(AnalyticsCore(settings), AnalyticsCore)
assert_type(settings.statement_timeout_s, float)

analytics_core.connect("sqlite://", lazy=True, statement_timeout_s=5, guest_roles=("guests",))
analytics_core.connect("sqlite://", url_for=lambda kind, facts: f"https://shop.example/{kind}/{facts['id']}")

analytics_core.connect("sqlite://", max_row_limit="ten")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
analytics_core.connect("sqlite://", row_limit=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
analytics_core.connect(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
analytics_core.conect  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
settings.max_row_limit = 7  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]

core = analytics_core.connect("sqlite://")
core.create_first_administrator("ada", name="Ada")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
core.as_user(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
core.as_of("today")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
