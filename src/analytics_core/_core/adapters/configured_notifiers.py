"""The notifiers that variables of an environment describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from analytics_core._core.adapters.chat_notifiers import ChatBotNotifier, ChatWebhookNotifier
from analytics_core._core.adapters.smtp_notifier import EmailNotifier
from analytics_core._core.adapters.smtp_session import SmtpSettings
from analytics_core._records.environment import PREFIX, values_of
from analytics_core.errors import SettingsError
from analytics_core.ports import Notifier

SMTP: Final = f"{PREFIX}SMTP_"
BOT_TOKEN: Final = f"{PREFIX}CHAT_BOT_TOKEN"


def notifiers_from_env(environ: Mapping[str, str]) -> tuple[Notifier, ...]:
    """Return the notifiers that variables describe: web hooks always, a mail server and a bot where they are named.

    Args:
        environ: variables by name, such as `os.environ`: `ANALYTICS_CORE_SMTP_HOST`, `ANALYTICS_CORE_SMTP_SENDER` and
            the others by the names of the fields of `SmtpSettings`; `ANALYTICS_CORE_CHAT_BOT_TOKEN`.

    Raises:
        SettingsError: a value that is none, which the message names by its variable and does not repeat.
    """
    types = {setting.name: str(setting.type) for setting in fields(SmtpSettings)}
    smtp = values_of(environ, types, prefix=SMTP)
    token = environ.get(BOT_TOKEN)
    if smtp and not ("host" in smtp and "sender" in smtp):
        raise SettingsError(f"a mail server needs {SMTP}HOST and {SMTP}SENDER")
    mail = (EmailNotifier(SmtpSettings(**smtp)),) if smtp else ()
    bot = (ChatBotNotifier(token=token),) if token else ()
    return (*mail, ChatWebhookNotifier(), *bot)
