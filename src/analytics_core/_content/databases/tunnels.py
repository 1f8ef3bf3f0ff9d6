"""SSH tunnels of payloads turned into stored ones, and stored ones into answers without their secrets."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from analytics_core._engine.execution.connection_uri import CheckedUri, masked
from analytics_core._engine.execution.sessions.opening import ADDRESSED_DRIVERS
from analytics_core._engine.execution.ssh_keys import KeyProblemError, host_key_text, read_host_key, read_private_key
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core._records.ssh_tunnel import SECRETS, StoredTunnel
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, PayloadSchemaError, Problem, StoredDataError
from analytics_core.models.base import HiddenText
from analytics_core.models.database import DatabasePost, DatabasePut, SshTunnel

SSH_PORT: Final = 22
_LONGEST_NAME: Final = 255
_PUBLIC: Final = ("server_address", "server_port", "username", "host_key")


def stored_tunnel(
    payload: DatabasePost | DatabasePut, checked: CheckedUri, *, shape: str, stored: Database | None = None
) -> Secret | None:
    """Return the tunnel to store: the payload's, what it leaves out or masks taken from the `stored` database.

    Stored secrets are used again only for the same server, port, user and host key; a stored password of the URI only
    behind the same tunnel. Otherwise whoever edits a connection could have them sent to a server of their own.

    Raises:
        PayloadSchemaError: what would not work; `.problems` names the fields.
        ConnectionUriError: this engine takes no tunnel, or the URI's password must be given again.
    """
    stored_secret = stored.ssh_tunnel if stored is not None else None
    if "ssh_tunnel" not in payload.model_fields_set:
        tunnel = stored_secret
    elif payload.ssh_tunnel is None:
        tunnel = None
    else:
        _check_engine(checked)
        tunnel = _merged(payload.ssh_tunnel, _readable(stored_secret), shape=shape).to_secret()
    if tunnel is not None:
        _check_engine(checked)
    if stored is not None and tunnel is not stored_secret:
        _check_password(payload, stored, tunnel)
    return tunnel


def masked_tunnel(database: Database) -> SshTunnel | None:
    """Return the tunnel of a database with its secrets masked."""
    if database.ssh_tunnel is None:
        return None
    tunnel = StoredTunnel.from_secret(database.ssh_tunnel)
    secrets = {name: HiddenText(MASK) for name in SECRETS if getattr(tunnel, name) is not None}
    public = {name: getattr(tunnel, name) for name in _PUBLIC if getattr(tunnel, name) is not None}
    return SshTunnel(id=database.id, insecure_host_key=tunnel.host_key is None, **public, **secrets)


def _check_engine(checked: CheckedUri) -> None:
    if not takes_tunnels(checked.url.drivername.partition("+")[2]):
        raise ConnectionUriError(
            f"{checked.spec.label}: an SSH tunnel is not available with this driver; available with: "
            f"{', '.join(sorted(ADDRESSED_DRIVERS))}",
            engine=checked.spec.name,
        )


def takes_tunnels(driver: str | None) -> bool:
    """Tell whether connections of this driver can be led through a tunnel, with TLS still verifying the name."""
    return driver in ADDRESSED_DRIVERS


def _check_password(payload: DatabasePost | DatabasePut, stored: Database, tunnel: Secret | None) -> None:
    """Refuse to send the stored password of the URI to wherever another tunnel leads."""
    if sends_stored_password(payload, stored) and leads_elsewhere(stored.ssh_tunnel, tunnel):
        raise ConnectionUriError("the SSH tunnel changed and leads elsewhere: give the password again")


def leads_elsewhere(before: Secret | None, after: Secret | None) -> bool:
    """Tell whether a tunnel leads another way than the one before; one that nobody can read may lead anywhere."""
    if before is None and after is None:
        return False
    old, new = _readable(before), _readable(after)
    return old is None or new is None or old.place != new.place


def sends_stored_password(payload: DatabasePost | DatabasePut, stored: Database) -> bool:
    """Tell whether a payload leaves secrets of the stored URI in use."""
    return _takes_stored_secrets(payload) and MASK in masked(stored.uri)


def _takes_stored_secrets(payload: DatabasePost | DatabasePut) -> bool:
    """Tell whether secrets of the stored URI are used again: those that the payload masks, or all of it."""
    if (parameters := payload.parameters) is not None:
        password = "" if parameters.password is None else parameters.password.get_secret_value()
        return MASK in (password, *(parameters.query or {}).values())
    uri = payload.orm_uri.get_secret_value() if payload.orm_uri is not None else ""
    return not uri or MASK in unquote(uri)


def _readable(secret: Secret | None) -> StoredTunnel | None:
    """Return a stored tunnel; None where none is stored, or one that no key opens here and that can be replaced."""
    try:
        return StoredTunnel.from_secret(secret) if secret is not None else None
    except StoredDataError:
        return None


def _merged(given: SshTunnel, before: StoredTunnel | None, *, shape: str) -> StoredTunnel:
    problems: list[Problem] = []
    names = given.model_fields_set
    public: dict[str, Any] = {name: getattr(before, name) for name in _PUBLIC} if before is not None else {}
    public |= {name: getattr(given, name) for name in _PUBLIC if name in names}
    public["host_key"] = _host_key(given, public.get("host_key"), before, problems)
    for name in ("server_address", "username"):
        text = public.get(name)
        if not text or len(text) > _LONGEST_NAME or not text.isprintable() or " " in text:
            problems.append(_problem(name, "is required, in printable characters without spaces"))
    public["server_port"] = public.get("server_port") or SSH_PORT
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    merged = StoredTunnel(**public)
    retained = before if before is not None and before.place == merged.place else None
    tunnel = StoredTunnel(**{**public, **_secrets(given, retained, problems)})
    _check_credentials(tunnel, problems)
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    return tunnel


def _host_key(given: SshTunnel, text: str | None, before: StoredTunnel | None, problems: list[Problem]) -> str | None:
    """Return the key to pin; None where any key was asked for by name."""
    if given.insecure_host_key:
        if given.host_key:
            problems.append(_problem("insecure_host_key", "contradicts host_key; give one of them"))
        return None
    asks_anew = "insecure_host_key" in given.model_fields_set or "host_key" in given.model_fields_set
    if not text and before is not None and before.host_key is None and not asks_anew:
        return None
    if not text:
        problems.append(
            _problem(
                "host_key",
                "is required: the public key of the SSH server, as `ssh-keyscan` prints it; "
                'or "insecure_host_key": true to trust any server',
            )
        )
        return None
    try:
        return host_key_text(read_host_key(text))
    except KeyProblemError as problem:
        problems.append(_problem(problem.field, problem.message))
        return None


def _secrets(given: SshTunnel, retained: StoredTunnel | None, problems: list[Problem]) -> dict[str, Secret]:
    """Return the secrets of the payload, and the stored ones for those that it masks or leaves out."""
    texts = {name: _text(given, name) for name in SECRETS}
    for name, text in texts.items():
        if text == MASK and (retained is None or getattr(retained, name) is None):
            problems.append(_problem(name, "is masked, and none is stored for this server, port, user and host key"))
    new = {name: Secret(text) for name, text in texts.items() if text and text != MASK}
    if retained is None:
        return new
    login = {name for name in ("password", "private_key") if texts[name]}
    if not login:
        login = {name for name in ("password", "private_key") if name not in given.model_fields_set}
    reused = set(login)
    if "private_key" in login and "private_key" not in new and "private_key_password" not in new:
        reused |= {"private_key_password"} - (given.model_fields_set if not texts["private_key_password"] else set())
    elif texts["private_key_password"] == MASK:
        reused |= {"private_key_password"}
    old = {name: getattr(retained, name) for name in reused if name not in new and getattr(retained, name) is not None}
    return {**old, **new}


def _text(given: SshTunnel, name: str) -> str:
    secret: HiddenText | None = getattr(given, name)
    return secret.get_secret_value() if secret is not None else ""


def _check_credentials(tunnel: StoredTunnel, problems: list[Problem]) -> None:
    if problems:
        return
    if tunnel.password is None and tunnel.private_key is None:
        problems.append(_problem("password", "is required, or private_key: what the user logs in by"))
    elif tunnel.password is not None and tunnel.private_key is not None:
        problems.append(_problem("private_key", "contradicts password; give one of them"))
    elif tunnel.private_key is None and tunnel.private_key_password is not None:
        problems.append(_problem("private_key_password", "is given without a private_key"))
    elif tunnel.private_key is not None:
        passphrase = tunnel.private_key_password
        try:
            read_private_key(tunnel.private_key.reveal(), passphrase.reveal() if passphrase else None)
        except KeyProblemError as problem:
            problems.append(_problem(problem.field, problem.message))


def _problem(field: str, message: str) -> Problem:
    return Problem(path=f"ssh_tunnel.{field}", message=message)
