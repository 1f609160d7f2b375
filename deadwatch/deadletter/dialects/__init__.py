"""Dialects of dead letters: which headers say where a record failed, and why.

Every module of this package that holds a ``Dialect`` adds it by being there; it is recognised by the prefix
of its headers, or by their whole names, as one of a user's own is. The last header of a record that belongs
to a dialect decides the dialect. Of several headers of one name the newest counts, or the oldest where that
is set: the last and the first, but in a dialect that puts the newest first. Values are UTF-8 text; numbers
are decimal text, or big-endian bytes, four for a partition and eight for an offset (Spring Kafka).

How a process reads is set once, before its first record (``read_as``): Spark's expressions and the plain
Python of the redrive ask for the same ``reading``.
"""

from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pkgutil import iter_modules
from typing import Final

from deadwatch.deadletter.dialects.dialect import Dialect as Dialect
from deadwatch.deadletter.dialects.kafka import SHARE_GROUP as SHARE_GROUP

UNKNOWN: Final = "unknown"
DIALECTS: Final = tuple(
    sorted(
        (
            value
            for module in iter_modules(__path__)
            if not module.name.startswith("__")
            for value in vars(import_module(f"{__name__}.{module.name}")).values()
            if isinstance(value, Dialect)
        ),
        key=attrgetter("name"),
    )
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How headers are read: the known dialects, and which of several headers of one name counts."""

    dialects: tuple[Dialect, ...] = DIALECTS
    first_counts: bool = False

    def first(self, dialect: Dialect) -> bool:
        """Whether of several headers of one name the first counts, in this dialect."""
        return self.first_counts != dialect.newest_first


_readings = [Reading()]


def reading() -> Reading:
    """How this process reads headers."""
    return _readings[-1]


def read_as(chosen: Reading) -> None:
    """Choose how this process reads headers; call it before the first record."""
    _readings[-1] = chosen
