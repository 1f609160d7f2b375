"""Loopback ports for servers that are about to start."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import SystemRandom
from typing import Final

LOOPBACK: Final = "127.0.0.1"
COUNTER: Final = "DEADWATCH_PORTS"
"""Names a file that counts the ports that were chosen: processes which have it choose none twice."""
_FIRST: Final = 10_000
_BLOCKED: Final = 10_080
"""Browsers open no page there; of the ports that the Fetch standard blocks the only one above ``_FIRST``."""
_OUTGOING: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int, host: str = LOOPBACK) -> list[int]:
    """Ports that are free now and differ, none that Linux would give to an outgoing connection.

    So a broker that was killed finds its port free when it starts again: a client that tried to reach it
    meanwhile cannot have been given that port, and so have connected to itself.

    Raises:
        OSError: nothing can listen on ``host``.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    candidates = _candidates()
    with ExitStack() as held:
        sockets: list[socket.socket] = []
        while len(sockets) < count:
            try:
                server = socket.create_server((host, next(candidates)), family=family)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                sockets.append(held.enter_context(server))
        return [each.getsockname()[1] for each in sockets]


def free_port(host: str = LOOPBACK) -> int:
    """One such port."""
    return free_ports(1, host)[0]


def _candidates() -> Iterator[int]:
    """Without an end; 0, any port, where outgoing connections have nearly all."""
    outgoing = int(_OUTGOING.read_text().split()[0]) if _OUTGOING.exists() else 0
    count = outgoing - _FIRST
    counter = os.environ.get(COUNTER)
    random = SystemRandom()  # tests seed the other one
    while True:
        if count < _FIRST:
            yield 0
            continue
        port = _FIRST + (_next(Path(counter)) if counter else random.randrange(count)) % count
        if port != _BLOCKED:
            yield port


def _next(counter: Path) -> int:
    """The number in the file, which then has the next one."""
    with counter.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = int(file.read() or 0)
        file.truncate(0)
        file.write(str(number + 1))
    return number
