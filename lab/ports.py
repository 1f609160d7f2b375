"""Free loopback ports; another process may take one before it is used, then the lab starts again."""

import socket
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True, slots=True)
class Ports:
    """One port for everything that listens."""

    broker: int
    broker_sasl_ssl: int
    controller: int
    broker_jolokia: int
    connect: int
    connect_jolokia: int

    @classmethod
    def choose(cls) -> Self:
        """Ports that are free now and differ from each other."""
        with ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in fields(cls)]
            for bound in sockets:
                bound.bind(("127.0.0.1", 0))
            return cls(*(bound.getsockname()[1] for bound in sockets))
