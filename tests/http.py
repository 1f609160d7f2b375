"""Requests of tests to processes of their own: no proxy, and time enough for a process on a busy machine."""

import ssl
from functools import partial
from typing import Final

import httpx2

REQUEST_S: Final = 60
"""A bound for a hang: no test asks how soon an answer comes."""
_TRUSTED: Final = ssl.create_default_context()
"""httpx2 reads the authorities anew for each request: 50 ms of a core, of which the request takes two."""

get = partial(httpx2.get, timeout=REQUEST_S, trust_env=False, verify=_TRUSTED)
head = partial(httpx2.head, timeout=REQUEST_S, trust_env=False, verify=_TRUSTED)
post = partial(httpx2.post, timeout=REQUEST_S, trust_env=False, verify=_TRUSTED)
put = partial(httpx2.put, timeout=REQUEST_S, trust_env=False, verify=_TRUSTED)
delete = partial(httpx2.delete, timeout=REQUEST_S, trust_env=False, verify=_TRUSTED)
