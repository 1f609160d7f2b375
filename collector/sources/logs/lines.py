"""Lines of a block of a log, and the parts that a container runtime has cut a line into.

Parts of one line are of one stream (stdout, stderr) and follow one another, unless a line of the other stream
has come between them.
"""

from collections.abc import Collection, Iterator

from collector.sources.logs.formats import Text


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


def last_header(form: Text, block: bytes, start: int, end: int, *, plain: bool) -> int:
    """Offset of the last line from ``start``, where one begins, to ``end`` that begins an entry; -1: none."""
    while start < end:
        line = max(line_start(block, end - 1), start)
        if form.begins(block, line, plain=plain):
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
