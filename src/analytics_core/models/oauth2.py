"""Shapes of per-user OAuth 2.0 credentials of a database (contract, section Authentication)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict

from analytics_core.models.base import HiddenText, Moment, Omittable, StrictShape, Whole


class OAuth2ContentType(StrEnum):
    """How a token request is written: as JSON or as a form."""

    JSON = "json"
    DATA = "data"


class OAuth2Client(StrictShape):
    """Our registration at the provider that guards a database (contract, Client configuration).

    `redirect_uri` None is the address of the host's own callback.
    """

    id: str
    secret: HiddenText
    scope: str
    authorization_request_uri: str
    token_request_uri: str
    redirect_uri: Omittable[str] = None
    request_content_type: OAuth2ContentType = OAuth2ContentType.JSON


class OAuth2Token(StrictShape):
    """The tokens of one user for one database (contract, Stored per user and database)."""

    access_token: Omittable[HiddenText] = None
    access_token_expiration: Omittable[Moment] = None
    refresh_token: Omittable[HiddenText] = None


class OAuth2State(StrictShape):
    """What travels through the authorization round trip; other claims are ignored (contract, State value)."""

    model_config = ConfigDict(extra="ignore")

    database_id: Whole
    user_id: Whole
    default_redirect_uri: str
    tab_id: str
