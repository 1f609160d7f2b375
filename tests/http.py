"""Requests of tests to processes of their own: no proxy, and time enough for a process on a busy machine."""

from functools import partial
from typing import Final

import httpx2

REQUEST_S: Final = 60
"""A bound for a hang: no test asks how soon an answer comes."""

get = partial(httpx2.get, timeout=REQUEST_S, trust_env=False)
post = partial(httpx2.post, timeout=REQUEST_S, trust_env=False)
put = partial(httpx2.put, timeout=REQUEST_S, trust_env=False)
delete = partial(httpx2.delete, timeout=REQUEST_S, trust_env=False)
