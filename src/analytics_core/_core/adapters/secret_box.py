"""Secrets at rest: AES-256-GCM under keys derived from the settings' secret keys."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from analytics_core._records.secret import Secret
from analytics_core.errors import PayloadFormatError, StoredDataError

_FORMAT: Final = "ac1"
_NONCE_BYTES: Final = 12
_SHORTEST_BOX: Final = _NONCE_BYTES + 16  # a nonce and the tag of an empty text
_KEY_ID_BYTES: Final = 4


class _Parts(NamedTuple):
    key_id: str
    nonce: bytes
    ciphertext: bytes


class AesGcmSecretBox:
    """Seals texts with authenticated encryption (port `SecretBox`).

    A sealed text reads `ac1.<key id>.<base64url of nonce and ciphertext>`. Format, key id and context are authenticated
    with it. The key id is derived from the key, so it tells which key opens without telling the key.

    Args:
        key: seals, and opens what it sealed.
        previous_keys: only open what they sealed (`AnalyticsCore.reseal_secrets`).
    """

    def __init__(self, key: Secret, *, previous_keys: tuple[Secret, ...] = ()) -> None:
        self._key_id = _key_id(key)
        older = {_key_id(previous): _cipher(previous) for previous in previous_keys}
        self._ciphers = {**older, self._key_id: _cipher(key)}

    def seal(self, text: str, *, context: str) -> str:
        """Return `text` sealed for `context`; PayloadFormatError when it is not valid Unicode."""
        nonce = os.urandom(_NONCE_BYTES)
        bound = _bound_data(self._key_id, context)
        box = nonce + self._ciphers[self._key_id].encrypt(nonce, _encoded(text), bound)
        return f"{_FORMAT}.{self._key_id}.{base64.urlsafe_b64encode(box).decode('ascii')}"

    def open(self, sealed: str, *, context: str) -> str:
        """Return the text; StoredDataError when the seal, the key or the context is wrong."""
        parts = _parsed(sealed)
        cipher = self._ciphers.get(parts.key_id)
        if cipher is None:
            raise StoredDataError(
                "a stored secret was sealed with a key that is not known here; "
                "name that key in Settings.previous_secret_keys or enter the secret again"
            )
        try:
            return cipher.decrypt(parts.nonce, parts.ciphertext, _bound_data(parts.key_id, context)).decode("utf-8")
        except (InvalidTag, UnicodeDecodeError):
            raise StoredDataError("a stored secret was altered or belongs to another record") from None


def _derived(key: Secret, *, purpose: str, length: int) -> bytes:
    info = f"analytics_core/secret-box/{_FORMAT}/{purpose}".encode("ascii")
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(_encoded(key.reveal()))


def _cipher(key: Secret) -> AESGCM:
    return AESGCM(_derived(key, purpose="encryption", length=32))


def _key_id(key: Secret) -> str:
    return _derived(key, purpose="key-id", length=_KEY_ID_BYTES).hex()


def _bound_data(key_id: str, context: str) -> bytes:
    return f"{_FORMAT}.{key_id}.{context}".encode("utf-8", "surrogatepass")


def _encoded(text: str) -> bytes:
    data = _utf8(text)
    if data is None:  # not raised where it failed: a UnicodeEncodeError holds the whole text
        raise PayloadFormatError("a secret must be valid Unicode; this one holds half of a surrogate pair")
    return data


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return None


def _broken() -> StoredDataError:
    return StoredDataError("a stored secret does not have the form that this version of the library writes")


def _parsed(sealed: str) -> _Parts:
    version, _, rest = sealed.partition(".")
    key_id, _, encoded = rest.partition(".")
    if version != _FORMAT:
        raise _broken()
    try:
        box = base64.b64decode(encoded.encode("ascii"), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _broken() from None
    if len(box) < _SHORTEST_BOX or base64.urlsafe_b64encode(box).decode("ascii") != encoded:
        raise _broken()
    return _Parts(key_id, box[:_NONCE_BYTES], box[_NONCE_BYTES:])
