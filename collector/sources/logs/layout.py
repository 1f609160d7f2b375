"""Where an entry of a log begins, and when it was written.

An entry is a line that begins with a time, and every line up to the next such line: stack traces,
configuration dumps and further lines of one message. Understood are log4j's, Logback's and Python's
``2026-11-21 06:36:31,123`` (with or without brackets, dot or comma, with or without milliseconds), ISO 8601
with ``T``, both with an optional zone (18 hours at most, as in Java), librdkafka's ``%3|1795268258.258|``,
and two that begin an entry without a date: Logback's ``06:36:31.123 [thread]`` and Python's
``ERROR:logger:``. NUL bytes before an entry, as truncating a log leaves them, are passed over, and so are a
byte order mark and colours around its time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final

HEADER: Final = re.compile(
    rb"[\0\xef\xbb\xbf]*(?:(?:\x1b|\\u001b)\[[\d;]*m)*"
    rb"(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3,9})?(?:Z|[+-]\d\d:?\d\d)?(?=[\] \t|\x1b\\])"
    rb"|%[0-7]\|\d{9,11}\.\d{3}\|"
    rb"|\d\d:\d\d:\d\d[.,]\d{3} \["
    rb"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:)",
    re.ASCII,
)
_TIME = re.compile(
    r"[\0\ufeff]*(?:\x1b\[[\d;]*m)*"
    r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{3,}+)?+)"
    r"(?: ?(Z|[+-](?:0\d|1[0-8]):?[0-5]\d)(?!\w))?(?![+-]\d)",
    re.ASCII,
)
_EPOCH = re.compile(r"\0*%[0-7]\|(\d{9,11})\.(\d{3})\|", re.ASCII)
_PROBE = datetime(2026, 11, 21, 6, 36, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the entries of a log begin, and the time in their first line, None if it has none."""

    header: re.Pattern[bytes]
    time_ms: Callable[[str, tzinfo], int | None]


def time_ms(header: str, zone: tzinfo) -> int | None:
    """When the entry was written, in ms since the epoch; ``zone`` is that of times which carry none."""
    if match := _EPOCH.match(header):
        return int(match[1]) * 1_000 + int(match[2])
    match = _TIME.match(header)
    return None if match is None else _epoch_ms(match[1] + (match[2] or ""), datetime.fromisoformat, zone)


KNOWN: Final = Layout(HEADER, time_ms)


def configured(entry_pattern: str, time_format: str) -> Layout:
    """The layout whose entries begin with ``entry_pattern``; its group ``time`` has ``time_format``.

    Raises:
        ValueError: one of them cannot be used; the text says what to change.
    """
    try:
        text = re.compile(entry_pattern.removeprefix("^"))
        header = re.compile(entry_pattern.removeprefix("^").encode())
    except re.error as error:
        raise ValueError(f"entry_pattern is no regular expression: {error}") from None
    if "time" not in text.groupindex:
        raise ValueError("entry_pattern needs a named group for the time: (?P<time>...)")
    if text.match("") is not None:
        raise ValueError("entry_pattern matches an empty line: every line would begin an entry")
    parse = _parser(time_format)

    def read(line: str, zone: tzinfo) -> int | None:
        match = text.match(line)
        return None if match is None or match["time"] is None else _epoch_ms(match["time"], parse, zone)

    return Layout(header, read)


def _parser(time_format: str) -> Callable[[str], datetime]:
    """What parses times of this format. Raises ``ValueError`` if the format leaves a part of them open."""

    def parse(text: str) -> datetime:
        return datetime.strptime(text, time_format)  # noqa: DTZ007 - the zone is that of the source

    try:
        back = _epoch_ms(_PROBE.strftime(time_format), parse, UTC)
    except re.error:
        back = None
    if back != int(_PROBE.timestamp()) * 1_000:
        raise ValueError(
            "time_format must tell year, month, day, hour, minute and second in the directives of strptime,"
            " such as %d/%m/%Y %H:%M:%S.%f"
        )
    return parse


def _epoch_ms(text: str, parse: Callable[[str], datetime], zone: tzinfo) -> int | None:
    """The time in ms since the epoch; None for what is no time, or outside the calendar."""
    try:
        moment = parse(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        seconds = int(moment.replace(microsecond=0).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds * 1_000 + moment.microsecond // 1_000
