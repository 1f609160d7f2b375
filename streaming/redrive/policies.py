"""A policy is a standing order: what arrives on its topics is redriven by orders that are made of themselves.

Its orders cover the offsets of a topic one after the other, each a bounded part, and never two at a time: a
record is looked at by one of them, and again only when it has come back, behind what was looked at. How often
it may come back is told by its headers, as in every order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streaming.redrive.cluster import Extents
from streaming.redrive.order import Status
from streaming.redrive.policy import Latest, Policy, Positions


@dataclass(frozen=True, slots=True)
class Due:
    """The next order is about these offsets of this topic."""

    topic: str
    extents: Extents


def rests(policy: Policy, latest: Latest | None, now_ms: int) -> bool:
    """Whether no order may be made now, whatever there is to move; the first rule that applies wins."""
    if not policy.request.enabled or now_ms < policy.next_at_ms:
        return True
    if latest is None:
        return False
    if not latest.status.final:
        return True
    return latest.status is Status.FAILED and latest.created_at_ms >= policy.changed_at_ms


def due(
    policy: Policy, latest: Latest | None, backlog: Mapping[str, Extents], now_ms: int, most: int
) -> Due | None:
    """The order to make now: topics take turns, and no order covers more than ``most`` offsets."""
    if rests(policy, latest, now_ms):
        return None
    for topic in _in_turn(backlog, policy.last_topic):
        if policy.request.covers(topic):
            extents = _part(policy.positions.get(topic, {}), backlog[topic], most)
            if extents.end:
                return Due(topic, extents)
    return None


def covered(positions: Positions, one: Due) -> Positions:
    """The positions once there is an order about it, or nothing in it is the policy's."""
    return {**positions, one.topic: {**positions.get(one.topic, {}), **one.extents.end}}


def _in_turn(topics: Iterable[str], last: str) -> list[str]:
    return sorted(topics, key=lambda topic: (topic <= last, topic))


def _part(position: Mapping[int, int], there: Extents, most: int) -> Extents:
    """What no order has covered, a fair share of each partition; a topic that was made anew begins anew."""
    begin = {partition: _first(position.get(partition, 0), there, partition) for partition in there.end}
    waiting = {partition: there.end[partition] - first for partition, first in begin.items()}
    ordered = sorted((partition for partition in waiting if waiting[partition] > 0), key=waiting.__getitem__)
    cut: dict[int, int] = {}
    for place, partition in enumerate(ordered):
        share = min(waiting[partition], -(-most // (len(ordered) - place)))
        if share:
            cut[partition] = begin[partition] + share
            most -= share
    return Extents({partition: begin[partition] for partition in cut}, cut)


def _first(position: int, there: Extents, partition: int) -> int:
    begin = there.begin.get(partition, 0)
    return begin if position > there.end[partition] else max(position, begin)
