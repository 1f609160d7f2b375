"""Loopback ports for what tests start; each is chosen once, by whichever of their processes."""

from lab.ports import free_ports

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port that no outgoing connection is given either."""
    return free_ports(1)[0]
