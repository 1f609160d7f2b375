"""What a fault test did to the processes, and what became of the records."""

from dataclasses import dataclass

ACCOUNTS: dict[str, "Account"] = {}


@dataclass
class Account:
    """Counted while the test runs; printed when all have ended."""

    kills: int = 0
    broker_kills: int = 0
    rotations: int = 0
    written: int = 0
    lost: int = 0
    twice: int = 0

    def line(self) -> str:
        done = f"{self.kills} kills, {self.broker_kills} of the broker, {self.rotations} rotations"
        return f"{done}; {self.written} written, {self.lost} lost, {self.twice} twice"
