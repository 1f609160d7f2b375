"""How fast logs are scanned, beside a loop that tries every pattern on every line.

The log is made of real excerpts and rarely matches.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.row import Row
from collector.sources.logs.dialects import brokers, clients, connect, librdkafka, streams
from collector.sources.logs.files import LogSource
from collector.sources.logs.layout import HEADER
from collector.sources.logs.scan import MESSAGES, TRIGGERS, Scanner

LOGS = Path(__file__).parents[1] / "tests" / "data" / "logs"
GOAL = 5.0
COMPARED_BYTES = 32 << 20
QUIET_TO_ONE = 200


def excerpt() -> bytes:
    """Real lines: those that say nothing many times, the whole log once."""
    whole = (LOGS / "connect.log").read_bytes() + (LOGS / "streams.log").read_bytes()
    quiet = b"".join(
        line
        for line in whole.splitlines(keepends=True)
        if not (MESSAGES.search(line) or any(trigger in line for trigger in TRIGGERS))
    )
    return quiet * QUIET_TO_ONE + whole


def write_log(path: Path, size: int) -> int:
    """A log of about ``size`` bytes; how many lines it has."""
    piece = excerpt()
    times = max(size // len(piece), 1)
    with path.open("wb") as file:
        for _ in range(times):
            file.write(piece)
    return times * piece.count(b"\n")


def ours(path: Path) -> int:
    """Events that the source finds."""
    source = LogSource(
        path,
        saved=None,
        scanner=Scanner(),
        worker="",
        kafka_cluster="bench",
        poll_interval_ms=1,
        clock=lambda: 0,
    )
    found = 0
    while chunk := source.poll():
        found += len(chunk.events)
    source.close()
    return found


def patterns() -> list[re.Pattern[str]]:
    """Every pattern that the dialects look for, and that of an entry's first line."""
    named = [
        value
        for dialect in (connect, streams, clients, librdkafka)
        for name, value in vars(dialect).items()
        if isinstance(value, re.Pattern)
        and isinstance(value.pattern, str)  # the triggers are bytes
        and name not in ("_PREFIX", "_BARE", "_CLIENT_ID", "_CONNECT_TASK")
    ]
    alternatives = [pattern for *_, pattern in vars(clients)["_TIMEOUTS"]]
    return [*named, *alternatives, re.compile(re.escape(brokers.LOST)), re.compile(HEADER.pattern.decode())]


def line_by_line(path: Path) -> int:
    """Lines that any pattern matches."""
    searches = [pattern.search for pattern in patterns()]
    with path.open(errors="replace") as lines:
        return sum(any(search(line) for search in searches) for line in lines)


def seconds(work: Callable[[Path], int], path: Path) -> float:
    """Processor time; the best of two."""
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        work(path)
        best = min(best, time.process_time() - begin)
    return best


def rows() -> Iterator[Row]:
    """Ours and the loop on the same log."""
    with TemporaryDirectory() as name:
        path = Path(name) / "compared.log"
        lines = write_log(path, COMPARED_BYTES)
        mine, theirs = lines / seconds(ours, path), lines / seconds(line_by_line, path)
    yield Row.more("scan a log that rarely matches, lines/s", mine, theirs, GOAL)
