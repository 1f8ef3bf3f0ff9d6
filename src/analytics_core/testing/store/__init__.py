"""One suite for a metadata store of your own (port `MetadataStore`); like the other suites it needs pytest."""

import pytest

_PARTS = ("every_kind", "lists", "one_kind", "scopes", "secrets", "units")
# Failed assertions show their values, as in a host's own tests.
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from analytics_core.testing.store import every_kind, lists, one_kind, scopes, secrets, units  # noqa: E402 - see above


class StoreConformance(
    every_kind.EveryKindConformance,
    one_kind.OneKindConformance,
    units.UnitConformance,
    lists.ListConformance,
    scopes.ScopeConformance,
    secrets.SecretConformance,
):
    """Subclass it and override the fixture `store`; it must use `clock` and `secret_box`, and start empty each time."""
