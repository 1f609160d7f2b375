"""One local Spark session for all tests, without Kafka or network, and rows as Kafka's source has them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from streaming import session
from streaming.aggregates.plain_pass import KAFKA


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ.setdefault("SPARK_LOCAL_IP", session.LOOPBACK)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        **session.SQL,
        "spark.driver.host": session.LOOPBACK,
        "spark.driver.bindAddress": session.LOOPBACK,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={session.LOGGING.as_uri()}",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("spark").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    yield started
    started.stop()


@pytest.fixture
def kafka(spark: SparkSession) -> Callable[[Sequence[Mapping[str, Any]]], DataFrame]:
    """Records as Spark's Kafka source gives them; offsets count from 0 where a record names none."""

    def frame(records: Sequence[Mapping[str, Any]]) -> DataFrame:
        rows = [
            (
                record.get("key"),
                record.get("value"),
                record.get("topic", "deadwatch.events"),
                record.get("partition", 0),
                record.get("offset", index),
                datetime.fromtimestamp(record.get("timestamp_ms", 1_000) / 1_000, tz=UTC),
                record.get("headers"),
            )
            for index, record in enumerate(records)
        ]
        return spark.createDataFrame(rows, KAFKA)

    return frame
