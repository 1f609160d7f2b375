"""Where a dead letter goes: one topic and, where it is known, one partition; or nowhere, with the reason.

Never guessed, never a dead letter topic, a parked one, one of Kafka's or our own, never round in a circle.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from collector.contract.topics import DLQ_PATTERNS, EVENTS, PARKED_SUFFIX, is_dead_letter_topic, is_internal
from streaming.letter import Letter
from streaming.redrive.order import MapTarget, RetryTarget, Target, TopicTarget


class SkipReason(StrEnum):
    """Why a letter stays where it is; values of ``outcome_reason``."""

    NO_ORIGIN = "no_origin"
    OTHER_CONSUMERGROUP = "other_consumergroup"
    TARGET_CYCLE = "target_cycle"
    TARGET_INTERNAL = "target_internal"
    TARGET_IS_DLQ = "target_is_dlq"
    TARGET_NOT_ALLOWED = "target_not_allowed"
    TARGET_MISSING = "target_missing"


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Where to; without ``partition`` the record's key decides."""

    topic: str
    partition: int | None


@dataclass(frozen=True, slots=True)
class Skip:
    """Not moved; ``topic`` is the one it would have gone to, as far as one was named."""

    reason: StrEnum
    topic: str = ""


@dataclass(frozen=True, slots=True)
class TargetRules:
    """What may be written to.

    ``allow`` are regular expressions of which one has to match a target as a whole; ``dlq_topics`` are dead
    letter topics that configurations name, beside those that the patterns tell; ``partitions`` are the
    topics of the cluster.
    """

    partitions: Mapping[str, int]
    allow: tuple[str, ...] = (".*",)
    dlq_patterns: tuple[str, ...] = DLQ_PATTERNS
    dlq_deny: tuple[str, ...] = ()
    dlq_topics: frozenset[str] = field(default_factory=frozenset)

    def is_dlq(self, topic: str) -> bool:
        """Whether dead letters are kept there, parked ones included."""
        return (
            topic.endswith(PARKED_SUFFIX)
            or topic in self.dlq_topics
            or is_dead_letter_topic(topic, self.dlq_patterns, self.dlq_deny)
        )

    def refusal(self, topic: str) -> SkipReason | None:
        """Why nothing may be written there; the first rule that applies."""
        if is_internal(topic) or topic == EVENTS:
            return SkipReason.TARGET_INTERNAL
        if self.is_dlq(topic):
            return SkipReason.TARGET_IS_DLQ
        if not any(re.fullmatch(pattern, topic) for pattern in self.allow):
            return SkipReason.TARGET_NOT_ALLOWED
        if topic not in self.partitions:
            return SkipReason.TARGET_MISSING
        return None


def target_of(letter: Letter, rule: Target, allow: TargetRules) -> TargetPlace | Skip:
    """Where the letter goes; the first rule that applies wins."""
    if isinstance(rule, RetryTarget) and letter.consumergroup not in {"", rule.consumergroup}:
        return Skip(SkipReason.OTHER_CONSUMERGROUP)
    topic = _topic(letter.source_topic, rule)
    if topic is None:
        return Skip(SkipReason.NO_ORIGIN)
    if topic in {"", letter.topic}:
        return Skip(SkipReason.TARGET_CYCLE, topic)
    refusal = allow.refusal(topic)
    if refusal is not None:
        return Skip(refusal, topic)
    return TargetPlace(topic, _partition(letter, topic, allow.partitions))


def cycle(redirects: Mapping[str, str]) -> tuple[str, ...]:
    """The topics of a circle in a redirect map, the first one again at its end; empty: there is none."""
    for start in redirects:
        way = [start]
        while way[-1] in redirects:
            way.append(redirects[way[-1]])
            if way[-1] in way[:-1]:
                return tuple(way[way.index(way[-1]) :])
    return ()


def _topic(source: str, rule: Target) -> str | None:
    """The topic that the rule names: None without an origin, "" for a circle."""
    if isinstance(rule, TopicTarget):
        return rule.topic
    if isinstance(rule, RetryTarget) and rule.topic is not None:
        return rule.topic
    if not source:
        return None
    if isinstance(rule, RetryTarget):
        return f"{source}-{rule.consumergroup}-retry"
    return _redirected(source, rule.map) if isinstance(rule, MapTarget) else source


def _redirected(source: str, redirects: Mapping[str, str]) -> str:
    """The end of the way; "" where it has none."""
    seen = {source}
    topic = source
    while topic in redirects:
        topic = redirects[topic]
        if topic in seen:
            return ""
        seen.add(topic)
    return topic


def _partition(letter: Letter, topic: str, partitions: Mapping[str, int]) -> int | None:
    """The partition it came from, where the target has as many as the topic it came from."""
    count = partitions[topic]
    source = letter.source_partition
    if source is None or not 0 <= source < count or partitions.get(letter.source_topic) != count:
        return None
    return source
