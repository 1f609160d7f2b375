"""Which process holds a store: told to people, and known to be gone on the same machine."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

NAMESPACE = Path("/proc/self/ns/pid")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process; ``started`` tells it from a later one of its pid, pids mean the same in one ``place``."""

    place: str
    pid: int
    started: str

    @property
    def holder(self) -> str:
        """The owner, for people."""
        return f"pid {self.pid} on {self.place.split('|', maxsplit=1)[0]}"

    @property
    def token(self) -> str:
        """The owner, for ``is_gone``."""
        return f"{self.place}|{self.pid}|{self.started}"

    def is_gone(self, token: str) -> bool:
        """Whether ``token`` is of a process of our machine that has ended; false where we cannot know."""
        place, pid, started = token.rsplit("|", 2)
        return place == self.place and started != _started(int(pid))


def this_process() -> Owner:
    """The owner that we are."""
    namespace = str(NAMESPACE.readlink()) if NAMESPACE.exists() else ""
    return Owner(f"{socket.gethostname()}|{namespace}", os.getpid(), _started(os.getpid()))


def _started(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return ""
    except psutil.AccessDenied:
        return "unknown"
