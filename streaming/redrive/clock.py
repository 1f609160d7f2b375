"""The time by which a worker goes."""

import time


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds that only ever grow."""
    return time.monotonic_ns() // 1_000_000


def wait_ms(pause_ms: int) -> None:
    """Do nothing for so long."""
    time.sleep(pause_ms / 1_000)
