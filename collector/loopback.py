"""Which addresses stay on this machine: a server without authentication listens on no other."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether ``host`` is localhost or a loopback address, of IPv4 or IPv6."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
