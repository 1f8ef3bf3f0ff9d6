"""The library's own notifiers keep the promises of the port on real servers, and so does the fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.utils import getaddresses
from typing import Any

import pytest
from tests.support.chat_server import TOKEN, ChatServer, chat_server
from tests.support.mail_server import MailServer, mail_server

from analytics_core.notifiers import ChatBotNotifier, ChatWebhookNotifier, EmailNotifier, SmtpSettings
from analytics_core.ports import DeliveryState, Notifier, Recipient
from analytics_core.testing import Outbox
from analytics_core.testing.conformance.notifier import Behave, NotifierConformance, Received, ReceivedMessage

LIMIT_S = 3.0


@pytest.fixture(scope="module")
def one_mail_server() -> Iterator[MailServer]:
    with mail_server() as made:
        yield made


@pytest.fixture(scope="module")
def one_chat_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatServer]:
    with chat_server(tmp_path_factory.mktemp("chat")) as made:
        yield made


class TestOutbox(NotifierConformance):
    @pytest.fixture
    def notifier(self) -> Notifier:
        return Outbox()

    @pytest.fixture
    def recipient(self) -> Recipient:
        return Recipient(kind="Email", to=("a@example.com", "b@example.com"))

    @pytest.fixture
    def received(self, notifier: Any) -> Received:
        return lambda: [
            ReceivedMessage(
                text=f"{entry.message.subject} {entry.message.text}",
                addresses=entry.recipient.to if entry.only is None else entry.only,
                key=entry.message.key_for(entry.recipient),
            )
            for entry in notifier.sent
        ]

    @pytest.fixture
    def behave(self, notifier: Any) -> Behave:
        return lambda state: None if state is DeliveryState.DELIVERED else notifier.fail_next(state=state)

    @pytest.fixture
    def stranger(self) -> None:
        return None

    @pytest.fixture
    def connects(self) -> bool:
        return False


class TestEmailNotifier(NotifierConformance):
    @pytest.fixture
    def server(self, one_mail_server: MailServer) -> MailServer:
        one_mail_server.mails.clear()
        one_mail_server.after_data = None
        return one_mail_server

    @pytest.fixture
    def notifier(self, server: MailServer) -> Notifier:
        place: Any = {"host": "127.0.0.1", "port": server.port, "security": "none"}
        return EmailNotifier(SmtpSettings(**place, sender="reports@example.com", timeout_s=LIMIT_S))

    @pytest.fixture
    def recipient(self) -> Recipient:
        return Recipient(kind="Email", to=("Ada <a@example.com>",), cc=("b@example.com",), bcc=("c@example.com",))

    @pytest.fixture
    def received(self, server: MailServer, recipient: Recipient) -> Received:
        names = {plain: named for named in recipient.addresses for _, plain in getaddresses([named])}

        def received() -> list[ReceivedMessage]:
            parsed = [(mail, mail.parsed()) for mail in server.mails]
            return [
                ReceivedMessage(
                    text=f"{found['Subject']} {found.get_body(('plain',)).get_content()}",
                    addresses=tuple(names[address] for address in mail.recipients),
                    key=found["Message-ID"],
                )
                for mail, found in parsed
            ]

        return received

    @pytest.fixture
    def behave(self, server: MailServer) -> Behave:
        refused, unavailable = "554 hunter2", "451 hunter2"
        replies = dict(zip(DeliveryState, (None, refused, unavailable, "break"), strict=True))
        return lambda state: setattr(server, "after_data", replies[state])

    @pytest.fixture
    def hang(self, server: MailServer) -> Callable[[], float]:
        return lambda: setattr(server, "after_data", "hang") or LIMIT_S


class OnAChat(NotifierConformance):
    path = ""

    @pytest.fixture
    def server(self, one_chat_server: ChatServer) -> ChatServer:
        one_chat_server.posts.clear()
        one_chat_server.answers.clear()
        return one_chat_server

    @pytest.fixture
    def received(self, server: ChatServer, recipient: Recipient) -> Received:
        return lambda: [
            ReceivedMessage(
                text=post.json()["text"], addresses=recipient.addresses, key=post.headers["idempotency-key"]
            )
            for post in server.posts
            if post.path.endswith(self.path)
        ]

    @pytest.fixture
    def behave(self, server: ChatServer) -> Behave:
        refused, unavailable = (404, {}, b"hunter2"), (503, {}, b"hunter2")
        answers = dict(zip(DeliveryState, (None, refused, unavailable, "break"), strict=True))
        return lambda state: server.answers.update({self.path: answers[state]})

    @pytest.fixture
    def hang(self, server: ChatServer) -> Callable[[], float]:
        return lambda: server.answers.update({self.path: "hang"}) or LIMIT_S


class TestChatWebhookNotifier(OnAChat):
    path = "T0"

    @pytest.fixture
    def notifier(self, server: ChatServer) -> Notifier:
        return ChatWebhookNotifier(ca_file=server.ca_file, timeout_s=LIMIT_S)

    @pytest.fixture
    def recipient(self, server: ChatServer) -> Recipient:
        return Recipient(kind="Chat", to=(f"{server.url}/hook/T0",))


class TestChatBotNotifier(OnAChat):
    path = "chat.postMessage"

    @pytest.fixture
    def notifier(self, server: ChatServer) -> Notifier:
        return ChatBotNotifier(token=TOKEN, base_url=f"{server.url}/api", ca_file=server.ca_file, timeout_s=LIMIT_S)

    @pytest.fixture
    def recipient(self) -> Recipient:
        return Recipient(kind="Chat", to=("#sales",))
