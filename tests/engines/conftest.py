"""The servers that the session `engines` runs, each started when a test first wants it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.support.cluster_servers import ClickhouseServer, ClusterServer, SparkServer, cluster_server
from tests.support.missing import skip_or_fail
from tests.support.servers import ServerMissingError


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[ClusterServer]:
    """A private ClickHouse."""
    with _running(ClickhouseServer) as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[ClusterServer]:
    """A private Spark."""
    with _running(SparkServer) as server:
        yield server


@contextmanager
def _running(kind: type[ClusterServer]) -> Iterator[ClusterServer]:
    try:
        with cluster_server(kind) as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(str(missing))
