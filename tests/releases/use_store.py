"""Uses a metadata store with the code on its path, one command a line: `python use_store.py URL SHOP [SETTINGS]`.

`open` opens the store, and makes its first content where there is none; `write NAME` makes a chart; `read` answers what
is stored. Each answer is a line of JSON: what was found, or the type and the message of the error.

It runs under the code of releases that are not changed any more: nothing here may be newer than 0.1.0. `SETTINGS` is
JSON of further settings, for code that knows them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import analytics_core
from analytics_core import AnalyticsCore, Settings, errors


class StoreUser:
    """An administrator of a store, which lives as long as the process."""

    def __init__(self, url: str, shop: str, settings: str = "{}") -> None:
        self._url = url
        self._settings = json.loads(settings)
        self._shop = shop
        self._core: Any = None

    def open(self) -> dict[str, Any]:
        roots = (Path(self._shop).parent,)
        settings = Settings(secret_key="a key of this trial, long enough", data_roots=roots, **self._settings)
        self._core = AnalyticsCore(settings, metadata_url=self._url)
        if not self._is_filled():
            self._fill()
        return {"revision": self._core.health().revision, "code": analytics_core.__file__}

    def write(self, name: str) -> dict[str, Any]:
        chart = {"slice_name": name, "datasource_id": 1, "datasource_type": "table", "viz_type": "table"}
        stored = self._core.as_user("ada").charts.create(chart)
        return {"name": self._core.as_user("ada").charts.get(stored.id).slice_name}

    def read(self) -> dict[str, Any]:
        ada = self._core.as_user("ada")
        return {
            "charts": [ada.charts.get(found.id).slice_name for found in ada.charts.list().result],
            "datasets": [found.table_name for found in ada.datasets.list().result],
            "databases": [found.database_name for found in ada.databases.list().result],
            "users": [found.username for found in ada.users.list().result],
            "rows": len(ada.dataset("orders").query("amount").by("category").pandas()),
        }

    def _is_filled(self) -> bool:
        try:
            self._core.create_first_administrator("ada")
        except errors.AlreadyExistsError:
            return True
        return False

    def _fill(self) -> None:
        ada = self._core.as_user("ada")
        shop = ada.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{self._shop}"})
        ada.datasets.create({"database": shop.id, "table_name": "orders"})


def answer(user: StoreUser, command: str) -> dict[str, Any]:
    verb, _, name = command.strip().partition(" ")
    try:
        return user.write(name) if verb == "write" else {"open": user.open, "read": user.read}[verb]()
    except Exception as error:  # whatever comes is an answer; the one who compares judges its type
        return {"error": type(error).__name__, "message": str(error)}


if __name__ == "__main__":
    used = StoreUser(*sys.argv[1:])
    for line in sys.stdin:
        print(json.dumps(answer(used, line)), flush=True)
