"""The formats of a log line: plain text, wrapped by a container runtime (CRI, Docker), or a JSON object.

A format decides which lines begin an entry, which continue in the next line, which must be read although
they contain no trigger, and what a line contains once it is unwrapped. Triggers contain no character that
a JSON writer escapes, so a wrapped line contains them unchanged.

A JSON layout keeps message, thread, context and stack trace in fields of its own names (ECS, Logstash,
JsonTemplateLayout): all texts are read, so that no name has to be known except that of the time. In a
JSON log, a run of lines that are not JSON is read as text: one entry. The time of a wrapped line is that
of the wrapper; parts of one line are joined by stream, and what is wrapped may be a JSON object.
"""

import json
import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import Any, ClassVar, Final, NamedTuple

from collector.sources.logs.layout import Layout, time_ms

TIMES: Final = ("@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "asctime", "date")
MAX_DEPTH: Final = 16
_SECONDS_UP_TO: Final = 100_000_000_000
_MILLISECONDS_UP_TO: Final = _SECONDS_UP_TO * 1_000

NOT_JSON: Final = "not_json"
"""Why a line of a log in JSON was read as text."""

CRI: Final = re.compile(
    rb"[\0\xef\xbb\xbf]*"
    rb"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) std(?:out|err) [FP](?::\S+)? "
)
DOCKER: Final = re.compile(rb'[\0\xef\xbb\xbf]*\{"log":"')
CONTINUES: Final = re.compile(
    rb"(?:" + CRI.pattern + rb"|" + DOCKER.pattern + rb")?(?:\s|\\t|at |Caused by: |Suppressed: |\.\.\. \d+ )"
)
"""What a line begins with that goes on with a stack trace, also one that a container runtime has wrapped."""
_CRI_PART = re.compile(rb"\S+ std(?:out|err) P")
_CRI_STREAM = re.compile(rb"^\S+ (std(?:out|err)) [FP](?::\S+)? ")
_DOCKER_STREAM = re.compile(rb'","stream":"(\w+)"')
_DOCKER_PART = re.compile(rb'(?<!\\n)","stream":"')
_PLAIN = re.compile(rb"^[^{\r\n]", re.MULTILINE)


class Record(NamedTuple):
    """The lines of an entry's text, its header, its time, and what was wrong with it."""

    lines: tuple[str, ...]
    header: str
    at_ms: int | None
    trouble: str = ""


def text_of(raw: bytes) -> str:
    """The text without line end, NUL bytes and byte order mark; what is not UTF-8 is replaced."""
    return raw.decode(errors="replace").strip("\r\n\0\ufeff")


def parsed(text: str) -> dict[str, Any] | None:
    """The object in the line; None if there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def record_of(text: str, at_ms: int | None, zone: tzinfo) -> Record:
    """The record of ``text``, which may be a JSON object; ``at_ms``, the wrapper's time, takes precedence."""
    found = parsed(text) if text.startswith('{"') else None
    if found is None:
        return Record((text,), text, at_ms)
    texts = [text.splitlines() or [""] for text in _texts(found)]
    lines = tuple(line for lines in texts for line in lines)
    header = " ".join(lines[0] for lines in texts)
    return Record(lines or ("",), header, _time(found, zone) if at_ms is None else at_ms)


def encodable(text: str) -> str:
    """The text with unpaired surrogates, which JSON can contain, replaced."""
    return text.encode(errors="replace").decode()


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield encodable(value)
    elif isinstance(value, dict | list) and depth < MAX_DEPTH:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part, depth + 1)


def _time(found: dict[str, Any], zone: tzinfo) -> int | None:
    for name in TIMES:
        value = found.get(name)
        if isinstance(value, str):
            return time_ms(value, zone)
        instant = value if isinstance(value, dict) else {"epochSecond": value}
        value, nanos = instant.get("epochSecond"), instant.get("nanoOfSecond")
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MILLISECONDS_UP_TO:
            at_ms = int(value * 1_000 if value < _SECONDS_UP_TO else value)
            return at_ms + (nanos // 1_000_000 % 1_000 if isinstance(nanos, int) else 0)
    return None


class Text:
    """Lines as they were written; the base of every format. ``whole``: a line never needs the next one."""

    whole = False
    streams: ClassVar[tuple[str, ...]] = ("",)
    """Of which each has entries of its own."""

    def __init__(self, layout: Layout, zone: tzinfo) -> None:
        self._layout, self._zone, self._header = layout, zone, layout.header

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:  # noqa: ARG002 - of other formats
        """Whether the line at ``at`` begins an entry; ``plain``: the line before the block was no JSON."""
        return self._header.match(block, at) is not None

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - as above
        """A place in each line before ``end`` to read also without a trigger, which may be cut in two."""
        return iter(())

    def stream(self, line: bytes) -> str:  # noqa: ARG002 - as above
        """The stream of a wrapped line; "" for others."""
        return ""

    def continues(self, line: bytes) -> bool:  # noqa: ARG002 - as above
        """Whether the line is a part that continues in the next line."""
        return False

    def read(self, lines: list[bytes]) -> Record:
        """The record in the parts of one line."""
        text = text_of(b"".join(lines))
        return Record((text,), text, self._layout.time_ms(text, self._zone))


class Wrapped(Text):
    """Lines that a container runtime has wrapped; what is wrapped has a layout, or is JSON."""

    streams = ("stdout", "stderr")
    wrapper: ClassVar[re.Pattern[bytes]]
    opening: ClassVar[bytes]
    """How a wrapped JSON object begins, as a pattern."""
    of_stream: ClassVar[re.Pattern[bytes]]
    """Where a line names its stream."""

    def __init__(self, layout: Layout, zone: tzinfo) -> None:
        super().__init__(layout, zone)
        inner = b"(?:" + self.opening + b"|(?:" + layout.header.pattern + b"))"
        self._header = re.compile(self.wrapper.pattern + inner, layout.header.flags)

    def stream(self, line: bytes) -> str:
        """The stream that the wrapper names; "" for a line that is not wrapped."""
        found = self.of_stream.search(line)
        return found[1].decode() if found else ""


class Cri(Wrapped):
    """``2026-11-21T06:36:31.123456789Z stdout F message``; P in place of F: the next line continues it."""

    wrapper, opening, of_stream = CRI, rb'\{"', _CRI_STREAM

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - of Json
        """A place in each line before ``end`` that may be tagged with P."""
        for tag in (b" stdout P", b" stderr P"):
            at = block.find(tag, 0, end)
            while at >= 0:
                yield at
                at = block.find(tag, at + 1, end)

    def continues(self, line: bytes) -> bool:
        """Whether the tag of the line is P."""
        return _CRI_PART.match(line) is not None

    def read(self, lines: list[bytes]) -> Record:
        """The message without its wrapper."""
        message = b"".join(CRI.sub(b"", line, count=1).rstrip(b"\r\n") for line in lines)
        return record_of(text_of(message), time_ms(text_of(lines[0]), self._zone), self._zone)


class Docker(Wrapped):
    """An object with ``log``, ``stream`` and ``time``; without newline the next line continues it."""

    wrapper, opening, of_stream = DOCKER, rb'\{\\"', _DOCKER_STREAM

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - of Json
        """A place in each line before ``end`` without newline, sought only where there are some."""
        tag = b'","stream":"'
        if block.count(tag, 0, end) == block.count(b"\\n" + tag, 0, end):
            return
        for match in _DOCKER_PART.finditer(block, 0, end):
            yield match.start()

    def continues(self, line: bytes) -> bool:
        """Whether ``log`` ends without a newline."""
        return DOCKER.match(line) is not None and _DOCKER_PART.search(line) is not None

    def read(self, lines: list[bytes]) -> Record:
        """The message without its wrapper; a line that is not wrapped is read as it is, with a trouble."""
        wrapped = [parsed(text_of(line)) for line in lines]
        texts = [value for line in wrapped if line and isinstance(value := line.get("log"), str)]
        if len(texts) < len(lines):
            return super().read(lines)._replace(trouble=NOT_JSON)
        time = (wrapped[0] or {}).get("time")
        at_ms = time_ms(f"{time} ", self._zone)
        return record_of(encodable("".join(texts)).strip("\r\n\0"), at_ms, self._zone)


class Json(Text):
    """One JSON object a line, each an entry."""

    whole = True

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:
        """Whether the line is an object, or the first of a run of other lines."""
        if block[at : at + 1] in (b"{", b"\r", b"\n", b""):
            return block[at : at + 1] == b"{"
        return not (plain if at == 0 else is_plain(block, at))

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:
        """The first line of each run of lines that are no objects."""
        objects = block.count(b"\n{", 0, end) + block.startswith(b"{")
        if objects == block.count(b"\n", 0, end - 1) + 1:
            return
        for match in _PLAIN.finditer(block, 0, end):
            if self.begins(block, match.start(), plain=plain):
                yield match.start()

    def read(self, lines: list[bytes]) -> Record:
        """Every text in the object; a line that is no object is read as it is, with a trouble."""
        text = text_of(lines[0])
        if parsed(text) is None:
            return super().read(lines)._replace(trouble=NOT_JSON)
        return record_of(text, None, self._zone)


FORMATS: Final = {"text": Text, "cri": Cri, "docker": Docker, "json": Json}


def detect(block: bytes) -> str:
    """The format by the first line that is not empty; "" while there is none."""
    line = block.lstrip(b"\r\n\0\xef\xbb\xbf")
    if not line:
        return ""
    if CRI.match(line):
        return "cri"
    if DOCKER.match(line):
        return "docker"
    return "json" if line.startswith(b'{"') else "text"


def is_plain(block: bytes, end: int) -> bool:
    """Whether the line that ends at ``end`` is neither empty nor an object."""
    start = block.rfind(b"\n", 0, end - 1) + 1
    return block[start : start + 1] not in (b"{", b"\r", b"\n", b"")
