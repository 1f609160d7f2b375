"""Processes of the service that a fault test kills and starts again."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import families

Victims = Mapping[str, Callable[[], None]]
"""What may be killed, and the act that kills it and starts it again."""


@dataclass
class Service:
    """``python -m <module>``; SIGKILL reaches its children too, as when a container dies.

    ``name`` tells several of one module apart.
    """

    module: str
    config: Path
    log: Path
    name: str = ""

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def label(self) -> str:
        """What it is called among others."""
        return self.name or self.module

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.module, "--config", str(self.config)],
                cwd=self.config.parent,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        families.kill(process)

    def kill_and_start(self) -> None:
        self.kill()
        self.start()

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])


@contextmanager
def running(*services: Service) -> Iterator[dict[str, Callable[[], None]]]:
    """All of them, and by name what kills one and starts it again; none is left."""
    try:
        for service in services:
            service.start()
        yield {service.label: service.kill_and_start for service in services}
    finally:
        for service in services:
            service.kill()
