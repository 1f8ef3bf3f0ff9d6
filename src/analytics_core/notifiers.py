"""What sends messages to people: notifiers for mail servers and chats, to be handed to a core.

One of your own keeps the promise of `analytics_core.ports.Notifier`, and is handed over the same way.
"""

from __future__ import annotations

from analytics_core._core.adapters.chat_notifiers import ChatBotNotifier, ChatWebhookNotifier
from analytics_core._core.adapters.configured_notifiers import notifiers_from_env
from analytics_core._core.adapters.smtp_notifier import EmailNotifier
from analytics_core._core.adapters.smtp_session import SmtpSettings

__all__ = [
    "ChatBotNotifier",
    "ChatWebhookNotifier",
    "EmailNotifier",
    "SmtpSettings",
    "notifiers_from_env",
]
