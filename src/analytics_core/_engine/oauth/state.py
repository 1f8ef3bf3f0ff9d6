"""The state that travels through an authorization: signed, of one user, and over after five minutes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from analytics_core._engine.rights.keys import Purpose, derived_key
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core.errors import OAuth2Error, PayloadError
from analytics_core.models.database import OAuth2State
from analytics_core.models.parsing import parse
from analytics_core.ports import Clock

if TYPE_CHECKING:
    from jwt.types import Options

STATE_LIFE: Final = timedelta(minutes=5)
_LONGEST_STATE: Final = 8_192
_KEY_BYTES: Final = 64
"""What the longest of the algorithms asks for."""

_NUMBER_BYTES: Final = 32
_UNCHECKED: Final[Options] = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "verify_aud": False}
"""Times are checked here, against the clock of the host; the JWT package would ask the system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedState:
    """A state with what belongs to it alone.

    Attributes:
        claims: who authorizes what, and where they want to go afterwards.
        number: tells it from every other state; it is accepted once.
        expires_on: when it is over; aware, in UTC.
        verifier: of PKCE, derived from the number, so that nothing need be kept until the provider answers.
        client: digest of the registration that the authorization was begun for; another one is not shown its code.
    """

    claims: OAuth2State
    number: str
    expires_on: datetime
    verifier: Secret
    client: str

    @property
    def challenge(self) -> str:
        """What the provider is shown of the verifier (RFC 7636, S256)."""
        return _base64url(hashlib.sha256(self.verifier.reveal().encode("ascii")).digest())


@dataclass(frozen=True, slots=True)
class _Keys:
    """What one of the settings' keys signs states and derives verifiers with."""

    signing: bytes = field(repr=False)
    verifying: bytes = field(repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys of states are never pickled")


class StateSigner:
    """Signs and reads states with keys of their own, derived from the settings' keys; older keys only read."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._algorithm = settings.oauth2_jwt_algorithm
        self._clock = clock
        self._keys = tuple(map(_keys_of, (settings.key, *settings.older_keys)))

    def sign(self, claims: OAuth2State, *, client: str) -> tuple[str, SignedState]:
        """Return the text of a new state for a client, without a period, and what belongs to it."""
        import jwt

        expires_on = (self._clock.now() + STATE_LIFE).replace(microsecond=0)
        number = secrets.token_urlsafe(_NUMBER_BYTES)
        payload = {**claims.model_dump(), "exp": int(expires_on.timestamp()), "jti": number, "client": client}
        text = jwt.encode(payload, self._keys[0].signing, algorithm=self._algorithm).replace(".", "%2E")
        verifier = _verifier(self._keys[0], number)
        return text, SignedState(claims=claims, number=number, expires_on=expires_on, verifier=verifier, client=client)

    def read(self, text: object) -> SignedState:
        """Return what a state says; OAuth2Error when it is not one of ours, or over. It does not look who brings it."""
        if not isinstance(text, str) or len(text) > _LONGEST_STATE:
            raise _rejected("it is not one of this service")
        keys, payload = self._verified(text.replace("%2E", "."))
        number, end, client = payload.get("jti"), payload.get("exp"), payload.get("client")
        if not isinstance(number, str) or not isinstance(client, str) or type(end) is not int:
            raise _rejected("it does not say what a state says")
        try:
            claims, expires_on = parse(OAuth2State, payload, shape="state"), datetime.fromtimestamp(end, UTC)
        except (PayloadError, ValueError, OverflowError, OSError):
            raise _rejected("it does not say what a state says") from None
        self._check_time(expires_on)
        verifier = _verifier(keys, number)
        return SignedState(claims=claims, number=number, expires_on=expires_on, verifier=verifier, client=client)

    def __reduce__(self) -> NoReturn:
        raise TypeError("what signs states holds keys and is never pickled")

    def _verified(self, token: str) -> tuple[_Keys, Mapping[str, Any]]:
        """Return the claims of a token that one of our keys signed, with these keys."""
        import jwt

        for keys in self._keys:
            try:
                # Nobody here knows a rule that a header calls critical (RFC 7515); PyJWT before 2.12 does not look.
                if "crit" in jwt.get_unverified_header(token):
                    break
                return keys, jwt.decode(token, keys.signing, algorithms=[self._algorithm], options=_UNCHECKED)
            except jwt.InvalidSignatureError:
                continue
            except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
                break
        raise _rejected("it is not one of this service")

    def _check_time(self, expires_on: datetime) -> None:
        remaining = expires_on - self._clock.now()
        if remaining <= timedelta(0):
            raise _rejected("its five minutes are over")
        if remaining > 2 * STATE_LIFE:  # the clocks of two machines may differ
            raise _rejected("it does not say what a state says")


def _rejected(why: str) -> OAuth2Error:
    return OAuth2Error(f"the state opens nothing: {why}; start the authorization anew")


def _keys_of(secret: Secret) -> _Keys:
    return _Keys(
        derived_key(secret, Purpose.OAUTH_STATE, length=_KEY_BYTES),
        derived_key(secret, Purpose.OAUTH_VERIFIER, length=_KEY_BYTES),
    )


def _verifier(keys: _Keys, number: str) -> Secret:
    """Return 86 characters that nobody without the key can tell from random ones."""
    return Secret(_base64url(hmac.digest(keys.verifying, number.encode("utf-8"), "sha512")))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
