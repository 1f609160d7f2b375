"""How a log record is written: one line, for people or as JSON for machines.

A message says what happened, and much of that comes from others: what would begin a line of its own, move a
terminal's cursor or change its colours is written as its escape. A stack follows on its own lines.
"""

import json
import logging
import time
from typing import Final, Literal

from collector.log_context import facts_of, prefix_of
from collector.printed import one_line

LogFormat = Literal["text", "json"]
TIME: Final = "%Y-%m-%dT%H:%M:%S"


def formatter(process: str, kind: LogFormat) -> logging.Formatter:
    """What writes the records of a process."""
    return JsonLines(process) if kind == "json" else TextLines(process)


class TextLines(logging.Formatter):
    """``time level [process] context message (logger)``; the time is UTC."""

    def __init__(self, process: str) -> None:
        line = f"%(asctime)s.%(msecs)03dZ %(levelname)s [{process}] %(context)s%(message)s (%(name)s)"
        super().__init__(line, TIME)
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's own
        """The line without the stack."""
        record.message = one_line(record.message.rstrip("\n"))
        return super().formatMessage(record)


class JsonLines(logging.Formatter):
    """An object a line: time, level, process, logger, message; context, ids, exception if there are any."""

    def __init__(self, process: str) -> None:
        super().__init__(datefmt=TIME)
        self._process = process
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {
            "time": f"{self.formatTime(record, TIME)}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
            "context": prefix_of(record),
            **facts_of(record),
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: value for name, value in told.items() if value})
