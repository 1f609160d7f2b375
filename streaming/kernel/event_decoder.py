"""Events decoded: msgspec parses the JSON of a record and checks it against the fields of its kind.

How the bytes were written (blanks, the order of fields, escapes) makes no difference. A record that is no
event of a known kind is refused, with the reason.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from deadwatch.contract import quarantine, signals
from deadwatch.contract.events import KINDS, Event, Position, Quarantined, RedriveOutcome

MAX_RECORDS: Final = 2**31 - 1
"""The most records that one event may count: no event makes a sum overflow."""
LABELS: Final = dict.fromkeys(
    (
        *("kafka_cluster", "timeout", "reason"),
        *("order", "dlq_topic", "target_topic", "outcome", "outcome_reason", "fingerprint"),
        *(label for signal in signals.ALL for label in signal.labels),
    )
)
"""Fields that tell the sums of a kind apart."""
DETAILS: Final = ("partition", "elapsed_ms", "records", "message")
"""Fields of which a sum keeps the latest value."""
STATELESS: Final = {*(signal.event.kind for signal in signals.ALL), Quarantined.kind, RedriveOutcome.kind}
STATEFUL: Final = KINDS.keys() - STATELESS
"""Kinds that change a state: besides being counted, their events are handed on one by one."""
DECODE_ERRORS: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding a record may raise."""

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Kind(NamedTuple):
    """How events of a kind are counted. ``labels`` gives the source and the labels of one, ``records`` the
    records that it counts; ``decoder`` makes one a class of the contract, where the kind changes a state.
    """

    name: str
    labels: Callable[[Any], Any]
    records: Callable[[Any], int]
    decoder: msgspec.json.Decoder[Event] | None


@cache
def decoder() -> msgspec.json.Decoder[Any]:
    """Decodes an event of any kind to its struct. Fields without a default are required, others are skipped.

    A field that came later has a default, so that the events of an earlier collector are taken.
    """
    return msgspec.json.Decoder(typing.Union[tuple(_structs().values())])  # noqa: UP007 -- made at run time


@cache
def kinds() -> Mapping[type, Kind]:
    """The kinds, by the struct that ``decoder`` gives."""
    return {
        struct: Kind(
            kind,
            attrgetter("source", *labels_of(kind)),
            _bounded_records if "records" in _fields(kind) else lambda _: 0,
            msgspec.json.Decoder(KINDS[kind]) if kind in STATEFUL else None,
        )
        for kind, struct in _structs().items()
    }


@cache
def labels_of(kind: str) -> tuple[str, ...]:
    """The names of the labels of this kind."""
    return tuple(name for name in LABELS if name in _fields(kind))


@cache
def details_of(kind: str) -> tuple[str, ...]:
    """The names of the details of this kind."""
    return tuple(name for name in DETAILS if name in _fields(kind))


def refusal(value: bytes | None) -> str:
    """Why a record of the events topic is no event; "" where it is one."""
    try:
        decoder().decode(value or b"")
    except DECODE_ERRORS:
        return reason_of(value or b"")
    return ""


def reason_of(value: bytes) -> str:
    """Why a value that ``decoder`` does not take is refused."""
    try:
        found = msgspec.json.decode(value)
    except DECODE_ERRORS:
        return quarantine.NOT_JSON
    if not isinstance(found, dict):
        return quarantine.NOT_JSON
    kind = found.get("kind")
    return quarantine.INCOMPLETE if isinstance(kind, str) and kind in KINDS else quarantine.UNKNOWN_KIND


def _bounded_records(event: Any) -> int:  # noqa: ANN401 -- of msgspec
    records: int = event.records
    return min(max(records, 0), MAX_RECORDS)


@cache
def _structs() -> Mapping[str, type[msgspec.Struct]]:
    """For every kind a struct with the fields of the contract's dataclass, and integers of 64 bits."""
    return {
        kind: msgspec.defstruct(cls.__name__, _typed(cls), tag_field="kind", tag=kind, gc=False, kw_only=True)
        for kind, cls in KINDS.items()
    }


def _typed(cls: type) -> list[tuple[str, Any, Any]]:
    hints = typing.get_type_hints(cls)
    return [
        (
            field.name,
            _bounded(hints[field.name]),
            msgspec.NODEFAULT if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(cls)
    ]


def _bounded(hint: Any) -> Any:  # noqa: ANN401 -- a type is what it is
    if hint is int:
        return Int64
    if hint is Position:
        return tuple[Int64, Int64, Int64]
    if typing.get_origin(hint) is tuple:
        return types.GenericAlias(tuple, (_bounded(typing.get_args(hint)[0]), ...))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return msgspec.defstruct(hint.__name__, _typed(hint), kw_only=True)
    return hint


def _fields(kind: str) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(KINDS[kind]))
