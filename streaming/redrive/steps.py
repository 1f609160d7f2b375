"""How a step of the mover ends."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moved:
    """Go on at once."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to do before."""

    until_ms: int


@dataclass(frozen=True, slots=True)
class Finished:
    """Every record of the order has its outcome."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    """Something has to be mended first."""

    reason: str


Step = Moved | Idle | Finished | Paused
