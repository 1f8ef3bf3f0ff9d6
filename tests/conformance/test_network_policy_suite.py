"""The library's own network policy keeps the promises of the port."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core.ports import Destination, DestinationPurpose
from analytics_core.testing.conformance.network_policy import NetworkPolicyConformance

PRIVATE = Destination(
    purpose=DestinationPurpose.DATABASE, host="db.internal", address=ip_address("10.1.2.3"), port=5432
)
PUBLIC = Destination(
    purpose=DestinationPurpose.DATABASE, host="db.example.com", address=ip_address("1.1.1.1"), port=5432
)


class TestPublicNetworkPolicy(NetworkPolicyConformance):
    @pytest.fixture
    def policy(self) -> PublicNetworkPolicy:
        return PublicNetworkPolicy()

    @pytest.fixture
    def allowed(self) -> Destination:
        return PUBLIC

    @pytest.fixture
    def refused(self) -> Destination:
        return PRIVATE


class TestWithAllowedNetworks(TestPublicNetworkPolicy):
    @pytest.fixture
    def policy(self) -> PublicNetworkPolicy:
        return PublicNetworkPolicy(("10.1.0.0/16",))

    @pytest.fixture
    def allowed(self) -> Destination:
        return PRIVATE

    @pytest.fixture
    def refused(self) -> Destination:
        return Destination(
            purpose=DestinationPurpose.DATABASE, host="db.internal", address=ip_address("10.2.2.3"), port=5432
        )
