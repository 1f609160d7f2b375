"""Stack traces as they stand in headers: the lines that say something, and those of libraries folded."""

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Final

LIBRARIES: Final = (
    "java.",
    "javax.",
    "jakarta.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "scala.",
    "org.apache.kafka.",
    "kafka.",
    "org.apache.avro.",
    "org.apache.commons.",
    "org.springframework.",
    "com.fasterxml.jackson.",
    "com.google.common.",
    "com.google.protobuf.",
    "io.confluent.",
    "io.netty.",
    "io.micrometer.",
    "org.slf4j.",
    "reactor.",
)
"""What a frame's class begins with when its authors are somebody else."""

_FRAME = re.compile(r"^\s+at (?:[\w.\-@]*/)*(?P<name>[\w.$<>]+)\(", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that belong together: ``kind`` is "text", "own" or "library"."""

    kind: str
    lines: tuple[str, ...]


def is_trace(text: str) -> bool:
    """Whether it has a frame of a JVM's stack."""
    return any(_FRAME.match(line) for line in text.splitlines()[:50])


def folded(text: str) -> list[Part]:
    """The trace in its order, neighbours of one kind together."""
    return [Part(kind, tuple(lines)) for kind, lines in groupby(text.splitlines(), key=_kind)]


def _kind(line: str) -> str:
    frame = _FRAME.match(line)
    if frame is None:
        return "library" if line.strip().startswith("...") else "text"
    return "library" if frame["name"].startswith(LIBRARIES) else "own"
