"""What every `NetworkPolicy` must keep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_address

import pytest

from analytics_core.ports import Destination, DestinationPurpose, NetworkPolicy

_METADATA_SERVICES = ("169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe")


class NetworkPolicyConformance:
    """Subclass it and override the fixtures `policy`, `allowed` and `refused`."""

    @pytest.fixture
    def policy(self) -> NetworkPolicy:
        """Return the policy under test."""
        raise NotImplementedError("override the fixture `policy`")

    @pytest.fixture
    def allowed(self) -> Destination:
        """Return a destination that the policy allows, with a port."""
        raise NotImplementedError("override the fixture `allowed`")

    @pytest.fixture
    def refused(self) -> Destination:
        """Return a destination that the policy refuses."""
        raise NotImplementedError("override the fixture `refused`")

    def test_it_answers_true_or_false(self, policy: NetworkPolicy, allowed: Destination, refused: Destination) -> None:
        """Nothing else than True allows anything."""
        assert policy.may_reach(allowed) is True
        assert policy.may_reach(refused) is False

    def test_it_answers_the_same_again(self, policy: NetworkPolicy, allowed: Destination, refused: Destination) -> None:
        """What it was asked before changes nothing; many threads ask at once."""
        queries = [allowed, refused] * 50
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(policy.may_reach, queries)) == [True, False] * 50

    @pytest.mark.parametrize("purpose", list(DestinationPurpose), ids=lambda purpose: purpose.value)
    def test_it_knows_every_purpose(
        self, policy: NetworkPolicy, refused: Destination, purpose: DestinationPurpose
    ) -> None:
        """It raises for none, and a refused address is refused for each."""
        assert policy.may_reach(replace(refused, purpose=purpose)) is False

    def test_a_destination_without_a_port_is_answered(self, policy: NetworkPolicy, refused: Destination) -> None:
        """Some drivers have a port of their own."""
        assert policy.may_reach(replace(refused, port=None)) is False

    @pytest.mark.parametrize("address", _METADATA_SERVICES)
    def test_the_metadata_services_of_clouds_are_never_reached(self, policy: NetworkPolicy, address: str) -> None:
        """They hand out the credentials of the machine to whoever asks from it, under whichever name."""
        for port in (80, 443, 5432, None):
            destination = Destination(
                purpose=DestinationPurpose.DATABASE, host="db.example.com", address=ip_address(address), port=port
            )
            assert policy.may_reach(destination) is False
