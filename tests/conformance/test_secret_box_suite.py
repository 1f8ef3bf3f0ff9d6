"""The library's own secret box keeps the promises of the port."""

from __future__ import annotations

import pytest

from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.secret import Secret
from analytics_core.testing.conformance.secret_box import SecretBoxConformance


class TestAesGcmSecretBox(SecretBoxConformance):
    @pytest.fixture
    def box(self) -> AesGcmSecretBox:
        return AesGcmSecretBox(Secret("a key of sufficient length"))

    @pytest.fixture
    def box_of_another_key(self) -> AesGcmSecretBox:
        return AesGcmSecretBox(Secret("another key of sufficient length"))
