"""The newest records of every group of dead letters, cut to a size that a page can show.

Only the records asked for leave Spark, at most ``MAX_SAMPLES`` of a batch.
"""

import json
from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from streaming.decode import is_letter
from streaming.store.batch import Sample

MAX_SAMPLES: Final = 2_000
MAX_HEADERS: Final = 64
MAX_HEADER_BYTES: Final = 1_024
MAX_KEY_BYTES: Final = 1_024
MAX_VALUE_BYTES: Final = 4_096


class Place(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int


def samples(decoded: DataFrame, fingerprints: Mapping[Place, str]) -> tuple[Sample, ...]:
    """The dead letters of a decoded batch at these places, with the fingerprints of their groups."""
    places = json.dumps([place._asdict() for place in islice(fingerprints, MAX_SAMPLES)])
    schema = "array<struct<topic:string, partition:int, offset:bigint>>"
    wanted = decoded.sparkSession.range(1).select(F.inline(F.from_json(F.lit(places), schema)))
    rows = (
        decoded.where(is_letter())
        .join(F.broadcast(wanted), list(Place._fields))
        .select(*_columns())
        .collect()
    )
    return tuple(_sample(row, fingerprints) for row in rows)


@cache
def _columns() -> tuple[Column, ...]:
    cut = F.transform(
        F.slice("headers", 1, MAX_HEADERS),
        lambda header: F.struct(
            header["key"].alias("name"), F.substring(header["value"], 1, MAX_HEADER_BYTES).alias("value")
        ),
    )
    return (
        *(F.col(name) for name in (*Place._fields, "timestamp_ms")),
        cut.alias("headers"),
        F.substring("key", 1, MAX_KEY_BYTES).alias("key"),
        F.substring("value", 1, MAX_VALUE_BYTES).alias("value"),
        F.coalesce(F.octet_length("key"), F.lit(-1)).alias("key_bytes"),
        F.coalesce(F.octet_length("value"), F.lit(-1)).alias("value_bytes"),
    )


def _sample(row: Row, fingerprints: Mapping[Place, str]) -> Sample:
    place = Place(row.topic, row.partition, row.offset)
    return Sample(
        fingerprint=fingerprints[place],
        dlq_topic=place.topic,
        partition=place.partition,
        offset=place.offset,
        timestamp_ms=row.timestamp_ms,
        headers=tuple((header.name, header.value and bytes(header.value)) for header in row.headers or ()),
        key=None if row.key is None else bytes(row.key),
        value=None if row.value is None else bytes(row.value),
        key_bytes=row.key_bytes,
        value_bytes=row.value_bytes,
    )
