"""What librdkafka logs about its timeouts: ``%LEVEL|TIME|FACILITY|NAME#INSTANCE| [thrd:...]: text``.

Requests that ran out of time are logged one by one and then once for the broker: the latter line counts. A
batch that was given up is logged only with ``debug=msg``; without it, it is an error in the application.
"""

import re
from collections.abc import Iterator
from typing import Final

from collector.sources.logs.dialects.cause import Cause, reported
from deadwatch.contract.events import ClientTimeout, DeliveryTimeout

CLIENT: Final = "librdkafka"
TRIGGERS: Final = (
    " partially-sent requests",
    "Application maximum poll inter",
    ": message.timeout.ms exceeded",
)

_REQUESTS = re.compile(
    r"Timed out \d+ in-flight, \d+ retry-queued, \d+ out-queue, \d+ partially-sent requests"
)
_POLL = re.compile(r"Application maximum poll interval \(\d+ms\) exceeded by \d+ms")
_EXPIRY = re.compile(
    r": (?P<topic>[A-Za-z0-9._-]+) \[(?P<partition>\d{1,9})\]:"
    r" timed out (?P<sent>\d{1,9})\+(?P<waiting>\d{1,9}) message\(s\)"
    r" \(MsgId \d+\.\.\d+\): message\.timeout\.ms exceeded",
    re.ASCII,
)
_CLIENT_ID = re.compile(r"%\d\|[\d.]+\|\w+\|([^|]+?)#(?:producer|consumer)-\d+\|")


def read(line: str) -> Iterator[Cause]:
    """The timeouts that the line mentions."""
    client = _CLIENT_ID.search(line)
    client_id = client[1] if client else ""
    for timeout, pattern in (("request", _REQUESTS), ("poll", _POLL)):
        for match in pattern.finditer(line):
            identity, who = (client_id, timeout, match[0]), {"client": CLIENT, "client_id": client_id}
            yield reported(ClientTimeout, *identity, **who, timeout=timeout, message=match[0])
    for match in _EXPIRY.finditer(line):
        yield reported(
            DeliveryTimeout,
            client_id,
            match[0],
            client=CLIENT,
            client_id=client_id,
            topic=match["topic"],
            partition=int(match["partition"]),
            records=int(match["sent"]) + int(match["waiting"]),
            elapsed_ms=0,
            message=match[0].removeprefix(": "),
        )
