"""How long a failed attempt waits before the next one (KIP-580).

    delay = min(max, initial * 2**(failures - 1) * random(1 - jitter, 1 + jitter))

Failures are counted from 1. The exponent stops growing once the un-jittered delay would pass the
maximum, as in Apache Kafka's ``ExponentialBackoff``: the plateau keeps its jitter (80 to 100 % of
the maximum) and no delay ever exceeds the maximum. An initial delay above the maximum waits the
maximum, without jitter, as Kafka's clients do.
"""

import math
from dataclasses import dataclass
from random import Random

EXPONENT_BASE = 2


@dataclass(frozen=True, slots=True)
class Backoff:
    """Immutable retry schedule; the caller counts the failures and owns the randomness."""

    initial_ms: int = 100
    max_ms: int = 1_000
    jitter: float = 0.2

    def delay_ms(self, failures: int, rng: Random) -> int:
        """Milliseconds to wait after the ``failures``-th consecutive failure."""
        if failures < 1:
            raise ValueError(f"failures are counted from 1, got {failures}")
        if self.initial_ms >= self.max_ms:
            return self.max_ms
        initial_ms = max(self.initial_ms, 1)
        exponent = min(failures - 1, math.log(self.max_ms / initial_ms, EXPONENT_BASE))
        spread = rng.uniform(1 - self.jitter, 1 + self.jitter)
        return min(self.max_ms, int(self.initial_ms * EXPONENT_BASE**exponent * spread))
