"""The warm-up does what every batch does, and nothing of it stays."""

import threading
from typing import Any

import psutil
from pyspark.sql import DataFrame, SparkSession

from deadwatch.contract.events import KINDS
from deadwatch.contract.topics import EVENTS
from deadwatch.deadletter.dialects import DIALECTS
from streaming import jvm, warm_up
from streaming.kernel import Context
from streaming.reader import Reader


def test_it_holds_every_kind_and_every_dialect(spark: SparkSession) -> None:
    seen = []

    def rehearse(records: DataFrame) -> None:
        seen.append(Reader(5_000).read(records)(Context(EVENTS, 1, 5)))

    warm_up.run(spark, EVENTS, rehearse, threading.Event())
    (partial,) = seen
    causes = partial.causes
    assert {key.kind for key in partial.events.sums} == set(KINDS)
    assert causes is not None
    assert causes.sums["count"].sum() == len(DIALECTS)


def test_asked_to_stop_it_reads_nothing(spark: SparkSession) -> None:
    stop, seen = threading.Event(), list[DataFrame]()
    stop.set()
    warm_up.run(spark, EVENTS, seen.append, stop)
    assert seen == []


def test_the_jvm_reads_the_prepared_classes(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    process = psutil.Process(java.java.lang.ProcessHandle.current().pid())
    assert str(jvm.class_archive()) in {mapped.path for mapped in process.memory_maps()}
