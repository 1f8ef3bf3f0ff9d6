"""One browser for all tests of this folder, and the figures of what it was shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.browser import Browser, BrowserMissingError, opened_browser
from tests.support.missing import skip_or_fail

from analytics_core import AnalyticsCore, Settings
from analytics_core.renderers import VegaRenderer

FIGURES = pytest.StashKey[Counter[str]]()
Calm = Callable[..., None]


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[FIGURES] = Counter()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was shown and what came of it."""
    figures = config.stash[FIGURES]
    names = ("pages", "elements", "payloads", "executed", "loaded")
    summary = ", ".join(f"{name}: {figures[name]:,}" for name in names)
    terminalreporter.write_line(f"in a real browser: {summary}")


class SharedRenderer(VegaRenderer):
    """A renderer that outlives the cores that it is handed to."""

    def close(self) -> None:
        """Go on."""


@pytest.fixture(scope="session")
def renderer() -> Iterator[VegaRenderer]:
    made = SharedRenderer()
    yield made
    VegaRenderer.close(made)


@pytest.fixture
def core(tmp_path: Path, renderer: VegaRenderer) -> Iterator[AnalyticsCore]:
    settings = Settings(secret_key="a-test-key-that-is-long-enough-9f3a", data_roots=(tmp_path,))
    with AnalyticsCore(settings, metadata_url="sqlite://", renderer=renderer) as host:
        yield host.as_user(host.create_first_administrator("ada").id)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Yield the browser; where there is none, its tests are skipped with the reason, or fail where CI needs it."""
    try:
        with opened_browser(tmp_path_factory.mktemp("profile")) as made:
            yield made
    except BrowserMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture
def is_calm(browser: Browser, request: pytest.FixtureRequest) -> Calm:
    """Return a check that nothing of a page runs and nothing is loaded; a fragment is put into a page of its own."""
    figures = request.config.stash[FIGURES]

    def check(page: str | bytes, content_type: str = "text/html", *, payloads: int = 1, until: str = "true") -> None:
        view = browser.show(page, content_type, until=until)
        figures.update(pages=1, elements=view.elements, payloads=payloads)
        figures.update(executed=len(view.executed), loaded=len(view.loaded))
        assert (view.executed, view.loaded) == ((), ())
        assert view.elements >= 3

    return check
