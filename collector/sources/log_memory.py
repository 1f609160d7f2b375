"""What a log scanner knows at a place in a file: saved with the position, so that a restart changes
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from collector.dialects.cause import Cause, Mention, mention
from collector.dialects.connect import Worker

MAX_IDENTITIES: Final = 256
"""How many causes of one entry, and how many recent ones of the file, are remembered."""

MAX_HEADER_CHARS: Final = 1_000
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that is open: lines may still be added to it.

    ``start`` is its byte offset, ``at_ms`` the time in it (None: it has none), ``causes`` how many distinct
    ones it has named, ``seen`` the last of them.
    """

    start: int
    header: str
    at_ms: int | None = None
    causes: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """The scanner's state; ``offset`` is the first byte that it has not passed.

    ``entry`` is None until the file has shown a header line: until then every line is an entry of its own.
    ``overlong`` says that ``offset`` lies inside a line that is being passed over. ``format`` is that of the
    file, "" until its first line is known; ``plain`` says that a JSON log's last line was none of JSON.
    ``unwritten`` is the share group whose dead letters a broker has just failed to write.
    """

    offset: int = 0
    entry: Entry | None = None
    overlong: bool = False
    format: str = ""
    plain: bool = False
    worker: Worker = field(default_factory=Worker)
    unwritten: str = ""
    recent: Mapping[str, Mention] = field(default_factory=dict)

    def next_file(self) -> "Memory":
        """What stays known when the same writer begins a new file."""
        return Memory(worker=self.worker, unwritten=self.unwritten, recent=self.recent)


def admit(
    cause: Cause, entry: Entry, recent: Mapping[str, Mention]
) -> tuple[Entry, Mapping[str, Mention], bool]:
    """The entry and the file's recent mentions after ``cause``, and whether it is a new one."""
    identity = _SEPARATOR.join(cause.identity)
    if identity in entry.seen:
        return entry, recent, False
    entry = replace(entry, causes=entry.causes + 1, seen=(*entry.seen, identity)[-MAX_IDENTITIES:])
    latest, new = mention(cause, recent.get(identity), entry.at_ms or 0)
    remembered = dict.fromkeys(_SEPARATOR.join(known) for known in (cause.identity, cause.also) if known)
    kept = {known: value for known, value in recent.items() if known not in remembered}
    kept |= dict.fromkeys(remembered, latest)
    for known in list(kept)[:-MAX_IDENTITIES]:
        del kept[known]
    return entry, kept, new
