"""Lines of a block of a log: which to look at, and the parts that a container runtime has cut a line into.

Parts of one line are of one stream (stdout, stderr) and follow one another, unless a line of the other stream
has come between them.
"""

from collections.abc import Collection, Iterator
from typing import Final

from collector.sources.logs.dialects import brokers, clients, connect, stream_drops, streams
from collector.sources.logs.formats import Text

TRIGGERS: Final = tuple(
    text.encode()
    for dialect in (connect, streams, stream_drops, clients, brokers)
    for text in dialect.TRIGGERS
)
MESSAGES: Final = streams.MESSAGES
"""Many triggers that all stand behind one prefix: together they cost what three others do."""


def candidates(
    form: Text, block: bytes, end: int, *, plain: bool, held: Collection[str]
) -> Iterator[list[tuple[int, int]]]:
    """Start and end (behind its newline) of each line to look at, or of all its parts, in their order.

    A line in parts is looked at from its first one, since a format names each.
    ``held``: the streams of which a line was interrupted before the block.
    """
    hits = [match.start() for match in MESSAGES.finditer(block, 0, end)]
    for trigger in TRIGGERS:  # the first place in each line
        at = block.find(trigger, 0, end)
        while at >= 0:
            hits.append(at)
            at = block.find(trigger, line_end(block, at, end), end)
    also = [*form.also(block, end, plain=plain)]
    hits += [*also, *resumed(form, block, end, also, held)]
    passed = 0
    for start in sorted({line_start(block, hit) for hit in hits}):
        if start >= passed:
            parts = parts_of(form, block, start, end)
            passed = parts[-1][1]
            yield parts


def complete(form: Text, block: bytes, end: int) -> int:
    """The end of the last line whose parts are all in the block; 0 if there is none."""
    start = line_start(block, end - 1)
    if not form.continues(block[start:end]):
        return end
    while start > 0 and _goes_on(form, block, before := line_start(block, start - 1), start):
        start = before
    return start


def parts_of(form: Text, block: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The line that begins at ``start``: start and end of each part that follows the one before."""
    parts = [(start, line_end(block, start, end))]
    while parts[-1][1] < end and _goes_on(form, block, *parts[-1]):
        parts.append((parts[-1][1], line_end(block, parts[-1][1], end)))
    return parts


def resumed(form: Text, block: bytes, end: int, cut: Collection[int], held: Collection[str]) -> Iterator[int]:
    """Where lines go on that a line of the other stream has interrupted.

    ``cut`` are places in the lines before ``end`` that may be in parts, ``held`` are the streams of which a
    line was interrupted before the block.
    """
    waiting = [(stream, 0) for stream in held]
    for at in cut:
        start, stop = line_start(block, at), line_end(block, at, end)
        if stop < end and form.continues(block[start:stop]) and not _goes_on(form, block, start, stop):
            waiting.append((form.stream(block[start:stop]), stop))
    for stream, at in waiting:
        hit = block.find(stream.encode(), at, end)
        while hit >= 0 and form.stream(block[line_start(block, hit) : line_end(block, hit, end)]) != stream:
            hit = block.find(stream.encode(), line_end(block, hit, end), end)
        if hit >= 0:
            yield hit


def last_headers(form: Text, block: bytes, start: int, end: int, *, plain: bool) -> list[tuple[int, str]]:
    """Of each stream the last line from ``start``, where one begins, to ``end`` that begins an entry.

    Where the block names no stream, as what only looks like Docker's, all its lines are of one.
    """
    streams = [stream for stream in form.streams if stream.encode() in block] or [""]
    found = ((_last_header(form, block, start, end, stream, plain=plain), stream) for stream in streams)
    return sorted(header for header in found if header[0] >= 0)


def _last_header(form: Text, block: bytes, start: int, end: int, stream: str, *, plain: bool) -> int:
    """The offset of the stream's last line that begins an entry; -1: none. Few lines are looked at."""
    name = stream.encode()
    while start < end and (hit := block.rfind(name, start, end - 1)) >= 0:
        line = line_start(block, hit)
        if form.begins(block, line, plain=plain):
            of_line = form.stream(block[line : line_end(block, line, end)])
            if of_line == stream:
                return line
        end = line
    return -1


def line_start(block: bytes, at: int) -> int:
    """Where the line around ``at`` begins; a newline belongs to the line that it ends."""
    return block.rfind(b"\n", 0, at) + 1


def line_end(block: bytes, start: int, end: int) -> int:
    """Where the line around ``start`` ends, behind its newline; ``end`` at the latest."""
    newline = block.find(b"\n", start, end)
    return end if newline < 0 else newline + 1


def _goes_on(form: Text, block: bytes, start: int, stop: int) -> bool:
    """Whether the part from ``start`` to ``stop`` is continued by the line behind it."""
    part = block[start:stop]
    return form.continues(part) and form.stream(
        block[stop : line_end(block, stop, len(block))]
    ) == form.stream(part)
