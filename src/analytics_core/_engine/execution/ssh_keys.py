"""Keys of SSH tunnels: read by us, so that each mistake has an error of its own."""

from __future__ import annotations

import base64
import binascii
import io
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from paramiko import PKey

_LONGEST: Final = 16_384
_MOST_ROUNDS: Final = 1_024
"""Rounds of the function that makes a key of a passphrase; `ssh-keygen` does 24, and each takes about 10 ms."""

_SMALLEST_RSA: Final = 1_024
_OPENSSH: Final = "OPENSSH PRIVATE KEY-----"
_TYPES: Final = "ed25519, rsa or ecdsa"
_HOST_KEY_TYPES: Final = frozenset(
    {"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}
)


class KeyProblemError(ValueError):
    """What is wrong with a key; `.field` is the tunnel's."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def read_host_key(text: str) -> PKey:
    """Return the public key of a line as OpenSSH writes it: of a `.pub` file or of `known_hosts`.

    Raises:
        KeyProblemError: it is none, or of a type that does not exist any more.
    """
    from paramiko import PKey, SSHException

    words = text.split() if len(text) <= _LONGEST else []
    named = [place for place, word in enumerate(words[:2]) if word in _HOST_KEY_TYPES]
    if named and len(words) > named[0] + 1:
        try:
            blob = base64.b64decode(words[named[0] + 1], validate=True)
            return PKey.from_type_string(words[named[0]], blob)
        except (binascii.Error, ValueError, SSHException, IndexError, struct.error):
            pass
    raise KeyProblemError(
        "host_key",
        f"must be the {_TYPES} public key of the SSH server, as `ssh-keyscan` prints it: 'ssh-ed25519 AAAA...'",
    )


def host_key_text(key: PKey) -> str:
    """Return a public key in the one form in which it is stored and shown."""
    return f"{key.get_name()} {key.get_base64()}"


def read_private_key(text: str, passphrase: str | None) -> PKey:
    """Return a private key: OpenSSH's own format or PEM, encrypted or not.

    Raises:
        KeyProblemError: it is malformed or of another type, or the passphrase is missing, wrong or too much.
    """
    data = text.strip().encode() + b"\n"
    if len(data) > _LONGEST or b"-----BEGIN " not in data:
        raise _malformed()
    if b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in data:
        raise KeyProblemError("private_key", "is encrypted PKCS #8; rewrite it by `ssh-keygen -p -f FILE`")
    if _OPENSSH in text and _rounds(data) > _MOST_ROUNDS:
        raise KeyProblemError("private_key", f"takes more than {_MOST_ROUNDS} rounds to open; rewrite it with fewer")
    return _as_paramiko(_opened(_loader(text), data, passphrase))


def _loader(text: str) -> Callable[[bytes, bytes | None], Any]:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    return load_ssh_private_key if _OPENSSH in text else load_pem_private_key


def _opened(load: Callable[[bytes, bytes | None], Any], data: bytes, passphrase: str | None) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        opened = load(data, None)
    except TypeError:  # what both loaders raise for an encrypted key
        opened = None
    except (ValueError, UnsupportedAlgorithm):
        opened = False
    if opened is False:
        raise _malformed()
    if opened is not None:
        if passphrase:
            raise KeyProblemError("private_key_password", "is given, but the private key is not encrypted")
        return opened
    if not passphrase:
        raise KeyProblemError("private_key_password", "is required: the private key is encrypted")
    try:
        return load(data, passphrase.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        pass
    raise KeyProblemError("private_key_password", "does not open the private key")


def _as_paramiko(opened: Any) -> PKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from paramiko import ECDSAKey, Ed25519Key, RSAKey, SSHException

    kinds: dict[type[Any], type[PKey]] = {
        Ed25519PrivateKey: Ed25519Key,
        RSAPrivateKey: RSAKey,
        EllipticCurvePrivateKey: ECDSAKey,
    }
    kind = next((ours for theirs, ours in kinds.items() if isinstance(opened, theirs)), None)
    if kind is None or (kind is RSAKey and opened.key_size < _SMALLEST_RSA):
        raise KeyProblemError("private_key", f"is of a type that SSH servers take no more; it must be {_TYPES}")
    try:
        plain = opened.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        return kind.from_private_key(io.StringIO(plain))
    except (ValueError, SSHException):  # a curve that SSH has not
        pass
    raise KeyProblemError("private_key", f"is of a kind that SSH has not; it must be {_TYPES}")


def _rounds(data: bytes) -> int:
    """Return how often the passphrase of a key in OpenSSH's format is hashed; 0 where it has none, or is malformed."""
    try:
        lines = [line for line in data.splitlines() if line and not line.startswith(b"-----")]
        blob = base64.b64decode(b"".join(lines))
        place = len(b"openssh-key-v1\0")
        for _ in range(2):  # cipher and function
            place += 4 + int.from_bytes(blob[place : place + 4], "big")
        size = int.from_bytes(blob[place : place + 4], "big")
        options = blob[place + 4 : place + 4 + size]
        return int.from_bytes(options[-4:], "big")
    except binascii.Error:
        return 0


def _malformed() -> KeyProblemError:
    return KeyProblemError("private_key", f"is no private key; it must be a whole {_TYPES} key, all of its lines")
