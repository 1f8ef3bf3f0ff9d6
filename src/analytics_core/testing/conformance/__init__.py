"""One suite of tests per port: subclass it in a test module, give it your implementation, and pytest runs it.

The suites need pytest, which the library itself does not install.
"""

import pytest

_SUITES = (
    "cache",
    "clock",
    "connector",
    "engine",
    "job_runner",
    "lock",
    "network_policy",
    "notifier",
    "observer",
    "progress",
    "renderer",
    "secret_box",
    "user_directory",
)

# Failed assertions show their values, as in a host's own tests.
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))
