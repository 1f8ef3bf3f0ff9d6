"""The servers that the session `engines` runs, each started when a test first wants it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.cluster_servers import ClickhouseServer, SparkServer, cluster_server
from tests.support.servers import PrivateServer, ServerMissingError


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[PrivateServer]:
    """A private ClickHouse."""
    try:
        with cluster_server(ClickhouseServer) as server:
            yield server
    except ServerMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def spark() -> Iterator[PrivateServer]:
    """A private Spark."""
    try:
        with cluster_server(SparkServer) as server:
            yield server
    except ServerMissingError as missing:
        pytest.skip(str(missing))
