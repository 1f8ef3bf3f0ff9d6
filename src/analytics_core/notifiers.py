"""What sends messages to people: notifiers for mail servers and chats, to be handed to a core."""

from __future__ import annotations

from analytics_core._adapters.chat_notifiers import ChatBotNotifier, ChatWebhookNotifier
from analytics_core._adapters.smtp_notifier import EmailNotifier
from analytics_core._adapters.smtp_session import SmtpSettings

__all__ = ["ChatBotNotifier", "ChatWebhookNotifier", "EmailNotifier", "SmtpSettings"]
