"""What Spark expects of an event: derived from the dataclasses of ``collector.contract.events``.

All kinds share one flat struct: a field that two kinds have must have one type in both.
"""

import dataclasses
import typing
from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from collector.contract.events import KINDS, Event, Position

POSITION_PARTS = len(Position._fields)

_SIMPLE: Mapping[object, DataType] = {
    str: StringType(),
    int: LongType(),
    bool: BooleanType(),
    Position: ArrayType(LongType()),
}


def event_schema() -> StructType:
    """``kind`` and every field of every kind, in the order of their first appearance."""
    fields: dict[str, DataType] = {"kind": StringType()}
    for cls in KINDS.values():
        for name, data_type in _fields(cls).items():
            if fields.setdefault(name, data_type) != data_type:
                raise TypeError(f"field {name!r} of {cls.kind} has another type in another kind")
    return StructType([StructField(name, data_type) for name, data_type in fields.items()])


def required_fields(cls: type[Event]) -> tuple[str, ...]:
    """The names of the fields of one kind."""
    return tuple(field.name for field in dataclasses.fields(cls))


def _fields(cls: type) -> dict[str, DataType]:
    hints = typing.get_type_hints(cls)
    return {field.name: _data_type(hints[field.name]) for field in dataclasses.fields(cls)}


def _data_type(hint: object) -> DataType:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if typing.get_origin(hint) is tuple:
        return ArrayType(_data_type(typing.get_args(hint)[0]))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return StructType([StructField(name, data_type) for name, data_type in _fields(hint).items()])
    raise TypeError(f"no Spark type for {hint!r}")
