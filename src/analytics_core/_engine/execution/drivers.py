"""Which drivers are installed, and the command that brings one that is not."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from analytics_core._engine.engines.spec import EngineSpec


def is_installed(spec: EngineSpec) -> bool:
    """Tell whether the first driver of an engine can be imported, and the dialect that uses it; it is imported."""
    driver = spec.drivers[0] if spec.drivers else ""
    plain = f"{spec.name}+{driver}" if driver else spec.name
    try:
        dialect = sa.make_url(f"{spec.registered_as.get(driver, plain)}://").get_dialect()
        dialect.import_dbapi()
    except (ImportError, NoSuchModuleError, ArgumentError, NotImplementedError):
        return False
    return True


def install_command(spec: EngineSpec) -> str | None:
    """Return the command that installs the driver; None for an engine that needs none, or whose package names none."""
    return None if spec.extra_name is None else f'pip install "analytics-core[{spec.extra_name}]"'
