"""Alerts and reports that arrive in a real mail server and at a real receiver of web hooks, as people open them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pytest
from python_calamine import CalamineWorkbook
from tests.support.chat_server import ChatServer, chat_server
from tests.support.mail_server import PASSWORD, USER, MailServer, mail_server
from tests.support.reports import ReportWorld, chat, form, mail, report_world

from analytics_core.notifiers import ChatWebhookNotifier, EmailNotifier, SmtpSettings
from analytics_core.testing import InlineJobRunner

ADDRESSES = "Bob Müller <bob@example.com>; eve@example.com"


@pytest.fixture
def mails(tmp_path: Path) -> Iterator[MailServer]:
    """Give a mail server that wants encryption and a password."""
    folder = tmp_path / "mail"
    folder.mkdir()
    with mail_server(folder, security="starttls", auth_required=True) as server:
        yield server


@pytest.fixture
def chats(tmp_path: Path) -> Iterator[ChatServer]:
    """Give a receiver of web hooks."""
    folder = tmp_path / "chat"
    folder.mkdir()
    with chat_server(folder) as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, mails: MailServer, chats: ChatServer) -> Iterator[ReportWorld]:
    """Give a core that sends to both."""
    smtp = SmtpSettings(
        host="127.0.0.1",
        port=mails.port,
        sender="Reports <reports@example.com>",
        username=USER,
        password=PASSWORD,
        ca_file=mails.ca_file,
    )
    to_people = (EmailNotifier(smtp), ChatWebhookNotifier(ca_file=chats.ca_file))
    reached = {
        "allowed_networks": ("127.0.0.1",),
        "url_for": lambda kind, values: f"https://bi.example/{kind}/{values['id']}",
    }
    with report_world(tmp_path, jobs=InlineJobRunner(), settings=reached, notifiers=to_people) as made:
        yield made


def arrived(mails: MailServer) -> EmailMessage:
    """Return the only mail, as a mail program reads it; `ANALYTICS_CORE_KEEP_MAILS` names a folder to look at it in."""
    (found,) = mails.mails
    parsed = found.parsed()
    folder = os.environ.get("ANALYTICS_CORE_KEEP_MAILS")
    if folder:
        name = "".join(letter for letter in str(parsed["Subject"]) if letter.isalnum())
        page = parsed.get_body(("html",))
        assert page is not None
        Path(folder, f"{name}.html").write_text(page.get_content(), encoding="utf-8")
    return parsed


def test_a_report_as_text_arrives(world: ReportWorld, mails: MailServer) -> None:
    world.report(recipients=[mail(ADDRESSES, ccTarget="carl@example.com", bccTarget="dora@example.com")])
    world.pass_time()
    parsed = arrived(mails)
    assert (parsed["Subject"], parsed["Cc"]) == ("[Report] orders: By region", "carl@example.com")
    assert parsed["To"] == "Bob Müller <bob@example.com>, eve@example.com"
    assert "dora" not in str(parsed)
    assert mails.mails[0].recipients == ("bob@example.com", "eve@example.com", "carl@example.com", "dora@example.com")
    plain, page = parsed.get_body(("plain",)), parsed.get_body(("html",))
    assert plain is not None
    assert page is not None
    assert "US       21.0" in plain.get_content()
    assert '<td class="n">21.0</td>' in page.get_content()
    assert 'href="https://bi.example/chart/1"' in page.get_content()


@pytest.mark.slow
def test_a_report_as_csv_and_one_as_a_workbook_arrive(world: ReportWorld, mails: MailServer) -> None:
    world.report(report_format="CSV", context_markdown="As *every* hour.", recipients=[mail("bob@example.com")])
    world.pass_time()
    (file,) = arrived(mails).iter_attachments()
    assert file.get_filename() == "By_region.csv"
    assert file.get_payload(decode=True) == world.admin.charts.data(1).to_csv()
    mails.mails.clear()
    world.admin.reports.delete(1)
    world.report(name="sheets", extra={"format": "XLSX"}, recipients=[mail("bob@example.com")])
    world.pass_time()
    (file,) = arrived(mails).iter_attachments()
    sheet = CalamineWorkbook.from_filelike(BytesIO(file.get_content())).get_sheet_by_index(0).to_python()
    assert sheet[0] == ["region", "total"]
    assert len(sheet) == 3


def test_an_alert_arrives_by_mail_and_at_a_web_hook(world: ReportWorld, mails: MailServer, chats: ChatServer) -> None:
    made = world.alert(recipients=[mail("bob@example.com"), chat(f"{chats.url}/hook/T0/B0")])
    world.pass_time()
    assert world.states(made) == ["Success"]
    assert arrived(mails)["Subject"] == "[Alert] many orders: By region"
    (post,) = chats.posts
    assert "[Alert] many orders: By region" in post.json()["text"]
    assert "value 3" in post.json()["text"]


def test_a_mail_server_that_refuses_is_told_by_recipient_and_reason(world: ReportWorld, mails: MailServer) -> None:
    mails.replies["eve@example.com"] = "550 hunter2 is unknown here"
    made = world.report(recipients=[mail(ADDRESSES)])
    world.pass_time()
    (run,) = world.runs(made)
    assert run.state == "Error"
    assert run.error_message == "eve@example.com was not reached: the mail server answered RCPT TO with 550"
    assert [found.recipients for found in mails.mails] == [("bob@example.com",), ("ada@example.com",)]


def test_a_chart_of_many_columns_and_rows_is_cut_with_a_word(world: ReportWorld, mails: MailServer) -> None:
    world.run_sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "INSERT INTO orders SELECT i, '2026-01-01', 'region ' || i, i * 1.5 FROM n;"
    )
    world.admin.charts.update(1, {"params": form(1, row_limit=500)})
    world.report(recipients=[mail("bob@example.com")])
    world.pass_time()
    page = arrived(mails).get_body(("html",))
    assert page is not None
    assert "first 200 of 500 rows; cut at 500 rows by row_limit" in page.get_content()
