"""The target of a dead letter: one topic and, if known, one partition; or none, with the reason.

A target is never guessed. It is never a dead letter topic, a parked topic, a topic of Kafka's own or of ours,
and never part of a cycle.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from deadwatch.contract.topics import DLQ_PATTERNS, PARKED_SUFFIX, is_dead_letter_topic, is_internal
from deadwatch.deadletter.record import DeadLetter
from deadwatch.orders.order import MapTarget, RetryTarget, Target, TopicTarget
from deadwatch.orders.reasons import SkipReason


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """A topic to write to; without ``partition`` the record's key decides."""

    topic: str
    partition: int | None


@dataclass(frozen=True, slots=True)
class Skip:
    """The record is not moved; ``topic`` is the refused target, "" if none was named."""

    reason: StrEnum
    topic: str = ""


@dataclass(frozen=True, slots=True)
class TargetRules:
    """The topics that may be written to.

    ``allow`` are regular expressions of which one has to match a target as a whole; ``dlq_topics`` are dead
    letter topics that configurations name, besides those that match the patterns; ``partitions`` are the
    topics of the cluster; ``own`` are those of our events.
    """

    partitions: Mapping[str, int]
    own: frozenset[str]
    allow: tuple[str, ...] = (".*",)
    dlq_patterns: tuple[str, ...] = DLQ_PATTERNS
    dlq_deny: tuple[str, ...] = ()
    dlq_topics: frozenset[str] = frozenset()

    def is_dlq(self, topic: str) -> bool:
        """Whether dead letters are kept there, parked ones included."""
        return (
            topic.endswith(PARKED_SUFFIX)
            or topic in self.dlq_topics
            or is_dead_letter_topic(topic, self.dlq_patterns, self.dlq_deny)
        )

    def refusal(self, topic: str) -> SkipReason | None:
        """Why the topic must not be written to, by the first rule that applies; None if it may."""
        if is_internal(topic) or topic in self.own:
            return SkipReason.TARGET_INTERNAL
        if self.is_dlq(topic):
            return SkipReason.TARGET_IS_DLQ
        if not any(re.fullmatch(pattern, topic) for pattern in self.allow):
            return SkipReason.TARGET_NOT_ALLOWED
        if topic not in self.partitions:
            return SkipReason.TARGET_MISSING
        return None


def target_of(dead_letter: DeadLetter, rule: Target, allow: TargetRules) -> TargetPlace | Skip:
    """The target of a dead letter; the first rule that applies wins."""
    if dead_letter.headers_unreadable:
        return Skip(SkipReason.HEADERS_UNREADABLE)
    if isinstance(rule, RetryTarget) and dead_letter.consumergroup not in {"", rule.consumergroup}:
        return Skip(SkipReason.OTHER_CONSUMERGROUP)
    topic = _topic(dead_letter.source_topic, rule)
    if topic is None:
        return Skip(SkipReason.NO_ORIGIN)
    if topic in {"", dead_letter.topic}:
        return Skip(SkipReason.TARGET_CYCLE, topic)
    refusal = allow.refusal(topic)
    if refusal is not None:
        return Skip(refusal, topic)
    return TargetPlace(topic, _partition(dead_letter, topic, allow.partitions))


def cycle(redirects: Mapping[str, str]) -> tuple[str, ...]:
    """The topics of a cycle in a redirect map, the first one repeated at the end; empty if there is none.

    Each redirect is followed once.
    """
    done: set[str] = set()
    for start in redirects:
        topic, path = start, dict[str, None]()
        while topic in redirects and topic not in done:
            done.add(topic)
            path[topic] = None
            topic = redirects[topic]
        if topic in path:
            topics = list(path)
            return (*topics[topics.index(topic) :], topic)
    return ()


def _topic(source: str, rule: Target) -> str | None:
    """The topic that the rule names; None without an origin, "" for a cycle."""
    if isinstance(rule, TopicTarget | RetryTarget) and rule.topic is not None:
        return rule.topic
    if not source:
        return None
    if isinstance(rule, RetryTarget):
        return f"{source}-{rule.consumergroup}-retry"
    return _redirected(source, rule.map) if isinstance(rule, MapTarget) else source


def _redirected(source: str, redirects: Mapping[str, str]) -> str:
    """The last topic of the chain of redirects; "" for a cycle."""
    topic, seen = source, {source}
    while topic in redirects:
        topic = redirects[topic]
        if topic in seen:
            return ""
        seen.add(topic)
    return topic


def _partition(dead_letter: DeadLetter, topic: str, partitions: Mapping[str, int]) -> int | None:
    """The source partition, if the target has as many partitions as the source topic."""
    count = partitions[topic]
    source = dead_letter.source_partition
    if source is None or not 0 <= source < count or partitions.get(dead_letter.source_topic) != count:
        return None
    return source
