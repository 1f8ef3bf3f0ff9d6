"""Changes on what the caller read: nobody writes over what somebody else changed since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import NOW
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import PayloadSchemaError, StaleVersionError
from analytics_core.testing.clock import FixedClock

CHART = {"slice_name": "a", "datasource_id": 1, "datasource_type": "table", "viz_type": "pie"}
NAMESPACES = ["charts", "datasets", "dashboards"]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str, clock: FixedClock) -> Iterator[SmallCore]:
    ports = {"metadata_url": metadata_url, "clock": clock}
    with small_core(tmp_path, ports=ports, metadata_freshness_s=0) as made:
        made.orders()
        made.core.charts.create(CHART)
        made.core.dashboards.create({"dashboard_title": "a"})
        yield made


def read_on(shop: SmallCore, namespace: str) -> Any:
    """Return when record 1 was changed last, as its callers read it."""
    resource = getattr(shop.core, namespace)
    return resource.list().result[0].changed_on_utc if namespace == "charts" else resource.get(1).changed_on


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_change_that_somebody_else_made_is_not_written_over(
    shop: SmallCore, clock: FixedClock, namespace: str
) -> None:
    resource = getattr(shop.core, namespace)
    field = "css" if namespace == "dashboards" else "description"
    mine = theirs = read_on(shop, namespace)
    clock.advance(timedelta(microseconds=1))
    resource.update(1, {field: "theirs"}, unchanged_since=theirs)
    with pytest.raises(StaleVersionError):
        resource.update(1, {field: "mine"}, unchanged_since=mine)
    assert getattr(resource.get(1), field) == "theirs"
    resource.update(1, {field: "mine"}, unchanged_since=read_on(shop, namespace))
    assert getattr(resource.get(1), field) == "mine"
    resource.update(1, {field: "whatever it was"})
    assert getattr(resource.get(1), field) == "whatever it was"


@pytest.mark.parametrize("namespace", NAMESPACES)
@pytest.mark.parametrize("moment", ["yesterday", 3, "", ["2024-01-01"]])
def test_what_is_no_moment_is_refused(shop: SmallCore, namespace: str, moment: Any) -> None:
    with pytest.raises(PayloadSchemaError, match=f"{namespace}.update is not valid: unchanged_since"):
        getattr(shop.core, namespace).update(1, {}, unchanged_since=moment)
