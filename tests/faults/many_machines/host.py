"""What the processes run: the example host, with a route for the SQL editor; everybody is the administrator."""

from __future__ import annotations

import os
import threading
import time
from typing import Annotated, Any

from examples.fastapi_host import core
from examples.fastapi_host.app import create_app
from fastapi import Body, FastAPI

from analytics_core import AnalyticsCore


def make_core() -> AnalyticsCore:
    """Return the host's core, in a process that ends with the one that started it."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    return core.make_core()


def make_service() -> FastAPI:
    """Return the service with the core of its environment."""
    host = make_core()
    app = create_app(host, who_is_this=lambda _: "admin")

    @app.post("/sql", status_code=202)
    def execute(payload: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
        return host.as_user("admin").sql.execute(payload).to_payload()

    @app.get("/sql/{query_id}")
    def query(query_id: int) -> dict[str, Any]:
        found = host.as_user("admin").queries.get(query_id)
        return {"state": found.status, "error": found.error_message}

    return app


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
