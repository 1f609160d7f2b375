"""Policies: standing orders, by which what arrives on their topics is redriven.

The orders of a policy cover the offsets of a topic one after the other, each a bounded part, never two at a
time: an order looks at a record once, and a later one only when the record has come back behind what was
covered. How often a record may come back is in its headers, as for every order. Offsets are Kafka's, times
are milliseconds since the epoch.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from deadwatch.contract.topics import PARKED_SUFFIX, refuse_broken
from deadwatch.deadletter.filter import MAX_CHARS, Filter
from deadwatch.deadletter.filter.errors import FilterError
from deadwatch.deadletter.record import DeadLetter, parse_record
from deadwatch.orders.errors import RefusedOrderError
from deadwatch.orders.order import MOST_CLASSES, ErrorClass, OrderRequest, Selection, Status, Terms
from deadwatch.orders.selection import Extents

Pattern = Annotated[str, Field(max_length=10_000)]


class PolicyRequest(Terms):
    """A policy as a user requests it."""

    dlq_topics: Annotated[
        tuple[Pattern, ...], Field(min_length=1, max_length=100), AfterValidator(refuse_broken)
    ] = Field(description="Regular expressions; a dead letter topic matches one as a whole.")
    filter: str | None = Field(None, min_length=1, max_length=MAX_CHARS, description="CEL expression.")
    exclude_error_classes: tuple[ErrorClass, ...] = Field(
        (),
        max_length=MOST_CLASSES,
        description="Whole names: their records are parked at once, without another try.",
    )
    excluded: Literal["park", "leave"] = Field(
        "park", description="What becomes of them: parked at once, or left where they are."
    )
    include_existing: bool = Field(
        default=False, description="Also what its topics hold when it is made; else what comes later."
    )
    enabled: bool = True

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        if self.limits.max_records is not None:
            raise ValueError("limits.max_records would leave records behind for ever: leave it out")
        if len(self._expression()) > MAX_CHARS:
            raise ValueError(
                f"filter and exclude_error_classes together are longer than {MAX_CHARS} characters"
            )
        return self

    def covers(self, topic: str) -> bool:
        """Whether the policy is for this topic; it never is for a parked topic."""
        return not topic.endswith(PARKED_SUFFIX) and any(
            _matches(pattern, topic) for pattern in self.dlq_topics
        )

    def refuse_slow_patterns(self) -> None:
        """Raise ``RefusedOrderError`` for a pattern that may take very long for one name, as any may that RE2
        does not take. Policies of before, which may have one, are read as they are.
        """
        for pattern in self.dlq_topics:
            if _linear(pattern) is None:
                raise RefusedOrderError(
                    f"dlq_topics: {pattern[:100]!r} may take very long for one name: write it as RE2 takes "
                    r"it, without (?!…), (?=…), \1 and {,n}, and a very long one as several; a filter "
                    'leaves topics out, as !topic.endsWith("-test")'
                )

    def order(self, topic: str) -> OrderRequest:
        """The request of one of its orders, for this topic. Raises ``RefusedOrderError``."""
        terms = {name: getattr(self, name) for name in Terms.model_fields}
        if self.excluded == "park":
            parked = dict.fromkeys((*self.retry.park_error_classes, *self.exclude_error_classes))
            if len(parked) > MOST_CLASSES:
                raise RefusedOrderError(
                    "retry.park_error_classes and exclude_error_classes name more than "
                    f"{MOST_CLASSES} classes together: leave some out, or say excluded: leave"
                )
            terms["retry"] = self.retry.model_copy(update={"park_error_classes": tuple(parked)})
        expression = self._expression()
        selection = Selection(filter=expression) if expression else Selection(all=True)
        return OrderRequest(dlq_topic=topic, selection=selection, dry_run=False, **terms)

    def _expression(self) -> str:
        """The filter and the excluded classes; a comment at the filter's end does not take the bracket."""
        if self.filter is None or "//" not in self.filter:
            return self._joined("")
        apart = self._joined("\n")
        return apart if len(apart) <= MAX_CHARS else self._joined("")  # as one was read before

    def _joined(self, behind: str) -> str:
        parts = [] if self.filter is None else [f"({self.filter}{behind})"]
        if self.exclude_error_classes and self.excluded == "leave":
            names = ", ".join(f'"{name}"' for name in self.exclude_error_classes)
            parts.append(f"![error_class, wrapper].exists(c, c in [{names}])")
        return " && ".join(parts)


_ANOTHER_LANGUAGE: Final = re.compile(r"\{,|\[\[|\[:")
"""What RE2 takes, but for something else than Python does."""


@lru_cache(1_000)
def _linear(pattern: str) -> Filter | None:
    """The pattern as a filter, which takes time in proportion to the name; None where RE2 does not take it,
    or takes it for something else.
    """
    if _ANOTHER_LANGUAGE.search(pattern):
        return None
    try:
        found = Filter(f"topic.matches({json.dumps(rf'^(?:{pattern})$', ensure_ascii=False)})")
    except FilterError:
        return None
    return None if found.verdict(_named("")).problem else found


@lru_cache(10_000)
def _matches(pattern: str, topic: str) -> bool:
    linear = _linear(pattern)
    return linear(_named(topic)) if linear else re.fullmatch(pattern, topic) is not None


def _named(topic: str) -> DeadLetter:
    return parse_record(topic, 0, 0, 0, None, None, None)


class Position(NamedTuple):
    """Kafka's id of a topic, "" where it is not known, and the first offset of each partition that no order
    of a policy has covered.
    """

    topic_id: str
    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as the store keeps it; ``version`` counts changes from 1, ``failures`` failures in a row."""

    id: str
    version: int
    request: PolicyRequest
    changed_by: str
    created_at_ms: int
    changed_at_ms: int
    positions: Mapping[str, Position] = field(default_factory=dict)
    """By topic."""
    last_topic: str = ""
    failures: int = 0
    status_reason: str = ""
    next_at_ms: int = 0

    def position(self, topic: str, topic_id: str) -> Mapping[int, int]:
        """The first offset of each partition that no order has covered; none if the topic was made anew."""
        known = self.positions.get(topic)
        if known is None or (known.topic_id and topic_id and known.topic_id != topic_id):
            return {}
        return known.offsets


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest order of a policy, with its state."""

    id: str
    status: Status
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class Due:
    """The topic and the offsets of a policy's next order."""

    topic: str
    extents: Extents
    topic_id: str = ""


class Backlog(NamedTuple):
    """Kafka's id of a topic, and the offsets that it holds."""

    topic_id: str
    extents: Extents


def rests(policy: Policy, latest: Latest | None) -> bool:
    """Whether a policy that is enabled must not make an order now."""
    if latest is None:
        return False
    if not latest.status.final:
        return True
    return latest.status is Status.FAILED and latest.created_at_ms >= policy.changed_at_ms


def due(policy: Policy, backlog: Mapping[str, Backlog], most: int) -> Due | None:
    """The order to make now, if any: topics take turns, and an order covers at most ``most`` offsets."""
    for topic in sorted(backlog, key=lambda topic: (topic <= policy.last_topic, topic)):
        if policy.request.covers(topic):
            topic_id, there = backlog[topic]
            known = policy.positions.get(topic)
            same = bool(topic_id and known is not None and known.topic_id == topic_id)
            extents = _part(policy.position(topic, topic_id), there, most, same=same)
            if extents.end:
                return Due(topic, extents, topic_id)
    return None


def covered(policy: Policy, one: Due) -> Policy:
    """The policy after these offsets were covered, by an order or because none is the policy's."""
    offsets = {**policy.position(one.topic, one.topic_id), **one.extents.end}
    positions = {**policy.positions, one.topic: Position(one.topic_id, offsets)}
    return replace(policy, positions=positions, last_topic=one.topic)


def _part(position: Mapping[int, int], there: Extents, most: int, *, same: bool) -> Extents:
    """Offsets that no order has covered, a fair share of each partition; a recreated topic begins anew.

    The ``same`` topic that is shorter has lost its last records and goes on at its end. Where a partition
    goes back its part may be empty: that is to be noted as well.
    """
    begin = {at: _first(position.get(at, 0), there, at, same=same) for at in there.end}
    waiting = {partition: there.end[partition] - first for partition, first in begin.items()}
    ordered = sorted((partition for partition in waiting if waiting[partition] > 0), key=waiting.__getitem__)
    cut = {partition: first for partition, first in begin.items() if first < position.get(partition, 0)}
    for place, partition in enumerate(ordered):
        share = min(waiting[partition], -(-most // (len(ordered) - place)))
        if share:
            cut[partition] = begin[partition] + share
            most -= share
    return Extents({partition: begin[partition] for partition in cut}, cut)


def _first(position: int, there: Extents, partition: int, *, same: bool) -> int:
    begin, end = there.begin.get(partition, 0), there.end[partition]
    if position > end:
        return end if same else begin
    return max(position, begin)
