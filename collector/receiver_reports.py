"""Events that clients report for themselves: all of a body, or nothing of it.

The source is ``events:<the client's name>``; position and time of observation are the collector's.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from collector.contract.events import Event, Position
from collector.receiver_body import Reason, RefusedError
from collector.receiver_events import InvalidEventError, event_of, mapping, text
from collector.receiver_state import Origin, Reports, key_of

MAX_EVENTS: Final = 1_000
"""Of one body: fewer than the ids that are remembered."""

MAX_ID_CHARS: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9._:@/-]{1,100}")


def reports_of(body: object, origin: Callable[[str], Origin]) -> Reports:
    """One event or an array of them; ``origin`` is that of a source. Raises ``RefusedError``."""
    many = isinstance(body, list)
    reports = body if isinstance(body, list) else [body]
    if len(reports) > MAX_EVENTS:
        raise RefusedError(Reason.TOO_LARGE, f"a body may hold {MAX_EVENTS} events; send several")
    try:
        return Reports(
            tuple(_report(one, f"/{number}" if many else "", origin) for number, one in enumerate(reports))
        )
    except InvalidEventError as error:
        raise RefusedError(
            Reason.INVALID_EVENT, str(error), excerpt=str(error).encode(), pointer=error.pointer
        ) from None


def _report(body: object, pointer: str, origin: Callable[[str], Origin]) -> tuple[str, Event]:
    fields = dict(mapping(body, pointer))
    name = text(fields.get("source", ""), f"{pointer}/source")
    if not _NAME.fullmatch(name):
        problem = "must be the client's name: 1 to 100 letters, digits or . _ : @ / -"
        raise InvalidEventError(f"{pointer}/source", problem)
    key = text(fields.pop("id", ""), f"{pointer}/id")
    if not 0 < len(key) <= MAX_ID_CHARS:
        raise InvalidEventError(f"{pointer}/id", f"must be text of 1 to {MAX_ID_CHARS} characters")
    given = origin(f"events:{name}")
    defaults = {
        "position": list(Position(0)),
        "observed_at_ms": given.now_ms,
        "kafka_cluster": given.kafka_cluster,
    }
    event = event_of(defaults | fields | {"source": given.source}, pointer)
    return key_of(name.encode(), key.encode()), replace(event, observed_at_ms=given.now_ms)
