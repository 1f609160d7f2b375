"""Names of hosts and their addresses, and listening at one."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Final

_HOST: Final = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::[0-9]{1,5})?")
"""A name or an address, and a port (RFC 9110, 7.2); a client without a name for us sends an empty one."""


def is_loopback(host: str) -> bool:
    """Whether ``host`` is localhost or a loopback address, of IPv4 or IPv6."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(sent: Sequence[str]) -> str | None:
    """The name or address in the headers Host of a request; "" where none was sent, None where it is
    malformed or comes twice.
    """
    found = _HOST.fullmatch(sent[0] if sent else "") if len(sent) <= 1 else None
    return found["name"].strip("[]").lower() if found else None


def listen(host: str, port: int) -> socket.socket:
    """The socket to serve HTTP on. Raises ``OSError``."""
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Connections inherit it; without, a small answer waits 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
