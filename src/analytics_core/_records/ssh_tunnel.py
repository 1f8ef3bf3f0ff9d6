"""The SSH tunnel of a stored database, and the one text in which it is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from analytics_core._records.secret import Secret
from analytics_core.errors import StoredDataError

SECRETS = ("password", "private_key", "private_key_password")
"""The fields of a tunnel that are never shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTunnel:
    """How a database behind an SSH server is reached (contract, `DatabaseSSHTunnel`).

    Attributes:
        server_address: the SSH server's name or address.
        server_port: its port.
        username: whom it logs in.
        password: what it logs in by; None with a private key.
        private_key: PEM text; None with a password.
        private_key_password: opens `private_key`; None where that is not encrypted.
        host_key: the public key that the server must prove, as OpenSSH writes it; None: any, which is not safe.
    """

    server_address: str
    server_port: int
    username: str
    password: Secret | None = None
    private_key: Secret | None = None
    private_key_password: Secret | None = None
    host_key: str | None = None

    @property
    def place(self) -> tuple[str, int, str, str | None]:
        """Where it leads and as whom; secrets that are stored for one place are sent to no other."""
        return self.server_address.casefold(), self.server_port, self.username, self.host_key

    def to_secret(self) -> Secret:
        """Return the text to store."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Secret(json.dumps({n: v.reveal() if isinstance(v, Secret) else v for n, v in values.items()}))

    @classmethod
    def from_secret(cls, text: Secret) -> StoredTunnel:
        """Return the tunnel of a stored text; StoredDataError when it is none."""
        try:
            values = json.loads(text.reveal())
            secrets = {name: Secret(values.pop(name)) for name in SECRETS if values.get(name) is not None}
            return cls(**{**values, **secrets})
        except (ValueError, TypeError, AttributeError):
            pass  # raised below: what is stored must not be in a traceback
        raise StoredDataError("the stored SSH tunnel of the database cannot be read; store it again")
