"""What a fault test did to the processes, and what became of the records."""

from collections import Counter
from dataclasses import dataclass, field

ACCOUNTS: dict[str, "Account"] = {}


@dataclass
class Account:
    """Counted while the test runs, ``done`` by the kind of a deed; printed when all have ended."""

    kills: int = 0
    broker_kills: int = 0
    rotations: int = 0
    written: int = 0
    lost: int = 0
    twice: int = 0
    done: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        done = f"{self.kills} kills, {self.broker_kills} of the broker, {self.rotations} rotations"
        asked = "".join(f", {count} {kind}" for kind, count in sorted(self.done.items()))
        return f"{done}; {self.written} written, {self.lost} lost, {self.twice} twice{asked}"
