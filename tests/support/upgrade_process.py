"""Uses a metadata store without a pause, with the code on its path: `python upgrade_process.py URL SHOP NAME MIGRATES`.

Commands come a line each: `rounds N` answers when so many more rounds are done, `headline ID` stores a headline in a
chart (new code alone has them), `change ID` changes another field of it and answers all of it, `end` answers what was
acknowledged and which errors came. An answer is a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from analytics_core import AnalyticsCore, Settings, errors

SETTINGS: Any = {"secret_key": "a key of this trial, long enough", "metadata_freshness_s": 0, "job_workers": 1}


class UnderLoad:
    """What two threads do with a store, round after round, and what came of it."""

    def __init__(self, core: AnalyticsCore, name: str) -> None:
        self._ada = core.as_user("ada")
        self._name = name
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._load, args=(number,)) for number in range(2)]
        self.rounds = 0
        self.stored: dict[int, str] = {}
        self.errors: list[str] = []
        for thread in self._threads:
            thread.start()

    def end(self) -> dict[str, Any]:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        return {"stored": self.stored, "errors": self.errors, "rounds": self.rounds}

    def _load(self, number: int) -> None:
        count = 0
        while not self._is_over.is_set():
            count += 1
            try:
                self._round(f"{self._name} {number} {count}")
            except Exception as error:
                self.errors.append(f"{type(error).__name__}: {error}")
            self.rounds += 1
            time.sleep(0.02)  # else the processes that start wait for their turn most of all

    def _round(self, name: str) -> None:
        """Write and read records of several kinds, and ask a question."""
        chart = {"slice_name": name, "datasource_id": 1, "datasource_type": "table", "viz_type": "table"}
        made = self._ada.charts.create(chart).id
        self._ada.charts.update(made, {"description": name})
        self.stored[made] = name
        found = self._ada.charts.get(made)
        if (found.slice_name, found.description) != (name, name):
            self.errors.append(f"{name} reads {found}")
        self._ada.charts.list(page_size=5, order_by="-id")
        self._ada.tags.create({"name": name})
        self._ada.charts.create({**chart, "slice_name": f"{name}, a draft"})
        self._ada.datasets.get(1)
        if len(self._ada.dataset("orders").query("amount").by("category").pandas()) < 2:
            self.errors.append(f"{name}: rows are lost")


def open_core(url: str, shop: str, migrates: str) -> AnalyticsCore:
    given = {**SETTINGS, "data_roots": (Path(shop).parent,), "migrate_on_open": migrates == "migrates"}
    core = AnalyticsCore(Settings(**given), metadata_url=url)
    with suppress(errors.AlreadyExistsError):
        core.create_first_administrator("ada")
        ada = core.as_user("ada")
        database = ada.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{shop}"})
        ada.datasets.create({"database": database.id, "table_name": "orders"})
    return core


def headline(core: AnalyticsCore, chart_id: int) -> str | None:
    try:
        core.as_user("ada").charts.update(chart_id, {"headline": "Up"})
    except errors.AnalyticsError as error:
        return f"{type(error).__name__}: {error}"
    return core.as_user("ada").charts.get(chart_id).headline


def changed(core: AnalyticsCore, chart_id: int) -> dict[str, Any]:
    charts = core.as_user("ada").charts
    charts.update(chart_id, {"cache_timeout": (charts.get(chart_id).cache_timeout or 0) + 1})
    return charts.get(chart_id).model_dump(mode="json")


def main(url: str, shop: str, name: str, migrates: str) -> None:
    with open_core(url, shop, migrates) as core:
        load = UnderLoad(core, name)
        print(json.dumps(core.health().revision), flush=True)
        for line in sys.stdin:
            verb, _, number = line.strip().partition(" ")
            answer: Any = None
            if verb == "rounds":
                until = load.rounds + int(number)
                while load.rounds < until:
                    time.sleep(0.01)
                answer = core.health().revision
            elif verb == "headline":
                answer = headline(core, int(number))
            elif verb == "change":
                answer = changed(core, int(number))
            else:
                answer = load.end()
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
