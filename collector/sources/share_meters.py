"""The meters of share-group dead letter queues in a broker's beans (KIP-1191), read through Jolokia.

A broker makes the meters of a group at its first dead letter, that of failures at the first failure: what is
not there stands for 0. They count from the start of the broker, which is read along with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from collector.contract.events import ShareGroup
from collector.sources import jolokia

METERS: Final[Mapping[str, str]] = {
    "records": "DeadLetterQueueRecordCount",
    "produce_requests": "DeadLetterQueueTotalProduceRequestsPerSec",
    "failed_produce_requests": "DeadLetterQueueFailedProduceRequestsPerSec",
}
"""The bean's name for each field of ``ShareGroup``."""

_START: Final = {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "StartTime"}
_REQUEST: Final[Sequence[dict[str, Any]]] = (
    *(
        {
            "type": "read",
            "mbean": f"kafka.server:type=ShareGroupMetrics,name={name},*",
            "attribute": "Count",
        }
        for name in METERS.values()
    ),
    _START,
)


@dataclass(frozen=True, slots=True)
class Meters:
    """The share groups of one broker since it was started."""

    started_at_ms: int
    groups: tuple[ShareGroup, ...]


def read(client: httpx2.Client, url: str) -> Meters:
    """The meters now. Raises ``JolokiaError``."""
    return jolokia.ask(client, url, _REQUEST, _meters, "of a broker")


def _meters(answers: list[dict[str, Any]]) -> Meters:
    *meters, start = answers
    counts: dict[str, dict[str, int]] = {}
    for field, answer in zip(METERS, meters, strict=True):
        for group, count in _counts(answer):
            counts.setdefault(group, dict.fromkeys(METERS, 0))[field] = count
    groups = tuple(ShareGroup(consumergroup=group, **counts[group]) for group in sorted(counts))
    return Meters(int(start["value"]), groups)


def _counts(answer: dict[str, Any]) -> Iterator[tuple[str, int]]:
    if answer["status"] == jolokia.NOT_FOUND:
        return
    for name, attributes in answer["value"].items():
        yield jolokia.bean_properties(name)["group"], int(attributes["Count"])
