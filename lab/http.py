"""JSON over HTTP on loopback, as Connect's REST and Jolokia speak it."""

import json
import urllib.error
import urllib.request
from typing import Any, Final

_WITHIN_S: Final = 60


def call(url: str, body: object = None, method: str | None = None) -> Any:  # noqa: ANN401 - JSON is any shape
    """Send a request and return the decoded answer; None for an empty one. Raises OSError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - http to loopback, spelt by the lab
    with _OPENER.open(request, timeout=_WITHIN_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def answers(url: str) -> bool:
    """Whether a GET is answered with success."""
    try:
        call(url)
    except (OSError, ValueError):
        return False
    return True


_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
