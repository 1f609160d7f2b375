"""One local Spark session for all tests, without Kafka or network, and rows as Kafka's source has them."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from deadwatch.contract.topics import EVENTS
from streaming import session
from streaming.kafka_source import SOURCE, as_records


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ.setdefault("SPARK_LOCAL_IP", session.LOOPBACK)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    temporary = tmp_path_factory.mktemp("spark-temporary")
    settings = {
        **session.SQL,
        "spark.authenticate": "true",
        "spark.driver.host": session.LOOPBACK,
        "spark.driver.bindAddress": session.LOOPBACK,
        "spark.driver.extraJavaOptions": " ".join((*session.java_options(), f"-Djava.io.tmpdir={temporary}")),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("spark").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    started = SparkSession.builder.master("local[1]").appName("tests").config(map={**settings}).getOrCreate()
    session.guard_callbacks(started)
    yield started
    started.stop()


@pytest.fixture
def source(spark: SparkSession) -> Callable[[Sequence[Mapping[str, Any]]], DataFrame]:
    """Records as Spark's Kafka source gives them; offsets count from 0 where a record names none."""

    same = {"topic": EVENTS, "partition": 0, "timestamp": datetime.fromtimestamp(1, tz=UTC)}
    names = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")

    def frame(records: Sequence[Mapping[str, Any]]) -> DataFrame:
        rows = [{**same, "offset": index, **record} for index, record in enumerate(records)]
        return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], SOURCE)

    return frame


@pytest.fixture
def kafka(
    source: Callable[[Sequence[Mapping[str, Any]]], DataFrame],
) -> Callable[[Sequence[Mapping[str, Any]]], DataFrame]:
    """Records as a batch has them."""
    return lambda records: as_records(source(records), EVENTS)
