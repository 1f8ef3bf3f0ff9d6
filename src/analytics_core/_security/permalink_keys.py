"""Keys of permalinks: the same state of the same person gives the same key, and nobody can guess one."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence

from analytics_core._records.secret import Secret
from analytics_core._security.derived_keys import Purpose, derived_key


def permalink_keys(secrets: Sequence[Secret], content: str) -> tuple[str, ...]:
    """Return the key of a content under each of the settings' keys; only the first one is given to new permalinks."""
    return tuple(_key(secret, content.encode()) for secret in secrets)


def _key(secret: Secret, content: bytes) -> str:
    digest = hmac.digest(derived_key(secret, Purpose.PERMALINK), content, "sha256")
    return base64.urlsafe_b64encode(digest[:24]).decode("ascii")
