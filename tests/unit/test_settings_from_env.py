"""Settings as variables of an environment: every kind of field, and errors that name the variable and no secret."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from tests.support.cases import for_each

from analytics_core import Settings
from analytics_core.errors import SettingsError
from analytics_core.models.enums import RelativeTime

KEY = {"ANALYTICS_CORE_SECRET_KEY": "Zk3v9-xQ2Lw8_pR5tY7uB1nM4cD6eF0g"}
FUNCTIONS = {"dataset_health_check", "url_for"}


def test_every_kind_of_field_is_read() -> None:
    given = Settings.from_env(
        {
            **KEY,
            "ANALYTICS_CORE_MAX_ROW_LIMIT": "250",
            "ANALYTICS_CORE_STATEMENT_TIMEOUT_S": "2.5",
            "ANALYTICS_CORE_STRICT_QUERIES": "True",
            "ANALYTICS_CORE_ENABLE_TEMPLATES": "no",
            "ANALYTICS_CORE_ALLOWED_NETWORKS": "10.0.0.0/8, db.internal:5432,",
            "ANALYTICS_CORE_DATA_ROOTS": "/data,/more",
            "ANALYTICS_CORE_ALLOWED_FUNCTIONS": '{"postgresql": ["earth_distance"]}',
            "ANALYTICS_CORE_RELATIVE_END": "now",
            "ANALYTICS_CORE_STREAM_ROW_LIMIT": "",
            "PATH": "/bin",
        }
    )
    assert given.key.reveal() == KEY["ANALYTICS_CORE_SECRET_KEY"]
    assert (given.max_row_limit, given.statement_timeout_s) == (250, 2.5)
    assert (given.strict_queries, given.enable_templates) == (True, False)
    assert given.allowed_networks == ("10.0.0.0/8", "db.internal:5432")
    assert given.data_roots == (Path("/data"), Path("/more"))
    assert given.allowed_functions == {"postgresql": frozenset({"earth_distance"})}
    assert given.relative_end is RelativeTime.NOW
    assert given.stream_row_limit is None


def reported(variable: str) -> str:
    """Return what is said of a text that is hardly a value, or the variable where it is one."""
    try:
        Settings.from_env({**KEY, variable: "x y"})
    except SettingsError as error:
        return error.message
    return variable


@for_each("name", sorted(field.name for field in fields(Settings) if field.name not in FUNCTIONS))
def test_a_field_is_read_or_refused_by_the_name_of_its_variable(name: str) -> None:
    variable = f"ANALYTICS_CORE_{name.upper()}"
    assert variable in reported(variable) or f"Settings.{name}" in reported(variable)


@for_each(
    ("variable", "text"),
    [
        ("ANALYTICS_CORE_MAX_ROW_LIMIT", "many-secret"),
        ("ANALYTICS_CORE_STRICT_QUERIES", "maybe-secret"),
        ("ANALYTICS_CORE_OAUTH2_CLIENTS", '["secret"]'),
        ("ANALYTICS_CORE_OAUTH2_CLIENTS", '{"x": secret'),
        ("ANALYTICS_CORE_ALLOWED_FUNCTIONS", '{"postgresql": "secret"}'),
        ("ANALYTICS_CORE_RELATIVE_START", "secret"),
        ("ANALYTICS_CORE_URL_FOR", "secret"),
        ("ANALYTICS_CORE_MAX_ROWS_LIMIT", "secret"),
    ],
)
def test_what_is_no_value_is_refused_by_its_variable_and_not_repeated(variable: str, text: str) -> None:
    with pytest.raises(SettingsError, match=variable) as caught:
        Settings.from_env({**KEY, variable: text})
    assert "secret" not in caught.value.message.lower().replace("secret_key", "")


def test_without_a_key_the_settings_say_what_is_missing() -> None:
    with pytest.raises(SettingsError, match="secret_key is required"):
        Settings.from_env({})
