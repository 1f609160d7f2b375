"""The time by which a worker goes."""

import time


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
