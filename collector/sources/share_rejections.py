"""Whether share groups reject records without a dead letter, by the brokers' own meters (KIP-1191).

A broker counts rejections without saying of which group; dead letters it counts by group. What was rejected
by one look and is not written by the next, one poll interval later, has no dead letter. Dead letters of
records that were given up, not rejected, hide as many: this notices too little rather than too much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from collector.settings import BrokerSettings
from collector.sources import http_client, jolokia
from collector.sources.jolokia import JolokiaError

_BEAN: Final = "kafka.server:type=ShareGroupMetrics,name="
_REQUEST: Final[Sequence[dict[str, Any]]] = (
    {
        "type": "read",
        "mbean": f"{_BEAN}RecordAcknowledgementsPerSec,ackType=Reject",
        "attribute": "Count",
    },
    {"type": "read", "mbean": f"{_BEAN}DeadLetterQueueRecordCount,*", "attribute": "Count"},
    {"type": "read", "mbean": "java.lang:type=Runtime", "attribute": "StartTime"},
)


@dataclass(frozen=True, slots=True)
class Look:
    """The meters of one broker since it was started."""

    started_at_ms: int
    rejected: int
    written: int


@dataclass(frozen=True, slots=True)
class Tally:
    """A broker's latest look, and the most rejections without dead letter so far; None: not known yet."""

    look: Look
    most: int | None = None


def following(before: Tally | None, now: Look) -> Tally:
    """The next tally. What was rejected before the first look is nobody's: whose it was is not known."""
    if before is None:
        return Tally(now)
    if before.look.started_at_ms != now.started_at_ms:
        before = Tally(Look(now.started_at_ms, 0, 0), 0)
    return Tally(now, max(before.most or 0, before.look.rejected - now.written))


def more(before: Tally | None, now: Tally) -> bool:
    """Whether a broker has more rejections without dead letter than before."""
    if before is None or before.most is None or now.most is None:
        return False
    return now.most > before.most


class Rejections:
    """Asks the brokers whose Jolokia is known."""

    def __init__(self, brokers: Sequence[BrokerSettings]) -> None:
        self._clients = {
            broker.jolokia_url: http_client.client(broker.request_timeout_ms) for broker in brokers
        }
        self._tallies: dict[str, Tally] = {}

    def grew(self) -> bool:
        """Whether there are more rejections without dead letter than before.

        That an agent does not answer is for the broker's own source to say.
        """
        grew = [self._grew(url, client) for url, client in self._clients.items()]
        return any(grew)

    def _grew(self, url: str, client: httpx2.Client) -> bool:
        before = self._tallies.get(url)
        try:
            now = self._tallies[url] = following(before, _look(client, url))
        except JolokiaError:
            return False
        return more(before, now)

    def close(self) -> None:
        """Let go of the connections."""
        for client in self._clients.values():
            client.close()


def _look(client: httpx2.Client, url: str) -> Look:
    return jolokia.ask(client, url, _REQUEST, _read, "of a broker")


def _read(answers: list[dict[str, Any]]) -> Look:
    rejected, written, start = answers
    return Look(
        started_at_ms=int(start["value"]),
        rejected=0 if rejected["status"] == jolokia.NOT_FOUND else int(rejected["value"]),
        written=0
        if written["status"] == jolokia.NOT_FOUND
        else sum(int(attributes["Count"]) for attributes in written["value"].values()),
    )
