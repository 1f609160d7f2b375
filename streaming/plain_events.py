"""Events that are only counted, in the very bytes that ``contract.events.encode`` writes, without a parser.

One regular expression takes such a text apart. It costs a fraction of a JSON parser and leaves nothing to
judge, because what it matches has every field of its kind. What it does not match (an escape, other blanks or
fields, a number beyond ``POSITION``, an event that changes a state, nonsense) is not refused: it is unusual,
and ``streaming.decode`` reads it.
"""

import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from collector.contract.events import KINDS, VERSION, Event
from streaming.aggregates.summary import DETAILS, LABELS
from streaming.event_schema import required_fields

FIELD, PART = "\x1e", "\x1f"
"""Between the fields of what is taken apart, and between the parts of a field; no text of JSON has them."""
FIELDS = ("labels", "source", "happened_ms", "observed_ms", "epoch", "place", "ordinal", "records", "detail")

_CONTROLS = "".join(f"\\x{code:02x}" for code in range(32))  # one by one: Java is slower with a range
TEXT = rf'"([^"\\{_CONTROLS}]*)"'
NUMBER = r"(-?(?:0|[1-9][0-9]{0,17}))"
TIME = r"(0|[1-9][0-9]{0,12})"
POSITION = r"\[(0|[1-9][0-9]{0,17}),(0|[1-9][0-9]{0,13}),(0|[1-9][0-9]{0,3})\]"
BEGIN = f'{{"v":{VERSION},"kind":"'
ORDINALS = 10_000
"""Ordinals are below: offset and ordinal of a position make one number, in their order."""


@cache
def taken_apart(kinds: tuple[str, ...]) -> tuple[str, str]:
    """A Java regular expression for events of these kinds, and its replacement: ``FIELDS``."""
    expressions, groups, number = [], dict[str, str](), 0
    for kind in kinds:
        expression = f"({kind})"
        found = {"kind": number + 1}
        number += 1
        for name, part, size in _parts(KINDS[kind]):
            expression += part
            found[name] = number + 1
            number += size
        expressions.append(expression)
        for name, group in found.items():
            groups[name] = groups.get(name, "") + f"${group}"
        for index, name in enumerate(("epoch", "place", "ordinal")):
            groups[name] = groups.get(name, "") + f"${found['position'] + index}"
    pattern = rf"^\{BEGIN}(?:{'|'.join(expressions)})\}}\z"
    values = {
        **groups,
        "labels": PART.join(groups.get(name, "") for name in ("kind", *LABELS)),
        "happened_ms": groups["happened_at_ms"],
        "observed_ms": groups["observed_at_ms"],
        "detail": PART.join(groups.get(name, "") for name in DETAILS),
    }
    return pattern, FIELD.join(values.get(name, "") for name in FIELDS)


def _parts(cls: type[Event]) -> Iterator[tuple[str, str, int]]:
    """Every field of a kind: its name, the expression of it and what stands before, its number of groups."""
    hints, before = typing.get_type_hints(cls), '",'
    for name in required_fields(cls):
        if name == "position":
            yield name, f'{before}"{name}":{POSITION}', 3
        else:
            time = name in {"happened_at_ms", "observed_at_ms"}
            yield name, f'{before}"{name}":{TIME if time else _SIMPLE[hints[name]]}', 1
        before = ","


_SIMPLE: Mapping[object, str] = {str: TEXT, int: NUMBER}


def replaced(text: Column, kinds: tuple[str, ...]) -> Column:
    """``FIELDS`` in one text; what is unusual is null, or begins as it did."""
    return F.when(F.startswith(text, F.lit(BEGIN)), F.regexp_replace(text, *taken_apart(kinds)))


def fields(text: Column) -> Column:
    """The array of ``FIELDS`` as texts, of what is ``replaced``; null for what is unusual."""
    return F.when(~F.startswith(text, F.lit(BEGIN)), F.split(text, FIELD))


def labels_of(text: str) -> tuple[str, dict[str, str]]:
    """Kind and labels of the field ``labels``."""
    kind, *values = text.split(PART)
    return kind, dict(zip(LABELS, values, strict=True))


def detail_of(kind: str, text: str) -> dict[str, int | str]:
    """The facts that events of ``kind`` have, out of the field ``detail``."""
    values = text.split(PART)
    return {name: read(values[index]) for index, name, read in _facts(kind)}


@cache
def _facts(kind: str) -> tuple[tuple[int, str, Callable[[str], int | str]], ...]:
    hints = typing.get_type_hints(KINDS[kind])
    return tuple(
        (index, name, int if hints[name] is int else str)
        for index, name in enumerate(DETAILS)
        if name in required_fields(KINDS[kind])
    )
