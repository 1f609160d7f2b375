"""Requests of tests to processes of their own: no proxy, and time enough for a process on a busy machine."""

import ssl
from functools import partial
from typing import Final

import httpx2

REQUEST_S: Final = 60
"""A bound for a hang: no test asks how soon an answer comes."""
_UNREAD: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing is encrypted: httpx2 would read the authorities anew for each request, for 50 ms of a core."""

get = partial(httpx2.get, timeout=REQUEST_S, trust_env=False, verify=_UNREAD)
head = partial(httpx2.head, timeout=REQUEST_S, trust_env=False, verify=_UNREAD)
post = partial(httpx2.post, timeout=REQUEST_S, trust_env=False, verify=_UNREAD)
put = partial(httpx2.put, timeout=REQUEST_S, trust_env=False, verify=_UNREAD)
delete = partial(httpx2.delete, timeout=REQUEST_S, trust_env=False, verify=_UNREAD)
