"""How a signal reaches the supervisor: once to stop, again to stop at once."""

import signal
from dataclasses import dataclass


@dataclass(slots=True)
class StopSwitch:
    """Counts the requests to stop; unlike an Event, a signal handler may set it at any moment."""

    requests: int = 0

    @property
    def stop(self) -> bool:
        """Whether we were asked to stop."""
        return self.requests > 0

    @property
    def kill(self) -> bool:
        """Whether we were asked again, and must not wait any longer."""
        return self.requests > 1

    def press(self) -> None:
        """Ask to stop; asked again: to stop at once."""
        self.requests += 1

    def on_signals(self) -> None:
        """SIGINT and SIGTERM press it; call it from the main thread."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.press())
