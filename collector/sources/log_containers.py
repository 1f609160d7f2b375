"""Lines that a container runtime has wrapped: their time is that of the wrapper.

Parts of one line are joined where they follow one another. What is wrapped may be a JSON object.
"""

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from collector.dialects.layout import Layout, time_ms
from collector.sources.log_json import Record, encodable, parsed, record_of, text_of
from collector.sources.log_text import NOT_JSON, Text

CRI: Final = re.compile(
    rb"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) std(?:out|err) [FP](?::\S+)? "
)
DOCKER: Final = re.compile(rb'\{"log":"')
_CRI_PART = re.compile(rb"\S+ std(?:out|err) P")
_DOCKER_PART = re.compile(rb'(?<!\\n)","stream":"')


class Cri(Text):
    """``2026-11-21T06:36:31.123456789Z stdout F message``; P in place of F: the next line goes on."""

    def __init__(self, layout: Layout, zone: tzinfo) -> None:
        super().__init__(layout, zone)
        inner = layout.header
        self._header = re.compile(CRI.pattern + rb'(?:\{"|(?:' + inner.pattern + rb"))", inner.flags)

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:  # noqa: ARG002 - of other formats
        """By the layout of what is wrapped."""
        return self._header.match(block, at) is not None

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - as above
        """Lines in parts: a trigger may be cut in two."""
        for tag in (b" stdout P", b" stderr P"):
            at = block.find(tag, 0, end)
            while at >= 0:
                yield at
                at = block.find(tag, at + 1, end)

    def continues(self, line: bytes) -> bool:
        """By the tag."""
        return _CRI_PART.match(line) is not None

    def read(self, lines: list[bytes]) -> Record:
        """The message without its wrapper."""
        message = b"".join(CRI.sub(b"", line, count=1).rstrip(b"\r\n") for line in lines)
        return record_of(text_of(message), time_ms(text_of(lines[0][:64]), self._zone), self._zone)


class Docker(Text):
    """An object with ``log``, ``stream`` and ``time``; without newline in ``log`` the next line goes on."""

    def __init__(self, layout: Layout, zone: tzinfo) -> None:
        super().__init__(layout, zone)
        inner = layout.header
        self._header = re.compile(DOCKER.pattern + rb'(?:\{\\"|(?:' + inner.pattern + rb"))", inner.flags)

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:  # noqa: ARG002 - of other formats
        """By the layout of what is wrapped."""
        return self._header.match(block, at) is not None

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - as above
        """Lines in parts, sought only where there are some."""
        tag = b'","stream":"'
        if block.count(tag, 0, end) == block.count(b"\\n" + tag, 0, end):
            return
        for match in _DOCKER_PART.finditer(block, 0, end):
            yield match.start()

    def continues(self, line: bytes) -> bool:
        """Without a newline in it."""
        return line.startswith(b'{"log":"') and _DOCKER_PART.search(line) is not None

    def read(self, lines: list[bytes]) -> Record:
        """The message without its wrapper; a line without one as it is, and said."""
        wrapped = [parsed(text_of(line)) for line in lines]
        texts = [value for one in wrapped if one and isinstance(value := one.get("log"), str)]
        if len(texts) < len(lines):
            return super().read(lines)._replace(trouble=NOT_JSON)
        time = (wrapped[0] or {}).get("time")
        at_ms = time_ms(f"{time} ", self._zone)
        return record_of(encodable("".join(texts)).strip("\r\n\0"), at_ms, self._zone)
