"""One browser for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.browser import Browser, BrowserMissingError, opened_browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Yield the browser; where there is none, its tests are skipped with the reason."""
    try:
        with opened_browser(tmp_path_factory.mktemp("profile")) as made:
            yield made
    except BrowserMissingError as missing:
        pytest.skip(str(missing))
