"""The filter of groups: the one language's (``streaming.filter``), asked of a group's newest record.

Its cause tells the answer: a field that every record has of its own cannot be asked of a group.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from streaming.dialects import reading
from streaming.filter import Filter
from streaming.letter import Cause, Letter
from streaming.redrive.errors import FilterError

GROUP_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dialect": ("dialect",),
    "topic": ("dlq_topic",),
    "timestamp": ("last_ms",),
    "source_topic": ("source_topic",),
    "consumergroup": ("dialect", "consumer"),
    "connector": ("dialect", "consumer"),
    "error_class": ("error_class",),
    "message": ("message",),
    "fingerprint": ("fingerprint",),
}
"""Fields of the language that a group can answer, and by which columns."""
CONSUMER: Final = frozenset({"consumergroup", "connector"})


def group_filter(text: str) -> Filter:
    """The filter. Raises ``FilterError``, also for a field that no group has."""
    compiled = Filter(text)
    for name in sorted(compiled.fields):
        if name not in GROUP_FIELDS:
            hint = f"open a group to look at its records; groups have {', '.join(GROUP_FIELDS)}"
            raise FilterError(f"{name!r} differs from record to record", hint=hint)
    return compiled


def matcher(text: str) -> tuple[Sequence[str], Callable[..., bool]]:
    """The columns that a filter asks for, and whether a group with these values matches.

    Groups that tell the filter the same are judged once.
    """
    if not text:
        return (), lambda: True
    wanted = group_filter(text)
    told = sorted({name for field in wanted.fields for name in GROUP_FIELDS[field]})
    asks_who = not CONSUMER.isdisjoint(wanted.fields)

    @cache
    def matches(*values: str | int) -> bool:
        group = dict(zip(told, values, strict=True))
        return not (asks_who and _tells_both(str(group["dialect"]))) and wanted(_letter(group))

    return told, matches


def _tells_both(dialect: str) -> bool:
    """Whether its records may have a group and a connector: then a group's consumer may be either."""
    return any(one.connector and one.consumergroup for one in reading().dialects if one.name == dialect)


def _letter(told: Mapping[str, Any]) -> Letter:
    """A group's newest record, as far as these columns of the group tell it."""
    dialect, consumer = told.get("dialect", ""), told.get("consumer", "")
    connects = any(one.connector for one in reading().dialects if one.name == dialect)
    cause = Cause(
        dialect=dialect,
        source_topic=told.get("source_topic", ""),
        source_partition=None,
        consumergroup="" if connects else consumer,
        connector=consumer if connects else "",
        error_class=told.get("error_class", ""),
        message=told.get("message", ""),
        broken=False,
        fingerprint=told.get("fingerprint", ""),
        attempts=0,
        not_before_ms=0,
        order="",
        origin="",
        marked=False,
    )
    return Letter(told.get("dlq_topic", ""), 0, 0, told.get("last_ms", 0), None, None, (), None, cause)
