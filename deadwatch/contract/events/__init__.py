"""Events: what a collector publishes to ``deadwatch.events``, one flat JSON object each.

Every event names its ``source`` and a ``position`` that depends on the source's input alone; within a source
positions only grow, and the record's key is the source, so one partition keeps their order. Streaming drops
what is at or below the position it has counted: a chunk that is sent twice is counted once.

Times are milliseconds since the epoch: ``happened_at_ms`` by the clock of whoever failed (the time in the log
line), ``observed_at_ms`` by the collector's. Empty text means "not known"; no field is ever null.

A kind is a class in a module of this package, or, where it is only counted, in one of ``contract.signals``.
"""

import json
from typing import Final

from deadwatch.contract import signals
from deadwatch.contract.event import Event as Event
from deadwatch.contract.event import Position as Position
from deadwatch.contract.event import field_values
from deadwatch.contract.events.findings import *  # noqa: F403 -- one list for those who read it
from deadwatch.contract.events.redrive import *  # noqa: F403 -- as above
from deadwatch.contract.events.self_report import *  # noqa: F403 -- as above
from deadwatch.contract.events.states import *  # noqa: F403 -- as above
from deadwatch.contract.signals.clients import ClientTimeout as ClientTimeout
from deadwatch.contract.signals.clients import DeliveryTimeout as DeliveryTimeout
from deadwatch.contract.signals.clients import RetryBackoffMisconfigured as RetryBackoffMisconfigured
from deadwatch.contract.signals.share_dead_letters import ShareDeadLetterLost as ShareDeadLetterLost
from deadwatch.contract.signals.streams import StreamThreadDied as StreamThreadDied
from deadwatch.contract.signals.streams import TaskCorrupted as TaskCorrupted
from deadwatch.contract.signals.streams import TaskTimeout as TaskTimeout

VERSION: Final = 1
MAX_TEXT_CHARS: Final = 1_000

KINDS: Final[dict[str, type[Event]]] = {
    cls.kind: cls
    for cls in (*vars().values(), *(signal.event for signal in signals.ALL))
    if isinstance(cls, type) and issubclass(cls, Event) and cls is not Event
}
"""The class of every kind of event."""


def encode(event: Event) -> tuple[bytes, bytes]:
    """Key and value of the event's record; texts are cut to ``MAX_TEXT_CHARS``.

    Half a surrogate pair, which JSON of others may hold, is replaced: no event may keep others from Kafka.
    """
    body = {"v": VERSION, "kind": event.kind} | {
        name: value[:MAX_TEXT_CHARS] if isinstance(value, str) else value
        for name, value in field_values(event).items()
    }
    value = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=field_values)
    return event.source.encode(errors="replace"), value.encode(errors="replace")
