"""Messages to chats on a real server: what arrives, and what each answer, silence and break of it means."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest
from tests.support.cases import for_each
from tests.support.chat_server import TOKEN, ChatServer, chat_server

from analytics_core.errors import DatabaseError, NotificationError, SettingsError
from analytics_core.notifiers import ChatBotNotifier, ChatWebhookNotifier
from analytics_core.ports import (
    AddressLookup,
    Attachment,
    Delivery,
    DeliveryState,
    DestinationPurpose,
    Message,
    Notifier,
    Recipient,
)
from analytics_core.testing.clock import FixedClock

DELIVERED, REFUSED, UNAVAILABLE, UNKNOWN = DeliveryState
CHANNEL = Recipient(kind="Chat", to=("#sales",))
CSV = b"a,b\n1,2\n" * 20_000
POST, SLOT, SHOW = "chat.postMessage", "files.getUploadURLExternal", "files.completeUploadExternal"
MOMENT = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)


def lookup(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
    assert purpose is DestinationPurpose.WEB_HOOK
    return ("127.0.0.1",)


def refusing(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
    raise DatabaseError("the network policy does not let it be reached", retryable=False)


def message(**changes: Any) -> Message:
    return Message(**{"key": "schedule 7", "subject": "Sales & more", "text": "<Umsätze> @here", **changes})


def files() -> tuple[Attachment, ...]:
    return (
        Attachment(name="chart.png", content_type="image/png", content=b"\x89PNG" * 100),
        Attachment(name="Umsätze.csv", content_type="text/csv", content=io.BytesIO(CSV)),
    )


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with chat_server(tmp_path_factory.mktemp("chat")) as made:
        yield made


@pytest.fixture
def server(one_server: ChatServer) -> Iterator[ChatServer]:
    yield one_server
    one_server.posts.clear()
    one_server.answers.clear()


@contextmanager
def started(made: Any, addresses: AddressLookup = lookup) -> Iterator[Any]:
    assert isinstance(made, Notifier)
    made.start(addresses)
    with closing(made):
        yield made


def hook(server: ChatServer, name: str = "hook/T0/s3cr3t") -> Recipient:
    return Recipient(kind="Chat", to=(f"{server.url}/{name}",))


def to_hook(server: ChatServer, sent: Message | None = None, *, addresses: Any = lookup, **options: Any) -> Delivery:
    options = {"ca_file": server.ca_file, "timeout_s": 10.0, "clock": FixedClock(MOMENT), **options}
    with started(ChatWebhookNotifier(**options), addresses) as notifier:
        (delivery,) = notifier.send(sent or message(), hook(server))
    assert "s3cr3t" not in delivery.reason + repr(delivery)
    return delivery


def by_bot(server: ChatServer, sent: Message | None = None, *, addresses: Any = lookup, **options: Any) -> Delivery:
    options = {"ca_file": server.ca_file, "timeout_s": 10.0, "clock": FixedClock(MOMENT), **options}
    with started(ChatBotNotifier(token=TOKEN, base_url=f"{server.url}/api", **options), addresses) as notifier:
        (delivery,) = notifier.send(sent or message(), CHANNEL)
        assert "hunter2" not in delivery.reason + repr(delivery) + repr(vars(notifier))
    return delivery


# ---------------------------------------------------------------------------------------------------------- web hooks
def test_a_web_hook_gets_the_text_escaped_with_the_key_and_a_note_of_files(server: ChatServer) -> None:
    sent = message(attachments=files(), link="https://bi.example.com/7?a=1&b=2")
    delivery = to_hook(server, sent)
    assert delivery.state is DELIVERED
    assert delivery.reason == "files that the chat does not take were left out: chart.png, Umsätze.csv"
    (post,) = server.posts
    assert post.headers["idempotency-key"] == sent.key_for(hook(server))
    assert post.headers["content-type"] == "application/json; charset=utf-8"
    assert post.json() == {
        "text": "Sales &amp; more\n\n&lt;Umsätze&gt; @\u200bhere\n\nNot attached: chart.png (400 bytes), Umsätze.csv "
        "(160 kB). Web hooks of chats take no files; see https://bi.example.com/7?a=1&amp;b=2."
    }


def test_a_long_text_is_cut_and_the_link_told(server: ChatServer) -> None:
    delivery = to_hook(server, message(text="<" * 50_000, link="https://bi.example.com/7", attachments=files()))
    text = server.posts[0].json()["text"]
    assert delivery.state is DELIVERED
    assert 3_900 < len(text) <= 4_000
    assert "&lt;…\n\nThe rest of this text is too long for a chat; see https://bi.example.com/7.\n\nNot att" in text


ANSWERS = [
    ((204, {}, b""), DELIVERED, None),
    ((302, {"Location": "https://127.0.0.1/elsewhere"}, b""), REFUSED, None),
    ((307, {"Location": "https://127.0.0.1/elsewhere"}, b""), REFUSED, None),
    ((400, {}, b"hunter2"), REFUSED, None),
    ((404, {}, b"hunter2"), REFUSED, None),
    ((408, {}, b""), UNAVAILABLE, None),
    ((429, {"Retry-After": "30"}, b""), UNAVAILABLE, 30.0),
    ((429, {"Retry-After": "Thu, 26 Nov 2026 12:01:00 GMT"}, b""), UNAVAILABLE, 60.0),
    ((429, {"Retry-After": "9999999"}, b""), UNAVAILABLE, 86_400.0),
    ((429, {"Retry-After": "soon"}, b""), UNAVAILABLE, None),
    ((429, {"Retry-After": f"Thu, 26 Nov {'9' * 25} 12:01:00 GMT"}, b""), UNAVAILABLE, None),
    ((500, {}, b""), UNAVAILABLE, None),
    ((503, {"Retry-After": "5"}, b""), UNAVAILABLE, 5.0),
    ((504, {}, b""), UNKNOWN, None),
    ("break", UNKNOWN, None),
]


@pytest.mark.parametrize("send", [to_hook, by_bot])
@pytest.mark.parametrize(("answer", "state", "retry_after_s"), ANSWERS)
def test_each_answer_has_its_state(
    server: ChatServer, send: Any, answer: Any, state: DeliveryState, retry_after_s: float | None
) -> None:
    server.answers |= {"s3cr3t": answer, POST: answer}
    delivery = send(server)
    expected = UNKNOWN if (send, state) == (by_bot, DELIVERED) else state  # no answer of the API's
    assert (delivery.state, delivery.retry_after_s) == (expected, retry_after_s)
    assert "hunter2" not in delivery.reason
    assert len(server.posts) == 1


@pytest.mark.slow
@pytest.mark.parametrize("send", [to_hook, by_bot])
@pytest.mark.parametrize("answer", ["hang", "drip"])
def test_no_attempt_takes_longer_than_its_time(server: ChatServer, send: Any, answer: str) -> None:
    server.answers |= {"s3cr3t": answer, POST: answer}
    began = time.monotonic()
    assert send(server, timeout_s=0.6).state is UNKNOWN
    assert time.monotonic() - began < 3


def test_a_web_hook_that_is_not_reached_looks_the_same_whatever_the_reason(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = ChatServer(url=f"https://127.0.0.1:{listening.getsockname()[1]}", ca_file=server.ca_file)
    with caplog.at_level(logging.WARNING):
        found = [to_hook(closed), to_hook(server, ca_file=None), to_hook(server, addresses=refusing)]
    assert {(delivery.state, delivery.reason) for delivery in found} == {
        (UNAVAILABLE, "the web hook cannot be reached by https; the log tells why")
    }
    for why in ("cannot be reached", "certificate", "network policy"):
        assert why in caplog.text
    assert "s3cr3t" not in caplog.text
    assert server.posts == []


# --------------------------------------------------------------------------------------------------------------- bots
def test_a_bot_posts_text_and_files_and_shows_the_files_below_it(server: ChatServer) -> None:
    sent = message(attachments=files())
    assert (by_bot(server, sent).state, by_bot(server, sent).reason) == (DELIVERED, "")
    posts = server.posts[: len(server.posts) // 2]
    assert [post.path.removeprefix("/api/").partition("/")[0] for post in posts] == [SLOT, "", SLOT, "", POST, SHOW]
    slot, upload, _, second, posted, completion = posts
    assert parse_qs(slot.body.decode()) == {"filename": ["chart.png"], "length": ["400"]}
    assert (upload.body, second.body) == (b"\x89PNG" * 100, CSV)
    assert "authorization" not in upload.headers
    assert {post.headers.get("content-type") for post in (upload, second)} == {"application/octet-stream"}
    assert {post.headers.get("authorization") for post in (slot, posted, completion)} == {f"Bearer {TOKEN}"}
    key = sent.key_for(CHANNEL)
    assert posted.headers["idempotency-key"] == key
    assert posted.json() == {
        "channel": "#sales",
        "text": "Sales &amp; more\n\n&lt;Umsätze&gt; @\u200bhere",
        "client_msg_id": str(uuid.UUID(hex=key[:32], version=5)),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    titles = [{"id": f"F-{name}", "title": name} for name in ("chart.png", "Umsätze.csv")]
    assert completion.json() == {"files": titles, "channel_id": "C0123456789", "thread_ts": "17.5"}


@pytest.mark.parametrize(
    ("named", "sent"), [("#sales", "#sales"), ("sales", "#sales"), ("C0123456789", "C0123456789"), ("verkäufe", None)]
)
def test_a_channel_is_named_with_or_without_its_sign_or_by_its_id(server: ChatServer, named: str, sent: Any) -> None:
    with started(ChatBotNotifier(token=TOKEN, base_url=server.url, ca_file=server.ca_file)) as notifier:
        notifier.send(message(), Recipient(kind="Chat", to=(named,)))
    assert server.posts[0].json()["channel"] == (sent or f"#{named}")


def no(code: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return 200, headers, json.dumps({"ok": False, "error": code}).encode()


@for_each(
    ("answer", "state", "expected"),
    [
        (no("channel_not_found"), REFUSED, "channel_not_found"),
        (no("see https://evil.example/hunter2"), REFUSED, None),
        (no("x" * 61), REFUSED, None),
        (no(["hunter2"]), REFUSED, None),
        (no("ratelimited", **{"Retry-After": "7"}), UNAVAILABLE, "ratelimited"),
        (no("service_unavailable"), UNAVAILABLE, "service_unavailable"),
        (no("internal_error"), UNKNOWN, "internal_error"),
        ((200, {}, b"<html>hunter2</html>"), UNKNOWN, None),
        ((200, {}, b'{"ok": "yes"}'), UNKNOWN, None),
        ((200, {}, b"[" * 100_000), UNKNOWN, None),
        ((200, {}, b'{"ok": true, "x": "' + b"x" * 2_000_000 + b'"}'), UNKNOWN, None),
    ],
)
def test_the_code_of_the_api_is_told_where_it_is_a_plain_word(
    server: ChatServer, answer: Any, state: DeliveryState, expected: str | None
) -> None:
    server.answers[POST] = answer
    delivery = by_bot(server)
    assert delivery.state is state
    assert delivery.reason.partition(": ")[2] == (expected or "")
    assert "hunter2" not in delivery.reason
    assert delivery.retry_after_s == (7.0 if expected == "ratelimited" else None)


@pytest.mark.slow
@for_each("answer", [no("ratelimited"), "hang", "break", (504, {}, b""), (503, {}, b""), "half"])
@for_each("step", [SLOT, "/upload/1"])
def test_a_file_that_is_on_its_way_when_it_fails_lets_all_be_tried_again(
    server: ChatServer, step: str, answer: Any
) -> None:
    if step != SLOT and answer == no("ratelimited"):
        answer = (429, {}, b"")
    server.answers["1" if step != SLOT else SLOT] = answer
    delivery = by_bot(server, message(attachments=files()), timeout_s=1.0 if answer == "hang" else 10.0)
    assert delivery.state is UNAVAILABLE
    assert f"/api/{POST}" not in server.paths()


@pytest.mark.parametrize("url", ["http://127.0.0.1/x", "https://u:hunter2@127.0.0.1/", "ftp://x/", "", None, 7])
def test_a_file_goes_to_addresses_of_https_alone(server: ChatServer, url: Any) -> None:
    server.answers[SLOT] = (200, {}, json.dumps({"ok": True, "upload_url": url, "file_id": "F1"}).encode())
    delivery = by_bot(server, message(attachments=files(), link="https://bi.example.com/7"))
    assert (delivery.state, "left out: chart.png, Umsätze.csv" in delivery.reason) == (DELIVERED, True)
    assert server.paths() == [f"/api/{SLOT}", f"/api/{SLOT}", f"/api/{POST}"]
    assert "Not attached: chart.png (400 bytes), Umsätze.csv" in server.posts[-1].json()["text"]


def test_the_network_policy_is_asked_about_the_address_of_a_file(server: ChatServer) -> None:
    def only_this(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
        return lookup(host, port, purpose) if host == "127.0.0.1" else refusing(host, port, purpose)

    url = "https://metadata.internal/latest"
    server.answers[SLOT] = (200, {}, json.dumps({"ok": True, "upload_url": url, "file_id": "F1"}).encode())
    delivery = by_bot(server, message(attachments=files()), addresses=only_this)
    assert delivery.state is DELIVERED
    assert "left out" in delivery.reason


def test_files_that_cannot_be_shown_make_the_message_no_failure(server: ChatServer) -> None:
    server.answers[SHOW] = no("not_in_channel")
    delivery = by_bot(server, message(attachments=files()))
    assert (delivery.state, delivery.reason) == (
        DELIVERED,
        "its files may not be there: the chat server does not take it: not_in_channel",
    )


def test_a_file_that_cannot_be_read_any_more_is_left_out(server: ChatServer) -> None:
    image, rows = files()
    assert isinstance(rows.content, io.BytesIO)
    rows.content.close()
    delivery = by_bot(server, message(attachments=(image, rows)))
    assert (delivery.state, "left out: Umsätze.csv" in delivery.reason) == (DELIVERED, True)


def test_a_server_that_the_policy_refuses_or_nobody_vouches_for_is_refused(server: ChatServer) -> None:
    assert by_bot(server, addresses=refusing).state is REFUSED
    delivery = by_bot(server, ca_file=None)
    assert (delivery.state, "certificate" in delivery.reason) == (REFUSED, True)
    assert server.posts == []


# --------------------------------------------------------------------------------------------------- who takes what
def test_each_takes_its_own_recipients() -> None:
    web_hooks, bot = ChatWebhookNotifier(), ChatBotNotifier(token=TOKEN)
    for notifier, taken in ((web_hooks, "https://chat.example.com/hook/x"), (bot, "#sales")):
        for kind, address in [
            ("Chat", taken),
            ("Email", taken),
            ("Chat", "http://chat.example.com/x"),
            ("Chat", "a b"),
        ]:
            is_taken = (kind, address) == ("Chat", taken)
            assert notifier.takes(Recipient(kind=kind, to=(address,))) is is_taken
        assert not notifier.takes(Recipient(kind="Chat", to=(taken, "#b")))
        assert not notifier.takes(Recipient(kind="Chat", to=(taken,), bcc=("#b",)))
        with pytest.raises(NotificationError):
            notifier.send(message(), Recipient(kind="Email", to=("ada@example.com",)))


def test_nothing_is_sent_before_the_start_and_after_the_end(server: ChatServer) -> None:
    for notifier, to in (
        (ChatWebhookNotifier(ca_file=server.ca_file), hook(server)),
        (ChatBotNotifier(token=TOKEN, base_url=server.url, ca_file=server.ca_file), CHANNEL),
    ):
        for act in (lambda: None, lambda n=notifier: n.start(lookup) or n.close()):
            act()
            with pytest.raises(NotificationError, match="not started, or closed"):
                notifier.send(message(), to)
        assert notifier.send(message(), to, only=("another",)) == ()
    assert server.posts == []


@for_each(
    "make",
    [
        lambda: ChatBotNotifier(token="a b"),
        lambda: ChatBotNotifier(token="a\r\nX: y"),
        lambda: ChatBotNotifier(token=TOKEN, base_url="http://slack.com/api"),
        lambda: ChatBotNotifier(token=TOKEN, timeout_s=0),
        lambda: ChatWebhookNotifier(max_characters=10),
        lambda: ChatWebhookNotifier(ca_file="missing.pem"),
    ],
)
def test_settings_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        make()
    assert TOKEN not in str(caught.value)
