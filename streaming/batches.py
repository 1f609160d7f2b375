"""What happens to a batch: read once, decoded, summed up, merged into the store in one transaction.

Refused events are written to our own dead letter topic first. An exception leaves the store as it was; Spark
runs the same batch again when the query is restarted.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from collector.contract.events import Position
from streaming import plans, quarantine
from streaming.aggregates import (
    abandoned_tasks,
    clients,
    dead_letters,
    delivery_timeouts,
    pipeline,
    plain_pass,
    redrives,
    task_timeouts,
)
from streaming.aggregates.few_letters import FewLetters
from streaming.aggregates.letters import Letters, LettersInSpark
from streaming.aggregates.one_pass import after, summarise
from streaming.aggregates.plain_pass import LETTERS_ALIKE, Planned
from streaming.aggregates.summary import Summary
from streaming.decode import decode
from streaming.dialects import SHARE_GROUP
from streaming.queries import QUERY_ID_PROPERTY
from streaming.settings import StreamingSettings
from streaming.store.batch import Batch, Origins
from streaming.store.store import Store

NO_LETTERS = FewLetters((), 0)

SIGNALS = (task_timeouts, delivery_timeouts, clients, redrives, pipeline)


class StoppedError(Exception):
    """The process is stopping: the batch was not begun."""


class Which(NamedTuple):
    """The batch that is read, and when that began."""

    query_id: str
    batch_id: int
    started_ms: int


class Batches:
    """Spark's ``foreachBatch``; the size of a batch tells how it is run.

    ``told`` adds what the records of a batch do not say, before it is merged; ``refuse`` takes a batch with
    records that cannot be read.
    """

    def __init__(
        self,
        settings: StreamingSettings,
        store: Store,
        clock_ms: Callable[[], int],
        told: Callable[[Batch], Batch] = lambda batch: batch,
        refuse: Callable[[DataFrame, StreamingSettings], None] = quarantine.write,
    ) -> None:
        self._settings = settings
        self._store = store
        self._clock_ms = clock_ms
        self._told = told
        self._refuse = refuse
        self._busy = threading.Lock()
        self._stopping = False
        self.applied = 0
        self.error: Exception | None = None

    def stop(self) -> None:
        """Let the batch under way end, begin no other."""
        self._stopping = True
        with self._busy:
            return

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Apply one batch of Kafka's records, once."""
        with self._busy:
            if self._stopping:
                raise StoppedError
            try:
                self._apply(records, batch_id)
            except Exception as error:
                self.error = error
                raise
            self.applied += 1

    def rehearse(self, records: DataFrame) -> None:
        """Read a batch as small ones are read, and forget it."""
        planned = Planned(LETTERS_ALIKE, LETTERS_ALIKE)
        self._read(records.coalesce(1), Which("", 0, self._clock_ms()), planned)

    def _apply(self, records: DataFrame, batch_id: int) -> None:
        started_ms = self._clock_ms()
        query_id = records.sparkSession.sparkContext.getLocalProperty(QUERY_ID_PROPERTY) or ""
        if self._store.applied(query_id, batch_id):
            return
        which = Which(query_id, batch_id, started_ms)
        planned = self._planned(batch_id)
        is_small = planned and planned.is_small
        batch = self._read(records.coalesce(1) if is_small else records, which, planned)
        self._store.apply(self._told(batch))

    def _planned(self, batch_id: int) -> Planned | None:
        """What Spark planned for the batch, where it still says so."""
        plan = plans.read(self._settings.checkpoint, batch_id)
        if plan is None:
            return None
        events = letters = 0
        for place, end in plan.end.items():
            count = max(0, end - plan.begin.get(place, 0))
            if place[0] == self._settings.events_topic:
                events += count
            else:
                letters += count
        return Planned(events + letters, letters)

    def _read(self, records: DataFrame, which: Which, planned: Planned | None) -> Batch:
        """Without a parser as far as that goes; a doubtful batch goes through it.

        To read Kafka once more costs less than to keep all of it: dead letters are kept.
        """
        topic = self._settings.events_topic
        plain = plain_pass.read(records, topic, which.started_ms, planned)
        rest = summarise(decode(plain.unusual, topic)) if plain and plain.unusual else []
        decoded, summaries = records, [*plain.summaries, *rest] if plain else []
        if not plain or self._repeated(summaries):
            decoded, summaries = self._summarise(decode(records, topic))
        elif any(one.refused or (one.is_letter and not plain.letters) for one in summaries):
            decoded = decode(records, topic)  # a frame that nobody asks costs time, too
        if plain and plain.letters:
            return self._batch(which, decoded, plain.letters, summaries)
        if not any(one.is_letter for one in summaries):
            return self._batch(which, decoded, NO_LETTERS, summaries)
        letters = decoded.where(F.col("topic") != topic).persist()
        try:
            return self._batch(which, decoded, LettersInSpark(letters), summaries)
        finally:
            letters.unpersist()

    def _batch(self, which: Which, decoded: DataFrame, letters: Letters, summaries: list[Summary]) -> Batch:
        groups = self._groups(letters)
        newest = {place: group.delta.fingerprint for group in groups for place in group.newest}
        if any(one.refused for one in summaries):
            self._refuse(decoded, self._settings)
        now_ms = self._clock_ms()
        newest_ms = max((one.observed_ms for one in summaries), default=now_ms)
        return Batch(
            query_id=which.query_id,
            batch_id=which.batch_id,
            committed_at_ms=now_ms,
            duration_ms=max(0, now_ms - which.started_ms),
            records=sum(one.count for one in summaries),
            lag_ms=max(0, now_ms - newest_ms),
            offsets=pipeline.next_offsets(summaries),
            first_offsets=pipeline.first_offsets(summaries),
            marks=pipeline.marks(summaries),
            series=(
                *(delta for signal in SIGNALS for delta in signal.deltas(summaries)),
                *(delta for group in groups for delta in group.series),
                *redrives.bounced(letters.came_back, summaries, self._settings.kafka_cluster),
                *dead_letters.beyond(summaries, groups, self._settings.kafka_cluster),
            ),
            groups=tuple(group.delta for group in groups),
            samples=letters.samples(newest) if newest else (),
            events=abandoned_tasks.ordered_events(summaries),
            origins=self._origins(letters, summaries, groups),
        )

    def _origins(
        self, letters: Letters, summaries: list[Summary], groups: list[dead_letters.Group]
    ) -> tuple[Origins, ...]:
        """Of share groups' dead letters, while a redrive may be what they came back from."""
        shared = any(group.delta.dialect == SHARE_GROUP.name for group in groups)
        if not shared or not (redrives.tells_ranges(summaries) or self._store.awaits_returns()):
            return ()
        return letters.origins(self._settings.kafka_cluster)

    def _groups(self, letters: Letters) -> list[dead_letters.Group]:
        settings = self._settings
        return letters.groups(
            settings.kafka_cluster,
            samples_per_group=settings.samples_per_group,
            max_groups=settings.max_groups,
        )

    def _summarise(self, decoded: DataFrame) -> tuple[DataFrame, list[Summary]]:
        """The batch and its summary without events that were counted before; rarely are there any."""
        summaries = summarise(decoded)
        repeated = self._repeated(summaries)
        if not repeated:
            return decoded, summaries
        new = after(decoded, repeated)
        return new, summarise(new)

    def _repeated(self, summaries: list[Summary]) -> dict[str, Position]:
        """The marks of the sources that tell of events again."""
        first = pipeline.first_positions(summaries)
        marks = self._store.marks(first)
        return {source: mark for source, mark in marks.items() if first[source] <= mark}
