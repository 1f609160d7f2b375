"""Events that are only counted, in the very bytes that ``contract.events.encode`` writes, without a parser.

A regular expression a kind, in the syntax of Polars, takes such a text apart. It costs a fraction of a JSON
parser and leaves nothing to judge, because what it matches has every field of its kind. What it does not
match (other blanks or fields, most escapes, a number beyond ``POSITION``, nonsense) is not refused: it is
unusual, and ``streaming.decode`` reads it.
"""

import json
import typing
from collections.abc import Iterator
from functools import cache
from typing import Final

import polars as pl

from collector.contract.events import KINDS, VERSION, Event
from streaming.event_schema import required_fields

BEGIN: Final = f'{{"v":{VERSION},"kind":"'
POSITION: Final = {
    "epoch": "0|[1-9][0-9]{0,17}",
    "place": "0|[1-9][0-9]{0,13}",
    "ordinal": "0|[1-9][0-9]{0,3}",
}
"""The parts of a position, each a group of its own."""
ORDINALS: Final = 10_000
"""Ordinals are below: offset and ordinal of a position make one number, in their order."""
ESCAPED: Final = "message"
"""The field that may have escapes; it stays as it is until ``unescaped``."""

_TEXT = r'[^"\\\x00-\x1f]*'
_ESCAPED = r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*'
_NUMBER = "-?(?:0|[1-9][0-9]{0,17})"
_TIME = "0|[1-9][0-9]{0,12}"


def of_kind(text: pl.Expr, kind: str) -> pl.Expr:
    """Whether a text begins as the events of a kind do."""
    return text.str.starts_with(f'{BEGIN}{kind}"')


def taken_apart(text: pl.Expr, kind: str) -> pl.Expr:
    """A struct of the fields of an event of this kind, numbers as such; of an unusual one all are null."""
    found = text.str.extract_groups(expression(kind))
    return found.struct.with_fields(pl.field(name).cast(pl.Int64) for name in numbers(kind))


def fields_of(kind: str) -> frozenset[str]:
    """The names of all fields of a kind."""
    return frozenset(required_fields(KINDS[kind]))


@cache
def expression(kind: str) -> str:
    """What matches a whole event of this kind; its groups are named as the fields, ``POSITION`` aside."""
    return rf'\A\{BEGIN}{kind}"{"".join(_fields(KINDS[kind]))}\}}\z'


@cache
def numbers(kind: str) -> tuple[str, ...]:
    """The groups of the expression that are numbers."""
    hints = typing.get_type_hints(KINDS[kind])
    return (*POSITION, *(name for name in required_fields(KINDS[kind]) if hints[name] is int))


def unescaped(text: str) -> str:
    """The value of the field ``ESCAPED``."""
    return str(json.loads(f'"{text}"'))


def _fields(cls: type[Event]) -> Iterator[str]:
    """Every field of a kind, and what stands before it."""
    hints = typing.get_type_hints(cls)
    for name in required_fields(cls):
        if name == "position":
            parts = ",".join(f"(?<{part}>{expression})" for part, expression in POSITION.items())
            yield rf',"{name}":\[{parts}\]'
        elif hints[name] is int:
            time = name in {"happened_at_ms", "observed_at_ms"}
            yield f',"{name}":(?<{name}>{_TIME if time else _NUMBER})'
        else:
            yield f',"{name}":"(?<{name}>{_ESCAPED if name == ESCAPED else _TEXT})"'
