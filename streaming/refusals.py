"""Why an event is refused: the reason, and what its record on our own dead letter topic says."""

from collections.abc import Mapping
from typing import Final

NOT_JSON: Final = "not_json"
UNKNOWN_KIND: Final = "unknown_kind"
INCOMPLETE: Final = "incomplete"

MESSAGES: Final[Mapping[str, str]] = {
    NOT_JSON: "The event is not a JSON object.",
    UNKNOWN_KIND: "The event's kind is not known.",
    INCOMPLETE: "The event lacks a field or has one of another type.",
}
