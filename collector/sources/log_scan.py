"""The log scanner: bytes in, causes with their positions out; no input or output of its own.

What it finds depends on the bytes of the file alone, never on how they were split into reads: a cause counts
as soon as its line is complete, and the open entry is part of the memory. Blocks without any trigger are
passed at the speed of a substring search; lines are looked at only around a hit, and unwrapped only then.

A line longer than ``max_line_bytes`` is passed over up to its end and reported once.
"""

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Final

from collector.dialects.layout import KNOWN, Layout
from collector.sources.log_block import EXCERPT_BYTES, Block, Found, admitted, quarantined
from collector.sources.log_formats import FORMATS, detect
from collector.sources.log_json import text_of
from collector.sources.log_lines import complete
from collector.sources.log_memory import Entry, Memory
from collector.sources.log_text import Format

MAX_LINE_BYTES: Final = 1 << 20
LINE_TOO_LONG: Final = "line_too_long"


@dataclass(frozen=True, slots=True)
class Scanner:
    """Reads blocks that begin at the memory's offset and are at most ``max_line_bytes`` long.

    ``format`` is one of ``FORMATS``, or "" to tell it by each file's first line.
    """

    zone: tzinfo = UTC
    max_line_bytes: int = MAX_LINE_BYTES
    format: str = ""
    layout: Layout = KNOWN

    def scan(self, memory: Memory, block: bytes, *, final: bool = False) -> tuple[Memory, list[Found]]:
        """The memory after the block's complete lines and what they say.

        The same memory comes back when more bytes are needed; ``final`` says that no more will come.
        """
        if memory.overlong:
            return _pass_over(memory, block), []
        full = len(block) >= self.max_line_bytes
        end = len(block) if final else block.rfind(b"\n") + 1
        if not end and not full:
            return memory, []
        name = self.format or memory.format or detect(block[: end or None])
        memory, form = replace(memory, format=name), FORMATS[name or "text"](self.layout, self.zone)
        if not end:
            return self._overlong(memory, block, form)
        if not final:
            end = complete(form, block, end) or (end if full else 0)
        return Block(form, block, memory.offset, final=final, full=full).read(memory, end)

    def _overlong(self, memory: Memory, block: bytes, form: Format) -> tuple[Memory, list[Found]]:
        base, excerpt = memory.offset, text_of(block[:EXCERPT_BYTES])
        memory = Block(form, block, base, final=False, full=True).advance(memory, 0, len(block))
        cause = quarantined(LINE_TOO_LONG, excerpt, base)
        memory, found = admitted(memory, [cause], Entry(base, excerpt))
        return replace(memory, offset=base + len(block), overlong=True, plain=False), found


def _pass_over(memory: Memory, block: bytes) -> Memory:
    end = block.find(b"\n") + 1
    return replace(memory, offset=memory.offset + (end or len(block)), overlong=not end)
