"""What sends messages to people: notifiers for mail servers and chats, to be handed to a core."""

from __future__ import annotations

from typing import Final

from analytics_core._adapters.chat_notifiers import ChatBotNotifier, ChatWebhookNotifier
from analytics_core._adapters.smtp_notifier import EmailNotifier
from analytics_core._adapters.smtp_session import SmtpSettings

__all__ = ["ENTRY_POINTS", "ChatBotNotifier", "ChatWebhookNotifier", "EmailNotifier", "SmtpSettings"]

ENTRY_POINTS: Final = "analytics_core.notifiers"
"""The group of entry points that is kept free for notifiers of packages; nothing reads it yet."""
