"""One suite of tests per port: subclass it in a test module, give it your implementation, and pytest runs it.

The suites need pytest, which the library itself does not install.
"""

import pytest

# Failed assertions show their values, as in a host's own tests.
_SUITES = ("clock", "dashboards", "datasets", "embedded", "listing", "metadata_store", "row_rules", "secret_box")
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))
