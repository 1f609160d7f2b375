"""Dead letter topics that Kafka shows us and does not let us read: the query leaves them out until it does.

One of them would end every batch, and so hide what all the others hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from collector.sources.kafka_topics import is_readable
from streaming import source
from streaming.settings import StreamingSettings

NAMED: Final = 5
"""Topics that one line names; the others are counted."""


class RightsChangedError(Exception):
    """The query was started on other topics than those that may be read now: it has to begin anew."""

    def __init__(self, topics: Iterable[str]) -> None:
        super().__init__(f"may be read now, or no longer: {_named(topics)}")


def closed(described: Sequence[Mapping[str, Any]], settings: StreamingSettings) -> frozenset[str]:
    """Dead letter topics without the right to read."""
    return frozenset(
        one["name"]
        for one in described
        if one["name"] != settings.events_topic
        and source.is_read(one["name"], settings)
        and not is_readable(one)
    )


def without(topics: Iterable[str], settings: StreamingSettings) -> StreamingSettings:
    """The settings of a query that leaves ``topics`` out."""
    denied = (*settings.dlq_topics_deny, *sorted(topics))
    return settings.model_copy(update={"dlq_topics_deny": denied})


def told(topics: Iterable[str], settings: StreamingSettings) -> str:
    """What is not counted and what to do about it; "" where everything may be read."""
    named = _named(topics)
    if not named:
        return ""
    user = settings.kafka.sasl_username or "us"
    return f"not counted, allow {user} Read on them or add them to dlq_topics_deny: {named}"


def _named(topics: Iterable[str]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
