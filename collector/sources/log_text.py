"""What a log's format must tell the scanner, and the simplest one: lines as they were written."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final, Protocol

from collector.dialects.layout import Layout
from collector.sources.log_json import Record, text_of

NOT_JSON: Final = "not_json"
"""Why a line of a log in JSON was read as text."""


class Format(Protocol):
    """What the scanner must know of a format; ``whole`` if a line never needs the next one."""

    whole: bool

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:
        """Whether the line at ``at`` begins an entry; ``plain`` is that of the line before the block."""

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:
        """A place in each line before ``end`` that must be looked at, trigger or not."""

    def continues(self, line: bytes) -> bool:
        """Whether the line is a part that goes on in the next one."""

    def read(self, lines: list[bytes]) -> Record:
        """What the parts of one line say."""


class Text:
    """Lines as they were written."""

    whole = False

    def __init__(self, layout: Layout, zone: tzinfo) -> None:
        self._layout, self._zone = layout, zone

    def begins(self, block: bytes, at: int, *, plain: bool) -> bool:  # noqa: ARG002 - of other formats
        """By the layout."""
        return self._layout.header.match(block, at) is not None

    def also(self, block: bytes, end: int, *, plain: bool) -> Iterator[int]:  # noqa: ARG002 - as above
        """None."""
        return iter(())

    def continues(self, line: bytes) -> bool:  # noqa: ARG002 - as above
        """Never."""
        return False

    def read(self, lines: list[bytes]) -> Record:
        """The line itself."""
        text = text_of(b"".join(lines))
        return Record((text,), text, self._layout.time_ms(text, self._zone))
