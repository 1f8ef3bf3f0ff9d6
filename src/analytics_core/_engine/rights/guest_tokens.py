"""Guest tokens, signed and read."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.rights.keys import Purpose, derived_key
from analytics_core._records.people import GuestGrant, GuestRule, GuestValue
from analytics_core._records.settings import Settings
from analytics_core.errors import GuestTokenError, LimitError, PayloadError
from analytics_core.models.embedded import GuestClaims, GuestRowRule, GuestTokenCreate, GuestUser
from analytics_core.models.parsing import parse
from analytics_core.ports import Clock

if TYPE_CHECKING:
    from jwt.types import Options

ALGORITHM: Final = "HS256"
TOKEN_TYPE: Final = "guest"  # noqa: S105 - a kind, not a secret
_CLOCKS_DIFFER_S: Final = 30.0
_NAMELESS: Final = GuestUser(username="guest_user", first_name="Guest", last_name="User")
_UNCHECKED: Final[Options] = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
"""Times are checked here, against the clock of the host; the JWT package would ask the system."""


class GuestTokens:
    """Signs and reads tokens with keys of their own, derived from the settings' keys; older keys only read."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = tuple(derived_key(key, Purpose.GUEST_TOKEN) for key in (settings.key, *settings.older_keys))

    def sign(
        self,
        request: GuestTokenCreate,
        *,
        embedded: Sequence[str],
        all_rows: bool | tuple[int, ...],
        life_s: float | None,
    ) -> str:
        """Return a token; `embedded` are the uuids that the resources of the request stand for.

        Raises:
            LimitError: a life that is too long or none, or more in the token than it may hold.
        """
        issued = self._clock.now().timestamp()
        user = named(request.user)
        claims = {
            "type": TOKEN_TYPE,
            "aud": self._settings.guest_token_audience,
            "iat": issued,
            "exp": issued + self._life_s(life_s),
            "jti": secrets.token_urlsafe(16),
            "sub": user.username,
            "user": user.model_dump(mode="json", exclude_none=True),
            "resources": [{"type": "dashboard", "id": uuid} for uuid in embedded],
            "rls_rules": [rule.model_dump(mode="json", exclude_none=True) for rule in request.rls],
            "all_rows": all_rows,
        }
        import jwt

        token = jwt.encode(claims, self._keys[0], algorithm=ALGORITHM)
        if len(token) > self._settings.guest_token_max_bytes:
            raise LimitError(
                f"the guest token would take {len(token)} bytes; Settings.guest_token_max_bytes allows "
                f"{self._settings.guest_token_max_bytes}: give fewer resources, rules or attributes"
            )
        return token

    def now(self) -> datetime:
        """Return the moment that counts for tokens; `core.as_of` does not move it."""
        return self._clock.now()

    def read(self, token: object) -> GuestGrant:
        """Return what a token says; GuestTokenError when it is not one of ours, not for this use, or not in time."""
        if not isinstance(token, str) or len(token) > self._settings.guest_token_max_bytes:
            raise GuestTokenError("it is not one of this service")
        try:
            claims = parse(GuestClaims, self._verified(token), shape="guest token")
        except PayloadError:
            raise GuestTokenError("it does not say what a guest token says") from None
        self._check_times(claims)
        if claims.sub != claims.user.username or not (claims.rls_rules or claims.all_rows):
            raise GuestTokenError("it does not say what a guest token says")
        return _grant(claims)

    def check_not_over(self, grant: GuestGrant) -> None:
        """Raise GuestTokenError when the token's time is over."""
        if self._clock.now() >= grant.expires_on:
            raise GuestTokenError("it has expired")

    def _verified(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that one of our keys signed."""
        import jwt

        for key in self._keys:
            try:
                # Nobody here knows a rule that a header calls critical (RFC 7515); PyJWT before 2.12 does not look.
                if "crit" in jwt.get_unverified_header(token):
                    break
                claims: Mapping[str, Any] = jwt.decode(
                    token, key, algorithms=[ALGORITHM], audience=self._settings.guest_token_audience, options=_UNCHECKED
                )
            except jwt.InvalidSignatureError:
                continue
            except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
                break
            else:
                return claims
        raise GuestTokenError("it is not one of this service")

    def _check_times(self, claims: GuestClaims) -> None:
        now = self._clock.now().timestamp()
        if now >= claims.exp:
            raise GuestTokenError("it has expired")
        too_long = claims.exp - claims.iat > self._settings.guest_token_max_life_s + 0.001
        if claims.iat > now + _CLOCKS_DIFFER_S or claims.exp <= claims.iat or too_long:
            raise GuestTokenError("its times are not those of a guest token")

    def _life_s(self, requested: object) -> float:
        most = self._settings.guest_token_max_life_s
        life = self._settings.guest_token_life_s if requested is None else requested
        if isinstance(life, bool) or not isinstance(life, int | float) or not 0 < life <= most:
            raise LimitError(f"life_s must be more than 0 and at most {most} s (Settings.guest_token_max_life_s)")
        return life


def named(user: GuestUser | None) -> GuestUser:
    """Return a guest with the names that the host left out."""
    if user is None:
        return _NAMELESS
    missing = {name: getattr(_NAMELESS, name) for name in ("username", "first_name", "last_name")}
    return user.model_copy(update={name: text for name, text in missing.items() if not getattr(user, name)})


def attributes_of(user: GuestUser) -> tuple[tuple[str, str], ...]:
    """Return the attributes of a guest as the (name, value) pairs that users have."""
    pairs = []
    for name, value in (user.attributes or {}).items():
        pairs += [(name, value)] if isinstance(value, str) else [(name, item) for item in value]
    return tuple(pairs)


def rule_of(rule: GuestRowRule) -> GuestRule:
    """Return a rule of a payload or a token as the record that queries read."""
    values: tuple[tuple[str, GuestValue], ...] = tuple(sorted((rule.values or {}).items()))
    return GuestRule(clause=rule.clause, dataset_id=rule.dataset, values=values)


def _grant(claims: GuestClaims) -> GuestGrant:
    return GuestGrant(
        username=claims.user.username or "",
        first_name=claims.user.first_name or "",
        last_name=claims.user.last_name or "",
        attributes=attributes_of(claims.user),
        embedded=tuple(dict.fromkeys(resource.id for resource in claims.resources)),
        rules=tuple(rule_of(rule) for rule in claims.rls_rules),
        all_rows=_fully_visible_datasets(claims.all_rows),
        issued_on=_moment(claims.iat),
        expires_on=_moment(claims.exp),
    )


def _fully_visible_datasets(all_rows: bool | tuple[int, ...]) -> frozenset[int] | None:
    if isinstance(all_rows, bool):
        return None if all_rows else frozenset()
    return frozenset(all_rows)


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        raise GuestTokenError("its times are not those of a guest token") from None
