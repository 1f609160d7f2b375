"""A string of Kafka's, as it stands in a log, and what it must give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Facts = Mapping[str, object]

AT: Final = "[2026-11-21 12:35:23,893]"


@dataclass(frozen=True)
class String:
    """``text`` is one or more entries; without ``events`` it says ``because`` of what."""

    section: str
    name: str
    text: str
    events: tuple[Facts, ...] = ()
    because: str = ""
