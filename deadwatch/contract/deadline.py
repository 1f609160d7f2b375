"""How long a task may go without progress (KIP-572 ``task.timeout.ms``).

The timer starts at the first timeout, not before: slow work that never times out has no deadline. Progress
resets it. When the deadline has passed, one last attempt is due: it is the *next* timeout
that ends the task. ``timeout_ms`` 0 means no retry: the first timeout ends it.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Deadline:
    """The state of one task's timer; every change is a new value."""

    timeout_ms: int
    expires_at_ms: int | None = None

    @property
    def running(self) -> bool:
        """Whether the timer runs: a timeout was met and no progress since."""
        return self.expires_at_ms is not None

    def timed_out(self, now_ms: int) -> "Deadline":
        """The deadline after a timeout: the first one starts the timer, later ones leave it alone."""
        if self.expires_at_ms is not None:
            return self
        return replace(self, expires_at_ms=now_ms + self.timeout_ms)

    def progressed(self) -> "Deadline":
        """The deadline after the task made progress: the timer is reset."""
        return Deadline(self.timeout_ms)

    def spent(self, now_ms: int) -> bool:
        """Whether a timeout met at ``now_ms`` is the last one: ask before ``timed_out``."""
        if self.timeout_ms == 0:
            return True
        return self.expires_at_ms is not None and now_ms > self.expires_at_ms
