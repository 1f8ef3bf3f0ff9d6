"""A seal on what is written to a cache: who cannot know the secret key cannot make an entry (SECURITY.md 3.14)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Final, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM

from analytics_core._records.secret import Secret
from analytics_core._security.derived_keys import Purpose, derived_key

Chunk = bytes | memoryview
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
SEAL_BYTES: Final = _NONCE_BYTES + _TAG_BYTES


class EntrySeal:
    """Seals bytes for the key that they are stored under, with AES-256-GMAC: it costs less than a checksum.

    Each key of the cache has a signing key of its own, so that a seal holds under no other one, and so that no signing
    key ever sees as many nonces as would let two of them be alike.
    """

    def __init__(self, secret: Secret) -> None:
        self._key = derived_key(secret, Purpose.CACHE_ENTRY)

    def made(self, key: str, parts: Iterable[Chunk]) -> bytes:
        """Return the seal of the parts, in their order, under `key`: a nonce and a tag."""
        nonce = os.urandom(_NONCE_BYTES)
        signer = Cipher(AES(self._signing_key(key)), GCM(nonce)).encryptor()
        for part in parts:
            signer.authenticate_additional_data(memoryview(part).cast("B"))
        signer.finalize()
        return nonce + signer.tag

    def holds(self, key: str, seal: Chunk, content: Chunk) -> bool:
        """Tell whether `seal` was made under `key` for exactly these bytes; the time it takes tells nothing."""
        nonce, tag = bytes(seal[:_NONCE_BYTES]), bytes(seal[_NONCE_BYTES:])
        try:
            AESGCM(self._signing_key(key)).decrypt(nonce, tag, content)
        except InvalidTag:
            return False
        return True

    def __reduce__(self) -> NoReturn:
        raise TypeError("the seal of the cache holds a key and is never pickled")

    def _signing_key(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), key=self._key, digest_size=32).digest()
