"""Events as the store can hold them: names that are keys are bounded, numbers fit a column.

Done before states are followed, so that what is compared is what is stored: no event, whatever it claims,
makes a batch fail for ever.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from streaming.store.storable import clamped, storable_key

T = TypeVar("T")

KEYS = frozenset(
    {
        *("source", "subject", "kafka_cluster", "worker", "connector", "task", "broker", "consumergroup"),
        *("topic", "application", "streams_client", "thread", "collector", "name"),
        *("target_topic", "order", "dlq_topic", "dlq_topic_id"),
    }
)


def keyed(event: T) -> T:
    """The event; itself when nothing had to be changed."""
    changes = {name: new for name, old in _values(event).items() if (new := _keyed(name, old)) is not old}
    return replace(event, **changes) if changes else event  # type: ignore[type-var]  # a dataclass


def _values(event: object) -> dict[str, Any]:
    return {field.name: getattr(event, field.name) for field in fields(event)}  # type: ignore[arg-type]  # as above


def _keyed(name: str, value: Any) -> Any:  # noqa: ANN401 -- of the type it has
    if isinstance(value, str):
        key = storable_key(value) if name in KEYS else value
        return value if key == value else key
    if isinstance(value, int) and not isinstance(value, bool):
        return value if clamped(value) == value else clamped(value)
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        return tuple(keyed(one) for one in value)
    return value
