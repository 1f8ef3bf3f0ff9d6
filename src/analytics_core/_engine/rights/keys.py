"""Keys of each purpose, derived from a secret key: what one made fails for every other.

The secret box derives the keys of stored secrets itself, in the same way and under names of its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Final, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from analytics_core._records.secret import Secret


class Purpose(Enum):
    """What a key is for; another version of a format gets another name."""

    GUEST_TOKEN = "analytics_core/guest-token/v1"  # noqa: S105 - a name, not a secret
    PERMALINK = "analytics_core/permalink/v1"
    KEY_MARK = "analytics_core/key-mark/v1"
    JOB_CHANNEL = "analytics_core/job-channel/v1"
    CACHE_ENTRY = "analytics_core/cache-entry/v3"
    OAUTH_STATE = "analytics_core/oauth-state/v1"
    OAUTH_VERIFIER = "analytics_core/oauth-verifier/v1"


def derived_key(secret: Secret, purpose: Purpose, *, length: int = 32) -> bytes:
    """Return the bytes of a purpose; neither the secret nor the key of another purpose follows from them."""
    info = purpose.value.encode("ascii")
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(secret.reveal().encode("utf-8"))


def permalink_keys(secrets: Sequence[Secret], kind: str, content: str) -> tuple[str, ...]:
    """Return the keys of a content under each of the settings' keys; only the first one is given to new permalinks.

    The last ones, without a mark, are those that earlier versions gave.
    """
    digests = [hmac.digest(derived_key(secret, Purpose.PERMALINK), content.encode(), "sha256") for secret in secrets]
    marked = (marked_key(secret, kind, digest[:18]) for secret, digest in zip(secrets, digests, strict=True))
    return (*marked, *(base64.urlsafe_b64encode(digest[:24]).decode("ascii") for digest in digests))


_MARK_BYTES: Final = 6


def marked_key(secret: Secret, kind: str, body: bytes) -> str:
    """Return a key of these bytes, a multiple of 3, that `is_marked` knows again when nothing is stored under it."""
    content = kind.encode() + b"\x00" + body
    mark = hmac.digest(derived_key(secret, Purpose.KEY_MARK), content, "sha256")[:_MARK_BYTES]
    return base64.urlsafe_b64encode(body + mark).decode("ascii")


def is_marked(secrets: Sequence[Secret], kind: str, key: object) -> bool:
    """Tell whether a key was made here, under one of the settings' keys, for this kind of thing."""
    if not isinstance(key, str):
        return False
    try:
        body = base64.b64decode(key, altchars=b"-_", validate=True)[:-_MARK_BYTES]
    except ValueError:
        return False
    return any(hmac.compare_digest(marked_key(secret, kind, body), key) for secret in secrets)


Chunk = bytes | memoryview
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
SEAL_BYTES: Final = _NONCE_BYTES + _TAG_BYTES


class EntrySeal:
    """Seals bytes for the key that they are stored under, with AES-256-GMAC: it costs less than a checksum.

    Each key of the cache has a signing key of its own, so that a seal holds under no other one, and so that no signing
    key ever sees as many nonces as would let two of them be alike.

    Args:
        secret: what seals are made with.
        previous: secrets whose seals still hold.
    """

    def __init__(self, secret: Secret, *, previous: Sequence[Secret] = ()) -> None:
        self._keys = [derived_key(one, Purpose.CACHE_ENTRY) for one in (secret, *previous)]

    def made(self, key: str, parts: Iterable[Chunk]) -> bytes:
        """Return the seal of the parts, in their order, under `key`: a nonce and a tag."""
        nonce = os.urandom(_NONCE_BYTES)
        signer = Cipher(AES(_signing_key(self._keys[0], key)), GCM(nonce)).encryptor()
        for part in parts:
            signer.authenticate_additional_data(memoryview(part).cast("B"))
        signer.finalize()
        return nonce + signer.tag

    def holds(self, key: str, seal: Chunk, content: Chunk) -> bool:
        """Tell whether `seal` was made under `key` for exactly these bytes; the time it takes tells nothing."""
        nonce, tag = bytes(seal[:_NONCE_BYTES]), bytes(seal[_NONCE_BYTES:])
        for own in self._keys:
            with suppress(InvalidTag):
                AESGCM(_signing_key(own, key)).decrypt(nonce, tag, content)
                return True
        return False

    def __reduce__(self) -> NoReturn:
        raise TypeError("the seal of the cache holds a key and is never pickled")


def _signing_key(own: bytes, key: str) -> bytes:
    return hashlib.blake2b(key.encode(), key=own, digest_size=32).digest()
