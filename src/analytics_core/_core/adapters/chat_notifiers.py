"""The notifiers of chats: one posts to web hooks, one as a bot that brings files along."""

from __future__ import annotations

import json
import re
import ssl
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlencode

from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.http_client import HttpAnswer, HttpClient, HttpProblem
from analytics_core._engine.oauth.clients import web_address
from analytics_core._records.message import Attachment, Delivery, DeliveryState, Message, Recipient, display_address
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.secret import Secret
from analytics_core._reports.chat import chat_text
from analytics_core._tools.log import line_log
from analytics_core.errors import AnalyticsError, NotificationError, SettingsError
from analytics_core.ports import AddressLookup, Clock

_LOG = line_log(__name__)

_MOST_BYTES: Final = 1_000_000
"""Bytes of an answer that are read."""

_LONGEST_REST_S: Final = 86_400.0
_CHANNEL: Final = re.compile(r"#?[^\s#@<>&/:,\"'\\]{1,80}")
_CHANNEL_ID: Final = re.compile(r"[CDGU][A-Z0-9]{7,20}")
_PLAIN_CODE: Final = re.compile(r"[a-z_]{1,60}")
_TOKEN: Final = re.compile(r"[!-~]{1,1000}")
_STATES_OF_CODES: Final = {
    "ratelimited": DeliveryState.UNAVAILABLE,
    "rate_limited": DeliveryState.UNAVAILABLE,
    "request_timeout": DeliveryState.UNAVAILABLE,
    "service_unavailable": DeliveryState.UNAVAILABLE,
    "fatal_error": DeliveryState.UNKNOWN,
    "internal_error": DeliveryState.UNKNOWN,
}
"""Codes of the API that are no refusal; of the last two it says itself that all of it may have been done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What a request that did not do what it should means for the message, and why; or what became of the message."""

    state: DeliveryState
    reason: str = ""
    retry_after_s: float | None = None

    def for_address(self, address: str) -> Delivery:
        return Delivery(address=address, state=self.state, reason=self.reason, retry_after_s=self.retry_after_s)


class ChatWebhookNotifier:
    """Posts messages to web hooks, for recipients of the kind `Chat` whose address is one of https (port `Notifier`).

    It posts `{"text": ...}`, as Slack and Mattermost take it, with an `Idempotency-Key`. Web hooks take no files: a
    note names them. Connections lead to addresses that the network policy allows; no redirect is followed. Why a web
    hook cannot be reached is in the log alone, since whoever names one may not look at the network by it.

    Args:
        timeout_s: what one attempt may take in all, in seconds.
        max_characters: of a text; the rest of a longer one is left out.
        ca_file: certificates (PEM) of the authorities that are trusted; None: those of the system.
        clock: tells how long a server wants to be left alone; None: the system's.

    Raises:
        SettingsError: a value that cannot be, or `ca_file` cannot be read.
    """

    def __init__(
        self,
        *,
        timeout_s: float = 30.0,
        max_characters: int = 4_000,
        ca_file: Path | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._max_characters = _checked_length(max_characters)
        self._server = _ChatServer("the web hook", timeout_s=timeout_s, ca_file=ca_file, clock=clock)

    def start(self, addresses: AddressLookup) -> None:
        """Take what gives the addresses of web hooks."""
        self._server.lookup = addresses

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether it is one web hook, by https."""
        return _is_chat(recipient) and _https_place(recipient.to[0]) is not None

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Try once to post the message, and return what became of it.

        Raises:
            NotificationError: it was not started, or is closed; the recipient is no web hook.
        """
        place = _https_place(recipient.to[0]) if self.takes(recipient) else None
        if place is None:
            raise NotificationError("a web hook of a chat is one address that begins with https://")
        address = recipient.to[0]
        if only is not None and address not in only:
            return ()
        files = (*message.images, *message.attachments)
        text = chat_text(
            message, max_characters=self._max_characters, omitted=files, why="Web hooks of chats take no files"
        )
        headers = {"Content-Type": "application/json; charset=utf-8", "Idempotency-Key": message.key_for(recipient)}
        found = self._server.post(place, _json({"text": text}), headers=headers, deadline=self._server.deadline())
        if isinstance(found, HttpAnswer):
            return (Delivery(address=address, state=DeliveryState.DELIVERED, reason=_unsent(files)),)
        return (self._discreet(found, address),)

    def close(self) -> None:
        """Send nothing afterwards."""
        self._server.close()

    def _discreet(self, found: _Outcome | _NoConnection, address: str) -> Delivery:
        """Return what became of it; what was not reached looks the same whatever the reason."""
        if isinstance(found, _Outcome):
            return found.for_address(address)
        _LOG.warning("%s was not reached: %s", display_address(address), found.what)
        reason = "the web hook cannot be reached by https; the log tells why"
        return Delivery(address=address, state=DeliveryState.UNAVAILABLE, reason=reason)


class ChatBotNotifier:
    """Posts messages to channels as a bot of Slack, files too (port `Notifier`), for recipients of the kind `Chat`.

    An address is the name of a channel, with or without `#`, or its id. Files are uploaded before the message is
    posted, so that nothing is seen of a message that fails, and shown below it. One that the server does not take is
    named in a note.

    Args:
        token: of the bot; it needs the scopes `chat:write` and `files:write`.
        base_url: of the API, by https.
        timeout_s: what one attempt may take in all, files included, in seconds.
        max_characters: of a text; the rest of a longer one is left out.
        ca_file: certificates (PEM) of the authorities that are trusted; None: those of the system.
        clock: tells how much of the time is left; None: the system's.

    Raises:
        SettingsError: a value that cannot be, or `ca_file` cannot be read.
    """

    def __init__(
        self,
        *,
        token: Secret | str,
        base_url: str = "https://slack.com/api",
        timeout_s: float = 60.0,
        max_characters: int = 4_000,
        ca_file: Path | str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._token = token if isinstance(token, Secret) else Secret(token)
        if not _TOKEN.fullmatch(self._token.reveal()):
            raise SettingsError("the token of a chat bot is one word of printable ASCII characters")
        base = _https_place(base_url)
        if base is None or base.query:
            raise SettingsError("the base_url of a chat bot is an address such as https://slack.com/api")
        self._base = base
        self._max_characters = _checked_length(max_characters)
        self._server = _ChatServer("the chat server", timeout_s=timeout_s, ca_file=ca_file, clock=clock)

    def start(self, addresses: AddressLookup) -> None:
        """Take what gives the addresses of the API and of its uploads."""
        self._server.lookup = addresses

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether it is one channel."""
        return _is_chat(recipient) and _CHANNEL.fullmatch(recipient.to[0]) is not None

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Try once to post the message with its files, and return what became of it.

        Raises:
            NotificationError: it was not started, or is closed; the recipient is no channel.
        """
        if not self.takes(recipient):
            raise NotificationError("a channel of a chat is one name, with or without #, or one id")
        address = recipient.to[0]
        if only is not None and address not in only:
            return ()
        return (self._deliver(message, recipient).for_address(address),)

    def close(self) -> None:
        """Send nothing afterwards."""
        self._server.close()

    def _deliver(self, message: Message, recipient: Recipient) -> _Outcome:
        deadline = self._server.deadline()
        uploaded: dict[str, Attachment] = {}
        refused: list[Attachment] = []
        for file in (*message.images, *message.attachments):
            found = self._upload(file, deadline)
            if isinstance(found, str):
                uploaded[found] = file
            elif found.state is DeliveryState.REFUSED:
                refused.append(file)
            else:  # nobody has seen anything, so that all of it can be done again
                return replace(found, state=DeliveryState.UNAVAILABLE)
        posted = self._post(message, recipient, refused, deadline)
        if isinstance(posted, _Outcome):
            return posted
        reasons = filter(None, (_unsent(refused), self._show(uploaded, posted, deadline)))
        return _Outcome(state=DeliveryState.DELIVERED, reason="; ".join(reasons))

    def _post(
        self, message: Message, recipient: Recipient, refused: Sequence[Attachment], deadline: float
    ) -> Mapping[str, Any] | _Outcome:
        """Post the text."""
        key, channel = message.key_for(recipient), recipient.to[0].removeprefix("#")
        text = chat_text(
            message, max_characters=self._max_characters, omitted=refused, why="The chat does not take them"
        )
        fields = {
            "channel": channel if _CHANNEL_ID.fullmatch(channel) else f"#{channel}",
            "text": text,
            "client_msg_id": str(uuid.UUID(hex=key[:32], version=5)),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        return self._call("chat.postMessage", _json(fields), deadline, key=key)

    def _upload(self, file: Attachment, deadline: float) -> str | _Outcome:
        """Upload one file, which nobody sees yet, and return its id."""
        body = urlencode({"filename": file.name, "length": file.size_bytes}).encode()
        reply = self._call("files.getUploadURLExternal", body, deadline, content_type=_FORM)
        if isinstance(reply, _Outcome):
            return reply
        file_id, place = reply.get("file_id"), _https_place(str(reply.get("upload_url")))
        if not isinstance(file_id, str) or place is None:
            return _Outcome(state=DeliveryState.REFUSED, reason="the chat server named no https address for a file")
        # The token is not for this server, whichever it is.
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.size_bytes)}
        try:
            found = self._server.post(place, file.chunks(), headers=headers, deadline=deadline)
        except NotificationError as error:  # the file cannot be read any more
            return _Outcome(state=DeliveryState.REFUSED, reason=error.message)
        return file_id if isinstance(found, HttpAnswer) else _openly(found, "the chat server for files")

    def _show(self, uploaded: Mapping[str, Attachment], posted: Mapping[str, Any], deadline: float) -> str:
        """Show the files below the message; return why they are not there, which makes the message no failure."""
        if not uploaded:
            return ""
        fields = {
            "files": [{"id": file_id, "title": file.name} for file_id, file in uploaded.items()],
            "channel_id": posted.get("channel"),
            "thread_ts": posted.get("ts"),
        }
        reply = self._call("files.completeUploadExternal", _json(fields), deadline)
        return f"its files may not be there: {reply.reason}" if isinstance(reply, _Outcome) else ""

    def _call(
        self, method: str, body: bytes, deadline: float, *, content_type: str = "", key: str = ""
    ) -> Mapping[str, Any] | _Outcome:
        """Return the answer of a method of the API that did what it should."""
        place = self._base._replace(path=f"{self._base.path.rstrip('/')}/{method}")
        headers = {
            "Authorization": f"Bearer {self._token.reveal()}",
            "Content-Type": content_type or "application/json; charset=utf-8",
            **({"Idempotency-Key": key} if key else {}),
        }
        found = self._server.post(place, body, headers=headers, deadline=deadline)
        if not isinstance(found, HttpAnswer):
            return _openly(found, "the chat server")
        reply = _object_of(found.body)
        if reply is None or not isinstance(reply.get("ok"), bool):
            return _Outcome(state=DeliveryState.UNKNOWN, reason="the answer of the chat server is none of its API")
        return reply if reply["ok"] else _by_code(reply.get("error"), self._server.rest_s(found))


_FORM: Final = "application/x-www-form-urlencoded"


# --------------------------------------------------------------------------------------------------------- the server
@dataclass(frozen=True, slots=True, kw_only=True)
class _NoConnection:
    """Why nothing was sent, or not all of it."""

    what: str
    is_lasting: bool = False


class _ChatServer:
    """Posts by https to addresses that are allowed, within one time for several posts.

    Attributes:
        lookup: gives the addresses; None: it is not started, or closed.
    """

    def __init__(self, name: str, *, timeout_s: float, ca_file: Path | str | None, clock: Clock | None) -> None:
        if timeout_s <= 0:
            raise SettingsError("timeout_s of a notifier must be above 0")
        self.lookup: AddressLookup | None = None
        self._name = name
        self._timeout_s = timeout_s
        self._clock = SystemClock() if clock is None else clock
        self._client = HttpClient(
            "analytics_core-chat", tls=_tls_context(ca_file), advice="; see ca_file", most_bytes=_MOST_BYTES
        )

    def deadline(self) -> float:
        """Return the second at which an attempt that begins now ends."""
        return self._clock.monotonic() + self._timeout_s

    def post(
        self, place: SplitResult, body: bytes | Iterable[bytes], *, headers: Mapping[str, str], deadline: float
    ) -> HttpAnswer | _Outcome | _NoConnection:
        """Return the answer to one POST where it says that all is well.

        Raises:
            NotificationError: it was not started, or is closed; the body cannot be read any more.
        """
        lookup = self.lookup
        if lookup is None:
            raise NotificationError("the notifier of chats is not started, or closed")
        remaining_s = deadline - self._clock.monotonic()
        if remaining_s <= 0:
            return _NoConnection(what=f"is not done within {self._timeout_s:g} seconds")
        try:
            found = self._client.post(
                place,
                body,
                headers=headers,
                resolve=lambda host, port: lookup(host, port, DestinationPurpose.WEB_HOOK),
                timeout_s=remaining_s,
            )
        except NotificationError:
            raise
        except AnalyticsError as error:
            return _NoConnection(what=f"cannot be reached ({error.message})", is_lasting=not error.retryable)
        if isinstance(found, HttpAnswer):
            return self._checked(found)
        return self._of_problem(found)

    def rest_s(self, answer: HttpAnswer) -> float | None:
        """Return for how many seconds a server wants to be left alone, a day at most; None: it does not say."""
        header = answer.headers.get("retry-after", "").strip()
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", header):
            return min(float(header), _LONGEST_REST_S)
        try:
            remaining_s = (parsedate_to_datetime(header) - self._clock.now()).total_seconds()
        except (ValueError, TypeError, OverflowError):  # TypeError: a date without a zone
            return None
        return min(max(remaining_s, 0.0), _LONGEST_REST_S)

    def close(self) -> None:
        """Post nothing afterwards."""
        self.lookup = None
        self._client.close()

    def _of_problem(self, problem: HttpProblem) -> _Outcome | _NoConnection:
        if problem.may_have_arrived:
            reason = f"all of it was sent, and {self._name} {problem.what}"
            return _Outcome(state=DeliveryState.UNKNOWN, reason=reason)
        return _NoConnection(what=problem.what, is_lasting=problem.is_lasting)

    def _checked(self, answer: HttpAnswer) -> HttpAnswer | _Outcome:
        """Return the answer where it says that all is well; a gateway that waited in vain does not know."""
        status = answer.status
        if 200 <= status < 300:
            return answer
        state = DeliveryState.REFUSED
        if status == 504:
            state = DeliveryState.UNKNOWN
        elif status in (408, 429) or status >= 500:
            state = DeliveryState.UNAVAILABLE
        note = ", a redirect, which is not followed" if 300 <= status < 400 else ""
        rest_s = self.rest_s(answer) if state is DeliveryState.UNAVAILABLE else None
        return _Outcome(state=state, reason=f"{self._name} answered with status {status}{note}", retry_after_s=rest_s)


def _openly(found: _Outcome | _NoConnection, who: str) -> _Outcome:
    """Return why a server that the host chose was not reached."""
    if isinstance(found, _Outcome):
        return found
    state = DeliveryState.REFUSED if found.is_lasting else DeliveryState.UNAVAILABLE
    return _Outcome(state=state, reason=f"{who} {found.what}")


def _by_code(code: object, rest_s: float | None) -> _Outcome:
    """Return what the code of an API means; it is repeated where it can be no secret and no sentence."""
    state = _STATES_OF_CODES.get(code, DeliveryState.REFUSED) if isinstance(code, str) else DeliveryState.REFUSED
    detail = f": {code}" if isinstance(code, str) and _PLAIN_CODE.fullmatch(code) else ""
    return _Outcome(
        state=state,
        reason=f"the chat server does not take it{detail}",
        retry_after_s=rest_s if state is DeliveryState.UNAVAILABLE else None,
    )


def _is_chat(recipient: Recipient) -> bool:
    return recipient.kind == "Chat" and len(recipient.addresses) == len(recipient.to) == 1


def _https_place(address: str) -> SplitResult | None:
    parts = web_address(address)
    return parts if parts is not None and parts.scheme == "https" else None


def _checked_length(max_characters: int) -> int:
    if max_characters < 1_000:
        raise SettingsError("max_characters of a notifier of chats must be 1000 at least")
    return max_characters


def _tls_context(ca_file: Path | str | None) -> ssl.SSLContext | None:
    try:
        return None if ca_file is None else ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError):
        raise SettingsError("ca_file of a notifier is no readable file of certificates (PEM)") from None


def _unsent(files: Sequence[Attachment]) -> str:
    names = ", ".join(file.name for file in files)
    return f"files that the chat does not take were left out: {names}" if names else ""


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _object_of(body: bytes) -> Mapping[str, Any] | None:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) else None
