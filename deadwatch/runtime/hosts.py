"""Names of hosts and their addresses."""

import ipaddress
import re
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
