"""A message as an e-mail: read back by the standard library, it says what was meant, whatever stands in its fields."""

from __future__ import annotations

import binascii
import email
import hashlib
import io
import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._records.message import Attachment, Delivery, DeliveryState, Message, Recipient
from analytics_core._reports.mail import (
    MailAddress,
    _size,
    fitted,
    mail_headers,
    mail_parts,
    parse_address,
    split_addresses,
    without,
)
from analytics_core.errors import ErrorType, NotificationError

MOMENT = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
SENDER = MailAddress(address="reports@example.com", name="Berichte für alle")
ADA = Recipient(kind="Email", to=("ada@example.com",))
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3
HTML = '<html><body><p>Umsätze</p><img alt="" src="cid:chart-1"></body></html>'


def message(**changes: Any) -> Message:
    facts = {"key": "schedule 7, 2026-11-26T12:00Z", "subject": "Sales", "text": "Umsätze: 3 €\n.\nFrom here on"}
    return Message(**{**facts, **changes})


def picture(name: str = "chart.png", content_id: str = "chart-1") -> Attachment:
    return Attachment(name=name, content_type="image/png", content=PNG, content_id=content_id)


def csv_file(name: str = "orders.csv", content: Any = b"a,b\r\n1,2\r\n") -> Attachment:
    return Attachment(name=name, content_type="text/csv", content=content)


def composed(sent: Message, recipient: Recipient = ADA) -> bytes:
    return mail_headers(sent, recipient, sender=SENDER, moment=MOMENT) + b"".join(mail_parts(sent))


def read(sent: Message, recipient: Recipient = ADA) -> EmailMessage:
    found = email.message_from_bytes(composed(sent, recipient), policy=policy.default)
    assert isinstance(found, EmailMessage)
    assert not [part.defects for part in found.walk() if part.defects]
    return found


def types_of(found: EmailMessage) -> list[str]:
    return [part.get_content_type() for part in found.walk()]


# ----------------------------------------------------------------------------------------------------------- the parts
EVERY_PART = """\
From: =?utf-8?b?QmVyaWNodGUgZsO8ciBhbGxl?=
 <reports@example.com>
To: "A \\"B\\" C" <a@example.com>,
 b@example.com
Cc: c@example.com
Subject: Sales
Date: Thu, 26 Nov 2026 12:00:00 +0000
Message-ID: <{key}@example.com>
Auto-Submitted: auto-generated
MIME-Version: 1.0
Content-Type: multipart/mixed;
 boundary="=_m_{mark}"

--=_m_{mark}
Content-Type: multipart/alternative;
 boundary="=_a_{mark}"

--=_a_{mark}
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

3 =E2=82=AC
--=_a_{mark}
Content-Type: multipart/related; type="text/html";
 boundary="=_r_{mark}"

--=_r_{mark}
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<p>3</p>
--=_r_{mark}
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-ID: <chart-1>
Content-Disposition: inline;
 filename="chart.png"

AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AA==
--=_r_{mark}--
--=_a_{mark}--
--=_m_{mark}
Content-Type: text/csv
Content-Transfer-Encoding: base64
Content-Disposition: attachment;
 filename*=utf-8''%C3%A4.csv

YQ==
--=_m_{mark}--
"""


def test_a_mail_with_every_kind_of_part_is_written_to_the_byte() -> None:
    png = Attachment(name="chart.png", content_type="image/png", content=bytes(58), content_id="chart-1")
    sent = message(text="3 €\n", html="<p>3</p>", images=(png,), attachments=(csv_file("ä.csv", b"a"),))
    recipient = Recipient(
        kind="Email",
        to=('"A \\"B\\" C" <a@example.com>', "b@example.com"),
        cc=("c@example.com",),
        bcc=("d@example.com",),
    )
    mark = hashlib.sha256(sent.key.encode()).hexdigest()[:24]
    meant = EVERY_PART.format(mark=mark, key=sent.key_for(recipient)).replace("\n", "\r\n")
    assert composed(sent, recipient).decode() == meant


def test_addresses_and_words_of_headers_are_taken_up_to_their_longest() -> None:
    name = "n" * (500 - len(" <a@example.com>"))
    assert parse_address(f"{name} <a@example.com>") == MailAddress(address="a@example.com", name=name)
    with pytest.raises(NotificationError):
        parse_address(f"{name}n <a@example.com>")
    assert parse_address("a" * 64 + "@example.com").domain == "example.com"
    with pytest.raises(NotificationError):
        parse_address("a" * 65 + "@example.com")
    for subject, is_plain in (("x" * 66, True), ("x" * 67, False), ("x" * 65 + "é", False), ("=?x", False)):
        lines = composed(message(subject=subject)).decode().split("\r\n")
        assert (f"Subject: {subject}" in lines) is is_plain, subject
        assert max(map(len, lines)) <= 78
    for length, is_quoted in ((60, True), (61, False)):
        to = Recipient(kind="Email", to=(f"{'n' * length} <a@example.com>",))
        assert (f'To: "{"n" * length}" <a@example.com>'.encode() in composed(message(), to)) is is_quoted
    words = re.findall(r"=\?utf-8\?b\?(.*?)\?=", composed(message(subject="y" * 85 + "é")).decode())
    assert [len(binascii.a2b_base64(word)) for word in words[-3:]] == [42, 42, 3]


def test_a_file_that_just_fits_is_sent_and_one_byte_less_of_room_leaves_it_out() -> None:
    file = csv_file(content=b"x" * 58)
    text = sum(map(len, mail_parts(message()))) - len("plain") + len("html")
    room = 10_000 + text + 2 * 78 + 1_200
    sent = message(attachments=(file,))
    assert fitted(sent, max_bytes=room) == (sent, ())
    less, omitted = fitted(sent, max_bytes=room - 1)
    assert (less.attachments, omitted) == ((), (file,))
    both = message(attachments=(file, replace(file, name="second.csv")))
    assert [one.name for one in fitted(both, max_bytes=room)[1]] == ["second.csv"]
    plain = message()
    assert fitted(plain, max_bytes=10_000 + text) == (plain, ())
    assert fitted(plain, max_bytes=10_000 + text - 1)[0].text != plain.text


def test_a_note_names_what_was_left_out_with_its_size_and_why() -> None:
    sizes = {
        1: "1 bytes",
        999: "999 bytes",
        1_000: "1.0 kB",
        99_949: "99.9 kB",
        100_000: "100 kB",
        1_500_000: "1.5 MB",
        250_000_000: "250 MB",
        3_000_000_000: "3.0 GB",
    }
    for count, said in sizes.items():
        assert _size(count) == said
    files = (csv_file("a.csv", b"a"), csv_file("b.csv", b"bb"))
    plain = without(message(text="3 \n\n", attachments=files), files[:1], why="It is secret")
    assert plain.text == "3\n\nNot attached: a.csv (1 bytes). It is secret.\n"
    assert (plain.html, plain.attachments) == (None, files[1:])
    sent = message(text="3", html="<body><p>3</p></body>", attachments=files, link="https://bi.example.com/?a&b")
    page = without(sent, files, why="It is secret")
    note = "Not attached: a.csv (1 bytes), b.csv (2 bytes). It is secret; see "
    assert page.text == f"3\n\n{note}https://bi.example.com/?a&b.\n"
    link = '<a href="https://bi.example.com/?a&amp;b">https://bi.example.com/?a&amp;b</a>'
    assert page.html == f"<body><p>3</p><p>{note}{link}.</p></body>"
    bare = without(replace(sent, html="<p>3</p>", link=None), files, why="It is secret").html
    assert bare == "<p>3</p><p>Not attached: a.csv (1 bytes), b.csv (2 bytes). It is secret.</p>"


def test_text_alone_is_one_part() -> None:
    found = read(message())
    assert types_of(found) == ["text/plain"]
    assert found.get_content().replace("\r\n", "\n") == "Umsätze: 3 €\n.\nFrom here on\n"


def test_html_with_pictures_and_files_has_the_parts_that_readers_expect() -> None:
    found = read(message(html=HTML, images=(picture(),), attachments=(csv_file(),)))
    assert types_of(found) == [
        *("multipart/mixed", "multipart/alternative", "text/plain", "multipart/related", "text/html"),
        *("image/png", "text/csv"),
    ]
    image = next(part for part in found.walk() if part.get_content_type() == "image/png")
    assert (image["Content-ID"], image.get_content_disposition(), image.get_content()) == ("<chart-1>", "inline", PNG)
    assert found.get_body(("html",)).get_content().strip() == HTML  # type: ignore[union-attr]
    assert [part.get_filename() for part in found.iter_attachments()] == ["orders.csv"]


def test_pictures_of_a_message_without_html_are_attached() -> None:
    found = read(message(images=(picture(),)))
    assert [part.get_filename() for part in found.iter_attachments()] == ["chart.png"]


@for_each("name", ["Umsätze 2026 – Übersicht.csv", 'a"b;c=d%.csv', "日本語.csv", "a'b.csv", "x" * 300 + ".csv"])
def test_a_file_arrives_under_its_name(name: str) -> None:
    (part,) = read(message(attachments=(csv_file(name),))).iter_attachments()
    filename = part.get_filename() or ""
    assert filename == name or (len(name) > 180 and len(filename) == 180 and filename.endswith("x.csv"))


def test_folders_are_no_part_of_a_file_name() -> None:
    assert csv_file("../../etc/passwd").name == ".._.._etc_passwd"


@for_each("size", [0, 1, 56, 57, 58, 58_368, 58_369, 200_000])
def test_a_spooled_file_arrives_whole(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    with tempfile.SpooledTemporaryFile(max_size=1_000) as spooled:
        spooled.write(content)
        sent = message(attachments=(Attachment(name="a.bin", content_type="application/x", content=spooled),))
        for _ in range(2):
            (part,) = read(sent).iter_attachments()
            assert part.get_content() == content
    assert max(len(line) for line in composed(message(attachments=(csv_file(content=content),))).split(b"\r\n")) <= 998


def test_a_file_that_is_gone_is_an_error_of_ours() -> None:
    spooled = io.BytesIO(b"12345")
    sent = message(attachments=(csv_file(content=spooled),))
    spooled.truncate(2)
    with pytest.raises(NotificationError, match="cannot be read any more"):
        composed(sent)
    spooled.close()
    with pytest.raises(NotificationError, match="cannot be read any more"):
        composed(sent)


# --------------------------------------------------------------------------------------------------------- the headers
def test_headers_say_who_what_and_when() -> None:
    recipient = Recipient(
        kind="Email", to=("Ada Müller <ada@example.com>", "b@example.com"), cc=('"Doe, Jo" <jo@bücher.example>',)
    )
    found = read(message(subject="Umsätze – 3 €"), replace(recipient, bcc=("boss@example.com",)))
    assert found["Subject"] == "Umsätze – 3 €"
    assert [(a.display_name, a.addr_spec) for a in found["To"].addresses] == [
        ("Ada Müller", "ada@example.com"),
        ("", "b@example.com"),
    ]
    assert [(a.display_name, a.addr_spec) for a in found["Cc"].addresses] == [("Doe, Jo", "jo@xn--bcher-kva.example")]
    assert found["From"].addresses[0].display_name == "Berichte für alle"
    assert found["Date"].datetime == MOMENT
    assert "boss@example.com" not in composed(message(), replace(recipient, bcc=("boss@example.com",))).decode()


def test_the_message_id_is_the_same_for_ever_and_another_for_each_recipient() -> None:
    first = read(message())["Message-ID"]
    assert read(message())["Message-ID"] == first
    assert first.endswith("@example.com>")
    assert read(message(), Recipient(kind="Email", to=("b@example.com",)))["Message-ID"] != first
    assert read(message(key="another"))["Message-ID"] != first


BREAKS = ["\r", "\n", "\r\n", "\0", "\v", "\f", "\x85", "\u2028", "\u2029"]


@for_each("sign", BREAKS, ids=ascii)
@for_each(
    "make",
    [
        lambda text: message(subject=text),
        lambda text: message(key=text),
        lambda text: message(link=f"https://x/{text}"),
        csv_file,
        lambda text: Attachment(name="a", content_type=f"text/{text}", content=b""),
        lambda text: picture(content_id=text),
        lambda text: Recipient(kind="Email", to=(text,)),
        lambda text: Recipient(kind="Email", to=("a@x",), cc=(text,)),
        lambda text: Recipient(kind="Email", to=("a@x",), bcc=(text,)),
        parse_address,
    ],
    ids=["subject", "key", "link", "name", "type", "id", "to", "cc", "bcc", "parse_address"],
)
def test_no_field_begins_a_header_of_its_own(make: Any, sign: str) -> None:
    with pytest.raises(NotificationError) as caught:
        make(f"a@example.com{sign}Bcc: evil@example.com")
    assert caught.value.error_type is ErrorType.REPORT_NOTIFICATION_ERROR
    assert "evil" not in caught.value.message


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=120).filter(lambda text: not set(text) & set("\r\n\0")),
)
def test_whatever_a_subject_holds_comes_back_and_adds_no_header(subject: str) -> None:
    try:
        sent = message(subject=subject)
    except NotificationError:
        assert set(subject) & set("".join(BREAKS))
        return
    found = email.message_from_bytes(composed(sent))
    assert set(found.keys()) == {
        *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version"),
        *("Content-Type", "Content-Transfer-Encoding"),
    }
    decoded = str(email.header.make_header(email.header.decode_header(found["Subject"])))
    assert decoded == sent.subject


@given(st.text(max_size=60))
def test_whatever_a_name_holds_the_mail_goes_to_the_address(name: str) -> None:
    try:
        address = parse_address(f"{name} <ada@example.com>")
    except NotificationError:
        assert set(name) & set("".join([*BREAKS, "<>"]))
        return
    recipient = Recipient(kind="Email", to=(f"{name} <ada@example.com>",))
    to = read(message(), recipient)["To"]
    assert [a.addr_spec for a in to.addresses] == ["ada@example.com"]
    assert address.address == "ada@example.com"


def test_a_text_with_half_a_character_is_sent() -> None:
    found = read(message(subject="a\ud800b", text="c\ud800\0d"))
    assert (found["Subject"], found.get_content().strip()) == ("a?b", "c?\N{REPLACEMENT CHARACTER}d")


@for_each(
    "text",
    [
        *(
            "",
            "ada",
            "@example.com",
            "ada@",
            "a b@example.com",
            "ada@exa mple.com",
            "a@b@example.com",
            "<a@x",
            "a..b@x",
        ),
        *("ada@straße.example", "jürgen@example.com", "a@x>", "ada@-x.example", "a" * 600 + "@x", "a@x, b@x"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(NotificationError, match="no e-mail address"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a@x, b@x;c@x", ("a@x", "b@x", "c@x")),
        ('"Doe, Jo; Dr." <jo@x>, b@x', ('"Doe, Jo; Dr." <jo@x>', "b@x")),
        (" ;, ", ()),
        ('"open, a@x', ('"open, a@x',)),
    ],
)
def test_a_target_is_split_into_addresses(text: str, parts: tuple[str, ...]) -> None:
    assert split_addresses(text) == parts


def test_long_targets_are_read_in_linear_time() -> None:
    assert len(split_addresses('a"b"@x,' * 100_000)) == 100_000


# ------------------------------------------------------------------------------------------------------------ the size
def test_what_is_too_large_is_left_out_and_told_with_a_link() -> None:
    large = csv_file("orders.csv", b"x" * 300_000)
    full = message(
        html=HTML, images=(picture(),), attachments=(large, csv_file("small.csv")), link="https://app.example/1?a=1&b=2"
    )
    mail, omitted = fitted(full, max_bytes=100_000)
    assert [file.name for file in omitted] == ["orders.csv"]
    assert [file.name for file in mail.attachments] == ["small.csv"]
    note = "Not attached: orders.csv (300 kB). It would have made this mail too large; see "
    assert mail.text.endswith(f"{note}https://app.example/1?a=1&b=2.\n")
    assert f'{note}<a href="https://app.example/1?a=1&amp;b=2">' in (mail.html or "")
    assert (mail.html or "").endswith("</p></body></html>")
    assert len(composed(mail)) <= 100_000
    assert mail.key_for(ADA) == full.key_for(ADA)


def test_a_picture_that_is_left_out_leaves_its_name_and_no_broken_picture() -> None:
    mail, omitted = fitted(
        message(html=HTML, images=(replace(picture("a<b.png"), content=PNG * 1_000),)), max_bytes=100_000
    )
    assert (len(omitted), mail.images) == (1, ())
    assert "<img" not in (mail.html or "")
    assert "<em>[a&lt;b.png]</em>" in (mail.html or "")


def test_a_picture_with_a_long_description_leaves_no_broken_picture_either() -> None:
    page = HTML.replace('alt=""', f'width="800" alt="{"&quot;" * 1_000}"')
    mail, _ = fitted(message(html=page, images=(replace(picture(), content=PNG * 1_000),)), max_bytes=100_000)
    assert "<em>[chart.png]</em>" in (mail.html or "")
    assert "<img" not in (mail.html or "")


@for_each("character", ["x", "ä", "€", "\N{GRINNING FACE}", "=", "\n"])
def test_of_a_text_that_is_too_large_the_beginning_is_sent(character: str) -> None:
    mail, _ = fitted(message(text=character * 200_000, html=HTML, link="https://x/1"), max_bytes=100_000)
    assert len(composed(mail)) <= 100_000
    assert mail.html is None
    assert mail.text.endswith("The rest of this text would have made this mail too large; see https://x/1.\n")


@given(st.lists(st.integers(0, 90_000), max_size=6), st.text(max_size=2_000), st.integers(20_000, 200_000))
def test_a_fitted_mail_is_never_larger(sizes: list[int], text: str, most: int) -> None:
    files = tuple(csv_file(f"{number}.csv", b"x" * size) for number, size in enumerate(sizes))
    mail, omitted = fitted(message(text=text, html=f"<p>{text}</p>", attachments=files), max_bytes=most)
    assert len(composed(mail)) <= most
    assert {*mail.attachments, *omitted} == {*files}


# ----------------------------------------------------------------------------------------------------------- the rest
def test_addresses_of_web_hooks_are_shown_without_their_secrets() -> None:
    secret = "https://u:hunter2@hooks.example/T0/B0/hunter2?key=hunter2"
    recipient = Recipient(kind="Chat", to=(secret,))
    failed = Delivery(address=secret, state=DeliveryState.UNAVAILABLE, reason="it is away", retry_after_s=3.0)
    error = failed.error()
    assert error is not None
    assert "hunter2" not in f"{recipient!r} {failed!r} {error} {error!r} {error.extra}"
    assert (error.extra["recipient"], error.retry_after_s, error.retryable) == (
        "https://hooks.example/XXXXXXXXXX",
        3.0,
        True,
    )


@for_each(
    "make",
    [
        lambda: message(key=""),
        lambda: message(subject=None),
        lambda: message(text=None),
        lambda: message(link="javascript:alert(1)"),
        lambda: message(images=(csv_file(),)),
        lambda: message(images=(picture(), picture())),
        lambda: csv_file(content="text"),
        lambda: Attachment(name="a", content_type="text/csv; charset=x", content=b""),
        lambda: Recipient(kind="Email", to=()),
        lambda: Recipient(kind="Email", to=("",)),
    ],
)
def test_what_makes_no_message_is_refused(make: Any) -> None:
    with pytest.raises(NotificationError):
        make()
