"""One suite of tests per port: subclass it in a test module, give it your implementation, and pytest runs it.

The suites need pytest, which the library itself does not install.
"""

import pytest

_SUITES = (
    "cache",
    "clock",
    "connector",
    "content",
    "engine",
    "every_kind",
    "job_records",
    "job_runner",
    "listing",
    "lock",
    "metadata_store",
    "network_policy",
    "notifier",
    "observer",
    "progress",
    "renderer",
    "scopes",
    "secret_box",
    "secrets",
    "user_directory",
)

# Failed assertions show their values, as in a host's own tests.
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))
