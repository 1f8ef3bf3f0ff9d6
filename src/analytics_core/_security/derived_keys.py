"""Keys of each purpose, derived from a secret key (SECURITY.md 3.9): what one made fails for every other.

The secret box derives the keys of stored secrets itself, in the same way and under names of its own.
"""

from __future__ import annotations

from enum import Enum

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from analytics_core._records.secret import Secret


class Purpose(Enum):
    """What a key is for; another version of a format gets another name."""

    GUEST_TOKEN = "analytics_core/guest-token/v1"  # noqa: S105 - a name, not a secret
    PERMALINK = "analytics_core/permalink/v1"
    JOB_CHANNEL = "analytics_core/job-channel/v1"
    CACHE_ENTRY = "analytics_core/cache-entry/v3"


def derived_key(secret: Secret, purpose: Purpose) -> bytes:
    """Return the 32 bytes of a purpose; neither the secret nor the key of another purpose follows from them."""
    info = purpose.value.encode("ascii")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret.reveal().encode("utf-8"))
