"""The formats a log line comes in: as text, or wrapped by a container runtime or a JSON layout.

A format tells which lines begin an entry, which go on in the next line, which must be looked at although
they hold no trigger, and what a line says once it is unwrapped. Triggers hold no character that a JSON writer
escapes: a wrapped line holds them as they are. In a JSON log, a run of lines that are not JSON is read as
text: one entry.
"""

import re
from collections.abc import Iterator
from typing import Final

from collector.sources.log_containers import CRI, DOCKER, Cri, Docker
from collector.sources.log_json import Record, parsed, record_of, text_of
from collector.sources.log_text import NOT_JSON, Text

_PLAIN = re.compile(rb"^[^{\r\n]", re.MULTILINE)


class Json(Text):
    """One JSON object a line, each an entry."""

    whole = True

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:
        """Each object, and the first of other lines in a row."""
        if block[at : at + 1] in (b"{", b"\r", b"\n", b""):
            return block[at : at + 1] == b"{"
        return not (plain if at == 0 else is_plain(block, at))

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:
        """The first of other lines in a row."""
        objects = block.count(b"\n{", 0, end) + block.startswith(b"{")
        if objects == block.count(b"\n", 0, end - 1) + 1:
            return
        for match in _PLAIN.finditer(block, 0, end):
            if self.begins(block, match.start(), plain=plain):
                yield match.start()

    def read(self, lines: list[bytes]) -> Record:
        """Every text in the object; another line as it is, and said."""
        text = text_of(lines[0])
        if parsed(text) is None:
            return super().read(lines)._replace(trouble=NOT_JSON)
        return record_of(text, None, self._zone)


FORMATS: Final = {"text": Text, "cri": Cri, "docker": Docker, "json": Json}


def detect(block: bytes) -> str:
    """The format by the first line that is not empty; "" while there is none."""
    line = block.lstrip(b"\r\n\0")
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
