"""Share groups by a broker's own meters (KIP-1191), read through its Jolokia agent: dead letters and
rejections.

``BrokerSource`` publishes one snapshot of a broker's groups at every change and as a heartbeat. The sum
over the brokers is that of the cluster: a group's dead letters are counted by the leader of each
partition that it reads. A broker creates the meters of a group at its first dead letter, and the meter of
failures at the first failure: a missing meter stands for 0. Meters count from the start of the broker,
which is read along with them.

``Rejections`` notices records that share groups reject without a dead letter. A broker counts rejections
without the group; it counts dead letters by group. What was rejected at one reading and is not written
by the next one, a poll interval later, has no dead letter. Dead letters of records that were given up, not
rejected, hide as many: so this notices too little rather than too much.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import httpx2

from collector.settings import BrokerSettings
from collector.sources import jolokia
from collector.sources.jolokia import Answer, JolokiaError, JolokiaTimeoutError, Request
from collector.sources.source import Chunk, Publishing, Snapshots, SourceDownError, SourceTimeoutError
from deadwatch.contract.events import BrokerSnapshot, ShareGroup
from deadwatch.runtime import http_client

METERS: Final[Mapping[str, str]] = {
    "records": "DeadLetterQueueRecordCount",
    "produce_requests": "DeadLetterQueueTotalProduceRequestsPerSec",
    "failed_produce_requests": "DeadLetterQueueFailedProduceRequestsPerSec",
}
"""The bean's name for each field of ``ShareGroup``."""

MAX_GROUPS: Final = 2_000
"""How many groups one event holds."""

_TOO_MANY: Final = (
    "the broker has meters of more share groups than one event holds; those beyond are not counted"
)
_CHECK: Final = "check jolokia_url and the agent"
_METER: Final = "kafka.server:type=ShareGroupMetrics,name="
_METERS_REQUEST: Final[Request] = (
    *(jolokia.reading(f"{_METER}{name},*", "Count") for name in METERS.values()),
    jolokia.START,
)
_REJECTIONS_REQUEST: Final[Request] = (
    jolokia.reading(f"{_METER}RecordAcknowledgementsPerSec,ackType=Reject", "Count"),
    jolokia.reading(f"{_METER}{METERS['records']},*", "Count"),
    jolokia.START,
)


def _meters(answers: list[Answer]) -> tuple[int, tuple[ShareGroup, ...]]:
    """When the broker was started, and its share groups since then."""
    *meters, start = answers
    counts: dict[str, dict[str, int]] = {}
    for field, answer in zip(METERS, meters, strict=True):
        for properties, attributes in jolokia.beans(answer):
            group = counts.setdefault(properties["group"], dict.fromkeys(METERS, 0))
            group[field] = int(attributes["Count"])
    groups = tuple(ShareGroup(consumergroup=name, **counts[name]) for name in sorted(counts))
    return int(start["value"]), groups


def label(settings: BrokerSettings) -> str:
    """The broker's name, or else the host and port of its agent."""
    url = httpx2.URL(settings.jolokia_url)
    return settings.name or (f"{url.host}:{url.port}" if url.port else url.host)


class BrokerSource:
    """Polls one broker's Jolokia agent."""

    kind = "broker"

    def __init__(self, settings: BrokerSettings, publishing: Publishing) -> None:
        self.name = f"broker:{label(settings)}"
        self.poll_interval_ms = settings.poll_interval_ms
        self._settings = settings
        self._client = http_client.client(settings.request_timeout_ms)
        self._snapshots = Snapshots(self.name, publishing)

    def poll(self) -> Chunk | None:
        """The snapshot, if it is due."""
        try:
            url = self._settings.jolokia_url
            started_at_ms, groups = jolokia.ask(self._client, url, _METERS_REQUEST, _meters, "of a broker")
        except JolokiaError as error:
            text = f"Jolokia of the broker {error}: its share-group meters are not known; {_CHECK}"
            if isinstance(error, JolokiaTimeoutError):
                raise SourceTimeoutError("reading Jolokia", text) from None
            raise SourceDownError(text) from None
        broker, kept = label(self._settings), self._snapshots.fitting(groups, MAX_GROUPS)
        due = self._snapshots.due(
            BrokerSnapshot, broker=broker, started_at_ms=started_at_ms, share_groups=kept
        )
        return self._snapshots.chunk(due, [_TOO_MANY] if len(kept) < len(groups) else [])

    def close(self) -> None:
        """Close all connections that are open."""
        self._client.close()


class Counts(NamedTuple):
    """The meters of one broker since it was started; ``most``: rejections without dead letter so far."""

    started_at_ms: int
    rejected: int
    written: int
    most: int | None = None
    """None: not known yet."""


def next_counts(before: Counts | None, now: Counts) -> tuple[Counts, bool]:
    """The counts now, and whether they have more rejections without dead letter than those before.

    What was rejected before the first reading is not counted, as its group is unknown.
    """
    if before is None:
        return now, False
    if before.started_at_ms != now.started_at_ms:
        before = Counts(now.started_at_ms, 0, 0)
    most = max(before.most or 0, before.rejected - now.written)
    return now._replace(most=most), before.most is not None and most > before.most


class Rejections:
    """Asks the brokers whose Jolokia is known."""

    def __init__(self, brokers: Sequence[BrokerSettings]) -> None:
        self._clients = {
            broker.jolokia_url: http_client.client(broker.request_timeout_ms) for broker in brokers
        }
        self._counts: dict[str, Counts] = {}

    def grew(self) -> bool:
        """Whether there are more rejections without dead letter than before.

        An agent that does not answer is reported by the broker's own source.
        """
        grew = False
        for url, client in self._clients.items():
            with suppress(JolokiaError):
                now = jolokia.ask(client, url, _REJECTIONS_REQUEST, _counts, "of a broker")
                self._counts[url], more = next_counts(self._counts.get(url), now)
                grew |= more
        return grew

    def close(self) -> None:
        """Close all connections that are open."""
        for client in self._clients.values():
            client.close()


def _counts(answers: list[Answer]) -> Counts:
    rejected, written, start = answers
    count = jolokia.value_of(rejected)
    return Counts(
        started_at_ms=int(start["value"]),
        rejected=0 if count == {} else int(count),
        written=sum(int(attributes["Count"]) for _, attributes in jolokia.beans(written)),
    )
