"""The warm-up does what every batch does, and nothing of it stays."""

import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import create_engine, func, select

from collector.contract.events import KINDS
from streaming import warm_up
from streaming.aggregates.one_pass import summarise
from streaming.batches import Batches
from streaming.decode import decode
from streaming.dialects import DIALECTS
from streaming.settings import StreamingSettings
from streaming.store import schema
from streaming.store.store import Store

EVENTS = "deadwatch.events"


def test_it_holds_every_kind_and_every_dialect(spark: SparkSession) -> None:
    seen: list[DataFrame] = []
    summaries = []

    def rehearse(records: DataFrame) -> None:
        if not seen:
            summaries.extend(summarise(decode(records, EVENTS)))
        seen.append(records)

    warm_up.run(spark, EVENTS, rehearse, threading.Event())
    assert {one.kind for one in summaries if one.kind} == set(KINDS)
    assert sum(one.count for one in summaries if one.is_letter) == len(DIALECTS)
    assert not any(one.refused for one in summaries)
    assert len(seen) == warm_up.ROUNDS


def test_asked_to_stop_it_goes_no_further(spark: SparkSession) -> None:
    stop, seen = threading.Event(), list[DataFrame]()

    def rehearse(decoded: DataFrame) -> None:
        seen.append(decoded)
        stop.set()

    warm_up.run(spark, EVENTS, rehearse, stop)
    assert len(seen) == 1


def test_nothing_of_it_reaches_the_store(spark: SparkSession, tmp_path: Path) -> None:
    settings = StreamingSettings(store_url=f"sqlite:///{tmp_path / 'store.db'}")
    with Store(settings.store_url, max_series=10, max_groups=10, samples_per_group=5) as store:
        batches = Batches(settings, store, lambda: 1)
        warm_up.run(spark, EVENTS, batches.rehearse, threading.Event())
        assert batches.error is None
        assert not store.offsets()
    engine = create_engine(settings.store_url)
    with engine.connect() as connection:
        for table in (schema.series, schema.marks, schema.groups, schema.batches):
            assert connection.scalar(select(func.count()).select_from(table)) == 0
    engine.dispose()
