"""Loopback ports that are free now; another process may take one before it is used."""

import socket
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """As many."""
    with ExitStack() as held:
        servers = [held.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


def free_port() -> int:
    """One."""
    return free_ports(1)[0]
