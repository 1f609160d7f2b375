"""One local Spark session for all tests, without Kafka or network, and rows as Kafka's source has them."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from deadwatch.contract.topics import EVENTS
from streaming import session
from streaming.kafka_source import SOURCE
from streaming.settings import StreamingSettings
from streaming.warm_up import as_records

Kafka = Callable[[Sequence[Mapping[str, Any]]], DataFrame]
SETTINGS = {
    "spark.app.id": "shown",
    "spark.hadoop.fs.s3a.secret.key": "hunter2",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings of Spark that somebody adds; one is a secret."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    place = tmp_path_factory.mktemp("spark")
    jar = place / "none.jar"
    zipfile.ZipFile(jar, "w").close()
    settings = StreamingSettings(
        master="local[1]",
        checkpoint=place / "checkpoint",
        jars=(jar.as_uri(),),
        driver_memory="1g",
        spark=SETTINGS,
    )
    started = session.start(settings)
    yield started
    started.stop()


@pytest.fixture
def source(spark: SparkSession) -> Kafka:
    """Records as Spark's Kafka source gives them; offsets count from 0 where a record names none."""

    same = {"topic": EVENTS, "partition": 0, "timestamp": datetime.fromtimestamp(1, tz=UTC)}

    def frame(records: Sequence[Mapping[str, Any]]) -> DataFrame:
        rows = [{**same, "offset": index, **record} for index, record in enumerate(records)]
        return spark.createDataFrame(rows, SOURCE)  # by their names, as far as they are there

    return frame


@pytest.fixture
def kafka(source: Kafka) -> Kafka:
    """Records as a batch has them."""
    return lambda records: as_records(source(records), EVENTS)
