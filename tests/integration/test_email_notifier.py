"""E-mail on real servers: what arrives is what was meant; each address gets an answer, whatever a server does."""

from __future__ import annotations

import gc
import io
import os
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.mail_server import PASSWORD, USER, MailServer, mail_server, scripted_server

from analytics_core._core.adapters.smtp_notifier import _MailAttempt
from analytics_core.errors import DatabaseError, NotificationError, SettingsError
from analytics_core.notifiers import EmailNotifier, SmtpSettings
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

# The server of the tests does not know that its connection was encrypted from the first byte.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")

DELIVERED, REFUSED, UNAVAILABLE, UNKNOWN = DeliveryState
ADA = Recipient(kind="Email", to=("Ada Müller <ada@example.com>",))
THREE = Recipient(kind="Email", to=("a@example.com",), cc=("b@example.com",), bcc=("c@example.com",))
SENDER = "Berichte für alle <reports@example.com>"
HTML = '<html><body><p>Umsätze</p><img alt="" src="cid:chart-1"></body></html>'


def lookup(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
    assert purpose is DestinationPurpose.MAIL
    return ("127.0.0.1",)


def message(**changes: Any) -> Message:
    facts = {"key": "schedule 7", "subject": "Umsätze im März", "text": ".a dot\n..two\n.\nFrom me\n"}
    return Message(**{**facts, **changes})


@contextmanager
def notifier_for(
    server: Any, *, addresses: AddressLookup = lookup, clock: Any = None, **changes: Any
) -> Iterator[EmailNotifier]:
    facts = {"host": "127.0.0.1", "port": server.port, "sender": SENDER, "security": "none", "timeout_s": 10.0}
    made = EmailNotifier(SmtpSettings(**{**facts, **changes}), clock=clock)
    assert isinstance(made, Notifier)
    made.start(addresses)
    with closing(made):
        yield made


def states(deliveries: Sequence[Delivery]) -> list[DeliveryState]:
    return [delivery.state for delivery in deliveries]


@pytest.fixture(scope="module")
def plain_server() -> Iterator[MailServer]:
    with mail_server() as made:
        yield made


@pytest.fixture
def server(plain_server: MailServer) -> Iterator[MailServer]:
    plain_server.mails.clear()
    yield plain_server
    plain_server.replies.clear()
    plain_server.greetings.clear()
    plain_server.after_data = None


# ----------------------------------------------------------------------------------------------------- what arrives
def test_a_mail_arrives_as_it_was_meant(server: MailServer) -> None:
    png, rows = bytes(range(256)) * 50, b"a,b\r\n1,2\r\n" * 5_000
    sent = message(
        html=HTML,
        images=(Attachment(name="chart.png", content_type="image/png", content=png, content_id="chart-1"),),
        attachments=(Attachment(name="Umsätze.csv", content_type="text/csv", content=io.BytesIO(rows)),),
    )
    moment = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
    with notifier_for(server, clock=FixedClock(moment)) as notifier:
        assert [(one.address, one.state, one.reason) for one in notifier.send(sent, ADA)] == [
            ("Ada Müller <ada@example.com>", DELIVERED, "")
        ]
    (mail,) = server.mails
    assert (mail.sender, mail.recipients) == ("reports@example.com", ("ada@example.com",))
    found = mail.parsed()
    assert (found["From"], found["To"], found["Subject"]) == (SENDER, ADA.to[0], "Umsätze im März")
    assert found["Date"].datetime == moment
    assert found["Message-ID"] == f"<{sent.key_for(ADA)}@example.com>"
    assert server.greetings == ["example.com"]
    contents = {part.get_content_type(): part.get_content() for part in found.walk() if not part.is_multipart()}
    assert contents["text/plain"].replace("\r\n", "\n") == sent.text.removesuffix("\n")  # it belongs to the boundary
    assert contents["text/html"].strip() == HTML
    assert (contents["image/png"], contents["text/csv"].encode()) == (png, rows)


def test_hidden_recipients_stay_hidden(server: MailServer) -> None:
    with notifier_for(server) as notifier:
        assert states(notifier.send(message(), THREE)) == [DELIVERED] * 3
    (mail,) = server.mails
    assert mail.recipients == THREE.addresses
    assert b"c@example.com" not in mail.content


def test_only_the_addresses_that_are_asked_for_get_it_with_the_same_key(server: MailServer) -> None:
    with notifier_for(server) as notifier:
        notifier.send(message(), THREE)
        assert [one.address for one in notifier.send(message(), THREE, only=["b@example.com"])] == ["b@example.com"]
        assert notifier.send(message(), THREE, only=()) == ()
    first, second = server.mails
    assert second.recipients == ("b@example.com",)
    assert first.parsed()["Message-ID"] == second.parsed()["Message-ID"]


def test_an_address_that_is_named_twice_gets_one_mail(server: MailServer) -> None:
    twice = Recipient(kind="Email", to=("Ada <ada@example.com>",), bcc=("ada@example.com",))
    with notifier_for(server) as notifier:
        assert states(notifier.send(message(), twice)) == [DELIVERED] * 2
    assert server.mails[0].recipients == ("ada@example.com",)


def test_it_takes_addresses_of_mail_alone() -> None:
    notifier = EmailNotifier(SmtpSettings(host="mail.example.com", sender=SENDER))
    assert notifier.takes(ADA)
    assert not notifier.takes(Recipient(kind="Chat", to=("ada@example.com",)))
    assert not notifier.takes(Recipient(kind="Email", to=("ada@example.com", "https://example.com")))


ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@pytest.fixture(scope="module")
def plain_notifier(plain_server: MailServer) -> Iterator[EmailNotifier]:
    with notifier_for(plain_server) as made:
        yield made


@pytest.mark.slow
@given(subject=ANY_TEXT, name=ANY_TEXT, text=ANY_TEXT)
def test_nothing_is_smuggled_into_headers_or_out_of_the_mail(
    plain_server: MailServer, plain_notifier: EmailNotifier, subject: str, name: str, text: str
) -> None:
    plain_server.mails.clear()
    try:
        sent = message(subject=subject, text=f"{text}\r\n.\r\nMAIL FROM:<x@example.com>\r\n{text}")
        recipient = Recipient(kind="Email", to=(f"{name} <ada@example.com>",))
        plain_notifier.send(sent, recipient)
    except NotificationError:
        assert plain_server.mails == []
        return
    (mail,) = plain_server.mails
    assert mail.recipients == ("ada@example.com",)
    names = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version"]
    assert mail.parsed().keys() == [*names, "Content-Type", "Content-Transfer-Encoding"]


# ------------------------------------------------------------------------------------------------ encryption, sign-in
@pytest.fixture(scope="module", params=["starttls", "tls"])
def encrypted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("tls")
    with mail_server(folder, security=request.param, auth_required=True) as made:
        yield made, {"security": request.param, "ca_file": made.ca_file}


SIGN_IN = {"username": USER, "password": PASSWORD}


def test_an_encrypted_mail_arrives_after_the_sign_in(encrypted: Any) -> None:
    server, how = encrypted
    server.mails.clear()
    server.users.clear()
    with notifier_for(server, **how, **SIGN_IN) as notifier:
        assert [states(notifier.send(message(), ADA)) for _ in range(2)] == [[DELIVERED]] * 2
    assert (server.users, len(server.mails)) == ([USER], 2)


def test_a_wrong_password_is_refused_and_never_told(encrypted: Any) -> None:
    server, how = encrypted
    with notifier_for(server, **how, username=USER, password="hunter2") as notifier:
        (outcome,) = notifier.send(message(), ADA)
        assert "hunter2" not in repr(notifier._settings) + repr(outcome) + outcome.reason
    assert (outcome.state, outcome.reason) == (REFUSED, "the mail server answered the user name and password with 535")


def test_a_certificate_that_nobody_vouches_for_or_of_another_host_ends_it(encrypted: Any) -> None:
    server, how = encrypted
    for changes in ({"ca_file": None}, {"host": "mail.example.com"}):
        with notifier_for(server, **{**how, **SIGN_IN, **changes}) as notifier:
            (outcome,) = notifier.send(message(), ADA)
        assert outcome.state is REFUSED
        assert "no certificate of a trusted authority" in outcome.reason


def test_a_server_without_starttls_gets_nothing(server: MailServer) -> None:
    with notifier_for(server, security="starttls", **SIGN_IN) as notifier:
        (outcome,) = notifier.send(message(), ADA)
    assert (outcome.state, server.mails) == (REFUSED, [])
    assert "does not offer STARTTLS" in outcome.reason


def test_what_is_said_before_the_encryption_does_not_count() -> None:
    """A reply that somebody puts behind that to STARTTLS is not read as one of the encrypted server."""
    script = {"EHLO": b"250-hello\r\n250 STARTTLS\r\n", "STARTTLS": b"220 go\r\n250 AUTH PLAIN\r\n"}
    with scripted_server(script) as server, notifier_for(server, security="starttls", **SIGN_IN) as notifier:
        (outcome,) = notifier.send(message(), ADA)
        assert (outcome.state, outcome.reason) == (
            UNAVAILABLE,
            "the mail server cannot be reached by an encrypted connection",
        )
        assert not [line for line in server.said if b"AUTH" in line or b"MAIL" in line]


@for_each(
    ("changes", "match"),
    [
        ({"security": "none", **SIGN_IN}, "not encrypted"),
        ({"username": "reports"}, "together"),
        ({"security": "ssl"}, "starttls"),
        ({"host": "mail.example.com:25"}, "host"),
        ({"host": ""}, "host"),
        ({"port": 0}, "port"),
        ({"sender": "nobody"}, "sender"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"max_bytes": 100}, "max_bytes"),
        ({"ca_file": "missing.pem"}, "ca_file"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        EmailNotifier(SmtpSettings(**{"host": "mail.example.com", "sender": SENDER, **changes}))


# ------------------------------------------------------------------------------------------------------- each address
def test_settings_have_the_ports_of_the_standards_and_waits_as_documented() -> None:
    for security, port in (("starttls", 587), ("tls", 465), ("none", 25)):
        made = SmtpSettings(host="mail.example.com", sender=SENDER, security=security)  # type: ignore[arg-type]  # words
        assert made.place == ("mail.example.com", port)
        assert (made.timeout_s, made.idle_s, made.max_bytes, made.ca_file) == (60.0, 10.0, 20_000_000, None)


def test_a_refused_address_does_not_keep_the_others_from_it(server: MailServer) -> None:
    server.replies |= {"a@example.com": "550 no hunter2 here", "b@example.com": "450 come back later"}
    with notifier_for(server) as notifier:
        outcomes = notifier.send(message(), THREE)
        assert states(outcomes) == [REFUSED, UNAVAILABLE, DELIVERED]
        assert [one.reason for one in outcomes] == [
            "the mail server answered RCPT TO with 550",
            "the mail server answered RCPT TO with 450",
            "",
        ]
        assert server.mails[0].recipients == ("c@example.com",)
        server.replies.pop("b@example.com")  # as a server with a grey list does
        assert states(notifier.send(message(), THREE, only=["b@example.com"])) == [DELIVERED]


def test_nothing_is_sent_where_no_address_is_taken(server: MailServer) -> None:
    server.replies |= dict.fromkeys(THREE.addresses, "550 no")
    with notifier_for(server) as notifier:
        assert states(notifier.send(message(), THREE)) == [REFUSED] * 3
        assert states(notifier.send(message(), ADA)) == [DELIVERED]
    assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("reply", "state"),
    [("451 later", UNAVAILABLE), ("421 bye", UNAVAILABLE), ("554 spam", REFUSED), ("break", UNKNOWN)],
)
def test_the_answer_to_the_mail_counts(server: MailServer, reply: str, state: DeliveryState) -> None:
    server.after_data = reply
    with notifier_for(server) as notifier:
        (outcome,) = notifier.send(message(), ADA)
    assert outcome.state is state
    assert not {"later", "bye", "spam"} & set(outcome.reason.split())


def test_a_server_that_hangs_after_the_mail_may_have_it(server: MailServer) -> None:
    server.after_data = "hang"
    server.replies["a@example.com"] = "550 no"
    began = time.monotonic()
    with notifier_for(server, timeout_s=0.7) as notifier:
        assert states(notifier.send(message(), THREE)) == [REFUSED, UNKNOWN, UNKNOWN]
    assert 0.5 < time.monotonic() - began < 3


SILENCE = [(word, what) for word in ("greeting", "EHLO", "MAIL", "RCPT", "DATA") for what in ("hang", "drip")]


@pytest.mark.slow
@for_each(("word", "what"), [*SILENCE, (".", "hang"), (".", "drip")])
def test_no_attempt_takes_longer_than_its_time(word: str, what: str) -> None:
    with scripted_server({word: what}) as server, notifier_for(server, timeout_s=0.5) as notifier:
        began = time.monotonic()
        assert states(notifier.send(message(), ADA)) == [UNKNOWN if word == "." else UNAVAILABLE]
        assert time.monotonic() - began < 2.5


@pytest.mark.slow
def test_a_server_that_reads_no_more_is_given_up() -> None:
    sent = message(attachments=(csv_file(8_000_000),))
    script = {"EHLO": b"250 hello\r\n", "DATA": "deaf"}
    with scripted_server(script) as server, notifier_for(server, timeout_s=1.0) as notifier:
        began = time.monotonic()
        assert states(notifier.send(sent, ADA)) == [UNAVAILABLE]
        assert time.monotonic() - began < 3


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted otherwise here")
@pytest.mark.parametrize("word", ["greeting", "EHLO", ".", "QUIT"])
def test_no_connection_stays_open_after_the_end(word: str) -> None:
    with scripted_server({word: "hang"}) as server:
        with notifier_for(server, timeout_s=0.3) as notifier, ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: notifier.send(message(), ADA), range(8)))
            assert connections_to(server.port) or word != "QUIT"
        deadline = time.monotonic() + 5
        while connections_to(server.port):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def connections_to(port: int) -> list[str]:
    """Return the connections of this process to a port, from its own end."""
    lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    own = {line[9] for line in lines if line[2].endswith(f":{port:04X}")}
    links = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            links.append(os.readlink(link))
    return [link for link in links if link.removeprefix("socket:[").rstrip("]") in own]


@pytest.mark.slow
@for_each(
    ("script", "state"),
    [
        ({"greeting": b"421 too many\r\n"}, UNAVAILABLE),
        ({"greeting": b"554 go away\r\n"}, REFUSED),
        ({"greeting": b"SSH-2.0-x\r\n"}, UNAVAILABLE),
        ({"greeting": b"2"}, UNAVAILABLE),
        ({"EHLO": b"250-" + b"x" * 100_000 + b"\r\n250 OK\r\n"}, UNAVAILABLE),
        ({"EHLO": "flood"}, UNAVAILABLE),
        ({"EHLO": b"500 what\r\n", "HELO": b"250 hello\r\n"}, DELIVERED),
        ({"EHLO": b"500 what\r\n"}, REFUSED),
        ({"EHLO": b"250 SIZE " + b"9" * 500 + b"\r\n"}, DELIVERED),
        ({"MAIL": b"552 too big\r\n"}, REFUSED),
        ({"MAIL": b"452 full\r\n"}, UNAVAILABLE),
        ({"RCPT": b"421 bye\r\n"}, UNAVAILABLE),
        ({"RCPT": "close"}, UNAVAILABLE),
        ({"DATA": b"554 no\r\n"}, REFUSED),
        ({"DATA": "close"}, UNAVAILABLE),
        ({".": b"what?\r\n"}, UNKNOWN),
        ({".": "flood"}, UNKNOWN),
        ({".": "close"}, UNKNOWN),
    ],
)
def test_an_odd_server_gets_its_state(script: dict[str, Any], state: DeliveryState) -> None:
    with scripted_server(script) as server, notifier_for(server, timeout_s=2 if "2" in str(script) else 10) as notifier:
        assert states(notifier.send(message(), ADA)) == [state]


def test_nobody_who_listens_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with notifier_for(type("Nobody", (), {"port": port})) as notifier:
        assert states(notifier.send(message(), ADA)) == [UNAVAILABLE]


def test_what_the_network_policy_refuses_is_not_connected_to(server: MailServer) -> None:
    def refusing(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
        raise DatabaseError("the network policy does not let it be reached", retryable=False)

    with notifier_for(server, addresses=refusing) as notifier:
        (outcome,) = notifier.send(message(), ADA)
    assert (outcome.state, server.greetings) == (REFUSED, [])


def test_nothing_is_sent_before_the_start_and_after_the_end(server: MailServer) -> None:
    notifier = EmailNotifier(SmtpSettings(host="127.0.0.1", port=server.port, sender=SENDER, security="none"))
    with pytest.raises(NotificationError, match="not started"):
        notifier.send(message(), ADA)
    notifier.start(lookup)
    notifier.close()
    with pytest.raises(NotificationError, match="closed"):
        notifier.send(message(), ADA)
    assert server.mails == []


# --------------------------------------------------------------------------------------------------------------- size
def csv_file(size: int) -> Attachment:
    return Attachment(name="orders.csv", content_type="text/csv", content=b"x" * size)


@pytest.mark.parametrize("limit", [{"server": 100_000}, {"own": 100_000}])
def test_what_is_too_large_is_left_out_and_told(limit: dict[str, int]) -> None:
    with (
        mail_server(data_size_limit=limit.get("server", 10_000_000)) as server,
        notifier_for(server, max_bytes=limit.get("own", 20_000_000)) as notifier,
    ):
        sent = message(attachments=(csv_file(200_000),), link="https://bi.example.com/7")
        (outcome,) = notifier.send(sent, ADA)
        assert (outcome.state, outcome.reason) == (
            DELIVERED,
            "left out, as the mail would have been too large: orders.csv",
        )
        text = server.mails[0].parsed().get_content()
        assert "orders.csv (200 kB)" in text
        assert "https://bi.example.com/7" in text
        (outcome,) = notifier.send(message(text="y" * 300_000), ADA)
        assert "the end of its text was left out" in outcome.reason
        many = Recipient(kind="Email", to=tuple(f"person-{number}@example.com" for number in range(400)))
        assert set(states(notifier.send(message(attachments=(csv_file(55_000),)), many))) == {DELIVERED}
        assert max(len(mail.content) for mail in server.mails) <= 100_000


# --------------------------------------------------------------------------------------------------- one connection
def test_mails_one_after_the_other_share_a_connection(server: MailServer) -> None:
    with notifier_for(server) as notifier:
        for _ in range(5):
            notifier.send(message(), ADA)
    assert len({mail.port_of_client for mail in server.mails}) == 1


def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    with scripted_server({"RSET": "close"}) as server, notifier_for(server) as notifier:
        assert [states(notifier.send(message(), ADA)) for _ in range(3)] == [[DELIVERED]] * 3
        assert server.connections == 3


def test_a_connection_that_nobody_uses_is_closed() -> None:
    with scripted_server({}) as server, notifier_for(server, idle_s=0.2) as notifier:
        notifier.send(message(), ADA)
        deadline = time.monotonic() + 5
        while b"QUIT\r\n" not in server.said:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        notifier.send(message(), ADA)
        assert server.connections == 2


def test_a_connection_whose_mail_ends_after_the_notifier_is_closed_too() -> None:
    with scripted_server({}) as server, notifier_for(server) as notifier:
        notifier.send(message(), ADA)
        in_use = notifier._pool.take()
        assert in_use is not None
        notifier.close()
        assert b"QUIT\r\n" not in server.said
        notifier._pool.put(in_use)
        deadline = time.monotonic() + 5
        while b"QUIT\r\n" not in server.said:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_connection_that_waited_too_long_is_not_used_again(server: MailServer) -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    with notifier_for(server, clock=clock) as notifier:
        for _ in range(2):
            notifier.send(message(), ADA)
            clock.advance(timedelta(seconds=20))
    assert len({mail.port_of_client for mail in server.mails}) == 2


def test_what_ends_an_attempt_does_not_end_the_mail_of_another_on_its_connection(server: MailServer) -> None:
    with notifier_for(server) as notifier:
        attempt = _MailAttempt(ADA.addresses)
        notifier._deliver(attempt, message(), ADA, lookup)
        attempt.abort()  # the caller was late to see that it was done
        assert states(notifier.send(message(), ADA)) == [DELIVERED]
    assert len({mail.port_of_client for mail in server.mails}) == 1


def test_many_threads_send_at_once(server: MailServer) -> None:
    people = [Recipient(kind="Email", to=(f"person-{number}@example.com",)) for number in range(60)]
    sent = message()
    with notifier_for(server) as notifier, ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda one: states(notifier.send(sent, one)), people))
    assert found == [[DELIVERED]] * 60
    assert sorted(mail.recipients for mail in server.mails) == sorted(one.addresses for one in people)
    assert len({mail.port_of_client for mail in server.mails}) <= 6


class CountedFile(io.BytesIO):
    reads = 0

    def read(self, *args: Any) -> bytes:
        self.reads += 1
        return super().read(*args)


def test_the_parts_of_a_message_are_made_once_and_forgotten_with_it(server: MailServer) -> None:
    content = CountedFile(b"x" * 10_000)
    sent = message(attachments=(Attachment(name="a.csv", content_type="text/csv", content=content),))
    with notifier_for(server) as notifier:
        for number in range(20):
            notifier.send(sent, Recipient(kind="Email", to=(f"person-{number}@example.com",)))
        assert content.reads == 1
        assert len(notifier._mails._entries) == 1
        del sent
        gc.collect()
        assert len(notifier._mails._entries) == 0
    assert len(server.mails) == 20


def test_a_file_that_cannot_be_read_any_more_refuses_the_mail(server: MailServer) -> None:
    content = io.BytesIO(b"x" * 10_000)
    sent = message(attachments=(Attachment(name="a.csv", content_type="text/csv", content=content),))
    content.close()
    with notifier_for(server) as notifier:
        assert states(notifier.send(sent, ADA)) == [REFUSED]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_a_connection_of_its_own(server: MailServer) -> None:
    with notifier_for(server) as notifier:
        notifier.send(message(), ADA)
        child = os.fork()
        if child == 0:
            is_sent = False
            try:
                is_sent = states(notifier.send(message(), ADA)) == [DELIVERED]
            finally:
                os._exit(0 if is_sent else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        notifier.send(message(), ADA)
    ports = [mail.port_of_client for mail in server.mails]
    assert (ports[0] == ports[2], len(set(ports))) == (True, 2)
