"""What to do where a machine lacks something that a test needs."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skip a test, or fail it where `ANALYTICS_CORE_REQUIRE_SERVERS` says that nothing may be missing, as in CI."""
    if os.environ.get("ANALYTICS_CORE_REQUIRE_SERVERS") == "1":
        pytest.fail(f"required here: {reason}")
    pytest.skip(reason)
