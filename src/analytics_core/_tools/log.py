"""The library's loggers, of which each event is one line: texts of people and hosts stand in it."""

from __future__ import annotations

import logging
import re
from typing import Any, Final

_NOT_IN_A_LINE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class _OneLine(logging.Filter):
    r"""Writes line breaks and other control characters in the texts of an event as escapes, such as `\n`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the event pass, its texts in one line."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_escaped, record.args))
        return True


def _escaped(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _NOT_IN_A_LINE.sub(lambda found: found[0].encode("unicode_escape").decode(), value)


_one_line: Final = _OneLine()


def line_log(name: str) -> logging.Logger:
    """Return the logger of this name, whose events are one line each."""
    log = logging.getLogger(name)
    log.addFilter(_one_line)
    return log
