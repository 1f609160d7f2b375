"""Log lines: the context that they carry (KIP-611), and how they are written, for people or for machines.

Inside ``log_context`` the lines of a thread carry ``[name|scope|seqno] ``: our own lines, and those of the
source's modules and of the libraries that it calls. Threads that a source starts begin without context. TRACE
lies below DEBUG.

Much of what a message holds comes from others. A character that would begin a new line, move a terminal's
cursor, change its colours or turn the direction of writing is written as its escape, or refused where the
text is ours to refuse. A stack trace follows on its own lines, of which the same holds; they are indented, so
that none of them reads like a line of ours.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import Final, Literal, TypeVar

TRACE: Final = 5
logging.addLevelName(TRACE, "TRACE")

T = TypeVar("T")

_prefix: ContextVar[str] = ContextVar("prefix", default="")
_facts: ContextVar[Mapping[str, str]] = ContextVar("facts", default=MappingProxyType({}))


class Scope(StrEnum):
    """What a line is about: a source that reads, one that starts others, or one that is being validated."""

    TASK = "task-0"
    CONNECTOR = "worker"
    VALIDATION = "validate"


@contextmanager
def log_context(name: str, scope: Scope, sequence: int | None = None) -> Iterator[None]:
    """The context of this thread's lines; a validation has no sequence number."""
    parts = (name, scope) if sequence is None else (name, scope, str(sequence))
    token = _prefix.set(f"[{'|'.join(parts)}] ")
    try:
        yield
    finally:
        _prefix.reset(token)


@contextmanager
def facts(**named: str) -> Iterator[None]:
    """Names and values that the lines of this thread or task carry behind their context."""
    token = _facts.set({**_facts.get(), **named})
    try:
        yield
    finally:
        _facts.reset(token)


def add_context(record: logging.LogRecord) -> bool:
    """A filter of handlers that passes every record and gives it its prefix, facts and context."""
    record.prefix, record.facts = _prefix.get(), _facts.get()
    pairs = " ".join(f"{name}={value}" for name, value in _facts.get().items())
    record.context = _prefix.get() + (f"[{pairs}] " if pairs else "")
    return True


def invoke(owner: object, method: Callable[[], T]) -> T:
    """Call a method of a source, with a line at TRACE before and after, of the logger of its module."""
    log, name = logging.getLogger(type(owner).__module__), f"{type(owner).__name__}.{method.__name__}"
    log.log(TRACE, "About to invoke method %s", name)
    try:
        result = method()
    except BaseException:
        log.log(TRACE, "Failed to invoke method %s", name)
        raise
    log.log(TRACE, "Finished invoking method %s", name)
    return result


LogFormat = Literal["text", "json"]
Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
TIME: Final = "%Y-%m-%dT%H:%M:%S"


def formatter(process: str, kind: LogFormat) -> logging.Formatter:
    """The formatter for the log lines of a process."""
    return JsonLines(process) if kind == "json" else TextLines(process)


class TextLines(logging.Formatter):
    """``time level [process] context message (logger)``; the time is UTC."""

    def __init__(self, process: str) -> None:
        line = f"%(asctime)s.%(msecs)03dZ %(levelname)s [{process}] %(context)s%(message)s (%(name)s)"
        super().__init__(line, TIME)
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's own
        """The line without the stack trace."""
        record.message = one_line(record.message.rstrip("\n"))
        return super().formatMessage(record)

    def formatException(self, ei: Raised) -> str:  # noqa: N802 -- logging's own
        """The stack trace; an exception's text may come from others, too."""
        return "\n".join(f"  {one_line(line)}" for line in super().formatException(ei).split("\n"))


class JsonLines(logging.Formatter):
    """An object a line: time, level, process, logger, message; context, ids, exception if there are any."""

    def __init__(self, process: str) -> None:
        super().__init__(datefmt=TIME)
        self._process = process
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        fields = {
            "time": f"{self.formatTime(record, TIME)}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
            "context": str(getattr(record, "prefix", "")).strip(),
            **getattr(record, "facts", {}),
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: value for name, value in fields.items() if value})


CONTROL: Final = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
LINE: Final = rf"^[^{CONTROL}]*$"
"""What one line may hold; a pattern for Python and for pydantic."""

_UNPRINTED: Final = re.compile(f"[{CONTROL}]")


def one_line(text: str) -> str:
    """The text with every control character but the tab as its escape."""
    return _UNPRINTED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
