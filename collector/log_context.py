"""Log lines that tell which instance of which source they belong to (KIP-611).

Inside ``log_context`` the thread's lines carry ``[name|scope|seqno] ``: ours, those of the source's modules
and of the libraries it calls. A handler with the filter ``add_context`` has the prefix in ``record.context``.
Threads that a source starts on its own begin without context. TRACE lies below DEBUG.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar

TRACE: Final = 5
logging.addLevelName(TRACE, "TRACE")

log = logging.getLogger(__name__)

T = TypeVar("T")

_prefix: ContextVar[str] = ContextVar("prefix", default="")
_facts: ContextVar[Mapping[str, str]] = ContextVar("facts", default=MappingProxyType({}))


class Scope(StrEnum):
    """What a line is about: a source that reads, one that starts others, or one that is only looked at."""

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
def trace_context(trace_id: str, span_id: str) -> Iterator[None]:
    """The trace of this thread's lines: they carry its ids behind their context."""
    with facts(trace_id=trace_id, span_id=span_id):
        yield


@contextmanager
def facts(**named: str) -> Iterator[None]:
    """Names and values that the lines of this thread or task carry behind their context."""
    token = _facts.set({**_facts.get(), **named})
    try:
        yield
    finally:
        _facts.reset(token)


def add_context(record: logging.LogRecord) -> bool:
    """A filter of handlers: lets every record pass, with its prefix and facts, or ""."""
    record.prefix, record.facts = _prefix.get(), _facts.get()
    told = " ".join(f"{name}={value}" for name, value in _facts.get().items())
    record.context = _prefix.get() + (f"[{told}] " if told else "")
    return True


def prefix_of(record: logging.LogRecord) -> str:
    """The context of a record that ``add_context`` has seen; "": none."""
    return str(getattr(record, "prefix", "")).strip()


def facts_of(record: logging.LogRecord) -> Mapping[str, str]:
    """The facts of a record that ``add_context`` has seen."""
    found: Mapping[str, str] = getattr(record, "facts", {})
    return found


def invoke(owner: object, method: Callable[[], T]) -> T:
    """Call a method of a source, with a line at TRACE before and after."""
    name = f"{type(owner).__name__}.{method.__name__}"
    log.log(TRACE, "About to invoke method %s", name)
    try:
        result = method()
    except BaseException:
        log.log(TRACE, "Failed to invoke method %s", name)
        raise
    log.log(TRACE, "Finished invoking method %s", name)
    return result
