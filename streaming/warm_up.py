"""What makes Spark quick from its first batch on: a batch that is thrown away, and prepared classes.

Without the first the first failure after a start waits several seconds for class loading and code generation.
The batch holds one event of every kind and one dead letter of every dialect, and is read like every batch; it
is not merged into the store. Two more would cost 2 s of a core, and gain the first failure 0.1 s.

``python -m streaming.warm_up`` makes the file of ``jvm.class_archive``, if none fits.
"""

import dataclasses
import json
import sys
import tempfile
import threading
import time
import typing
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import psutil
import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sqlalchemy.exc import SQLAlchemyError

from deadwatch.contract.events import KINDS, Position, encode
from deadwatch.deadletter.dialects import reading
from deadwatch.runtime.clock import clock_ms
from deadwatch.store.store import Store
from jars import JarsError
from streaming import jvm, session
from streaming.batches import Batches
from streaming.kafka_source import SOURCE, as_dead_letters, as_events
from streaming.settings import StreamingSettings

_PLAIN: Mapping[object, Any] = {str: "warm-up", int: 1, bool: True, Position: Position(1)}
ENDS_WITHIN_S: Final = 120
FAILURES: Final = (
    *(JarsError, session.SessionError, SQLAlchemyError, OSError),
    *(psutil.Error, Py4JError, PySparkException, ValueError),
)
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
QUICKLY: Final = "-XX:TieredStopAtLevel=1 -Xlog:cds=off -Xlog:cds+dynamic=off"


def run(
    spark: SparkSession, events_topic: str, rehearse: Callable[[DataFrame], object], stop: threading.Event
) -> None:
    """Call ``rehearse`` with a batch, unless ``stop`` is set; an error ends it."""

    def batch(records: DataFrame, _batch_id: int) -> None:
        if not stop.is_set():
            rehearse(records)

    with tempfile.TemporaryDirectory(prefix="deadwatch-warm-up-") as checkpoint:
        stream = _records(spark, events_topic).writeStream.trigger(availableNow=True)  # ends behind its batch
        query = stream.foreachBatch(batch).option("checkpointLocation", checkpoint).start()
        while query.isActive:
            time.sleep(0.02)


def _records(spark: SparkSession, events_topic: str) -> DataFrame:
    """A stream of one batch of records, from a literal: no Python worker is started for them."""
    rows = json.dumps([*_rows(events_topic)])
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    source = ticks.select(F.inline(F.from_json(F.lit(rows), f"array<struct<{SOURCE}>>")))
    return as_records(source, events_topic)


def as_records(source: DataFrame, events_topic: str) -> DataFrame:
    """Events and dead letters of a source that has both, with the columns of a batch."""
    is_event = F.col("topic") == events_topic
    return as_events(source.where(is_event)).unionAll(as_dead_letters(source.where(~is_event)))


def _rows(events_topic: str) -> Iterator[dict[str, object]]:
    same: dict[str, object] = {"partition": 0, "timestamp": "1970-01-01T00:00:00Z"}
    for offset, cls in enumerate(KINDS.values()):
        encoded = encode(dataclasses.replace(example(cls), position=Position(offset)))
        key, value = (b64encode(part).decode() for part in encoded)
        yield {"topic": events_topic, "offset": offset, "key": key, "value": value, "headers": [], **same}
    text = b64encode(b"1").decode()
    for offset, dialect in enumerate(reading().dialects):
        headers = [{"key": name, "value": text} for name in dialect.headers]
        content = {"key": text, "value": text, "headers": headers}
        yield {"topic": "dlq.warm-up", "offset": offset, **content, **same}


def example(cls: type) -> Any:  # noqa: ANN401 -- an instance of the class
    """An instance with something in every field, lists of one element included."""
    hints = typing.get_type_hints(cls)
    return cls(**{field.name: _value(hints[field.name]) for field in dataclasses.fields(cls)})


def _value(hint: Any) -> Any:  # noqa: ANN401 -- a type is what it is
    if typing.get_origin(hint) is tuple:
        return (_value(typing.get_args(hint)[0]),)
    return _PLAIN[hint] if hint in _PLAIN else example(hint)


def make() -> None:
    """Start Spark as streaming does, let it read what warms it up, and have its JVM write the file."""
    file = jvm.class_archive()
    jars_of_spark = Path(pyspark.__file__).parent.glob("jars/*.jar")
    installed_at = max((jar.stat().st_mtime for jar in jars_of_spark), default=0.0)
    if file.is_file() and file.stat().st_mtime > installed_at:
        return
    file.unlink(missing_ok=True)  # of an installation that was here before: no JVM would take it
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="draft-", dir=file.parent) as name:
        directory, draft = Path(name), Path(name) / file.name
        store_url = f"sqlite:///{directory}/store.db"
        settings = StreamingSettings(store_url=store_url, checkpoint=directory / "batches")
        java = session.configuration(settings)[JAVA_OPTIONS]
        more = {JAVA_OPTIONS: f"{java} {QUICKLY} -XX:ArchiveClassesAtExit={draft}"}
        spark = session.start(settings.model_copy(update={"spark": {**settings.spark, **more}}))
        with Store(store_url) as store:
            read = Batches(settings, store, clock_ms).read
            run(spark, settings.events_topic, read, threading.Event())
        [process] = [child for child in psutil.Process().children(recursive=True) if child.name() == "java"]
        spark.stop()
        process.terminate()
        process.wait(ENDS_WITHIN_S)
        draft.rename(file)


def main() -> None:
    """Make the file; where that fails, Spark starts slowly and works all the same."""
    try:
        make()
    except FAILURES as error:
        sys.stdout.write(f"Spark will start slowly, its classes were not prepared: {error}\n")


if __name__ == "__main__":
    main()
