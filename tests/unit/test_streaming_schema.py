"""The schema Spark expects follows the contract's dataclasses."""

import dataclasses

import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from collector.contract.events import KINDS, Instance
from streaming.event_rows import NESTED
from streaming.event_schema import event_schema


def test_every_field_of_every_kind_is_in_the_schema_and_nothing_else() -> None:
    fields = {field.name for cls in KINDS.values() for field in dataclasses.fields(cls)}
    assert set(event_schema().fieldNames()) == fields | {"kind"}


def test_every_list_of_structs_is_read_back() -> None:
    structs = {
        field.name
        for field in event_schema().fields
        if isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, StructType)
    }
    assert structs == set(NESTED)


@pytest.mark.parametrize("name", ["happened_at_ms", "elapsed_ms", "records", "partition"])
def test_numbers_are_longs(name: str) -> None:
    assert event_schema()[name].dataType == LongType()


def test_a_position_is_a_list_of_longs_as_json_has_it() -> None:
    assert event_schema()["position"].dataType == ArrayType(LongType())


def test_instances_are_structs_with_the_fields_of_their_dataclass() -> None:
    instances = event_schema()["instances"].dataType
    assert isinstance(instances, ArrayType)
    assert isinstance(instances.elementType, StructType)
    assert instances.elementType.fieldNames() == [field.name for field in dataclasses.fields(Instance)]
    assert instances.elementType["task"].dataType == StringType()
