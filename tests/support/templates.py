"""Worlds that are made once a process: what a file or a store in memory holds is kept as bytes and loaded again.

Making a world of a core, an administrator, a database and a dataset costs up to a fifth of a second, loading it some
milliseconds. Whatever differs between worlds belongs into the key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from analytics_core import AnalyticsCore
from analytics_core._content.storage.record_kinds import DATABASE_KIND
from analytics_core._content.storage.row_mapping import opened, secret_context
from analytics_core.testing.sample_data import make_shop

_FILES: Final[dict[str, bytes]] = {}
_STORES: Final[dict[str, tuple[bytes, str]]] = {}


def copied_file(file: Path, key: str, make: Callable[[Path], object]) -> Path:
    """Return the file, which `make` made or, from the second time on, the bytes that it wrote the first time."""
    if key in _FILES:
        file.write_bytes(_FILES[key])
    else:
        make(file)
        _FILES[key] = file.read_bytes()
    return file


def sample_shop(file: Path, **options: Any) -> str:
    """Return the URL of the sample shop in a file, whose ten thousand orders are thrown once a process."""
    copied_file(file, f"sample shop {sorted(options.items())}", lambda made: make_shop(made, **options))
    return f"sqlite:///{file.resolve().as_posix()}"


def is_copy(file: Path, key: str) -> bool:
    """Return whether a file is as `copied_file` made it."""
    return _FILES.get(key) == file.read_bytes()


def furnish(core: AnalyticsCore, key: str, fill: Callable[[], object], *, file: Path) -> None:
    """Fill the core's store in memory, which is empty, by `fill` or by what that stored the first time.

    Args:
        core: one that nobody has used yet.
        key: what the content depends on, the settings too.
        fill: makes the content through the core.
        file: the database that the content names, here in another place than the first time.
    """
    driver = _driver(core)
    if key not in _STORES:
        fill()
        _STORES[key] = driver.serialize(), str(file)
        return
    content, first_file = _STORES[key]
    driver.deserialize(content)
    _move_databases(core, driver, first_file, str(file))


def _move_databases(core: AnalyticsCore, driver: Any, first_file: str, file: str) -> None:
    """Let the databases of a loaded store name the file of this world; their addresses are sealed."""
    box = core._runtime.content.store._secret_box  # type: ignore[attr-defined]
    found = driver.execute("SELECT * FROM ac_databases")
    names = [column[0] for column in found.description]
    for row in [dict(zip(names, values, strict=True)) for values in found]:
        address = opened(DATABASE_KIND, "uri", row, box).reveal().replace(first_file, file)
        sealed = box.seal(address, context=secret_context(DATABASE_KIND, "uri", row))
        driver.execute("UPDATE ac_databases SET uri = ? WHERE id = ?", (sealed, row["id"]))


def _driver(core: AnalyticsCore) -> Any:
    """Return the one connection of a store in memory."""
    store: Any = core._runtime.content.store
    with store._engine.connect() as connection:
        return connection.connection.driver_connection
