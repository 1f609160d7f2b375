"""A broker's meters of its share groups, followed through its restarts: the totals never go back.

A meter counts from the start of its broker. A later start, or a meter that is less than it was, means that it
began anew: all it shows has come since. What a broker counted between the last snapshot and its end is not
known to anybody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from collector.contract.events import BrokerSnapshot, ShareGroup
from streaming.store.storable import MAX_INTEGER


class Place(NamedTuple):
    """The meters of one group on one broker."""

    kafka_cluster: str
    consumergroup: str
    broker: str


@dataclass(frozen=True, slots=True)
class Meters:
    """One row of the table ``share_groups``."""

    started_at_ms: int = 0
    records: int = 0
    produce_requests: int = 0
    failed_produce_requests: int = 0
    records_total: int = 0
    produce_requests_total: int = 0
    failed_produce_requests_total: int = 0
    observed_at_ms: int = 0


States = Mapping[Place, Meters]


def following(states: States, event: BrokerSnapshot) -> States:
    """The meters after ``event``; a group that it does not name keeps what it had."""
    places = {Place(event.kafka_cluster, one.consumergroup, event.broker): one for one in event.share_groups}
    return {
        **states,
        **{place: _after(states.get(place, Meters()), one, event) for place, one in places.items()},
    }


def _after(before: Meters, now: ShareGroup, event: BrokerSnapshot) -> Meters:
    restarted = event.started_at_ms != before.started_at_ms

    def added(total: int, old: int, new: int) -> int:
        return min(MAX_INTEGER, total + (new if restarted or new < old else new - old))

    return Meters(
        started_at_ms=event.started_at_ms,
        records=now.records,
        produce_requests=now.produce_requests,
        failed_produce_requests=now.failed_produce_requests,
        records_total=added(before.records_total, before.records, now.records),
        produce_requests_total=added(
            before.produce_requests_total, before.produce_requests, now.produce_requests
        ),
        failed_produce_requests_total=added(
            before.failed_produce_requests_total, before.failed_produce_requests, now.failed_produce_requests
        ),
        observed_at_ms=event.observed_at_ms,
    )
