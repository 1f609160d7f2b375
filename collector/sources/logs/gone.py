"""What is kept of a log whose file is gone: its place for a week, since it may come back, then a number.

The number is the epoch that the next file of the name has. It is kept for ever: with a lower one, events of
that file would be taken for some that were counted. Whether a new file follows the place or the number, its
epoch is the same, so it does not matter when one takes the place of the other.
"""

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from collector.sources.source import State
from deadwatch.contract.events.self_report import LOG_FILE, STATUS

KEPT_MS: Final = 7 * 86_400_000
EPOCHS: Final = "log#epochs"
"""The state that holds the numbers, by a digest of the source."""


def next_place(epochs: State | None, source: str) -> State | None:
    """The place of the next file of a log that is gone; None if no number is kept of it."""
    epoch = (epochs or {}).get(_digest(source))
    return None if epoch is None else {"epoch": epoch}


def name_of(path: str | Path) -> str:
    """The path as a source is called after it: it is UTF-8 where the path is not."""
    return os.fsencode(path).decode(errors="backslashreplace")


def shortened(saved: Mapping[str, State], read: Iterable[State], now_ms: int) -> dict[str, State | None]:
    """What to save, None to delete, where a file of ``saved`` has been gone for ``KEPT_MS``.

    What a pattern remembers, whose state is one of ``read``, is not gone: it is on a volume that is away.
    What was deleted while no collector ran is found gone now: nobody knows whether it was read to its end.
    Earlier versions have not saved since when a file is gone: they are taken to have found it now.
    """
    away = {path for state in read for path in (*state.get("inodes", ()), *state.get("sources", {}).values())}
    away_names, names = set(map(name_of, away)), {source: _names(source) for source in saved}
    left = {source: state for source, state in saved.items() if away_names.isdisjoint(names[source])}
    found_now: dict[str, State | None] = {
        source: {**state, "whole": False, "gone_ms": now_ms, "unread": not state.get("whole")}
        for source, state in left.items()
        if state.get("whole")
        or (
            "inode" in state
            and not state.get("gone_ms")
            and names[source]
            and not any(map(_may_be, names[source]))
        )
    }
    past = {
        source: state["epoch"] + (state["inode"] is not None)
        for source, state in left.items()
        if 0 < state.get("gone_ms", 0) <= now_ms - KEPT_MS
    }
    if not past:
        return found_now
    epochs = saved.get(EPOCHS, {})
    numbers = {_digest(source): epoch for source, epoch in past.items()}
    raised = {digest: max(epoch, epochs.get(digest, 0)) for digest, epoch in numbers.items()}
    return {
        **found_now,
        **dict.fromkeys(past),
        **dict.fromkeys(f"{source}{STATUS}" for source in past),
        EPOCHS: {**epochs, **raised},
    }


def _names(source: str) -> set[str]:
    """What the file of a log may be called; behind its path there may be the name of the collector."""
    path = source.removeprefix(LOG_FILE)
    return {path, path.rpartition("@")[0] or path} if path != source else set()


def _may_be(path: str) -> bool:
    """Whether there is such a file, as far as can be known: it may be out of reach, or its name no UTF-8."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return "\\" in path
    except OSError:
        pass
    return True


def _digest(source: str) -> str:
    return blake2b(source.encode(), digest_size=8).hexdigest()
