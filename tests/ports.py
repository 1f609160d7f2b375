"""Loopback ports that are free now; another process may take one before it is used."""

from lab.broker import free_ports

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that no outgoing connection is given either."""
    return free_ports(1)[0]
